//! The loop of a plan's body over one chunk: one op, or several in turn with their intermediates in the cache.
#![expect(unsafe_code, reason = "chunks are untyped memory")]

use super::Chunk;
use crate::dtype::{self, Convert, DType};
use crate::error::{Error, ErrorKind, Result};
use crate::op::{CpuKernel, OpDef};
use crate::plan::{Body, Program, ValueRef};
use smallvec::SmallVec;

/// What runs on a chunk.
#[derive(Debug)]
pub(in crate::exec) enum Loop {
    Op(CpuKernel),
    Program(Vec<Step>, Vec<Outgoing>),
}

/// One op of a program.
#[derive(Debug)]
pub(in crate::exec) struct Step {
    kernel: CpuKernel,
    args: Vec<Conversion>,
    results: Vec<Conversion>,
}

/// A value on its way into or out of an op.
#[derive(Debug)]
struct Conversion {
    value: ValueRef,
    /// Chunk that holds the value: counted in the scratch memory.
    slot: usize,
    steps: SmallVec<[Convert; 2]>,
}

/// A result of a program: which value, and its bytes.
#[derive(Debug)]
pub(in crate::exec) struct Outgoing {
    value: ValueRef,
    size: usize,
}

impl Loop {
    /// The loop of a body.
    pub(in crate::exec) fn new(body: &Body) -> Result<Loop> {
        match body {
            Body::Op { op, compute } => Ok(Loop::Op(kernel(op, *compute)?)),
            Body::Program(program) => {
                let steps = steps(program)?;
                let outputs = program
                    .outputs
                    .iter()
                    .map(|output| Outgoing { value: output.value, size: output.dtype.size() })
                    .collect();
                Ok(Loop::Program(steps, outputs))
            }
        }
    }

    /// How many chunks it needs for intermediates: one a result of a step, then one an argument and a spare one.
    pub(super) fn scratch(&self) -> usize {
        match self {
            Loop::Op(_) => 0,
            Loop::Program(steps, _) => {
                let results: usize = steps.iter().map(|step| step.results.len()).sum();
                let most = steps.iter().map(|step| step.args.len() + step.results.len()).max().unwrap_or(0);
                results + most + 1
            }
        }
    }

    /// Runs on `n` elements.
    ///
    /// # Safety
    /// `inputs` and `outputs` are as [`CpuKernel::run`] asks, for the dtypes of the body's inputs and outputs;
    /// `n ≤ CHUNK`; `scratch` has as many chunks as [`Loop::scratch`] says.
    pub(super) unsafe fn run(
        &self,
        inputs: &[*mut u8],
        outputs: &[*mut u8],
        scratch: &mut [Chunk],
        n: usize,
    ) {
        match self {
            // SAFETY: passed on.
            Loop::Op(kernel) => unsafe { (kernel.run)(inputs, outputs, n) },
            Loop::Program(steps, outgoing) => {
                // SAFETY: passed on.
                unsafe { run_program(steps, outgoing, inputs, outputs, scratch, n) };
            }
        }
    }
}

/// The loop of an op, which takes and gives the dtypes of the op's signature.
fn kernel(op: &OpDef, compute: DType) -> Result<CpuKernel> {
    let kernel = (op.cpu)(compute).ok_or_else(|| {
        let message = format!("has no CPU form for {compute}; convert the operands");
        Error::new(ErrorKind::Unsupported, message).in_op(op.name)
    })?;
    let inputs = op.params.iter().map(|param| param.ty.resolve(compute));
    let outputs = op.outputs.iter().map(|output| output.ty.resolve(compute));
    if !inputs.eq(kernel.inputs.iter().copied()) || !outputs.eq(kernel.outputs.iter().copied()) {
        let message = format!(
            "its CPU form for {compute} takes {:?} and gives {:?}, which is not its signature; give that of the same function",
            kernel.inputs, kernel.outputs
        );
        return Err(Error::new(ErrorKind::DType, message).in_op(op.name));
    }
    Ok(kernel)
}

fn steps(program: &Program) -> Result<Vec<Step>> {
    let mut first_slot = SmallVec::<[usize; 16]>::new();
    let mut slots = 0;
    for node in &program.nodes {
        first_slot.push(slots);
        slots += node.results.len();
    }
    let convert = |value: ValueRef, slot: usize, chain: [DType; 3]| {
        let pairs = chain.windows(2).filter(|pair| pair[0] != pair[1]);
        let steps = pairs.map(|pair| dtype::converter(pair[0], pair[1])).collect();
        Conversion { value, slot, steps }
    };
    program
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            let args = node.args.iter().map(|arg| {
                let slot = match arg.value {
                    ValueRef::Input(_) => 0,
                    ValueRef::Result { node, output } => first_slot[node] + output,
                };
                convert(arg.value, slot, arg.chain)
            });
            let results = node.results.iter().enumerate().map(|(output, result)| {
                convert(ValueRef::Result { node: index, output }, first_slot[index] + output, result.chain)
            });
            let (args, results) = (args.collect(), results.collect());
            Ok(Step { kernel: kernel(node.op, node.compute)?, args, results })
        })
        .collect()
}

