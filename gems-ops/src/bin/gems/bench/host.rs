//! Time on the host of an eager call, against raw launches of the same kernel in the same process.
//!
//! Batches of both kinds alternate, so that both see the same machine; a batch is shorter than the driver's queue.

use super::data::{self, Argument};
use super::{BenchArgs, Row, context, median, program, verdict};
use crate::failure::Outcome;
use gems_ops::buffer::{StridedBuffer, SymbolicBuffer};
use gems_ops::device::Device;
use gems_ops::op::Operand;
use gems_ops::plan::{Outputs, policy::Tuning};
use gems_ops::{add, gelu_and_mul, plan, sub, tanh};
use gems_runtime::exec::Prepared;
use gems_runtime::trace::compile;
use serde_json::json;
use std::io::Write;
use std::time::Instant;

/// Calls of a batch: fewer than the driver queues.
const BATCH: usize = 400;
/// Pairs of batches.
const ROUNDS: usize = 41;

pub(crate) fn suite(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    let ctx = context(args.device)?;
    let device = Device::Cuda(args.device);
    let operand = |seed| data::argument("f32[1024]", device, seed);
    let (x, y) = (operand(1)?, operand(2)?);
    let (Some(x), Some(y)) = (x.buffer(), y.buffer()) else { return Ok(Vec::new()) };
    let mut z = add(x, y)?;
    writeln!(
        out,
        "{}, 1,024 elements of f32; medians of {ROUNDS} batches of {BATCH} calls",
        ctx.properties().name
    )?;
    writeln!(out, "{:22} {:>9} {:>9} {:>7} {:>6}", "call", "µs", "raw µs", "ratio", "reach")?;
    let mut rows = Vec::new();
    let mut report = |name: &str,
                      reach: Option<f64>,
                      raw: &Prepared,
                      call: &mut dyn FnMut() -> Outcome<()>| {
        if !args.wants(name) {
            return Ok(());
        }
        let (ours, raw, ratio) = compare(ctx, raw, call)?;
        let reached = reach.map(|reach| ratio <= reach);
        let bound = reach.map_or(String::new(), |reach| format!("{reach:.2}"));
        writeln!(out, "{name:22} {ours:9.3} {raw:9.3} {ratio:7.3} {bound:>6}  {}", verdict(reached))?;
        rows.push(json!({ "case": name, "us": ours, "raw_us": raw, "ratio": ratio, "reach": reach, "reached": reached }));
        Outcome::Ok(())
    };
    let prepare = |op, operands: &[Operand<'_, StridedBuffer>]| {
        let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype: None })?;
        let outputs = inference.outputs.iter().map(|meta| data::poisoned(meta, device));
        let outputs: Vec<_> = outputs.collect::<Outcome<_>>()?;
        Outcome::Ok(Prepared::op(op, operands, &outputs, Tuning::default())?)
    };
    let raw_add = prepare(add::DEF, &[Operand::Buffer(x), Operand::Buffer(y)])?;
    let raw_tanh = prepare(tanh::DEF, &[Operand::Buffer(x)])?;
    report("add into out", Some(1.08), &raw_add, &mut || Ok(add::out(x, y, &mut z)?))?;
    report("add", Some(1.12), &raw_add, &mut || {
        add(x, y)?;
        Ok(())
    })?;
    report("add a number", None, &raw_add, &mut || {
        add(x, 0.5)?;
        Ok(())
    })?;
    report("tanh", Some(1.12), &raw_tanh, &mut || {
        tanh(x)?;
        Ok(())
    })?;
    let shape = x.shape().to_vec();
    let output = data::poisoned(&data::contiguous(x.dtype(), &shape, device)?, device)?;
    let arguments = [Argument::Buffer(x.clone()), Argument::Buffer(y.clone())];
    let operands: Vec<_> = arguments.iter().map(Argument::operand).collect();
    let fused = Prepared::program(program::seed_f32(), &operands, &[output], Tuning::default())?;
    report("seedF as three calls", None, &fused, &mut || {
        gelu_and_mul(&tanh(y)?, &sub(x, y)?)?;
        Ok(())
    })?;
    let seed = compile(|[x, y]: [SymbolicBuffer; 2]| gelu_and_mul(&tanh(&y)?, &sub(&x, &y)?));
    report("seedF fused", Some(1.20), &fused, &mut || {
        seed.call([x, y])?;
        Ok(())
    })?;
    Ok(rows)
}

/// Medians in µs of a call and of a raw launch, and of their ratio in adjacent batches.
#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn compare(
    ctx: &gems_ops::device::cuda::Context,
    raw: &Prepared,
    call: &mut dyn FnMut() -> Outcome<()>,
) -> Outcome<(f64, f64, f64)> {
    let batch = |work: &mut dyn FnMut() -> Outcome<()>| {
        ctx.synchronize()?;
        let started = Instant::now();
        work()?;
        Outcome::Ok(started.elapsed().as_secs_f64() * 1e6 / BATCH as f64)
    };
    let (mut ours, mut raws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS + 3 {
        raws.push(batch(&mut || Ok(raw.launch_raw(BATCH)?))?);
        ours.push(batch(&mut || (0..BATCH).try_for_each(|_| call()))?);
    }
    // The first rounds warm caches.
    let (ours, raws) = (ours.split_off(3), raws.split_off(3));
    let ratios = ours.iter().zip(&raws).map(|(ours, raw)| ours / raw).collect();
    Ok((median(ours), median(raws), median(ratios)))
}
