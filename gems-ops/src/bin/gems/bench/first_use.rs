//! Time until the first result, in fresh processes: the tool starts itself for each measurement.

use super::{BenchArgs, Child, Row, context, median, verdict};
use crate::failure::{Failure, Outcome};
use gems_ops::buffer::StridedBuffer;
use gems_ops::compile::Nvrtc;
use gems_ops::device::Device;
use gems_ops::{add, emit, gelu_and_mul, plan};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Processes of each kind: one of NVRTC takes 20 or 28 ms, so that few have no median.
const PROCESSES: usize = 21;

pub(crate) fn suite(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    let folder = std::env::temp_dir().join(format!("gems-first-use-{}", std::process::id()));
    let folder = folder.to_string_lossy().into_owned();
    let cold = [("GEMS_CACHE", "off"), ("GEMS_CACHE_DIR", folder.as_str())];
    let warm = [("GEMS_CACHE", "on"), ("GEMS_CACHE_DIR", folder.as_str())];
    // The first of these fills the cache.
    start(args, Child::Call, &warm)?;
    let (mut compiler, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
    // In turn: the clock of a processor changes within the second that seven processes of one kind take.
    for _ in 0..PROCESSES {
        compiler.push(start(args, Child::Compiler, &cold)?);
        first.push(start(args, Child::Call, &cold)?);
        again.push(start(args, Child::Call, &warm)?);
    }
    let _ = std::fs::remove_dir_all(&folder);

    let of = |rows: &[Value], key: &str| median(rows.iter().filter_map(|row| row[key].as_f64()).collect());
    let (alone, call) = (of(&compiler, "ms"), of(&first, "ms"));
    let (warm, context) = (of(&again, "ms"), of(&again, "context_ms"));
    let before = of(&first, "before_ms");
    writeln!(out, "medians of {PROCESSES} processes, gelu_and_mul of f32[1024]")?;
    let rows = [
        ("NVRTC alone", alone, None),
        ("first call, no cache", call, Some(1.15 * alone)),
        ("first call, disk cache", warm, Some(3.0)),
        ("second op, disk cache", of(&again, "second_ms"), None),
        ("context and stream", context, None),
        ("before the first call", before, None),
    ];
    for (name, ms, reach) in rows {
        let bound = reach.map_or(String::new(), |reach| format!("at most {reach:.2}"));
        writeln!(out, "{name:24} {ms:9.3} ms  {bound:16} {}", verdict(reach.map(|reach| ms <= reach)))?;
    }
    let row = |(name, ms, reach): (&str, f64, Option<f64>)| json!({ "case": name, "ms": ms, "reach": reach, "reached": reach.map(|reach| ms <= reach) });
    Ok(rows.into_iter().map(row).collect())
}

fn start(args: &BenchArgs, child: Child, settings: &[(&str, &str)]) -> Outcome<Value> {
    let kind = match child {
        Child::Compiler => "compiler",
        Child::Call => "call",
    };
    let program =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot start itself: {error}")))?;
    let output = Command::new(program)
        .args(["bench", "--suite", "first-use", "--child", kind, "--device", &args.device.to_string()])
        .envs(settings.iter().copied())
        .output()
        .map_err(|error| Failure::new(format!("cannot start itself: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure::new(format!("a child wrote no JSON: {error}")))
}

pub(crate) fn child(child: Child, ordinal: u32, out: &mut impl Write) -> Outcome {
    let began = Instant::now();
    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    let row = match child {
        Child::Compiler => {
            // The driver and a context come first, as in a call.
            let arch = context(ordinal)?.arch();
            let source = emit::source(&plan::representative(gelu_and_mul::DEF)?.1.spec)?;
            let started = Instant::now();
            Nvrtc::get()?.compile(&source.text, &source.entry, arch)?;
            json!({ "ms": ms(started) })
        }
        Child::Call => {
            let before = ms(began);
            let started = Instant::now();
            let ctx = context(ordinal)?;
            ctx.default_stream()?;
            let context_ms = ms(started);
            let x =
                StridedBuffer::from_vec(vec![0.5_f32; 1024], &[1024])?.to_device(Device::Cuda(ordinal))?;
            ctx.synchronize()?;
            let started = Instant::now();
            gelu_and_mul(&x, &x)?;
            ctx.synchronize()?;
            let first = ms(started);
            let started = Instant::now();
            add(&x, &x)?;
            ctx.synchronize()?;
            json!({ "ms": first, "second_ms": ms(started), "context_ms": context_ms, "before_ms": before })
        }
    };
    writeln!(out, "{row}")?;
    Ok(ExitCode::SUCCESS)
}
