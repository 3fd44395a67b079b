//! Everything that planning may know of a buffer: no pointer.

use crate::device::Device;
use crate::dtype::DType;
use crate::layout::Layout;
use std::fmt;

/// Dtype, device and layout of a buffer.
#[derive(Clone, PartialEq, Eq)]
pub struct Meta {
    /// Element type.
    pub dtype: DType,
    /// Where the memory is or would be.
    pub device: Device,
    /// Shape, strides and offset, in elements.
    pub layout: Layout,
}

impl fmt::Display for Meta {
    /// `bf16[64, 256]`, with `@(1, 64)` behind it unless contiguous.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.layout.shape())?;
        if !self.layout.is_contiguous() {
            let strides: Vec<_> = self.layout.strides().iter().map(ToString::to_string).collect();
            write!(f, "@({})", strides.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} on {}", self.device)
    }
}
