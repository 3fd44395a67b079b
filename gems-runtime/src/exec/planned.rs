//! A kernel that was planned, ready to run with other addresses and numbers.

use super::{Call, ValueBytes, host_value};
use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::error::Result;
use crate::op::Operand;
use crate::plan::{Access, Plan};
use smallvec::SmallVec;

/// A plan and what its back end made of it.
#[derive(Debug)]
pub(crate) struct Planned {
    plan: Plan,
    device: Device,
    runner: Runner,
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

    /// Memory for an output.
    pub(super) fn allocate(&self, meta: &Meta) -> Result<StridedBuffer> {
        match &self.runner {
            Runner::Cpu(_) => StridedBuffer::allocate(meta),
            #[cfg(feature = "cuda")]
            Runner::Cuda(launch) => StridedBuffer::allocate_by(meta, |bytes| launch.allocate(bytes)),
        }
    }

    /// Runs the kernel; a buffer that the plan passes by value is read on the host.
    pub(super) fn run(
        &self,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[&StridedBuffer],
    ) -> Result<()> {
        let mut values: SmallVec<[ValueBytes; 8]> = SmallVec::new();
        let mut inputs: SmallVec<[Option<&StridedBuffer>; 8]> = SmallVec::new();
        for (operand, input) in operands.iter().zip(&self.plan.spec.inputs) {
            let (value, buffer) = match operand {
                Operand::Buffer(buffer) if input.access == Access::Value => {
                    (host_value(buffer, [buffer.meta().dtype, input.lane, input.lane])?, None)
                }
                Operand::Buffer(buffer) => ([0; 16], Some(*buffer)),
                Operand::Scalar(number) => (number.store(input.lane), None),
            };
            values.push(value);
            inputs.push(buffer);
        }
        let call = Call { plan: &self.plan, values: &values, inputs: &inputs, outputs };
        match &self.runner {
            Runner::Cpu(body) => super::cpu::run_loop(&call, body),
            #[cfg(feature = "cuda")]
            Runner::Cuda(launch) => launch.run(&call),
        }
    }
}
