//! Buffers whose every call is traced, fused and run, and must give the bits of the eager call.

use super::call::Call;
use super::case::Window;
use super::gradient::Order;
use super::reverse;
use super::subject::{Stop, Subject, same};
use crate::elements::Elements;
use gems_ops::buffer::{Buffer, Meta, StridedBuffer, SymbolicBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::DType;
use gems_ops::error::Result;
use gems_ops::layout::Layout;
use gems_ops::op::{OpDef, Operand};
use gems_ops::trace::{Options, trace};
use smallvec::SmallVec;

/// A buffer with memory whose calls go through a trace.
#[derive(Clone, Debug)]
pub(super) struct TracedBuffer(pub(super) StridedBuffer);

impl Buffer for TracedBuffer {
    type Size = usize;

    fn meta(&self) -> &Meta {
        self.0.meta()
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn with_layout(&self, layout: Layout) -> Result<Self> {
        self.0.with_layout(layout).map(TracedBuffer)
    }

    fn unset(&self, layout: Layout) -> Result<Self> {
        self.0.unset(layout).map(TracedBuffer)
    }

    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[Self; 2]>> {
        let eager = StridedBuffer::run(op, &plain(operands), dtype)?;
        let inputs = buffers(operands);
        let form = trace(&inputs, Options::default(), |inputs| {
            Ok(SymbolicBuffer::run(op, &symbolic(operands, &inputs), dtype)?.into_vec())
        });
        let form = match form {
            // With numbers alone there is nothing to trace.
            Err(_) if inputs.is_empty() => return Ok(eager.into_iter().map(TracedBuffer).collect()),
            form => form?,
        };
        // The second run finds what the first one planned.
        for _ in 0..2 {
            for (eager, traced) in eager.iter().zip(&form.run(&inputs)?) {
                same(op, ["traced", "eager"], traced, eager)?;
            }
        }
        Ok(eager.into_iter().map(TracedBuffer).collect())
    }

    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()> {
        let inputs = buffers(operands);
        let n_inputs = inputs.len();
        let targets: Vec<StridedBuffer> = outputs.iter().map(|output| output.0.clone()).collect();
        let all: Vec<&StridedBuffer> = inputs.into_iter().chain(&targets).collect();
        let form = trace(&all, Options::default(), |traced| {
            let (inputs, targets) = traced.split_at(n_inputs);
            let mut targets = targets.to_vec();
            let mut given: Vec<&mut SymbolicBuffer> = targets.iter_mut().collect();
            SymbolicBuffer::call_out(op, &symbolic(operands, inputs), &mut given)?;
            Ok(targets)
        })?;
        for (output, result) in outputs.iter_mut().zip(form.run(&all)?) {
            output.0 = result;
        }
        Ok(())
    }

    fn zeros_like(&self) -> Result<Self> {
        self.0.zeros_like().map(TracedBuffer)
    }

    fn sum_like(&self, like: &Self) -> Result<Self> {
        self.0.sum_like(&like.0).map(TracedBuffer)
    }
}

fn plain<'a>(operands: &[Operand<'a, TracedBuffer>]) -> Vec<Operand<'a, StridedBuffer>> {
    let plain = |operand: &Operand<'a, TracedBuffer>| match operand {
        Operand::Buffer(buffer) => Operand::Buffer(&buffer.0),
        Operand::Scalar(number) => Operand::Scalar(*number),
    };
    operands.iter().map(plain).collect()
}

fn buffers<'a>(operands: &[Operand<'a, TracedBuffer>]) -> Vec<&'a StridedBuffer> {
    let buffer = |operand: &Operand<'a, TracedBuffer>| match operand {
        Operand::Buffer(buffer) => Some(&buffer.0),
        Operand::Scalar(_) => None,
    };
    operands.iter().filter_map(buffer).collect()
}

/// The operands with traced buffers in place of the real ones.
fn symbolic<'a>(
    operands: &[Operand<'_, TracedBuffer>],
    inputs: &'a [SymbolicBuffer],
) -> Vec<Operand<'a, SymbolicBuffer>> {
    let mut inputs = inputs.iter();
    operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Buffer(_) => inputs.next().map(Operand::Buffer),
            Operand::Scalar(number) => Some(Operand::Scalar(*number)),
        })
        .collect()
}

impl Subject for TracedBuffer {
    const HAS_VALUES: bool = true;

    fn checked_run(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<SmallVec<[Self; 2]>> {
        Self::run(op, operands, None)
    }

    fn place(window: &Window, device: Device) -> Result<Self> {
        StridedBuffer::place(window, device).map(TracedBuffer)
    }

    fn zeros(dtype: DType, shape: &[usize], device: Device) -> Result<Self> {
        StridedBuffer::zeros(dtype, shape, device).map(TracedBuffer)
    }

    fn plain(&self) -> Result<Meta> {
        self.0.plain()
    }

    fn viewed(&self, layout: &Layout) -> Result<Self> {
        self.0.viewed(layout).map(TracedBuffer)
    }

    fn parts(&self, imaginary: bool) -> Result<Self> {
        self.0.parts(imaginary).map(TracedBuffer)
    }

    fn elements(&self) -> Result<Option<Elements>> {
        self.0.elements()
    }

    fn gradients(
        call: &Call<StridedBuffer>,
        cotangent: &StridedBuffer,
        order: Order,
    ) -> Result<Vec<Option<StridedBuffer>>, Stop> {
        reverse::gradients(call, cotangent, order)
    }
}
