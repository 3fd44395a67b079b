//! Running calls: allocate outputs, refuse bad overlaps, plan, and hand the plan to a back end.
//!
//! Back ends decide nothing: the plan says how elements are found, converted and shared among threads.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod fused;
mod partial;
mod planned;
mod prepared;
mod ready;
mod reduce;
mod replay;
mod table;
mod threads;
mod transfer;

#[cfg(feature = "cuda")]
pub use cuda::copy_to_memory;
pub(crate) use fused::{Fused, plan_fused, run_fused};
pub(crate) use partial::call_some;
pub use prepared::Prepared;
pub use reduce::{BackEnds, SumBackEnd, SumCall, sum_to, sum_to_on};
pub(crate) use reduce::{plan_sum, sum_into};
pub(crate) use replay::{Place, Replay, Results, Step, Work, describe_replay, replay};
pub(crate) use table::Key;
pub use transfer::trim;
pub(crate) use transfer::{allocate, copy_span, read, to_device, write, write_bytes, zero};

use crate::buffer::{self, Buffer, Meta, StridedBuffer};
use crate::compile::{Arch, Binary};
use crate::device::Device;
use crate::dtype::{self, DType, Scalar};
use crate::emit::{self, Packed};
use crate::error::Result;
#[cfg(not(feature = "cuda"))]
use crate::error::{Error, ErrorKind};
use crate::layout::Overlap;
use crate::op::{OpDef, Operand};
use crate::plan::policy::Machine;
use crate::plan::{self, Inference, Outputs, Placed, Placement, Plan, Source};
use smallvec::SmallVec;

/// The bytes of a number in some dtype, little endian.
pub type ValueBytes = [u8; 16];

/// Runs `op` into new buffers.
pub(crate) fn call(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
) -> Result<SmallVec<[StridedBuffer; 2]>> {
    let mut key = Key::default();
    let key = ready::describe(&mut key, op, operands, dtype, &[]).then_some(&key);
    let result = match key.and_then(|key| ready::call(key, operands)) {
        Some(result) => result,
        None => call_first(launch, op, operands, dtype, key),
    };
    result.map_err(|error| error.in_op(op.name))
}

/// As [`call`], for a number of results that is known.
pub(crate) fn call_array<const N: usize>(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
) -> Result<[StridedBuffer; N]> {
    let mut key = Key::default();
    let key = ready::describe(&mut key, op, operands, None, &[]).then_some(&key);
    match key.and_then(|key| ready::call::<N>(key, operands)) {
        // One move of all results, where there are as many as were asked for.
        Some(Ok(outputs)) => outputs.into_inner().or_else(|outputs| buffer::array(op, outputs)),
        Some(Err(error)) => Err(error.in_op(op.name)),
        None => match call_first(launch, op, operands, None, key) {
            Ok(outputs) => buffer::array(op, outputs),
            Err(error) => Err(error.in_op(op.name)),
        },
    }
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
    call_first(back_end, op, operands, dtype, None).map_err(|error| error.in_op(op.name))
}

/// The long way of a call; keeps the plan under `key`.
fn call_first(
    back_end: BackEnd,
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
    key: Option<&Key>,
) -> Result<SmallVec<[StridedBuffer; 2]>> {
    let arguments = plan::arguments(operands);
    let op = op.form(&arguments);
    let inference = plan::infer(op, &arguments, Outputs::New { dtype })?;
    let outputs =
        inference.outputs.iter().map(StridedBuffer::allocate).collect::<Result<SmallVec<[_; 2]>>>()?;
    let inputs: SmallVec<[_; 8]> = operands.iter().map(Input::of).collect();
    {
        let outputs = ready::references(&outputs);
        let plan = run(back_end, op, &inference, &inputs, &outputs, Sharing::None)?;
        keep(key.filter(|_| are_as_given(&inference, operands)), operands, plan, &outputs);
    }
    Ok(outputs)
}

