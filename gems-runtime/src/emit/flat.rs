//! The flat kernel: one index over contiguous memory, whole vectors a thread.
//!
//! All loads of a thread are issued before its first use of one. The blocks at the ends, which may be partial, load and
//! store element by element; the arithmetic stands once. Where the first output begins between two aligned vectors, the
//! index runs from there, so that its vectors are aligned; operands that then are not are loaded by whole lines and
//! shifted.

use super::abi::memory_type;
use super::operand::{Operands, compute, declare_held, declare_policy, single_loads, wait_for_earlier};
use super::uses::Uses;
use super::writer::Writer;
use crate::plan::{Access, KernelSpec};

/// Elements of a thread and a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) width: u32,
    pub(super) vectors: u32,
    pub(super) threads: u32,
    pub(super) peeled: bool,
}

/// Writes the kernel.
pub(super) fn write(
    text: &mut Writer,
    uses: &mut Uses,
    spec: &KernelSpec,
    entry: &str,
    function: &str,
    shape: Shape,
) {
    let Shape { width, vectors, threads, peeled } = shape;
    let operands = Operands::new(spec);
    let per_block = width * threads * vectors;
    uses.require("vec", []);
    let inputs = spec.inputs.iter().zip(&operands.inputs).filter_map(|(input, operand)| match input.access {
        Access::Contiguous { aligned } => {
            let memory_type = memory_type(input.stored);
            Some(Transfer { aligned, memory_type, pointer: &operand.name, held: &operand.held })
        }
        _ => None,
    });
    let inputs: Vec<_> = inputs.collect();
    let outputs = spec.outputs.iter().zip(&operands.outputs).map(|(output, operand)| Transfer {
        aligned: output.access == Access::Contiguous { aligned: true },
        memory_type: memory_type(output.stored),
        pointer: &operand.name,
        held: &operand.held,
    });
    let outputs: Vec<_> = outputs.collect();
    let shifts = inputs.iter().any(|input| !input.aligned);

    text.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    text.block(&format!("{entry}({})", operands.signature(spec)), |text| {
        wait_for_earlier(text, uses);
        text.line(&format!(
            "// A thread takes {vectors} vectors of {width} elements, {} apart.",
            width * threads
        ));
        text.line(&format!("const u64 first = u64(blockIdx.x) * {per_block} + threadIdx.x * {width};"));
        if peeled {
            text.line("// The index counts from the aligned vector in which the first output begins.");
            text.line("const u64 end = total + lead;");
            for transfer in inputs.iter().chain(&outputs) {
                text.line(&format!("{} -= lead;", transfer.pointer));
            }
        }
        let end = if peeled { "end" } else { "total" };
        // Shifted loads reach one line beyond the vector; the first and last block do without them.
        let ahead = if shifts { format!("{per_block} + {width}") } else { per_block.to_string() };
        let head = if peeled || shifts { "blockIdx.x != 0 && " } else { "" };
        text.line(&format!("const bool whole = {head}u64(blockIdx.x) * {per_block} + {ahead} <= {end};"));
        for line in single_loads(&operands, spec, uses) {
            text.line(&line);
        }
        declare_held(text, spec, &operands, width, vectors);
        declare_policy(text, uses, spec);
        transfer(text, uses, shape, Direction::Load, &inputs);
        compute(text, uses, spec, &operands, function, (width, vectors));
        transfer(text, uses, shape, Direction::Store, &outputs);
    });
}

/// One operand between memory and registers.
struct Transfer<'a> {
    aligned: bool,
    memory_type: &'static str,
    pointer: &'a str,
    held: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
}

impl Transfer<'_> {
    fn vector(&self, uses: &mut Uses, direction: Direction, width: u32) -> String {
        let Transfer { memory_type, pointer, held, .. } = self;
        let (piece, line) = match (direction, self.aligned) {
            (Direction::Load, true) => (
                "load_whole",
                format!("{held}[v] = math::load_whole<{memory_type}, {width}>({pointer} + i, policy);"),
            ),
            (Direction::Load, false) => (
                "load_any",
                format!("{held}[v] = math::load_any<{memory_type}, {width}>({pointer} + i, policy);"),
            ),
            (Direction::Store, true) => {
                ("store_whole", format!("math::store_whole({pointer} + i, {held}[v]);"))
            }
            (Direction::Store, false) => ("store_any", format!("math::store_any({pointer} + i, {held}[v]);")),
        };
        uses.require(piece, []);
        line
    }

    fn element(&self, direction: Direction) -> String {
        let Transfer { pointer, held, .. } = self;
        match direction {
            Direction::Load => format!("{held}[v].set(k, {pointer}[i + k]);"),
            Direction::Store => format!("{pointer}[i + k] = {held}[v].get(k);"),
        }
    }
}

/// Vectors in whole blocks, single elements in the others.
fn transfer(
    text: &mut Writer,
    uses: &mut Uses,
    shape: Shape,
    direction: Direction,
    transfers: &[Transfer<'_>],
) {
    if transfers.is_empty() {
        return;
    }
    let Shape { width, vectors, threads, peeled } = shape;
    let apart = width * threads;
    let vectors_at_once = |text: &mut Writer| {
        text.unrolled("v", vectors, |text| {
            text.line(&format!("const u64 i = first + v * {apart};"));
            for transfer in transfers {
                text.line(&transfer.vector(uses, direction, width));
            }
        });
    };
    let within = if peeled { "if (i + k >= lead && i + k < end)" } else { "if (i + k < total)" };
    let one_by_one = |text: &mut Writer| {
        text.unrolled("v", vectors, |text| {
            text.line(&format!("const u64 i = first + v * {apart};"));
            text.unrolled("k", width, |text| {
                text.block(within, |text| {
                    for transfer in transfers {
                        text.line(&transfer.element(direction));
                    }
                });
            });
        });
    };
    text.either("if (whole)", vectors_at_once, one_by_one);
}
