//! Fractions of a copy: times of kernels by device events, against a device-to-device copy of the same run.

use super::cases::{CASES, Case, What};
use super::data::{self, Argument};
use super::{BenchArgs, Row, check, context, median, program, verdict};
use crate::failure::{Failure, Outcome, find_op};
use crate::notation::{self, Written};
use gems_ops::buffer::{Meta, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::device::cuda::{Context, Event, Timing};
use gems_ops::dtype::{DType, Scalar};
use gems_ops::op::{OpDef, Operand};
use gems_ops::plan::{self, Outputs};
use gems_runtime::exec::Prepared;
use serde_json::json;
use std::io::Write;

/// Runs before the measured ones.
const WARM_UP: usize = 4;
/// Elements of the copy: 2^28 of f32, read and written.
const COPIED: usize = 1 << 28;

pub(crate) fn suite(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    let ctx = context(args.device)?;
    writeln!(out, "{}, {} multiprocessors", ctx.properties().name, ctx.properties().sm_count)?;
    let copy = copy_speed(ctx, args)?;
    writeln!(out, "device-to-device copy: {copy:.0} GB/s read and written\n")?;
    head(out)?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| args.wants(case.name)) {
        rows.push(match measure(case, ctx, args, copy) {
            Ok(measured) => measured.report(out)?,
            Err(Failure::Message(message)) => {
                writeln!(out, "{:27} failed: {message}", case.name)?;
                json!({ "case": case.name, "error": message })
            }
            Err(closed @ Failure::ClosedPipe) => return Err(closed),
        });
        out.flush()?;
    }
    let again = copy_speed(ctx, args)?;
    writeln!(out, "\ncopy again, at the end: {again:.0} GB/s")?;
    rows.push(json!({ "case": "memcpy", "gbps": copy, "gbps_at_end": again }));
    Ok(rows)
}

/// The ops of the sweep over sizes, with the dtype of their operands.
const SWEPT: [(&str, &str, usize); 3] = [("tanh", "f32", 1), ("tanh", "bf16", 1), ("add", "f32", 2)];

/// Bandwidth over the number of elements.
pub(crate) fn sizes(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    let ctx = context(args.device)?;
    let copy = copy_speed(ctx, args)?;
    let device = Device::Cuda(args.device);
    head(out)?;
    let mut rows = Vec::new();
    for (op, dtype, operands) in SWEPT {
        for exponent in (10..=28).step_by(2) {
            let name = format!("{op}_{dtype}_2^{exponent}");
            if !args.wants(&name) {
                continue;
            }
            let elements = 1_u64 << exponent;
            let operand = format!("{dtype}[{elements}]");
            let operands = arguments(std::iter::repeat_n(operand.as_str(), operands), device)?;
            let call = Call::op(find_op(op)?, operands, None, device, args)?;
            let mut row = call.measure(&name, ctx, args, copy)?.report(out)?;
            row["elements"] = json!(elements);
            rows.push(row);
            drop(call);
            ctx.trim()?;
        }
    }
    Ok(rows)
}

/// One op on written operands.
pub(crate) fn single(args: &BenchArgs, name: &str, out: &mut impl Write) -> Outcome<Row> {
    let ctx = context(args.device)?;
    let op = find_op(name)?;
    let device = Device::Cuda(args.device);
    let arguments = arguments(args.operands.iter().map(String::as_str), device)?;
    let copy = copy_speed(ctx, args)?;
    head(out)?;
    let call = Call::op(op, arguments, args.out.as_deref(), device, args)?;
    let mut measured = call.measure(name, ctx, args, copy)?;
    measured.reach = None;
    let row = measured.report(out)?;
    write!(out, "\n{}", plan::explain(call.prepared.plan()))?;
    Ok(row)
}

fn head(out: &mut impl Write) -> Outcome<()> {
    writeln!(out, "{:27} {:>9} {:>7} {:>7} {:>6}  kernel", "case", "µs", "GB/s", "of copy", "reach")?;
    Ok(())
}

/// What one case took.
#[derive(Debug)]
struct Measured {
    name: String,
    ms: f64,
    gbps: f64,
    of_copy: f64,
    reach: Option<f64>,
    kernel: String,
}

