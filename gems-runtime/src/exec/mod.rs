//! Running calls: allocate outputs, refuse bad overlaps, plan, and hand the plan to a back end.
//!
//! Back ends decide nothing: the plan says how elements are found, converted and shared among threads.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod reduce;
mod transfer;

pub(crate) use reduce::sum_to;
pub use reduce::{SumBackEnd, SumCall, sum_to_on};
pub(crate) use transfer::{allocate, read, to_device, write, write_bytes, zero};

use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::{self, DType};
use crate::emit::{self, Packed};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Overlap, Region};
use crate::op::{OpDef, Operand};
use crate::plan::{self, Inference, Outputs, Placement, Plan, Source};
use smallvec::SmallVec;

/// The bytes of a number in some dtype, little endian.
pub type ValueBytes = [u8; 16];

/// Runs `op` into new buffers.
pub(crate) fn call(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
) -> Result<SmallVec<[StridedBuffer; 2]>> {
    call_on(launch, op, operands, dtype)
}

/// Runs `op` into new buffers, with another back end than the device's own.
///
/// # Errors
/// As [`Buffer::run`].
pub fn call_on(
    back_end: BackEnd,
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
) -> Result<SmallVec<[StridedBuffer; 2]>> {
    let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype })?;
    let outputs = inference.outputs.iter().map(StridedBuffer::allocate).collect::<Result<SmallVec<[_; 2]>>>();
    let outputs = outputs.map_err(|error| error.in_op(op.name))?;
    let inputs: SmallVec<[_; 8]> = operands.iter().map(Input::of).collect();
    run(back_end, op, &inference, &inputs, &outputs, Sharing::None).map_err(|error| error.in_op(op.name))?;
    Ok(outputs)
}

/// Runs `op` into existing buffers.
pub(crate) fn call_out(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &mut [&mut StridedBuffer],
) -> Result<()> {
    call_out_on(launch, op, operands, outputs)
}

/// Runs `op` into existing buffers, with another back end than the device's own.
///
/// # Errors
/// As [`Buffer::call_out`].
pub fn call_out_on(
    back_end: BackEnd,
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &mut [&mut StridedBuffer],
) -> Result<()> {
    let inference = {
        let given: SmallVec<[&Meta; 2]> = outputs.iter().map(|output| output.meta()).collect();
        plan::infer(op, &plan::arguments(operands), Outputs::Given(&given))?
    };
    write_into(back_end, op, &inference, operands, outputs).map_err(|error| error.in_op(op.name))
}

fn write_into(
    back_end: BackEnd,
    op: &'static OpDef,
    inference: &Inference,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &mut [&mut StridedBuffer],
) -> Result<()> {
    for (output, meta) in outputs.iter_mut().zip(&inference.outputs) {
        if output.shape() != meta.layout.shape() {
            output.replace(meta)?;
        }
    }
    let outputs: SmallVec<[StridedBuffer; 2]> = outputs.iter().map(|output| (*output).clone()).collect();
    check_outputs(op, &outputs)?;
    let mut sharing = Sharing::None;
    let mut inputs: SmallVec<[Input<'_>; 8]> = operands.iter().map(Input::of).collect();
    for (input, param) in inputs.iter_mut().zip(op.params) {
        for (output, def) in outputs.iter().zip(op.outputs) {
            let Some(buffer) = input.buffer() else { continue };
            match overlap(output, buffer) {
                Overlap::None => {}
                Overlap::Full => sharing = Sharing::SameElements,
                Overlap::Copy => *input = Input::Owned(transfer::copy_span(buffer)?),
                Overlap::Partial => {
                    let message = format!(
                        "output `{}` ({}) overlaps input `{}` ({}) partly; pass the same view for in-place, \
                         or a separate output",
                        def.name,
                        output.meta(),
                        param.name,
                        buffer.meta()
                    );
                    return Err(Error::new(ErrorKind::Overlap, message));
                }
            }
        }
    }
    run(back_end, op, inference, &inputs, &outputs, sharing)
}

/// Whether outputs share memory with inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// No byte is shared.
    None,
    /// Some output is the very same view as some input.
    SameElements,
}

/// An operand, or the copy that stands in for one.
#[derive(Debug)]
enum Input<'a> {
    Buffer(&'a StridedBuffer),
    Owned(StridedBuffer),
    Number,
}