/// # Safety
/// As [`Loop::run`].
unsafe fn run_program(
    steps: &[Step],
    outgoing: &[Outgoing],
    inputs: &[*mut u8],
    outputs: &[*mut u8],
    scratch: &mut [Chunk],
    n: usize,
) {
    let kept: usize = steps.iter().map(|step| step.results.len()).sum();
    let (results, working) = scratch.split_at_mut(kept);
    let mut results: SmallVec<[*mut u8; 16]> = results.iter_mut().map(|chunk| chunk.0.as_mut_ptr()).collect();
    let most = steps.iter().map(|step| step.args.len() + step.results.len()).max().unwrap_or(0);
    let working = working.iter_mut().take(most + 1);
    let mut working: SmallVec<[*mut u8; 16]> = working.map(|chunk| chunk.0.as_mut_ptr()).collect();
    let spare = working.pop().unwrap_or(std::ptr::null_mut());
    // A result that goes out is computed where it goes, unless an input lies there that a later op may read.
    for step in steps {
        for result in &step.results {
            let place = outgoing.iter().position(|out| out.value == result.value);
            if let Some(at) = place.filter(|&at| !inputs.contains(&outputs[at])) {
                results[result.slot] = outputs[at];
            }
        }
    }
    for step in steps {
        let mut arguments: SmallVec<[*mut u8; 8]> = SmallVec::new();
        for (arg, &chunk) in step.args.iter().zip(&working) {
            let value = match arg.value {
                ValueRef::Input(input) => inputs[input],
                ValueRef::Result { .. } => results[arg.slot],
            };
            // SAFETY: value, chunk and spare hold n elements of at most 16 bytes; chunk and spare are used by no other.
            arguments.push(unsafe { convert(&arg.steps, value, chunk, spare, n) });
        }
        let raw: SmallVec<[*mut u8; 4]> = step
            .results
            .iter()
            .zip(&working[step.args.len()..])
            .map(|(result, &chunk)| if result.steps.is_empty() { results[result.slot] } else { chunk })
            .collect();
        // SAFETY: the chunks hold n elements of the dtypes of this op's loop; outputs are chunks of their own, or the
        // program's outputs, which overlap an input only at the same elements.
        unsafe { (step.kernel.run)(&arguments, &raw, n) };
        for (result, &chunk) in step.results.iter().zip(&raw) {
            if !result.steps.is_empty() {
                // SAFETY: as for the arguments; the last conversion writes where the result is kept.
                unsafe { convert_into(&result.steps, chunk, results[result.slot], spare, n) };
            }
        }
    }
    // Inputs that go out unchanged come first: another output may lie where they are.
    let is_input = |out: &Outgoing| matches!(out.value, ValueRef::Input(_));
    let unchanged = outgoing.iter().zip(outputs).filter(|(out, _)| is_input(out));
    let computed = outgoing.iter().zip(outputs).filter(|(out, _)| !is_input(out));
    for (out, &target) in unchanged.chain(computed) {
        let value = match out.value {
            ValueRef::Input(input) => inputs[input],
            ValueRef::Result { node, output } => {
                let before: usize = steps[..node].iter().map(|step| step.results.len()).sum();
                results[before + output]
            }
        };
        if value != target {
            // SAFETY: both hold n elements of this size; they are the same or separate.
            unsafe { std::ptr::copy(value, target, n * out.size) };
        }
    }
}

/// The value itself if there is nothing to convert, else `chunk` with the converted value.
///
/// # Safety
/// All three pointers hold `n` elements of at most 16 bytes; `chunk` and `spare` overlap nothing.
unsafe fn convert(steps: &[Convert], value: *mut u8, chunk: *mut u8, spare: *mut u8, n: usize) -> *mut u8 {
    if steps.is_empty() {
        return value;
    }
    // SAFETY: passed on.
    unsafe { convert_into(steps, value, chunk, spare, n) };
    chunk
}

/// # Safety
/// As [`convert`].
unsafe fn convert_into(steps: &[Convert], value: *const u8, target: *mut u8, spare: *mut u8, n: usize) {
    match *steps {
        // SAFETY: the caller vouches for n elements behind both.
        [only] => unsafe { only(value, target, n) },
        [first, second] => {
            // SAFETY: as above.
            unsafe { first(value, spare, n) };
            // SAFETY: as above.
            unsafe { second(spare, target, n) };
        }
        _ => {}
    }
}
