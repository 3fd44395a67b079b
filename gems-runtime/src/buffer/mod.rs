//! Buffers: a dtype and a strided layout on a device, with memory behind it or without.

mod display;
mod meta;
mod storage;
mod strided;
mod symbolic;
mod views;

pub use meta::Meta;
pub(crate) use storage::HostMemory;
pub use storage::Storage;
pub use strided::StridedBuffer;
pub use symbolic::SymbolicBuffer;
pub use views::Views;

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Layout;
use crate::op::{OpDef, Operand};
use smallvec::SmallVec;

/// What ops and views need of a buffer.
///
/// Ops are generic over this trait, so a function of buffers runs eagerly on [`StridedBuffer`] and without memory on
/// [`SymbolicBuffer`]. There is no way from here to a pointer.
pub trait Buffer: Clone + Sized + std::fmt::Debug {
    /// Dtype, device, shape and strides.
    fn meta(&self) -> &Meta;

    /// The same memory under another layout; layouts come from the view methods, which check them.
    #[doc(hidden)]
    fn with_layout(&self, layout: Layout) -> Self;

    /// Runs or records an op; one operand a parameter of `op`, one buffer a result.
    ///
    /// `dtype` is the dtype of new results where the caller chooses it, as in a conversion.
    ///
    /// # Errors
    /// Operands that do not broadcast, promote or share a device; a device that fails.
    #[doc(hidden)]
    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[Self; 2]>>;

    /// [`Buffer::run`] for a known number of results.
    ///
    /// # Errors
    /// As `run`.
    #[doc(hidden)]
    fn call<const N: usize>(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<[Self; N]> {
        let outputs = Self::run(op, operands, None)?.into_vec();
        let count = outputs.len();
        <[Self; N]>::try_from(outputs).map_err(|_| {
            let message = format!("gives {count} results, {N} were asked for");
            Error::new(ErrorKind::Value, message).in_op(op.name)
        })
    }

    /// The same into existing buffers.
    ///
    /// # Errors
    /// As `call`; outputs of another shape, that cannot take the result's dtype, or that overlap an input partly.
    #[doc(hidden)]
    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()>;

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// `Memory`; `Driver`.
    #[doc(hidden)]
    fn zeros_like(meta: &Meta) -> Result<Self>;

    /// The sums over the axes along which `shape` is broadcast to this buffer, in a dtype; a sum of nothing is 0.
    ///
    /// Sums are made in f64, or in complex f64, in an order that depends on layouts only, and rounded once.
    ///
    /// # Errors
    /// `Shape` if `shape` does not broadcast to this buffer's; `DType` unless both dtypes are floats or complex;
    /// `Memory`; `Driver`.
    #[doc(hidden)]
    fn sum_to(&self, shape: &[usize], dtype: DType) -> Result<Self>;
}