impl Measured {
    fn report(&self, out: &mut impl Write) -> Outcome<Row> {
        let Measured { name, ms, gbps, of_copy, reach, kernel } = self;
        // Two digits, as the contract has them.
        let reached = reach.map(|reach| (of_copy * 100.0).round() >= (reach * 100.0).round());
        let bound = reach.map_or(String::new(), |reach| format!("{reach:.2}"));
        let us = ms * 1e3;
        let verdict = verdict(reached);
        writeln!(out, "{name:27} {us:9.2} {gbps:7.0} {of_copy:7.3} {bound:>6}  {kernel} {verdict}")?;
        Ok(json!({
            "case": name, "ms": ms, "gbps": gbps, "of_copy": of_copy, "reach": reach, "reached": reached,
            "kernel": kernel,
        }))
    }
}

fn measure(case: &Case, ctx: &'static Context, args: &BenchArgs, copy: f64) -> Outcome<Measured> {
    let device = Device::Cuda(args.device);
    let operands = || arguments(case.operands.iter().copied(), device);
    let call = match case.what {
        What::Op(name) => Call::op(find_op(name)?, operands()?, case.out, device, args)?,
        What::Fused(program) => Call::fused(program(), operands()?, args)?,
    };
    let measured = call.measure(case.name, ctx, args, copy)?;
    drop(call);
    // Cases are large: the next one needs the memory in other pieces.
    ctx.trim()?;
    Ok(Measured { reach: case.reach, ..measured })
}

fn arguments<'a>(texts: impl Iterator<Item = &'a str>, device: Device) -> Outcome<Vec<Argument>> {
    texts.zip(1..).map(|(text, seed)| data::argument(text, device, seed)).collect()
}

/// A call with its operands, and the same call for the CPU back end.
struct Call {
    prepared: Prepared,
    arguments: Vec<Argument>,
    what: Computation,
}

enum Computation {
    Op(&'static OpDef),
    Program(plan::Program),
}

impl Call {
    fn op(
        op: &'static OpDef,
        arguments: Vec<Argument>,
        out: Option<&str>,
        device: Device,
        args: &BenchArgs,
    ) -> Outcome<Call> {
        let operands: Vec<_> = arguments.iter().map(Argument::operand).collect();
        let metas: Vec<Meta> = match out.map(notation::parse).transpose()? {
            Some(Written::Buffer(buffer)) => vec![buffer.clone()],
            Some(Written::Number(_)) => return Err(Failure::new("`--out` is a buffer")),
            None => {
                plan::infer(op, &plan::arguments(&operands), Outputs::New { dtype: None })?.outputs.to_vec()
            }
        };
        let outputs: Vec<_> =
            metas.iter().map(|meta| data::poisoned(meta, device)).collect::<Outcome<_>>()?;
        let prepared = Prepared::op(op, &operands, &outputs, args.policy.unwrap_or_default())?;
        Ok(Call { prepared, arguments, what: Computation::Op(op) })
    }

    fn fused(program: plan::Program, mut arguments: Vec<Argument>, args: &BenchArgs) -> Outcome<Call> {
        let device = Device::Cuda(args.device);
        if program.name == "adamw" {
            // The second moment is no negative number.
            if let Some(Argument::Buffer(buffer)) = arguments.last_mut() {
                *buffer = gems_ops::abs(&*buffer)?;
            }
            arguments.extend(program::ADAMW_NUMBERS.map(|number| Argument::Number(Scalar::F64(number))));
        }
        let Some(shape) = arguments.iter().find_map(Argument::buffer).map(|buffer| buffer.shape().to_vec())
        else {
            return Err(Failure::new("a fused case needs a buffer"));
        };
        let metas = program.outputs.iter().map(|output| data::contiguous(output.dtype, &shape, device));
        let outputs = metas.map(|meta| data::poisoned(&meta?, device)).collect::<Outcome<Vec<_>>>()?;
        let operands: Vec<_> = arguments.iter().map(Argument::operand).collect();
        let prepared =
            Prepared::program(program.clone(), &operands, &outputs, args.policy.unwrap_or_default())?;
        Ok(Call { prepared, arguments, what: Computation::Program(program) })
    }

