//! A kernel that was planned, ready to run with other addresses and numbers.

use super::{Call, ValueBytes, host_value};
use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Operand;
use crate::plan::{Access, Plan};
use smallvec::SmallVec;
use std::borrow::Borrow;

/// A plan and what its back end made of it.
#[derive(Debug)]
pub(crate) struct Planned {
    plan: Plan,
    device: Device,
    runner: Runner,
}

/// A buffer that each call makes anew.
#[derive(Debug)]
pub(super) struct Fresh {
    meta: Meta,
    bytes: usize,
}

impl Fresh {
    pub(super) fn new(meta: Meta) -> Result<Fresh> {
        let bytes = meta.bytes()?;
        Ok(Fresh { meta, bytes })
    }

    pub(super) const fn device(&self) -> Device {
        self.meta.device
    }

    /// The buffer, on whichever device it is.
    pub(super) fn allocate(&self) -> Result<StridedBuffer> {
        Ok(StridedBuffer::of_memory(&self.meta, super::allocate(self.meta.device, self.bytes)?))
    }
}

#[derive(Debug)]
enum Runner {
    Cpu(super::cpu::Loop),
    #[cfg(feature = "cuda")]
    Cuda(Box<super::cuda::Launch>),
}

impl Planned {
    /// A plan that ran on a device; `None` if the device has given its kernel up.
    pub(super) fn new(plan: Plan, device: Device) -> Option<Planned> {
        let runner = match device {
            Device::Cpu => Runner::Cpu(super::cpu::Loop::new(&plan.spec.body).ok()?),
            #[cfg(feature = "cuda")]
            Device::Cuda(ordinal) => Runner::Cuda(Box::new(super::cuda::Launch::new(ordinal, &plan)?)),
            #[cfg(not(feature = "cuda"))]
            Device::Cuda(_) => return None,
        };
        Some(Planned { plan, device, runner })
    }

    pub(super) const fn device(&self) -> Device {
        self.device
    }

    /// A new output on the kernel's device.
    pub(super) fn allocate(&self, fresh: &Fresh) -> Result<StridedBuffer> {
        match &self.runner {
            Runner::Cpu(_) => fresh.allocate(),
            #[cfg(feature = "cuda")]
            Runner::Cuda(launch) => Ok(StridedBuffer::of_memory(&fresh.meta, launch.allocate(fresh.bytes)?)),
        }
    }

    /// Runs the kernel; a buffer that the plan passes by value is read on the host.
    pub(super) fn run(
        &self,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[impl Borrow<StridedBuffer>],
    ) -> Result<()> {
        match &self.runner {
            Runner::Cpu(body) => self.run_on_cpu(body, operands, outputs),
            #[cfg(feature = "cuda")]
            Runner::Cuda(launch) => launch.run(&self.plan.spec, operands, outputs),
        }
    }

    fn run_on_cpu(
        &self,
        body: &super::cpu::Loop,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[impl Borrow<StridedBuffer>],
    ) -> Result<()> {
        let mut values: SmallVec<[ValueBytes; 8]> = SmallVec::new();
        let mut inputs: SmallVec<[Option<&StridedBuffer>; 8]> = SmallVec::new();
        for (operand, input) in operands.iter().zip(&self.plan.spec.inputs) {
            let (value, buffer) = match operand {
                Operand::Buffer(buffer) if input.access != Access::Value => ([0; 16], Some(*buffer)),
                _ => (value(operand, input.lane)?, None),
            };
            values.push(value);
            inputs.push(buffer);
        }
        let outputs: SmallVec<[&StridedBuffer; 4]> = outputs.iter().map(Borrow::borrow).collect();
        let call = Call { plan: &self.plan, values: &values, inputs: &inputs, outputs: &outputs };
        super::cpu::run_loop(&call, body)
    }
}

/// An operand that is passed by value.
pub(super) fn value(operand: &Operand<'_, StridedBuffer>, lane: DType) -> Result<ValueBytes> {
    match operand {
        Operand::Buffer(buffer) => host_value(buffer, [buffer.meta().dtype, lane, lane]),
        Operand::Scalar(number) => Ok(number.store(lane)),
    }
}