impl<'a> Input<'a> {
    fn of(operand: &Operand<'a, StridedBuffer>) -> Input<'a> {
        match operand {
            Operand::Buffer(buffer) => Input::Buffer(buffer),
            Operand::Scalar(_) => Input::Number,
        }
    }

    fn buffer(&self) -> Option<&StridedBuffer> {
        match self {
            Input::Buffer(buffer) => Some(buffer),
            Input::Owned(buffer) => Some(buffer),
            Input::Number => None,
        }
    }
}

/// No output overlaps itself or another output.
fn check_outputs(op: &OpDef, outputs: &[StridedBuffer]) -> Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        let name = op.outputs[i].name;
        if layout::has_internal_overlap(&output.meta().layout) {
            let message = format!(
                "elements of output `{name}` ({}) share memory; give an output without overlap",
                output.meta()
            );
            return Err(Error::new(ErrorKind::Overlap, message));
        }
        for (other, def) in outputs.iter().zip(op.outputs).take(i) {
            if overlap(output, other) != Overlap::None {
                let message =
                    format!("outputs `{}` and `{name}` share memory; give separate outputs", def.name);
                return Err(Error::new(ErrorKind::Overlap, message));
            }
        }
    }
    Ok(())
}

fn overlap(output: &StridedBuffer, input: &StridedBuffer) -> Overlap {
    if output.device() != input.device() {
        return Overlap::None;
    }
    layout::overlap(region(output), region(input))
}

fn region(buffer: &StridedBuffer) -> Region<'_> {
    Region { address: buffer.address(), element_size: buffer.dtype().size(), layout: &buffer.meta().layout }
}

/// Plans and runs a call whose outputs exist and whose overlaps are fine.
fn run(
    back_end: BackEnd,
    op: &'static OpDef,
    inference: &Inference,
    inputs: &[Input<'_>],
    outputs: &[StridedBuffer],
    sharing: Sharing,
) -> Result<()> {
    if outputs.iter().all(|output| output.numel() == 0) {
        return Ok(());
    }
    let mut values: SmallVec<[ValueBytes; 8]> = SmallVec::new();
    let mut buffers: SmallVec<[Option<&StridedBuffer>; 8]> = SmallVec::new();
    for (input, given) in inference.inputs.iter().zip(inputs) {
        let (value, buffer) = match input.source {
            Source::Buffer { .. } => ([0; 16], given.buffer()),
            Source::Number(number) => (number.store(input.lane), None),
            Source::HostValue { stored, joined } => match given.buffer() {
                Some(buffer) => (host_value(buffer, [stored, joined, input.lane])?, None),
                None => ([0; 16], None),
            },
        };
        values.push(value);
        buffers.push(buffer);
    }
    let place = |buffer: &StridedBuffer| buffer.address();
    let placements: SmallVec<[Option<Placement<'_>>; 8]> = buffers
        .iter()
        .map(|buffer| buffer.map(|b| Placement { layout: &b.meta().layout, address: place(b) }))
        .collect();
    let output_placements: SmallVec<[Placement<'_>; 2]> =
        outputs.iter().map(|b| Placement { layout: &b.meta().layout, address: place(b) }).collect();
    let disjoint = sharing == Sharing::None;
    let plan = plan::schedule(op, inference, &placements, &output_placements, disjoint)?;
    back_end(&Call { plan: &plan, values: &values, inputs: &buffers, outputs })
}

/// What runs a planned call.
pub type BackEnd = fn(&Call<'_>) -> Result<()>;

/// The back end of the device that holds the outputs.
fn launch(call: &Call<'_>) -> Result<()> {
    match call.outputs.first().map_or(Device::Cpu, StridedBuffer::device) {
        Device::Cpu => cpu::run(call),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => cuda::run(call, ordinal),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(no_cuda()),
    }
}

/// A planned call with its operands.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The kernel and its arguments.
    pub plan: &'a Plan,
    /// One a parameter; meaningful where it is passed by value.
    pub values: &'a [ValueBytes],
    /// One a parameter; `None` where it is passed by value.
    pub inputs: &'a [Option<&'a StridedBuffer>],
    /// One an output.
    pub outputs: &'a [StridedBuffer],
}

impl Call<'_> {
    /// The arguments of the kernel, with the operands' addresses.
    #[must_use]
    pub fn pack(&self) -> Packed {
        let inputs: SmallVec<[u64; 8]> =
            self.inputs.iter().map(|buffer| buffer.map_or(0, StridedBuffer::address)).collect();
        let outputs: SmallVec<[u64; 2]> = self.outputs.iter().map(StridedBuffer::address).collect();
        emit::pack(&self.plan.spec, &self.plan.args, self.values, &inputs, &outputs)
    }
}

/// The element of a 0-d host buffer, converted step by step.
fn host_value(buffer: &StridedBuffer, chain: [DType; 3]) -> Result<ValueBytes> {
    let mut value = transfer::read_element(buffer)?;
    for pair in chain.windows(2) {
        value = dtype::convert_value(pair[0], value, pair[1]);
    }
    Ok(value)
}

#[cfg(not(feature = "cuda"))]
fn no_cuda() -> Error {
    Error::new(
        ErrorKind::Driver,
        "gems was built without CUDA; enable its feature `cuda`, or use Device::Cpu",
    )
}
