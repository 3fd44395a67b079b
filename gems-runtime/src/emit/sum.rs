//! The kernel of a sum over broadcast axes.
//!
//! A block computes one result, or a row of neighboring ones where those lie next to each other in memory. Each thread
//! adds every n-th element of its result in turn, then the threads of a result add theirs in a tree, so the order is the
//! same in every run.

use super::Source;
use super::abi::{Packed, low_word, memory_type};
use super::operand::{Memory, convert, wait_for_earlier};
use super::prelude;
use super::uses::Uses;
use super::writer::Writer;
use crate::error::Result;
use crate::layout::Coalesced;
use crate::plan::{IndexWidth, ReduceSpec, Reduction};

/// The kernel of `spec`.
///
/// # Errors
/// The prelude lacks a conversion between the dtypes.
pub fn sum_source(spec: &ReduceSpec) -> Result<Source> {
    let entry = spec.to_string();
    let mut uses = Uses::new();
    let accumulator = spec.accumulator();
    let sum = accumulator.cuda_name();
    uses.require("integers", []);
    for dtype in [spec.from, spec.to, accumulator] {
        uses.offer("type", [dtype]);
    }
    if accumulator.is_complex() {
        uses.require("add", [accumulator]);
    }
    let add = |a: &str, b: &str| {
        if accumulator.is_complex() { format!("math::add({a}, {b})") } else { format!("{a} + {b}") }
    };
    let (unsigned, signed) = match spec.index {
        IndexWidth::I32 => ("u32", "i32"),
        IndexWidth::I64 => ("u64", "i64"),
    };
    let ReduceSpec { kept, summed, results, threads, .. } = *spec;
    let lanes = threads / results;
    let (from, to) = (memory_type(spec.from), memory_type(spec.to));
    let term = convert(&mut uses, "in[base + offset]", [spec.from, accumulator, accumulator], Memory::Loads);
    let total = convert(&mut uses, "partial[threadIdx.x]", [accumulator, spec.to, spec.to], Memory::Stores);
    let zero = if accumulator.is_complex() { format!("{sum}{{0, 0}}") } else { format!("{sum}(0)") };

    let mut kernel = Writer::new();
    kernel.line("// Extents and strides, outermost axis first, in elements.");
    kernel.line("struct Axes {");
    for (name, ty, rank) in [
        ("kept", unsigned, kept),
        ("out", signed, kept),
        ("first", signed, kept),
        ("summed", unsigned, summed),
        ("term", signed, summed),
    ] {
        if rank > 0 {
            kernel.line(&format!("  {ty} {name}[{rank}];"));
        }
    }
    kernel.line(&format!("  {unsigned} results;"));
    kernel.line(&format!("  {unsigned} count;"));
    kernel.line("};");
    kernel.blank();
    kernel.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    let head = format!("{entry}(const {from}* __restrict__ in, {to}* __restrict__ out, const Axes axes)");
    kernel.block(&head, |text| {
        wait_for_earlier(text, &mut uses);
        text.line(&format!("// A block has {results} results; {lanes} threads share the elements of each."));
        text.line(&format!("__shared__ {sum} partial[{threads}];"));
        text.line(&format!("const u32 lane = threadIdx.x / {results};"));
        text.line(&format!(
            "const {unsigned} result = {unsigned}(blockIdx.x) * {results} + threadIdx.x % {results};"
        ));
        text.line(&format!("{signed} target = 0;"));
        text.line(&format!("{sum} sum = {zero};"));
        text.block("if (result < axes.results)", |text| {
            text.line(&format!("{signed} base = 0;"));
            decode(text, "result", "kept", kept, unsigned, signed, &[("target", "out"), ("base", "first")]);
            text.block(&format!("for ({unsigned} k = lane; k < axes.count; k += {lanes})"), |text| {
                text.line(&format!("{signed} offset = 0;"));
                decode(text, "k", "summed", summed, unsigned, signed, &[("offset", "term")]);
                text.line(&format!("sum = {};", add("sum", &term)));
            });
        });
        text.line("partial[threadIdx.x] = sum;");
        text.line("__syncthreads();");
        text.block(&format!("for (u32 half = {}; half > 0; half /= 2)", lanes / 2), |text| {
            let other = format!("partial[threadIdx.x + half * {results}]");
            text.block("if (lane < half)", |text| {
                text.line(&format!("partial[threadIdx.x] = {};", add("partial[threadIdx.x]", &other)));
            });
            text.line("__syncthreads();");
        });
        text.block("if (lane == 0 && result < axes.results)", |text| {
            text.line(&format!("out[target] = {total};"));
        });
    });
    let mut text = Writer::new();
    text.line(&format!("// sum_to: {} -> {}, summed in {accumulator}", spec.from, spec.to));
    text.blank();
    text.raw(&prelude::closure(&uses).map_err(|error| error.in_op("sum_to"))?);
    text.blank();
    text.raw(kernel.as_str());
    Ok(Source { entry, text: text.into_string() })
}

/// Adds to each target the offset of a flat index along some axes, innermost last.
fn decode(
    text: &mut Writer,
    flat: &str,
    extents: &str,
    rank: u32,
    unsigned: &str,
    signed: &str,
    targets: &[(&str, &str)],
) {
    if rank == 0 {
        return;
    }
    text.line("{");
    text.line(&format!("  {unsigned} rest = {flat};"));
    for axis in (0..rank).rev() {
        let index = if axis == 0 { "rest".to_owned() } else { format!("rest % axes.{extents}[{axis}]") };
        for (target, strides) in targets {
            text.line(&format!("  {target} += {signed}({index}) * axes.{strides}[{axis}];"));
        }
        if axis > 0 {
            text.line(&format!("  rest /= axes.{extents}[{axis}];"));
        }
    }
    text.line("}");
}

/// The arguments of a sum's kernel; addresses are in bytes.
#[must_use]
pub fn pack_sum(plan: &Reduction, from: u64, to: u64) -> Packed {
    let mut packed = Packed::default();
    packed.push(&from.to_le_bytes());
    packed.push(&to.to_le_bytes());
    let mut words: Vec<u64> = Vec::new();
    for axes in [&plan.kept, &plan.summed] {
        let Coalesced { extents, strides } = axes;
        words.extend(extents.iter().map(|&extent| extent as u64));
        words.extend(strides.iter().flatten().map(|&stride| (stride as i64).cast_unsigned()));
    }
    words.extend([plan.results as u64, plan.count as u64]);
    let bytes: Vec<u8> = match plan.spec.index {
        IndexWidth::I32 => words.into_iter().flat_map(low_word).collect(),
        IndexWidth::I64 => words.into_iter().flat_map(u64::to_le_bytes).collect(),
    };
    packed.push(&bytes);
    packed
}
