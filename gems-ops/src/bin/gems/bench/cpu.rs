//! The CPU back end against what PyTorch takes for the same on two cores.

use super::data::{self, Argument};
use super::{BenchArgs, Row, median, program, verdict};
use crate::failure::Outcome;
use gems_ops::buffer::{Buffer, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::op::Operand;
use gems_ops::plan::{self, Outputs, policy::Tuning};
use gems_runtime::exec::Prepared;
use serde_json::json;
use std::io::Write;
use std::time::Instant;

/// One call: name, op or `seedF`, operands, milliseconds of PyTorch.
type Case = (&'static str, &'static str, &'static [&'static str], f64);

const FLAT: &str = "f32[16777216]";
const SQUARE: &str = "f32[4096,4096]";

/// PyTorch 2.15 with 2 threads on a 2-core AMD EPYC (Zen 4), 2^24 elements of f32.
const CASES: &[Case] = &[
    ("copy", "copy", &[FLAT], 4.3),
    ("add", "add", &[FLAT, FLAT], 5.4),
    ("tanh", "tanh", &[FLAT], 21.0),
    ("gelu(x)·y", "gelu_and_mul", &[FLAT, FLAT], 45.0),
    ("where", "where", &["bool[16777216]", FLAT, FLAT], 30.0),
    ("A + row", "add", &[SQUARE, "f32[4096]"], 4.0),
    ("A + Bᵀ", "add", &[SQUARE, "f32[4096,4096].t()"], 62.0),
    ("seedF", "seedF", &[FLAT, FLAT], 104.0),
];

pub(crate) fn suite(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    writeln!(out, "{threads} cores; 2^24 elements of f32; into existing outputs, and with new ones")?;
    writeln!(out, "{:12} {:>9} {:>9} {:>9} {:>9}", "case", "ms", "new ms", "least ms", "PyTorch")?;
    let mut rows = Vec::new();
    for &(name, op, operands, peer) in CASES.iter().filter(|case| args.wants(case.0)) {
        let arguments = operands.iter().zip(1..).map(|(text, seed)| data::argument(text, Device::Cpu, seed));
        let arguments: Vec<Argument> = arguments.collect::<Outcome<_>>()?;
        let operands: Vec<_> = arguments.iter().map(Argument::operand).collect();
        let (into, new) = if op == "seedF" { fused(&operands, args)? } else { eager(op, &operands, args)? };
        let (ms, new_ms) = (median(into.clone()), median(new));
        let least = into.into_iter().fold(f64::INFINITY, f64::min);
        let reached = ms <= peer;
        writeln!(out, "{name:12} {ms:9.2} {new_ms:9.2} {least:9.2} {peer:9.1}  {}", verdict(Some(reached)))?;
        rows.push(json!({ "case": name, "ms": ms, "new_ms": new_ms, "least_ms": least, "reach": peer, "reached": reached }));
        out.flush()?;
    }
    Ok(rows)
}

/// Milliseconds of runs into an existing output, and with a new one.
fn eager(
    name: &str,
    operands: &[Operand<'_, StridedBuffer>],
    args: &BenchArgs,
) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let op = crate::failure::find_op(name)?;
    let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype: None })?;
    let outputs = inference.outputs.iter().map(|meta| data::poisoned(meta, Device::Cpu));
    let mut outputs: Vec<_> = outputs.collect::<Outcome<_>>()?;
    let into = times(args, || {
        let mut outputs: Vec<_> = outputs.iter_mut().collect();
        Ok(StridedBuffer::call_out(op, operands, &mut outputs)?)
    })?;
    let new = times(args, || {
        StridedBuffer::run(op, operands, None)?;
        Ok(())
    })?;
    Ok((into, new))
}

fn fused(operands: &[Operand<'_, StridedBuffer>], args: &BenchArgs) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let meta = data::contiguous(gems_ops::dtype::DType::F32, &[1 << 24], Device::Cpu)?;
    let output = data::poisoned(&meta, Device::Cpu)?;
    let prepared = Prepared::program(program::seed_f32(), operands, &[output], Tuning::default())?;
    let into = times(args, || Ok(prepared.run()?))?;
    let new = times(args, || {
        let output = StridedBuffer::zeros(meta.dtype, meta.layout.shape(), Device::Cpu)?;
        Ok(Prepared::program(program::seed_f32(), operands, &[output], Tuning::default())?.run()?)
    })?;
    Ok((into, new))
}

fn times(args: &BenchArgs, mut run: impl FnMut() -> Outcome<()>) -> Outcome<Vec<f64>> {
    for _ in 0..2 {
        run()?;
    }
    (0..args.repeats)
        .map(|_| {
            let started = Instant::now();
            run()?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        })
        .collect()
}
