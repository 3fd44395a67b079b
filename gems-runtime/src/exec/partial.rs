//! Calls of ops of which only some results are wanted.
//!
//! Such a call is a program of one op with fewer outputs, so the others cost no memory and no store.

use super::Fused;
use super::fused::run_known;
use super::table::{self, Key, Table};
use crate::buffer::StridedBuffer;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::op::{OpDef, Operand};
use crate::plan::{
    self, Arg, Inference, Node, NodeResult, Outputs, Program, ProgramInput, ProgramOutput, Source, ValueRef,
};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Programs of calls so far: plans of earlier calls are found by the address of theirs.
static PROGRAMS: Mutex<BTreeSet<Arc<Program>>> = Mutex::new(BTreeSet::new());

thread_local! {
    static TABLE: Table<Arc<Program>> = const { Table::new() };
}

/// Runs `op` into new buffers, of a chosen dtype or that of each result, one for each result that is wanted.
pub(crate) fn call_some(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
    wanted: &[bool],
) -> Result<SmallVec<[Option<StridedBuffer>; 2]>> {
    if wanted.iter().all(|&wanted| wanted) {
        return Ok(super::call(op, operands, dtype)?.into_iter().map(Some).collect());
    }
    if !wanted.contains(&true) {
        return Ok(wanted.iter().map(|_| None).collect());
    }
    some(op, operands, dtype, wanted).map_err(|error| error.in_op(op.name))
}

fn some(
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
    wanted: &[bool],
) -> Result<SmallVec<[Option<StridedBuffer>; 2]>> {
    let arguments = plan::arguments(operands);
    let op = op.form(&arguments);
    let inference = plan::infer(op, &arguments, Outputs::New { dtype })?;
    let program = known(op, &inference, wanted);
    let metas = inference.outputs.iter().zip(wanted).filter(|(_, wanted)| **wanted);
    let outputs = metas
        .map(|(meta, _)| StridedBuffer::allocate(meta))
        .collect::<Result<SmallVec<[StridedBuffer; 2]>>>()?;
    let buffer = |operand: &Operand<'_, StridedBuffer>| match operand {
        Operand::Buffer(buffer) => Some((*buffer).clone()),
        Operand::Scalar(_) => None,
    };
    let number = |source: Source| match source {
        Source::Number(number) => Some(number),
        Source::Buffer { .. } | Source::HostValue { .. } => None,
    };
    let buffers: SmallVec<[Option<StridedBuffer>; 8]> = operands.iter().map(buffer).collect();
    let numbers: SmallVec<[Option<Scalar>; 8]> =
        inference.inputs.iter().map(|input| number(input.source)).collect();
    run_known(&Fused {
        program: &program,
        buffers: &buffers,
        numbers: &numbers,
        outputs: &outputs,
        disjoint: true,
    })?;
    let mut outputs = outputs.into_iter();
    Ok(wanted.iter().map(|&wanted| if wanted { outputs.next() } else { None }).collect())
}

/// One op with some of its results.
fn program(op: &'static OpDef, inference: &Inference, wanted: &[bool]) -> Program {
    let inputs = op.params.iter().zip(&inference.inputs);
    let args = inference.inputs.iter().enumerate();
    let results = op.outputs.iter().zip(&inference.outputs).zip(&inference.results);
    let outputs = op.outputs.iter().zip(&inference.outputs).enumerate();
    Program {
        name: op.name.to_owned(),
        inputs: inputs
            .map(|(param, input)| ProgramInput { name: param.name.to_owned(), dtype: input.chain()[0] })
            .collect(),
        nodes: vec![Node {
            op,
            compute: inference.compute,
            args: args.map(|(i, input)| Arg { value: ValueRef::Input(i), chain: input.chain() }).collect(),
            results: results
                .map(|((output, meta), &result)| NodeResult {
                    name: output.name.to_owned(),
                    chain: [output.ty.resolve(inference.compute), result, meta.dtype],
                })
                .collect(),
        }],
        outputs: outputs
            .filter(|(i, _)| wanted[*i])
            .map(|(i, (output, meta))| ProgramOutput {
                name: format!("{}_out", output.name),
                value: ValueRef::Result { node: 0, output: i },
                dtype: meta.dtype,
            })
            .collect(),
    }
}

/// The program of a call, not made again if this thread made one of its kind before.
fn known(op: &'static OpDef, inference: &Inference, wanted: &[bool]) -> Arc<Program> {
    let mut key = Key::default();
    key.push(std::ptr::from_ref(op) as u64);
    key.push(inference.compute as u64);
    for input in &inference.inputs {
        let [stored, joined, lane] = input.chain().map(|dtype| dtype as u64);
        key.push(stored | joined << 8 | lane << 16);
    }
    for ((meta, &result), &wanted) in inference.outputs.iter().zip(&inference.results).zip(wanted) {
        key.push(meta.dtype as u64 | (result as u64) << 8 | u64::from(wanted) << 16);
    }
    table::lookup(&TABLE, &key, Arc::clone).unwrap_or_else(|| {
        let program = interned(program(op, inference, wanted));
        if key.fits() {
            table::keep(&TABLE, &key, program.clone());
        }
        program
    })
}

/// The one program that is equal to this one.
fn interned(program: Program) -> Arc<Program> {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = programs.get(&program) {
        return known.clone();
    }
    let program = Arc::new(program);
    programs.insert(program.clone());
    program
}
