//! Where the elements of a view lie: shape, strides, offset.
//!
//! Invariants of a [`Layout`], which every constructor checks:
//! 1. shape and strides have the same rank, at most [`MAX_RANK`];
//! 2. the number of elements fits `isize`;
//! 3. every element's offset fits `isize`.
//!
//! All in elements; bytes appear only with a dtype. Knows no buffer and no device.

mod broadcast;
mod overlap;
mod strides;
mod views;
mod vote;

pub use broadcast::{broadcast_shapes, broadcast_strides};
pub use overlap::{Overlap, Region, has_internal_overlap, overlap};
pub use strides::{contiguous_strides, is_channels_last, is_contiguous, is_dense};
pub use vote::{Entry, keep_format_strides, output_strides};

use crate::error::{Error, ErrorKind, Result};
use smallvec::SmallVec;

/// Highest rank of a layout.
pub const MAX_RANK: usize = 64;

/// Extents, outermost first, in elements.
pub type Shape = SmallVec<[usize; 6]>;
/// Signed step of each axis, in elements.
pub type Strides = SmallVec<[isize; 6]>;

/// Shape, strides and offset of a view, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: isize,
}
