//! `gems bench`: what the contract of docs/performance.md says, measured.
//!
//! Reference and case are measured in the same run: a copy for bandwidth, a raw launch for host time, the compiler alone
//! for the first use. Results are checked against the CPU back end before anything is timed.

#[cfg(feature = "cuda")]
mod bandwidth;
#[cfg(feature = "cuda")]
mod cases;
#[cfg(feature = "cuda")]
mod check;
mod cpu;
mod data;
#[cfg(feature = "cuda")]
mod first_use;
#[cfg(feature = "cuda")]
mod host;
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "the CPU suite runs one of them"))]
mod program;

use crate::failure::{Failure, Outcome};
use gems_ops::device::Device;
use gems_ops::plan::policy::Tuning;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct BenchArgs {
    /// Name of one op to measure, instead of a suite.
    #[arg(required_unless_present = "suite", conflicts_with = "suite")]
    op: Option<String>,
    /// Its operands: numbers, or `dtype[shape]` with views behind it.
    #[arg(conflicts_with = "suite")]
    operands: Vec<String>,
    /// The output's dtype and layout; default: what the op chooses.
    #[arg(long, conflicts_with = "suite")]
    out: Option<String>,
    /// The suite to run.
    #[arg(long, value_enum)]
    suite: Option<Suite>,
    /// Only cases whose name has one of these words.
    #[arg(long, value_delimiter = ',')]
    case: Vec<String>,
    /// Write the rows to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Ordinal of the CUDA device.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Measured runs of a case.
    #[arg(long, default_value_t = 15)]
    repeats: usize,
    /// Replaces launch parameters, for finding better ones: `vectors=4,threads=256,across=64,down=128`.
    #[arg(long, hide = true, value_parser = parse_tuning)]
    policy: Option<Tuning>,
    /// What a child process measures.
    #[arg(long, hide = true, value_enum)]
    child: Option<Child>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    /// Fraction of a copy that kernels reach.
    Bandwidth,
    /// Bandwidth from 2^10 to 2^28 elements.
    Sizes,
    /// Time on the host of an eager call.
    Host,
    /// Time until the first result.
    FirstUse,
    /// The CPU back end.
    Cpu,
}

/// What a child process measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Child {
    /// The compiler alone, loaded and called for the kernel's source.
    Compiler,
    /// The first call of an op.
    Call,
}

impl BenchArgs {
    fn wants(&self, name: &str) -> bool {
        self.case.is_empty() || self.case.iter().any(|word| name.contains(word.as_str()))
    }
}

fn parse_tuning(text: &str) -> Result<Tuning, String> {
    let mut tuning = Tuning::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or("expected name=value")?;
        let value = value.parse().map_err(|_| format!("`{value}` is no number"))?;
        let slot = match name {
            "vectors" => &mut tuning.vectors,
            "threads" => &mut tuning.threads,
            "across" => &mut tuning.across,
            "down" => &mut tuning.down,
            "widest" => &mut tuning.widest,
            _ => {
                return Err(format!(
                    "no parameter `{name}`; parameters are vectors, threads, across, down, widest"
                ));
            }
        };
        *slot = Some(value);
    }
    Ok(tuning)
}

pub(crate) fn bench(args: &BenchArgs, out: &mut impl Write) -> Outcome {
    #[cfg(feature = "cuda")]
    if let Some(child) = args.child {
        return first_use::child(child, args.device, out);
    }
    let rows = if args.suite == Some(Suite::Cpu) { cpu::suite(args, out)? } else { on_device(args, out)? };
    if let Some(path) = &args.json {
        let text = json!({ "device": device_name(args.device), "rows": rows }).to_string();
        std::fs::write(path, text).map_err(|error| Failure::of_file(path, error))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "cuda")]
fn on_device(args: &BenchArgs, out: &mut impl Write) -> Outcome<Vec<Row>> {
    match (args.suite, &args.op) {
        (Some(Suite::Bandwidth), _) => bandwidth::suite(args, out),
        (Some(Suite::Sizes), _) => bandwidth::sizes(args, out),
        (Some(Suite::Host), _) => host::suite(args, out),
        (Some(Suite::FirstUse), _) => first_use::suite(args, out),
        (None, Some(op)) => Ok(vec![bandwidth::single(args, op, out)?]),
        (Some(Suite::Cpu), _) | (None, None) => Err(Failure::new("name an op or a suite")),
    }
}

#[cfg(not(feature = "cuda"))]
fn on_device(_: &BenchArgs, _: &mut impl Write) -> Outcome<Vec<Row>> {
    Err(Failure::new("gems was built without CUDA; enable its feature `cuda`, or measure `--suite cpu`"))
}

/// One row of a report: what JSON holds.
type Row = Value;

#[cfg(feature = "cuda")]
fn device_name(ordinal: u32) -> String {
    context(ordinal).map_or_else(|_| Device::Cpu.to_string(), |ctx| ctx.properties().name.clone())
}

#[cfg(not(feature = "cuda"))]
fn device_name(_: u32) -> String {
    Device::Cpu.to_string()
}

#[cfg(feature = "cuda")]
fn context(ordinal: u32) -> Outcome<&'static gems_ops::device::cuda::Context> {
    Ok(gems_ops::device::cuda::Context::get(ordinal)?)
}

/// The middle value; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Whether a value that should be at most or at least the bound is; words of the report.
fn verdict(reached: Option<bool>) -> &'static str {
    match reached {
        Some(true) => "reached",
        Some(false) => "NOT REACHED",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuning_is_read_by_name() {
        let tuning = parse_tuning("vectors=4,down=128").unwrap();
        assert_eq!(tuning, Tuning { vectors: Some(4), down: Some(128), ..Tuning::default() });
        assert!(parse_tuning("width=2").unwrap_err().contains("no parameter `width`"));
        assert!(parse_tuning("vectors").is_err() && parse_tuning("vectors=x").is_err());
    }

    #[test]
    fn the_median_ignores_outliers() {
        assert_eq!(median(vec![3.0, 1e9, 1.0, 2.0, 2.5]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
