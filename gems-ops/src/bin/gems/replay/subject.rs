//! What replay needs of a buffer, with memory or without.

use super::call::Call;
use super::case::Window;
use super::gradient::{self, Order};
use super::report::Verdict;
use crate::elements::Elements;
use gems_ops::buffer::{Buffer, Meta, StridedBuffer, SymbolicBuffer};
use gems_ops::complex::{imag_view, real_view};
use gems_ops::device::Device;
use gems_ops::dtype::DType;
use gems_ops::error::{Error, ErrorKind, Result};
use gems_ops::layout::Layout;
use gems_ops::op::{OpDef, Operand};
use smallvec::SmallVec;

/// A kind of buffer that cases can be replayed with.
pub(super) trait Subject: Buffer {
    /// Whether there are values to compare.
    const HAS_VALUES: bool;

    /// The window's view, on the device.
    fn place(window: &Window, device: Device) -> Result<Self>;

    /// Runs a call into new buffers, in every way that such buffers have.
    fn checked_run(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<SmallVec<[Self; 2]>>;

    /// A contiguous buffer of zeros.
    fn zeros(dtype: DType, shape: &[usize], device: Device) -> Result<Self>;

    /// The description in plain numbers.
    fn plain(&self) -> Result<Meta>;

    /// A view of the same memory under another layout.
    fn viewed(&self, layout: &Layout) -> Result<Self>;

    /// The real or imaginary parts of a complex buffer in place.
    fn parts(&self, imaginary: bool) -> Result<Self>;

    /// The values, if there are any.
    fn elements(&self) -> Result<Option<Elements>>;

    /// The gradients of a call's positional arguments from that of its first result.
    fn gradients(
        call: &Call<StridedBuffer>,
        cotangent: &StridedBuffer,
        order: Order,
    ) -> Result<Vec<Option<StridedBuffer>>, Stop>;
}

impl Subject for StridedBuffer {
    const HAS_VALUES: bool = true;

    fn place(window: &Window, device: Device) -> Result<Self> {
        // As bytes, so that no value is touched on the way.
        let raw = StridedBuffer::from_slice(&window.bytes, &[window.bytes.len()])?.to_device(device)?;
        StridedBuffer::from_storage(raw.storage().clone(), window.dtype, window.layout.clone())
    }

    /// The second call finds what the first one planned.
    fn checked_run(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<SmallVec<[Self; 2]>> {
        let first = StridedBuffer::run(op, operands, None)?;
        let second = StridedBuffer::run(op, operands, None)?;
        for (first, second) in first.iter().zip(&second) {
            same(op, ["the second call", "the first"], second, first)?;
        }
        Ok(first)
    }

    fn zeros(dtype: DType, shape: &[usize], device: Device) -> Result<Self> {
        StridedBuffer::zeros(dtype, shape, device)
    }

    fn plain(&self) -> Result<Meta> {
        Ok(self.meta().clone())
    }

    fn viewed(&self, layout: &Layout) -> Result<Self> {
        self.as_strided(layout.shape(), layout.strides(), layout.offset())
    }

    fn parts(&self, imaginary: bool) -> Result<Self> {
        if imaginary { imag_view(self) } else { real_view(self) }
    }

    fn elements(&self) -> Result<Option<Elements>> {
        Elements::of(self).map(Some)
    }

    fn gradients(
        call: &Call<StridedBuffer>,
        cotangent: &StridedBuffer,
        order: Order,
    ) -> Result<Vec<Option<StridedBuffer>>, Stop> {
        gradient::eager(call, cotangent, order)
    }
}

/// The first of two named results has the description and the values of the second.
pub(super) fn same(
    op: &OpDef,
    [name, other]: [&str; 2],
    result: &StridedBuffer,
    expected: &StridedBuffer,
) -> Result<()> {
    let differs = |what: String| {
        Err(Error::new(ErrorKind::Value, format!("{name} differs from {other}: {what}")).in_op(op.name))
    };
    let (described, wanted) = (result.meta().to_string(), expected.meta().to_string());
    if described != wanted {
        return differs(format!("got {described}, expected {wanted}"));
    }
    let (got, want) = (Elements::of(result)?, Elements::of(expected)?);
    match (0..got.count()).find(|&i| !got.value(i).is_same(want.value(i))) {
        Some(i) => differs(format!("element {i}: got {}, expected {}", got.value(i), want.value(i))),
        None => Ok(()),
    }
}

impl Subject for SymbolicBuffer {
    const HAS_VALUES: bool = false;

    fn checked_run(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<SmallVec<[Self; 2]>> {
        SymbolicBuffer::run(op, operands, None)
    }

    fn place(window: &Window, device: Device) -> Result<Self> {
        Ok(symbolic(window.dtype, window.layout.clone(), device))
    }

    fn zeros(dtype: DType, shape: &[usize], device: Device) -> Result<Self> {
        SymbolicBuffer::new(dtype, shape, device)
    }

    fn plain(&self) -> Result<Meta> {
        let layout = Layout::new(self.shape(), self.strides(), 0)?;
        Ok(Meta { dtype: self.dtype(), device: self.device(), layout })
    }

    fn viewed(&self, layout: &Layout) -> Result<Self> {
        Ok(symbolic(self.dtype(), layout.clone(), self.device()))
    }

    fn parts(&self, imaginary: bool) -> Result<Self> {
        let strides: Vec<isize> = self.strides().iter().map(|step| 2 * step).collect();
        let layout = Layout::new(self.shape(), &strides, isize::from(imaginary))?;
        Ok(symbolic(self.dtype().real(), layout, self.device()))
    }

    fn elements(&self) -> Result<Option<Elements>> {
        Ok(None)
    }

    fn gradients(
        _: &Call<StridedBuffer>,
        _: &StridedBuffer,
        _: Order,
    ) -> Result<Vec<Option<StridedBuffer>>, Stop> {
        Err(Verdict::Unsupported("gradients are compared with memory only".into()).into())
    }
}

/// A buffer without memory of this layout.
pub(super) fn symbolic(dtype: DType, layout: Layout, device: Device) -> SymbolicBuffer {
    SymbolicBuffer::with_meta(Meta { dtype, device, layout })
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Stop {
    /// The library refused the call, as it must for bad operands.
    Refused(Error),
    /// There is nothing to judge.
    Verdict(Verdict),
}

impl From<Verdict> for Stop {
    fn from(verdict: Verdict) -> Stop {
        Stop::Verdict(verdict)
    }
}

impl Stop {
    /// What became of a call that the library did not run.
    pub(super) fn of_call<B: Buffer>(error: Error, call: &Call<B>) -> Stop {
        match error.kind() {
            ErrorKind::Unsupported => Stop::Verdict(Verdict::Unsupported(error.to_string())),
            ErrorKind::DType if !call.takes_dtypes() => {
                Stop::Verdict(Verdict::Unsupported(error.to_string()))
            }
            _ => Stop::of(error),
        }
    }

    /// What became of something else that the library refused, or that the machine could not do.
    pub(super) fn of(error: Error) -> Stop {
        match error.kind() {
            ErrorKind::Shape
            | ErrorKind::DType
            | ErrorKind::Value
            | ErrorKind::Overlap
            | ErrorKind::Device => Stop::Refused(error),
            _ => Stop::Verdict(Verdict::Failed(error.to_string())),
        }
    }

    /// The verdict on a case that expects results.
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Stop::Refused(error) => Verdict::Failed(format!("refused: {error}")),
            Stop::Verdict(verdict) => verdict,
        }
    }
}
