//! Everything that planning may know of a buffer: no pointer.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Extent, Layout};
use std::fmt;

/// Dtype, device and layout of a buffer.
#[derive(Clone)]
pub struct Meta<D: Extent = usize> {
    /// Element type.
    pub dtype: DType,
    /// Where the memory is or would be.
    pub device: Device,
    /// Shape, strides and offset, in elements.
    pub layout: Layout<D>,
}

impl Meta {
    /// Bytes from the beginning of the memory to the end of the highest element.
    ///
    /// # Errors
    /// `Shape` if there are more than the address space has.
    pub(crate) fn bytes(&self) -> Result<usize> {
        let elements = self.layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
        elements.checked_mul(self.dtype.size()).ok_or_else(|| {
            let message = format!("{elements} elements of {} overflow the address space", self.dtype);
            Error::new(ErrorKind::Shape, message)
        })
    }
}

impl<A: Extent, B: Extent> PartialEq<Meta<B>> for Meta<A>
where
    Layout<A>: PartialEq<Layout<B>>,
{
    fn eq(&self, other: &Meta<B>) -> bool {
        self.dtype == other.dtype && self.device == other.device && self.layout == other.layout
    }
}

impl<D: Extent> Eq for Meta<D> where Layout<D>: Eq {}

impl<D: Extent> fmt::Display for Meta<D> {
    /// `bf16[64, 256]`, with `@(1, 64)` behind it unless contiguous.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.layout.shape())?;
        if !self.layout.seen().is_contiguous() {
            let strides: Vec<_> = self.layout.strides().iter().map(|stride| format!("{stride:?}")).collect();
            write!(f, "@({})", strides.join(", "))?;
        }
        Ok(())
    }
}

impl<D: Extent> fmt::Debug for Meta<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} on {}", self.device)
    }
}