/// Whether each number is passed as it was given: a planned call takes numbers from its operands, and planning replaces
/// those that an integer cannot hold.
fn are_as_given(inference: &Inference, operands: &[Operand<'_, StridedBuffer>]) -> bool {
    let is_as_given =
        |(input, operand): (&plan::Input, &Operand<'_, StridedBuffer>)| match (input.source, operand) {
            (Source::Number(planned), Operand::Scalar(given)) => {
                matches!(given, Scalar::F64(_) | Scalar::C128(_)) || planned == *given
            }
            _ => true,
        };
    inference.inputs.iter().zip(operands).all(is_as_given)
}

/// Keeps the plan of a call for the next one of its kind.
fn keep(
    key: Option<&Key>,
    operands: &[Operand<'_, StridedBuffer>],
    plan: Option<Plan>,
    outputs: &[&StridedBuffer],
) {
    if let (Some(key), Some(plan)) = (key, plan)
        && let Some(ready) = ready::Ready::new(operands, plan, outputs)
    {
        ready::keep(ready, key);
    }
}

/// Runs `op` into existing buffers.
pub(crate) fn call_out(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &mut [&mut StridedBuffer],
) -> Result<()> {
    let mut key = Key::default();
    let usable;
    let done = {
        let given: SmallVec<[&StridedBuffer; 2]> = outputs.iter().map(|output| &**output).collect();
        usable = ready::describe(&mut key, op, operands, None, &given);
        usable.then(|| ready::call_out(&key, operands, &given)).flatten()
    };
    let result = match done {
        Some(result) => result,
        None => call_out_first(launch, op, operands, outputs, usable.then_some(&key)),
    };
    result.map_err(|error| error.in_op(op.name))
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
    call_out_first(back_end, op, operands, outputs, None).map_err(|error| error.in_op(op.name))
}

/// The long way of a call into existing buffers; keeps the plan under `key`.
fn call_out_first(
    back_end: BackEnd,
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &mut [&mut StridedBuffer],
    mut key: Option<&Key>,
) -> Result<()> {
    let arguments = plan::arguments(operands);
    let op = op.form(&arguments);
    let inference = {
        let given: SmallVec<[&Meta; 2]> = outputs.iter().map(|output| output.meta()).collect();
        plan::infer(op, &arguments, Outputs::Given(&given))?
    };
    // An empty output of another shape becomes new memory, if the call succeeds.
    let targets = outputs.iter().zip(&inference.outputs).map(|(output, meta)| {
        if output.shape() == meta.layout.shape() {
            return Ok(StridedBuffer::clone(output));
        }
        // The key is that of the empty buffer.
        key = None;
        StridedBuffer::allocate(meta)
    });
    let targets = targets.collect::<Result<SmallVec<[_; 2]>>>()?;
    plan::check_outputs(
        op,
        &targets.iter().map(|target| Some(placed(target))).collect::<SmallVec<[_; 2]>>(),
    )?;
    let mut sharing = Sharing::None;
    let mut inputs: SmallVec<[Input<'_>; 8]> = operands.iter().map(Input::of).collect();
    for (i, input) in inputs.iter_mut().enumerate() {
        for (o, target) in targets.iter().enumerate() {
            let Some(buffer) = input.buffer() else { continue };
            match plan::sharing(op, (o, placed(target)), (i, placed(buffer)))? {
                Overlap::None | Overlap::Partial => {}
                Overlap::Full => sharing = Sharing::SameElements,
                Overlap::Copy => {
                    *input = Input::Owned(copy_span(buffer)?);
                    key = None;
                }
            }
        }
    }
    {
        let targets = ready::references(&targets);
        let plan = run(back_end, op, &inference, &inputs, &targets, sharing)?;
        keep(key.filter(|_| are_as_given(&inference, operands)), operands, plan, &targets);
    }
    for (output, target) in outputs.iter_mut().zip(targets) {
        **output = target;
    }
    Ok(())
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

fn placed(buffer: &StridedBuffer) -> Placed<'_> {
    let space = match buffer.device() {
        Device::Cpu => 0,
        Device::Cuda(ordinal) => ordinal as usize + 1,
    };
    Placed { meta: buffer.meta(), space, address: buffer.address() }
}

/// Plans and runs a call whose outputs exist and whose overlaps are fine; gives the plan unless there is no element.
fn run(
    back_end: BackEnd,
    op: &'static OpDef,
    inference: &Inference,
    inputs: &[Input<'_>],
    outputs: &[&StridedBuffer],
    sharing: Sharing,
) -> Result<Option<Plan>> {
    if outputs.iter().all(|output| output.numel() == 0) {
        return Ok(None);
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
    let placements: SmallVec<[Option<Placement<'_>>; 8]> =
        buffers.iter().map(|buffer| buffer.map(place)).collect();
    let output_placements: SmallVec<[Placement<'_>; 2]> =
        outputs.iter().map(|output| place(output)).collect();
    let disjoint = sharing == Sharing::None;
    let machine = machine(inference.device)?;
    let plan = plan::schedule(&machine, op, inference, &placements, &output_placements, disjoint)?;
    back_end(&Call { plan: &plan, values: &values, inputs: &buffers, outputs })?;
    Ok(Some(plan))
}

/// Where a buffer lies.
fn place(buffer: &StridedBuffer) -> Placement<'_> {
    Placement { layout: &buffer.meta().layout, address: buffer.address() }
}

/// Makes the kernels of these plans ready on a device, several at a time, so that first calls need not wait for a
/// compiler. Plans come from [`plan::preview`]; the CPU needs none.
///
/// # Errors
/// The first kernel that cannot be compiled or loaded; the others are ready all the same.
pub fn warm(device: Device, plans: &[Plan]) -> Result<()> {
    match device {
        Device::Cpu => Ok(()),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => cuda::warm(ordinal, plans),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => {
            Err(no_cuda()).inspect_err(|_| tracing::debug!("{} plans not made ready", plans.len()))
        }
    }
}

/// The binary of a kernel for a GPU, with its architecture; none for the CPU.
pub(crate) fn binary(device: Device, source: &emit::Source) -> Result<Option<(Arch, Binary)>> {
    match device {
        Device::Cpu => Ok(None),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => cuda::binary(ordinal, source).map(Some),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(no_cuda().in_op(&source.entry)),
    }
}

/// What planning needs to know of a device.
pub(crate) fn machine(device: Device) -> Result<Machine> {
    match device {
        Device::Cpu => Ok(Machine::default()),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => cuda::machine(ordinal),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(no_cuda()),
    }
}

/// What runs a planned call.
pub type BackEnd = fn(&Call<'_>) -> Result<()>;

/// The back end of the device that holds the outputs.
fn launch(call: &Call<'_>) -> Result<()> {
    match call.outputs.first().map_or(Device::Cpu, |output| output.device()) {
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
    pub outputs: &'a [&'a StridedBuffer],
}

impl Call<'_> {
    /// The arguments of the kernel, with the operands' addresses.
    #[must_use]
    pub fn pack(&self) -> Packed {
        let inputs: SmallVec<[u64; 8]> =
            self.inputs.iter().map(|buffer| buffer.map_or(0, StridedBuffer::address)).collect();
        let outputs: SmallVec<[u64; 2]> = self.outputs.iter().map(|output| output.address()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::op::BUILTIN;

    #[test]
    fn a_failed_call_leaves_an_empty_output_as_it_was() {
        let x = StridedBuffer::from_vec(vec![1.0_f32, 2.0], &[2]).unwrap();
        let mut out = StridedBuffer::zeros(DType::F32, &[0], Device::Cpu).unwrap();
        let mut call = |back_end| {
            let op = BUILTIN.get("gradient_copy").unwrap();
            let result = call_out_on(back_end, op, &[Operand::Buffer(&x)], &mut [&mut out]);
            (result.is_ok(), out.shape().to_vec())
        };
        assert_eq!(call(|_| Err(Error::new(ErrorKind::Memory, "set to fail"))), (false, vec![0]));
        assert_eq!(call(launch), (true, vec![2]));
        assert_eq!(out.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    }
}
