//! Where the elements of a view lie: shape, strides, offset.
//!
//! Invariants of a [`Layout`], which every constructor checks:
//! 1. shape and strides have the same rank, at most [`MAX_RANK`];
//! 2. the product of the extents fits `isize`, also when a 0 among them counts as 1;
//! 3. every element's offset, and the distance between any two, fits `isize`.
//!
//! All in elements; bytes appear only with a dtype. Knows no buffer and no device.
//! No heap allocation up to rank 6, but for errors, lists of views and the exact test of overlap.

mod axis;
mod broadcast;
mod coalesce;
mod extent;
mod index;
#[cfg(test)]
mod model;
mod overlap;
mod reshape;
mod strides;
mod vote;

pub use broadcast::{broadcast_shapes, broadcast_strides};
pub use coalesce::Coalesced;
pub(crate) use coalesce::coalesce;
pub use extent::{Extent, Place, Quantity, Stride};
pub use overlap::{Overlap, Region, has_internal_overlap, overlap};
pub use strides::contiguous_strides;
use strides::{is_contiguous, is_dense};
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
///
/// # Examples
/// ```
/// use gems_runtime::layout::Layout;
///
/// let x = Layout::contiguous(&[4, 6])?;
/// let every_other_row = x.slice(0, 0, isize::MAX, 2)?;
/// assert_eq!((every_other_row.shape(), every_other_row.strides()), (&[2, 6][..], &[12, 1][..]));
/// let columns = x.t()?.flip(&[0])?;
/// assert_eq!((columns.shape(), columns.strides(), columns.offset()), (&[6, 4][..], &[-1, 6][..], 5));
/// assert!(columns.reshape(&[24]).is_err());
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Layout<D: Extent = usize> {
    shape: SmallVec<[D; 6]>,
    strides: SmallVec<[D::Stride; 6]>,
    offset: D::Offset,
}

impl<D: Extent> Clone for Layout<D> {
    fn clone(&self) -> Self {
        let (shape, strides) = (D::copy_of(&self.shape), D::Stride::copy_of(&self.strides));
        Layout { shape, strides, offset: self.offset.clone() }
    }
}

impl Layout {
    /// Row-major without gaps, from offset 0.
    ///
    /// # Errors
    /// A rank above [`MAX_RANK`], or more elements than `isize::MAX`.
    pub fn contiguous(shape: &[usize]) -> Result<Layout> {
        check_shape(shape)?;
        Ok(Layout { shape: Shape::from_slice(shape), strides: contiguous_strides(shape), offset: 0 })
    }

    /// A layout of these parts.
    ///
    /// # Errors
    /// Shape and strides of different rank, a rank above [`MAX_RANK`], more elements than `isize::MAX`, or an element
    /// whose offset does not fit `isize`.
    pub fn new(shape: &[usize], strides: &[isize], offset: isize) -> Result<Layout> {
        Layout::from_parts(Shape::from_slice(shape), Strides::from_slice(strides), offset)
    }

    /// Where the element of index 0 lies in the storage, in elements.
    #[must_use]
    pub const fn offset(&self) -> isize {
        self.offset
    }

    /// The same layout so many elements further on in the same memory; none if an element would lie beyond the address
    /// space.
    pub(crate) fn moved(&self, by: isize) -> Option<Layout> {
        let offset = self.offset.checked_add(by)?;
        span(&self.shape, &self.strides, &offset)?;
        Some(Layout { offset, ..self.clone() })
    }

    /// Whether the elements of another view of the same memory lie between the lowest and the highest one of this.
    pub(crate) fn contains(&self, view: &Layout) -> bool {
        match (self.span(), view.span()) {
            _ if view.is_empty() => true,
            (Some((low, high)), Some((first, last))) => low <= first && last <= high,
            _ => false,
        }
    }

    /// Lowest and highest offset of an element; none if empty.
    #[must_use]
    pub fn span(&self) -> Option<(isize, isize)> {
        if self.is_empty() { None } else { span(&self.shape, &self.strides, &self.offset) }
    }
}

