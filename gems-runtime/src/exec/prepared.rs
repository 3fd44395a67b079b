//! A planned call that can be launched again and again: for benches and for measuring the launch alone.
//!
//! Holds its operands, so that launching needs no check. Not part of the public interface.

use super::{Call, Input, ValueBytes, launch, machine, place, placed};
use crate::buffer::{Buffer, StridedBuffer};
use crate::dtype::Scalar;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Overlap};
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
    /// As a call, but outputs are not resized; `Overlap` if an output shares memory with an input; `Unsupported` for 0-d
    /// host buffers among operands of another device.
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
        check_shape(inference.shape(), outputs)?;
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
        check_memory(&inputs, outputs)?;
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
    /// Counts, dtypes or shapes that do not agree with the program, which has to agree with itself; operands of several
    /// devices; `Overlap` if an output shares memory with itself, an input or another output.
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
        program.check()?;
        check_shape(first.shape(), outputs)?;
        let device = first.device();
        let machine = plan::policy::Machine { tuning, ..machine(device)? };
        let inputs: Vec<_> = operands.iter().map(|operand| Input::of(operand).buffer().cloned()).collect();
        let read = inputs
            .iter()
            .zip(&program.inputs)
            .filter_map(|(buffer, input)| Some((buffer.as_ref()?, input.dtype)));
        let written = outputs.iter().zip(&program.outputs).map(|(buffer, output)| (buffer, output.dtype));
        for (buffer, dtype) in read.chain(written) {
            let meta = buffer.meta();
            if (meta.dtype, meta.device) != (dtype, device) {
                let message = format!("{meta} is not {dtype} on {device}; convert or move it");
                let kind = if meta.dtype == dtype { ErrorKind::Device } else { ErrorKind::DType };
                return Err(Error::new(kind, message).in_op(&program.name));
            }
        }
        check_memory(&inputs, outputs)?;
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

/// Every output has the shape of the call.
fn check_shape(shape: &[usize], outputs: &[StridedBuffer]) -> Result<()> {
    match outputs.iter().find(|output| output.shape() != shape) {
        None => Ok(()),
        Some(output) => {
            let message = format!("output {} has not the shape {shape:?}; give one that does", output.meta());
            Err(Error::new(ErrorKind::Shape, message))
        }
    }
}

/// Every element of an output is memory of its own.
fn check_memory(inputs: &[Option<StridedBuffer>], outputs: &[StridedBuffer]) -> Result<()> {
    for (j, output) in outputs.iter().enumerate() {
        let shares = |other: &StridedBuffer| placed(output).overlap(&placed(other)) != Overlap::None;
        let repeats = layout::has_internal_overlap(&output.meta().layout);
        if repeats || inputs.iter().flatten().chain(&outputs[..j]).any(shares) {
            let message =
                format!("output {} shares memory; give separate buffers without overlap", output.meta());
            return Err(Error::new(ErrorKind::Overlap, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Views;
    use crate::device::Device;
    use crate::dtype::DType;
    use crate::op::{BUILTIN, CpuKernel};
    use crate::plan::{Arg, Node, NodeResult, ProgramInput, ProgramOutput, ValueRef};

    fn copy() -> &'static OpDef {
        BUILTIN.get("gradient_copy").unwrap()
    }

    /// An input of f32 that goes through a copy.
    fn program() -> Program {
        let chain = [DType::F32; 3];
        let args = [Arg { value: ValueRef::Input(0), chain }].into_iter().collect();
        let results = [NodeResult { name: "copy".into(), chain }].into_iter().collect();
        let value = ValueRef::Result { node: 0, output: 0 };
        Program {
            name: "copies".into(),
            inputs: vec![ProgramInput { name: "x".into(), dtype: DType::F32 }],
            nodes: vec![Node { op: copy(), compute: DType::F32, args, results }],
            outputs: vec![ProgramOutput { name: "out".into(), value, dtype: DType::F32 }],
        }
    }

    fn zeros(dtype: DType, shape: &[usize]) -> StridedBuffer {
        StridedBuffer::zeros(dtype, shape, Device::Cpu).unwrap()
    }

    #[track_caller]
    fn check(prepared: Result<Prepared>, kind: ErrorKind) {
        assert_eq!(prepared.unwrap_err().kind(), kind);
    }

    fn op(input: &StridedBuffer, output: &StridedBuffer) -> Result<Prepared> {
        Prepared::op(copy(), &[Operand::Buffer(input)], std::slice::from_ref(output), Tuning::default())
    }

    fn run(program: Program, input: &StridedBuffer, output: &StridedBuffer) -> Result<Prepared> {
        let output = std::slice::from_ref(output);
        Prepared::program(program, &[Operand::Buffer(input)], output, Tuning::default())
    }

    #[test]
    fn outputs_must_be_memory_of_their_own() {
        let (x, one) = (zeros(DType::F32, &[8]), zeros(DType::F32, &[1]));
        let repeated = one.expand(&[8]).unwrap();
        check(op(&x, &repeated), ErrorKind::Overlap);
        check(op(&x, &x), ErrorKind::Overlap);
        check(op(&x, &zeros(DType::F32, &[0])), ErrorKind::Shape);
        check(run(program(), &x, &repeated), ErrorKind::Overlap);
        check(run(program(), &x, &x), ErrorKind::Overlap);
    }

    #[test]
    fn operands_must_be_those_of_the_program() {
        let (x, bytes) = (zeros(DType::F32, &[8]), zeros(DType::U8, &[8]));
        run(program(), &x, &zeros(DType::F32, &[8])).unwrap().run().unwrap();
        check(run(program(), &bytes, &zeros(DType::F32, &[8])), ErrorKind::DType);
        check(run(program(), &x, &bytes), ErrorKind::DType);
        let two = Program { outputs: [program().outputs, program().outputs].concat(), ..program() };
        let outputs = [zeros(DType::F32, &[8]), zeros(DType::F32, &[1])];
        check(Prepared::program(two, &[Operand::Buffer(&x)], &outputs, Tuning::default()), ErrorKind::Shape);
    }

    #[test]
    fn values_of_a_program_come_from_before_in_the_dtype_that_is_asked_for() {
        let (x, out) = (zeros(DType::F32, &[8]), zeros(DType::F32, &[8]));
        let wrong: [fn(&mut Program); 6] = [
            |program| program.nodes[0].args[0].value = ValueRef::Input(1),
            |program| program.nodes[0].args[0].value = ValueRef::Result { node: 0, output: 0 },
            |program| program.nodes[0].args[0].chain[0] = DType::F64,
            |program| program.nodes[0].compute = DType::F64,
            |program| program.nodes[0].args.clear(),
            |program| program.outputs[0].value = ValueRef::Result { node: 0, output: 1 },
        ];
        for spoil in wrong {
            let mut program = program();
            spoil(&mut program);
            check(run(program, &x, &out), ErrorKind::Value);
        }
    }

    #[test]
    fn a_loop_of_other_dtypes_is_refused() {
        fn of_f64(_: DType) -> Option<CpuKernel> {
            (copy().cpu)(DType::F64)
        }
        let op: &OpDef = Box::leak(Box::new(OpDef { cpu: of_f64, vjp: None, ..*copy() }));
        let x = zeros(DType::F32, &[1]);
        let outputs = [zeros(DType::F32, &[1])];
        let prepared = Prepared::op(op, &[Operand::Buffer(&x)], &outputs, Tuning::default()).unwrap();
        assert_eq!(prepared.run().unwrap_err().kind(), ErrorKind::DType);
    }
}
