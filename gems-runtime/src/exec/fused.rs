//! Running programs of several ops.

use super::planned::Planned;
use super::table::{self, Key, Table};
use super::{BackEnd, Call, ValueBytes, host_value, launch, machine, place};
use crate::buffer::{Buffer, StridedBuffer};
use crate::device::Device;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::op::Operand;
use crate::plan::{self, Body, KernelSpec, Plan, Program, Request, RequestedInput, RequestedOutput};
use smallvec::SmallVec;
use std::sync::Arc;

/// A program with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fused<'a> {
    pub(crate) program: &'a Arc<Program>,
    /// One an input; `None` for numbers.
    pub(crate) buffers: &'a [Option<StridedBuffer>],
    /// One an input; `None` for buffers.
    pub(crate) numbers: &'a [Option<Scalar>],
    pub(crate) outputs: &'a [StridedBuffer],
    /// Whether no output shares memory with an input.
    pub(crate) disjoint: bool,
}

impl Fused<'_> {
    fn device(&self) -> Device {
        self.outputs.first().map_or(Device::Cpu, StridedBuffer::device)
    }

    /// The inputs that the kernel reads from memory: those on its device; 0-d host buffers go by value.
    fn in_memory(&self) -> SmallVec<[Option<&StridedBuffer>; 8]> {
        let device = self.device();
        self.buffers.iter().map(|buffer| buffer.as_ref().filter(|buffer| buffer.device() == device)).collect()
    }
}

/// The plan of a program.
pub(crate) fn plan_fused(fused: &Fused<'_>) -> Result<Plan> {
    let machine = machine(fused.device())?;
    let inputs = fused.in_memory();
    let inputs = inputs
        .iter()
        .zip(&fused.program.inputs)
        .map(|(buffer, input)| RequestedInput { placement: buffer.map(place), chain: [input.dtype; 3] });
    let outputs = fused
        .outputs
        .iter()
        .zip(&fused.program.outputs)
        .map(|(buffer, output)| RequestedOutput { placement: place(buffer), chain: [output.dtype; 3] });
    let request = Request {
        shape: fused.outputs.first().map_or(&[], |output| output.shape()),
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        body: Body::Program(fused.program.clone()),
        disjoint: fused.disjoint,
    };
    plan::schedule_request(&machine, request)
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The kernel that ran; none if there was no element.
    pub(crate) spec: Option<KernelSpec>,
    /// What runs it again with other addresses; none if there was no element or the device gave the kernel up.
    pub(crate) planned: Option<Planned>,
}

/// Plans and runs a program.
pub(crate) fn run_fused(back_end: BackEnd, fused: &Fused<'_>) -> Result<Ran> {
    if fused.outputs.iter().all(|output| output.numel() == 0) {
        return Ok(Ran { spec: None, planned: None });
    }
    let outputs: SmallVec<[&StridedBuffer; 2]> = fused.outputs.iter().collect();
    let inputs = fused.in_memory();
    let mut values: SmallVec<[ValueBytes; 8]> = SmallVec::new();
    for ((buffer, number), (read, input)) in
        fused.buffers.iter().zip(fused.numbers).zip(inputs.iter().zip(&fused.program.inputs))
    {
        values.push(match (buffer, number, read) {
            (_, Some(number), _) => number.store(input.dtype),
            (Some(buffer), None, None) => {
                host_value(buffer, [buffer.meta().dtype, input.dtype, input.dtype])?
            }
            _ => [0; 16],
        });
    }
    let plan = plan_fused(fused)?;
    back_end(&Call { plan: &plan, values: &values, inputs: &inputs, outputs: &outputs })?;
    let spec = Some(plan.spec.clone());
    Ok(Ran { spec, planned: Planned::new(plan, fused.device()) })
}

thread_local! {
    /// Programs that ran; each entry keeps its program alive, so that an address is the program's own.
    static TABLE: Table<(Arc<Program>, Planned)> = const { Table::new() };
}

/// Runs a program, without planning if it ran before on operands of this kind.
pub(super) fn run_known(fused: &Fused<'_>) -> Result<()> {
    let pairs = fused.buffers.iter().zip(fused.numbers);
    let operands: SmallVec<[Operand<'_, StridedBuffer>; 8]> = pairs
        .map(|(buffer, number)| match buffer {
            Some(buffer) => Operand::Buffer(buffer),
            None => Operand::Scalar(number.unwrap_or(Scalar::I64(0))),
        })
        .collect();
    let mut key = Key::default();
    key.push(Arc::as_ptr(fused.program) as u64);
    key.push(u64::from(fused.disjoint));
    for operand in &operands {
        match operand {
            Operand::Buffer(buffer) => key.push_buffer(buffer),
            Operand::Scalar(_) => key.push(u64::MAX),
        }
    }
    fused.outputs.iter().for_each(|output| key.push_buffer(output));
    if !key.fits() {
        return run_fused(launch, fused).map(|_| ());
    }
    let outputs: SmallVec<[&StridedBuffer; 2]> = fused.outputs.iter().collect();
    let again = |(_, planned): &(Arc<Program>, Planned)| planned.run(&operands, &outputs);
    if let Some(result) = table::lookup(&TABLE, &key, again) {
        return result;
    }
    if let Some(planned) = run_fused(launch, fused)?.planned {
        table::keep(&TABLE, &key, (fused.program.clone(), planned));
    }
    Ok(())
}