impl<D: Extent> Layout<D> {
    /// Row-major without gaps, from offset 0: [`Layout::contiguous`] for extents of any kind.
    ///
    /// # Errors
    /// As `contiguous`.
    pub fn row_major(shape: &[D]) -> Result<Layout<D>> {
        check_shape(shape)?;
        let shape: SmallVec<[D; 6]> = shape.iter().cloned().collect();
        let strides = contiguous_strides(&shape);
        Ok(Layout { shape, strides, offset: D::Offset::default() })
    }

    /// A layout of these parts: [`Layout::new`] for extents of any kind.
    ///
    /// # Errors
    /// As `new`.
    pub fn from_parts(
        shape: SmallVec<[D; 6]>,
        strides: SmallVec<[D::Stride; 6]>,
        offset: D::Offset,
    ) -> Result<Layout<D>> {
        if shape.len() != strides.len() {
            return Err(shape_error(format!(
                "shape {shape:?} and strides {strides:?} differ in rank; give one stride an axis"
            )));
        }
        check_shape(&shape)?;
        if span(&shape, &strides, &offset).is_none() {
            return Err(shape_error(format!(
                "an element of {shape:?} with strides {strides:?} and offset {offset:?} lies beyond the address space; \
                 use smaller strides"
            )));
        }
        Ok(Layout { shape, strides, offset })
    }

    /// Extents, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[D] {
        &self.shape
    }

    /// Step of each axis, in elements; negative after a flip, 0 where broadcast.
    #[must_use]
    pub fn strides(&self) -> &[D::Stride] {
        &self.strides
    }

    /// Where the element of index 0 lies in the storage, as far as it is known, in elements.
    #[must_use]
    pub const fn start(&self) -> &D::Offset {
        &self.offset
    }

    /// The layout at the sizes seen, asking nothing; for texts and tests.
    #[must_use]
    pub fn seen(&self) -> Layout {
        self.converted(Extent::seen, Stride::seen, D::seen_offset(&self.offset))
    }

    /// The same layout with other kinds of numbers.
    pub(crate) fn converted<E: Extent>(
        &self,
        size: impl FnMut(&D) -> E,
        stride: impl FnMut(&D::Stride) -> E::Stride,
        offset: E::Offset,
    ) -> Layout<E> {
        Layout {
            shape: self.shape.iter().map(size).collect(),
            strides: self.strides.iter().map(stride).collect(),
            offset,
        }
    }

    /// Whether the extents are these.
    #[must_use]
    pub fn has_shape(&self, shape: &[D], place: Place) -> bool {
        extent::equal_shapes(&self.shape, shape, place)
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[must_use]
    pub fn numel(&self) -> D {
        product(&self.shape)
    }

    /// Whether an extent is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        strides::has_zero(&self.shape)
    }

    /// Whether the elements lie row-major without gaps, from any offset. Strides of axes of size 1 do not count, and an
    /// empty layout is contiguous.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    /// Whether the elements fill a range of the storage without gap or overlap, in any order.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        is_dense(&self.shape, &self.strides)
    }
}

/// Product of extents.
fn product<D: Extent>(shape: &[D]) -> D {
    shape.iter().fold(D::from(1), |product, extent| product.times(extent))
}

/// Lowest and highest offset, none if one of them or their distance does not fit; the offset twice if empty.
fn span<D: Extent>(shape: &[D], strides: &[D::Stride], offset: &D::Offset) -> Option<(isize, isize)> {
    let (mut below, mut above) = (0isize, 0isize);
    let offset = D::seen_offset(offset);
    if strides::has_zero(shape) {
        return Some((offset, offset));
    }
    for (extent, stride) in shape.iter().zip(strides) {
        let reach = isize::try_from(extent.seen() - 1).ok()?.checked_mul(stride.seen())?;
        let side = if reach < 0 { &mut below } else { &mut above };
        *side = side.checked_add(reach)?;
    }
    above.checked_sub(below)?;
    Some((offset.checked_add(below)?, offset.checked_add(above)?))
}

