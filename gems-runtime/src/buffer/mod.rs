//! Buffers: a dtype and a strided layout on a device, with memory behind it or without.

mod display;
mod meta;
mod storage;
mod strided;
mod symbolic;
mod views;

pub use meta::Meta;
pub use storage::Storage;
pub(crate) use storage::{HostMemory, trim_host};
pub use strided::StridedBuffer;
pub use symbolic::SymbolicBuffer;
pub use views::Views;

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Extent, Layout};
use crate::op::{OpDef, Operand};
use smallvec::SmallVec;

/// What ops and views need of a buffer.
///
/// Ops are generic over this trait, so a function of buffers runs eagerly on [`StridedBuffer`] and without memory on
/// [`SymbolicBuffer`]. There is no way from here to a pointer.
pub trait Buffer: Clone + Sized + std::fmt::Debug {
    /// What sizes are: numbers, or [`Dim`](crate::trace::Dim)s that a trace leaves open.
    type Size: Extent;

    /// Dtype, device, shape and strides.
    fn meta(&self) -> &Meta<Self::Size>;

    /// Extents as numbers, outermost first, in elements.
    ///
    /// A trace that reads them holds only for them: open sizes get a guard. [`Buffer::dims`] leaves them open.
    fn shape(&self) -> &[usize];

    /// Extents, outermost first, in elements.
    fn dims(&self) -> &[Self::Size] {
        self.meta().layout.shape()
    }

    /// The same memory under another layout.
    ///
    /// # Errors
    /// `Shape` if the layout leaves the memory; those of the view methods do not.
    #[doc(hidden)]
    fn with_layout(&self, layout: Layout<Self::Size>) -> Result<Self>;

    /// A buffer of this dtype and device in memory of its own, under a layout that begins at offset 0, with elements that
    /// are not set.
    ///
    /// # Errors
    /// `Memory`; `Driver`.
    #[doc(hidden)]
    fn unset(&self, layout: Layout<Self::Size>) -> Result<Self>;

    /// An answer of the layout, unless it needed a guard that could not be made.
    ///
    /// # Errors
    /// The answer's own, or a refused guard.
    #[doc(hidden)]
    fn settled<T>(&self, answer: Result<T>) -> Result<T> {
        answer
    }

    /// Runs a part of a call of `op`, so that guards name the op and its operands; `others` are the other buffers of it.
    ///
    /// # Errors
    /// Its own, or a refused guard.
    #[doc(hidden)]
    fn within<T>(
        _op: &'static OpDef,
        _operands: &[Operand<'_, Self>],
        _others: &[&Self],
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        run()
    }

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

    /// [`Buffer::run`] for an op of which only some results are wanted.
    ///
    /// # Errors
    /// As `run`.
    #[doc(hidden)]
    fn run_some(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
        wanted: &[bool],
    ) -> Result<SmallVec<[Option<Self>; 2]>> {
        let results = Self::run(op, operands, dtype)?;
        Ok(results.into_iter().zip(wanted).map(|(result, wanted)| wanted.then_some(result)).collect())
    }

    /// [`Buffer::run`] for a known number of results.
    ///
    /// # Errors
    /// As `run`.
    #[doc(hidden)]
    fn call<const N: usize>(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<[Self; N]> {
        array(op, Self::run(op, operands, None)?)
    }

    /// The same into existing buffers.
    ///
    /// # Errors
    /// As `call`; outputs of another shape, that cannot take the result's dtype, or that overlap an input partly.
    #[doc(hidden)]
    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()>;

    /// Zeros of this buffer's shape and dtype.
    ///
    /// # Errors
    /// `Memory`; `Driver`.
    #[doc(hidden)]
    fn zeros_like(&self) -> Result<Self>;

    /// The sums over the axes along which `like` is broadcast to this buffer, in its dtype; a sum of nothing is 0.
    ///
    /// Sums are made in f64, or in complex f64, in an order that depends on layouts only, and rounded once.
    ///
    /// # Errors
    /// `Shape` if `like` does not broadcast to this buffer; `DType` unless both are floats or complex; `Memory`;
    /// `Driver`.
    #[doc(hidden)]
    fn sum_like(&self, like: &Self) -> Result<Self>;
}

/// The results of a call, whose number is known.
pub(crate) fn array<B, A: smallvec::Array<Item = B>, const N: usize>(
    op: &OpDef,
    outputs: SmallVec<A>,
) -> Result<[B; N]> {
    if outputs.len() != N {
        let message = format!("gives {} results, {N} were asked for", outputs.len());
        return Err(Error::new(ErrorKind::Value, message).in_op(op.name));
    }
    let mut outputs = outputs.into_iter();
    Ok(std::array::from_fn(|_| outputs.next().unwrap_or_else(|| unreachable!("there are {N} results"))))
}
