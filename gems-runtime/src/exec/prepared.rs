//! A planned call that can be launched again and again: for benches and for measuring the launch alone.
//!
//! Holds its operands, so that launching needs no check. Not part of the public interface.

use super::{Call, Input, ValueBytes, launch, machine, place};
use crate::buffer::{Buffer, StridedBuffer};
use crate::dtype::Scalar;
use crate::error::{Error, ErrorKind, Result};
use crate::op::{OpDef, Operand};
use crate::plan::policy::Tuning;
use crate::plan::{self, Body, Outputs, Plan, Program, Request, RequestedInput, RequestedOutput, Source};
use smallvec::SmallVec;
use std::sync::Arc;

/// A planned call with its operands.
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
    values: SmallVec<[ValueBytes; 8]>,
    inputs: Vec<Option<StridedBuffer>>,
    outputs: Vec<StridedBuffer>,
}

impl Prepared {
    /// Plans an op into existing outputs that share no memory with its inputs.
    ///
    /// # Errors
    /// As a call; `Unsupported` for 0-d host buffers among operands of another device.
    pub fn op(
        op: &'static OpDef,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[StridedBuffer],
        tuning: Tuning,
    ) -> Result<Prepared> {
        let metas: SmallVec<[_; 2]> = outputs.iter().map(Buffer::meta).collect();
        let arguments = plan::arguments(operands);
        let op = op.form(&arguments);
        let inference = plan::infer(op, &arguments, Outputs::Given(&metas))?;
        let machine = plan::policy::Machine { tuning, ..machine(inference.device)? };
        let mut values = SmallVec::new();
        let mut inputs = Vec::new();
        for (input, operand) in inference.inputs.iter().zip(operands) {
            values.push(match input.source {
                Source::Number(number) => number.store(input.lane),
                Source::Buffer { .. } => [0; 16],
                Source::HostValue { .. } => {
                    return Err(Error::new(ErrorKind::Unsupported, "a host value; move it to the device"));
                }
            });
            inputs.push(Input::of(operand).buffer().cloned());
        }
        let plan = {
            let placements: SmallVec<[_; 8]> = inputs.iter().map(|input| input.as_ref().map(place)).collect();
            let outputs: SmallVec<[_; 2]> = outputs.iter().map(place).collect();
            plan::schedule(&machine, op, &inference, &placements, &outputs, true)?
        };
        Ok(Prepared { plan, values, inputs, outputs: outputs.to_vec() })
    }

    /// Plans a program into existing outputs that share no memory with its inputs.
    ///
    /// # Errors
    /// Counts or shapes that do not agree with the program.
    pub fn program(
        program: Program,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[StridedBuffer],
        tuning: Tuning,
    ) -> Result<Prepared> {
        let Some(first) = outputs.first() else {
            return Err(Error::new(ErrorKind::Value, "a program needs an output"));
        };
        if operands.len() != program.inputs.len() || outputs.len() != program.outputs.len() {
            return Err(Error::new(ErrorKind::Value, "operands and outputs are not those of the program"));
        }
        let device = first.device();
        let machine = plan::policy::Machine { tuning, ..machine(device)? };
        let inputs: Vec<_> = operands.iter().map(|operand| Input::of(operand).buffer().cloned()).collect();
        let number = |operand: &Operand<'_, StridedBuffer>| match operand {
            Operand::Scalar(number) => *number,
            Operand::Buffer(_) => Scalar::I64(0),
        };
        let values =
            operands.iter().zip(&program.inputs).map(|(operand, input)| number(operand).store(input.dtype));
        let values = values.collect();
        let plan = {
            let requested_inputs = inputs.iter().zip(&program.inputs).map(|(buffer, input)| RequestedInput {
                placement: buffer.as_ref().map(place),
                chain: [input.dtype; 3],
            });
            let requested_outputs = outputs.iter().zip(&program.outputs).map(|(buffer, output)| {
                RequestedOutput { placement: place(buffer), chain: [output.dtype; 3] }
            });
            let request = Request {
                shape: first.shape(),
                inputs: requested_inputs.collect(),
                outputs: requested_outputs.collect(),
                body: Body::Program(Arc::new(program)),
                disjoint: true,
            };
            plan::schedule_request(&machine, request)?
        };
        Ok(Prepared { plan, values, inputs, outputs: outputs.to_vec() })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The outputs.
    #[must_use]
    pub fn outputs(&self) -> &[StridedBuffer] {
        &self.outputs
    }

    /// Runs the call once.
    ///
    /// # Errors
    /// The back end fails.
    pub fn run(&self) -> Result<()> {
        self.with_call(launch)
    }

    /// Launches the kernel so many times with nothing but the driver's launch call between: what a launch costs.
    ///
    /// # Errors
    /// The driver fails; `Unsupported` for host memory.
    #[cfg(feature = "cuda")]
    pub fn launch_raw(&self, times: usize) -> Result<()> {
        self.with_call(|call| super::cuda::launch_raw(call, times))
    }

    fn with_call(&self, run: impl FnOnce(&Call<'_>) -> Result<()>) -> Result<()> {
        let inputs: SmallVec<[Option<&StridedBuffer>; 8]> = self.inputs.iter().map(Option::as_ref).collect();
        let outputs = super::ready::references(&self.outputs);
        run(&Call { plan: &self.plan, values: &self.values, inputs: &inputs, outputs: &outputs })
    }
}