/// Invariants 1 and 2.
fn check_shape<D: Extent>(shape: &[D]) -> Result<()> {
    if shape.len() > MAX_RANK {
        return Err(shape_error(format!(
            "rank {} is above the highest, {MAX_RANK}; merge axes",
            shape.len()
        )));
    }
    if let Some(extent) = shape.iter().find(|extent| !extent.is_size()) {
        return Err(shape_error(format!("{extent:?} in {shape:?} is below 0; give sizes of 0 or more")));
    }
    let product = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(extent.seen().max(1)));
    match product.map(isize::try_from) {
        Some(Ok(_)) => Ok(()),
        _ => {
            Err(shape_error(format!("{shape:?} has more elements than {}; use smaller extents", isize::MAX)))
        }
    }
}

fn shape_error(message: String) -> Error {
    Error::new(ErrorKind::Shape, message)
}

#[cfg(test)]
mod tests {
    use super::model::{any_layout, offsets};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn span_is_the_range_of_offsets(layout in any_layout()) {
            let all = offsets(&layout);
            prop_assert_eq!(layout.span(), all.iter().min().copied().zip(all.iter().max().copied()));
            prop_assert_eq!(layout.numel(), all.len());
            prop_assert_eq!(layout.is_empty(), all.is_empty());
        }

        #[test]
        fn dense_and_contiguous_are_what_the_offsets_say(layout in any_layout()) {
            let mut all = offsets(&layout);
            let steps = |all: &[isize]| all.windows(2).all(|pair| pair[1] == pair[0] + 1);
            prop_assert_eq!(layout.is_contiguous(), steps(&all));
            all.sort_unstable();
            prop_assert_eq!(layout.is_dense(), steps(&all));
        }
    }

    #[test]
    fn contiguous_is_row_major() {
        let layout = Layout::contiguous(&[2, 3, 4]).unwrap();
        assert_eq!(layout.strides(), [12, 4, 1]);
        assert_eq!((layout.offset(), layout.rank(), layout.numel()), (0, 3, 24));
        assert_eq!(layout.span(), Some((0, 23)));
        assert!(layout.is_contiguous() && layout.is_dense());
    }

    #[test]
    fn span_follows_negative_strides_and_ignores_empty_layouts() {
        let span =
            |shape: &[usize], strides: &[isize], offset| Layout::new(shape, strides, offset).unwrap().span();
        assert_eq!(span(&[3, 4], &[-4, 1], 8), Some((0, 11)));
        assert_eq!(span(&[2, 5], &[0, 3], 1), Some((1, 13)));
        assert_eq!(span(&[], &[], 7), Some((7, 7)));
        assert_eq!(span(&[2, 0], &[1, 1], 7), None);
    }

    #[test]
    fn constructors_reject_what_does_not_fit() {
        let half = 1usize << 32;
        let message = |result: Result<Layout>| result.unwrap_err().to_string();
        assert!(message(Layout::contiguous(&[half, half])).contains("more elements"));
        assert!(message(Layout::contiguous(&[half, half, 0])).contains("more elements"));
        assert!(message(Layout::contiguous(&[1 << 63])).contains("more elements"));
        assert!(message(Layout::contiguous(&[1; 65])).contains("rank 65"));
        assert!(message(Layout::new(&[2, 3], &[1], 0)).contains("differ in rank"));
        assert!(message(Layout::new(&[2], &[1], isize::MAX)).contains("beyond the address space"));
        assert!(message(Layout::new(&[3], &[isize::MAX], 0)).contains("beyond the address space"));
        assert!(message(Layout::new(&[2, 2], &[isize::MIN, -1], 0)).contains("beyond the address space"));
        assert!(Layout::contiguous(&[1; 64]).is_ok());
        assert!(message(Layout::new(&[2], &[isize::MIN], 0)).contains("beyond the address space"));
        assert!(Layout::new(&[2], &[-isize::MAX], 0).is_ok());
        assert!(Layout::new(&[1, 0], &[isize::MIN, isize::MAX], isize::MAX).is_ok());
    }
}