    /// Checks the results on a sample, then times the kernel.
    fn measure(&self, name: &str, ctx: &'static Context, args: &BenchArgs, copy: f64) -> Outcome<Measured> {
        self.prepared.run()?;
        self.check()?;
        let ms = time(ctx, args.repeats, || Ok(self.prepared.run()?))?;
        let gbps = check::least_bytes(&self.arguments, self.prepared.outputs()) / ms / 1e6;
        let kernel = self.prepared.plan().spec.to_string();
        Ok(Measured { name: name.to_owned(), ms, gbps, of_copy: gbps / copy, reach: None, kernel })
    }

    /// Compares lines of the outputs with what the CPU back end computes from the same lines of the inputs.
    fn check(&self) -> Outcome<()> {
        let outputs = self.prepared.outputs();
        let Some(shape) = outputs.first().map(|output| output.shape().to_vec()) else { return Ok(()) };
        for ranges in check::lines(&shape) {
            let inputs = self.arguments.iter().map(|argument| match argument {
                Argument::Buffer(buffer) if buffer.shape().is_empty() => {
                    Ok(Argument::Buffer(buffer.to_device(Device::Cpu)?))
                }
                Argument::Buffer(buffer) => check::line(buffer, &shape, &ranges).map(Argument::Buffer),
                Argument::Number(number) => Ok(Argument::Number(*number)),
            });
            let inputs: Vec<Argument> = inputs.collect::<Outcome<_>>()?;
            let operands: Vec<Operand<'_, StridedBuffer>> = inputs.iter().map(Argument::operand).collect();
            let extents: Vec<usize> = ranges.iter().map(|range| range.1).collect();
            let metas = outputs.iter().map(|output| data::contiguous(output.dtype(), &extents, Device::Cpu));
            let expected: Vec<_> =
                metas.map(|meta| data::poisoned(&meta?, Device::Cpu)).collect::<Outcome<_>>()?;
            match &self.what {
                Computation::Op(op) => {
                    Prepared::op(op, &operands, &expected, plan::policy::Tuning::default())?
                }
                Computation::Program(program) => {
                    Prepared::program(program.clone(), &operands, &expected, plan::policy::Tuning::default())?
                }
            }
            .run()?;
            for (expected, output) in expected.iter().zip(outputs) {
                check::agree(expected, &check::line(output, &shape, &ranges)?)?;
            }
        }
        Ok(())
    }
}

/// Median milliseconds of a piece of work on the default stream, each run waited for before the next, as the peers of the
/// contract were measured.
fn time(ctx: &'static Context, repeats: usize, mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let stream = ctx.default_stream()?;
    for _ in 0..WARM_UP {
        run()?;
    }
    let (before, behind) = (Event::new(ctx, Timing::On)?, Event::new(ctx, Timing::On)?);
    let once = |_| {
        before.record(stream)?;
        run()?;
        behind.record(stream)?;
        behind.synchronize()?;
        Outcome::Ok(f64::from(before.elapsed_ms(&behind)?))
    };
    Ok(median((0..repeats).map(once).collect::<Outcome<_>>()?))
}

/// GB/s of a device-to-device copy by the driver, read and written.
#[expect(clippy::cast_precision_loss, reason = "a number for a report")]
fn copy_speed(ctx: &'static Context, args: &BenchArgs) -> Outcome<f64> {
    let stream = ctx.default_stream()?;
    let bytes = COPIED * DType::F32.size();
    let from = data::argument(&format!("f32[{COPIED}]"), Device::Cuda(args.device), 7)?;
    let to = gems_ops::device::cuda::DeviceMemory::alloc(bytes, stream)?;
    let Some(from) = from.buffer().cloned() else { return Err(Failure::new("the copy needs a buffer")) };
    let ms = time(ctx, args.repeats, || Ok(gems_runtime::exec::copy_to_memory(&from, &to)?))?;
    Ok(2.0 * bytes as f64 / ms / 1e6)
}
