//! A buffer without memory: what a call would give, before there is anything to compute.
//!
//! **Invariant:** there is no pointer in this type and no way to get one; asking it for data does not compile.

use crate::buffer::{Buffer, Meta};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::layout::Layout;
use crate::op::{OpDef, Operand};
use crate::plan::{self, Outputs};
use smallvec::SmallVec;
use std::fmt;

/// Dtype, device and layout of a buffer that need not exist.
///
/// Ops on it infer the dtype, shape and strides that the same call on [`StridedBuffer`](crate::buffer::StridedBuffer)s
/// gives, through the same code.
#[derive(Clone, PartialEq, Eq)]
pub struct SymbolicBuffer {
    meta: Meta,
}

impl SymbolicBuffer {
    /// A contiguous buffer.
    ///
    /// # Errors
    /// `Shape` if the number of elements overflows.
    pub fn new(dtype: DType, shape: &[usize], device: Device) -> Result<SymbolicBuffer> {
        Ok(SymbolicBuffer { meta: Meta { dtype, device, layout: Layout::contiguous(shape)? } })
    }

    /// A buffer of any layout.
    #[must_use]
    pub fn with_meta(meta: Meta) -> SymbolicBuffer {
        SymbolicBuffer { meta }
    }

    /// The description of an existing buffer.
    #[must_use]
    pub fn like(buffer: &impl Buffer) -> SymbolicBuffer {
        SymbolicBuffer { meta: buffer.meta().clone() }
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.meta.dtype
    }

    /// Where the memory would be.
    #[must_use]
    pub fn device(&self) -> Device {
        self.meta.device
    }

    /// Extents, outermost first, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.meta.layout.shape()
    }

    /// Step of each axis in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.meta.layout.strides()
    }

    /// Number of elements.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.meta.layout.numel()
    }
}

impl Buffer for SymbolicBuffer {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn with_layout(&self, layout: Layout) -> Self {
        SymbolicBuffer { meta: Meta { layout, ..self.meta.clone() } }
    }

    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[Self; 2]>> {
        let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype })?;
        Ok(inference.outputs.into_iter().map(|meta| SymbolicBuffer { meta }).collect())
    }

    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()> {
        let inference = {
            let given: SmallVec<[&Meta; 2]> = outputs.iter().map(|output| &output.meta).collect();
            plan::infer(op, &plan::arguments(operands), Outputs::Given(&given))?
        };
        for (output, meta) in outputs.iter_mut().zip(inference.outputs) {
            output.meta = meta;
        }
        Ok(())
    }

    fn zeros_like(meta: &Meta) -> Result<Self> {
        SymbolicBuffer::new(meta.dtype, meta.layout.shape(), meta.device)
    }

    fn sum_to(&self, shape: &[usize], dtype: DType) -> Result<Self> {
        plan::infer_sum(&self.meta, shape, dtype).map(|meta| SymbolicBuffer { meta })
    }
}

impl fmt::Display for SymbolicBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.meta)
    }
}

impl fmt::Debug for SymbolicBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "symbolic {:?}", self.meta)
    }
}
