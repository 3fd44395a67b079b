//! The strided kernel: any strides along a fixed number of axes.
//!
//! A thread decodes each of its flat indices into one index an axis, innermost last, and loads all its elements
//! before it uses the first.

use super::abi::memory_type;
use super::operand::{Memory, Operands, convert, single_loads};
use super::uses::Uses;
use super::writer::Writer;
use crate::plan::{Access, IndexWidth, KernelSpec};

/// Axes, index width, elements of a thread and a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) rank: u32,
    pub(super) index: IndexWidth,
    pub(super) items: u32,
    pub(super) threads: u32,
}

/// Writes the kernel.
pub(super) fn write(
    text: &mut Writer,
    uses: &mut Uses,
    spec: &KernelSpec,
    entry: &str,
    function: String,
    shape: Shape,
) {
    let Shape { rank, index, items, threads } = shape;
    let (unsigned, signed) = match index {
        IndexWidth::I32 => ("u32", "i32"),
        IndexWidth::I64 => ("u64", "i64"),
    };
    let operands = Operands::new(spec);
    let per_block = items * threads;
    uses.require("integers", []);
    let strided: Vec<_> = spec
        .inputs
        .iter()
        .zip(&operands.inputs)
        .filter(|(input, _)| input.access == Access::Strided)
        .collect();

    text.line("// Extents and strides, outermost axis first, in elements.");
    text.line("struct Axes {");
    text.line(&format!("  {unsigned} extent[{rank}];"));
    for operand in strided.iter().map(|(_, operand)| *operand).chain(&operands.outputs) {
        text.line(&format!("  {signed} {}[{rank}];", operand.name));
    }
    text.line("};");
    text.blank();
    text.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    text.block(&format!("{entry}({})", operands.signature(spec)), |text| {
        text.line(&format!("// A thread takes {items} elements, {threads} apart."));
        text.line(&format!("const {unsigned} first = {unsigned}(blockIdx.x) * {per_block} + threadIdx.x;"));
        for line in single_loads(&operands, spec, uses) {
            text.line(&line);
        }
        for (input, operand) in &strided {
            text.line(&format!("{} {}[{items}] = {{}};", memory_type(input.stored), operand.held));
        }
        for operand in &operands.outputs {
            text.line(&format!("{signed} {}[{items}];", operand.held));
        }
        text.unrolled("k", items, |text| {
            text.line(&format!("const {unsigned} i = first + k * {threads};"));
            text.block("if (i < numel)", |text| {
                decode(text, rank, unsigned, signed);
                for (_, operand) in &strided {
                    let offset = offset(rank, &operand.name);
                    text.line(&format!("{}[k] = {}[{offset}];", operand.held, operand.name));
                }
                for operand in &operands.outputs {
                    text.line(&format!("{}[k] = {};", operand.held, offset(rank, &operand.name)));
                }
            });
        });
        text.unrolled("k", items, |text| {
            text.block(&format!("if (first + k * {threads} < numel)"), |text| {
                for (input, operand) in &strided {
                    let loaded = format!("{}[k]", operand.held);
                    let chain = [input.stored, input.joined, input.lane];
                    let value = convert(uses, &loaded, chain, Memory::Loads);
                    text.line(&format!("const {} {} = {value};", input.lane.cuda_name(), operand.value));
                }
                let keep = |j: usize| {
                    let operand = &operands.outputs[j];
                    format!("{}[{}[k]]", operand.name, operand.held)
                };
                for line in operands.call(spec, uses, &function, keep) {
                    text.line(&line);
                }
            });
        });
    });
}

/// `i` into `i0`, `i1`, …, innermost axis last.
fn decode(text: &mut Writer, rank: u32, unsigned: &str, signed: &str) {
    let last = rank.saturating_sub(1);
    let mut rest = "i".to_owned();
    for axis in (1..=last).rev() {
        text.line(&format!("const {signed} i{axis} = {signed}({rest} % axes.extent[{axis}]);"));
        let next = format!("rest{axis}");
        text.line(&format!("const {unsigned} {next} = {rest} / axes.extent[{axis}];"));
        rest = next;
    }
    text.line(&format!("const {signed} i0 = {signed}({rest});"));
}

/// The offset of an operand's element, in elements.
fn offset(rank: u32, name: &str) -> String {
    let terms: Vec<_> = (0..rank).map(|axis| format!("i{axis} * axes.{name}[{axis}]")).collect();
    terms.join(" + ")
}
