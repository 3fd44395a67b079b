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
    /// Bytes from the beginning of memory of its own to the end of the highest element.
    ///
    /// # Errors
    /// `Shape` if an element lies in front of the memory, or if the address space has fewer bytes.
    pub(crate) fn bytes(&self) -> Result<usize> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Shape, message));
        if self.layout.is_empty() {
            return Ok(0);
        }
        let Some((0.., high)) = self.layout.span() else {
            return refuse(format!(
                "an element of {self} from offset {} lies in front of its memory; begin at a greater offset",
                self.layout.offset()
            ));
        };
        let elements = high.unsigned_abs() + 1;
        match elements.checked_mul(self.dtype.size()) {
            Some(bytes) => Ok(bytes),
            None => refuse(format!("{elements} elements of {} overflow the address space", self.dtype)),
        }
    }

    /// Bytes from the beginning of the memory to the element with all indices 0, which may not be there: then they wrap.
    pub(crate) const fn offset_bytes(&self) -> isize {
        self.layout.offset().wrapping_mul(self.dtype.size().cast_signed())
    }
}

impl<D: Extent> Meta<D> {
    /// The same at the sizes seen, asking nothing.
    pub(crate) fn seen(&self) -> Meta {
        Meta { dtype: self.dtype, device: self.device, layout: self.layout.seen() }
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
