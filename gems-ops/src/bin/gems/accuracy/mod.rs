//! `gems accuracy`: how far results are from the exact ones.
//!
//! The reference is computed on the spot, with 320 bits: no file is needed, and every float can be a point. Exit code 1
//! tells of a bound that is missed.

mod bounds;
mod exact;
mod formula;
mod markdown;
mod measure;
mod points;
mod rows;

use crate::failure::{Failure, Outcome, find_op};
use crate::parse_device;
use gems_ops::device::Device;
use gems_ops::dtype::DType;
use gems_ops::op::OpDef;
use measure::Measured;
use rows::Row;
use rows::complex::{self, ComplexRow};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct AccuracyArgs {
    /// Names of ops; default: all that are measured.
    ops: Vec<String>,
    /// `cpu` or `cuda:N`.
    #[arg(long, default_value = "cpu", value_parser = parse_device)]
    device: Device,
    /// Only these dtypes.
    #[arg(long, value_delimiter = ',', default_value = "f16,bf16,f32,f64", value_parser = parse_dtype)]
    dtype: Vec<DType>,
    /// Points for each row; complex ops have a tenth of them, special functions too in f32 and f64. From 65,536 on, these
    /// are all inputs of f16 and bf16 for ops of one operand.
    #[arg(long, default_value_t = 200_000)]
    samples: usize,
    /// Write the rows to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measure nothing; print the table of docs/numerics.md from files of `--json`.
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["ops", "json"])]
    markdown: Vec<PathBuf>,
    /// Put the table into this page instead, between its marks.
    #[arg(long, requires = "markdown", value_name = "PAGE")]
    into: Option<PathBuf>,
}

fn parse_dtype(text: &str) -> Result<DType, String> {
    [DType::F16, DType::BF16, DType::F32, DType::F64]
        .into_iter()
        .find(|dtype| dtype.name() == text)
        .ok_or_else(|| "expected f16, bf16, f32 or f64".to_owned())
}

pub(crate) fn accuracy(args: &AccuracyArgs, out: &mut impl Write) -> Outcome {
    if !args.markdown.is_empty() {
        match &args.into {
            None => markdown::write(&args.markdown, out)?,
            Some(page) => {
                let mut table = Vec::new();
                markdown::write(&args.markdown, &mut table)?;
                markdown::insert(&String::from_utf8_lossy(&table), page)?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let rows = chosen(&args.ops)?;
    let mut measured = Vec::new();
    let mut missed = 0;
    writeln!(
        out,
        "{:42} {:5} {:>7} {:>9} {:>9} {:>8} {:>8}",
        "op", "dtype", "points", "max", "99.9 %", "nearest", "of bound"
    )?;
    for row in rows {
        for &dtype in &args.dtype {
            let Some(found) = row.measure(dtype, args.device, args.samples)? else { continue };
            missed += usize::from(!found.is_met());
            report(&row.name(), dtype, &found, out)?;
            out.flush()?;
            measured.push(json(&row.name(), dtype, &found));
        }
    }
    writeln!(out, "{} met, {missed} missed", measured.len() - missed)?;
    if let Some(path) = &args.json {
        let device = device_name(args.device)?;
        let text = json!({ "device": device, "rows": measured }).to_string();
        std::fs::write(path, text).map_err(|error| Failure::of_file(path, error))?;
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is measured as one.
enum Subject {
    Row(&'static Row),
    Complex(&'static ComplexRow),
    Formula(&'static OpDef),
}

impl Subject {
    fn op(&self) -> &'static str {
        match self {
            Subject::Row(row) => row.op,
            Subject::Complex(row) => row.op,
            Subject::Formula(op) => op.name,
        }
    }

    fn name(&self) -> String {
        match self {
            Subject::Row(row) => row.name(),
            Subject::Complex(row) => format!("{} (complex)", row.op),
            Subject::Formula(op) => op.name.to_owned(),
        }
    }

    fn measure(&self, dtype: DType, device: Device, samples: usize) -> Outcome<Option<Measured>> {
        match self {
            Subject::Row(row) => measure::measure(row, dtype, device, samples).map(Some),
            Subject::Complex(_) if dtype == DType::BF16 => Ok(None),
            Subject::Complex(row) => measure::measure_complex(row, dtype, device, samples).map(Some),
            Subject::Formula(op) => measure::measure_formula(op, dtype, device, samples),
        }
    }
}

/// The rows of these ops, or all.
fn chosen(ops: &[String]) -> Outcome<Vec<Subject>> {
    let names = ops.iter().map(|name| Ok(find_op(name)?.name)).collect::<Outcome<Vec<_>>>()?;
    let all = || {
        let rows = rows::rows().map(Subject::Row).chain(complex::ROWS.iter().map(Subject::Complex));
        rows.chain(rows::composed::ops().map(Subject::Formula))
    };
    if let Some(op) = names.iter().find(|name| all().all(|subject| subject.op() != **name)) {
        return Err(Failure::new(format!("{op} has no float results that could be inexact")));
    }
    Ok(all().filter(|subject| names.is_empty() || names.contains(&subject.op())).collect())
}

fn report(name: &str, dtype: DType, found: &Measured, out: &mut impl Write) -> Outcome<()> {
    let Measured { points, max, p999, nearest, of_bound, bound, worst, got, exact, .. } = found;
    let nearest = 100.0 * nearest;
    write!(
        out,
        "{name:42} {:5} {points:7} {:>9} {:>9} {nearest:7.3}% {:>8}",
        dtype.name(),
        short(*max),
        short(*p999),
        short(*of_bound),
    )?;
    if found.is_met() {
        writeln!(out)?;
    } else {
        writeln!(out, "  missed: {bound}; at {worst:?}: {got:e} instead of {exact:e}")?;
    }
    Ok(())
}

/// Three digits behind the point, of great numbers three digits in all.
fn short(value: f64) -> String {
    if value < 1e4 { format!("{value:.3}") } else { format!("{value:.2e}") }
}

fn json(name: &str, dtype: DType, found: &Measured) -> serde_json::Value {
    json!({
        "op": name, "dtype": dtype.name(), "points": found.points, "max_ulp": found.max, "p999_ulp": found.p999,
        "nearest": found.nearest, "of_bound": found.of_bound, "bound": found.bound,
        "met": found.is_met(), "worst": found.worst, "got": found.got, "exact": found.exact,
    })
}

/// What the table calls the device.
fn device_name(device: Device) -> Outcome<String> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => Ok(gems_ops::device::cuda::Context::get(ordinal)?.properties().name.clone()),
        _ => Ok("CPU".to_owned()),
    }
}
