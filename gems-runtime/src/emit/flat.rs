//! The flat kernel: one index over contiguous memory, whole vectors a thread.
//!
//! All loads of a thread are issued before its first use of one. The last block, which may be partial, loads and
//! stores element by element; the arithmetic stands once.

use super::abi::memory_type;
use super::operand::{Memory, Operands, convert, single_loads};
use super::uses::Uses;
use super::writer::Writer;
use crate::plan::{Access, KernelSpec};

/// Elements of a thread and a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) width: u32,
    pub(super) vectors: u32,
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
    let Shape { width, vectors, threads } = shape;
    let operands = Operands::new(spec);
    let apart = width * threads;
    let per_block = apart * vectors;
    uses.require("vec", []);
    let contiguous_inputs: Vec<_> = spec
        .inputs
        .iter()
        .zip(&operands.inputs)
        .filter(|(input, _)| matches!(input.access, Access::Contiguous { .. }))
        .collect();

    text.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    text.block(&format!("{entry}({})", operands.signature(spec)), |text| {
        text.line(&format!("// A thread takes {vectors} vectors of {width} elements, {apart} apart."));
        text.line(&format!("const u64 first = u64(blockIdx.x) * {per_block} + threadIdx.x * {width};"));
        text.line(&format!("const bool whole = (u64(blockIdx.x) + 1) * {per_block} <= numel;"));
        for line in single_loads(&operands, spec, uses) {
            text.line(&line);
        }
        for (input, operand) in &contiguous_inputs {
            let ty = memory_type(input.stored);
            text.line(&format!("math::vec<{ty}, {width}> {}[{vectors}] = {{}};", operand.held));
        }
        for (output, operand) in spec.outputs.iter().zip(&operands.outputs) {
            let ty = memory_type(output.stored);
            text.line(&format!("math::vec<{ty}, {width}> {}[{vectors}];", operand.held));
        }
        let loads = contiguous_inputs.iter().map(|(input, operand)| Transfer {
            access: input.access,
            memory_type: memory_type(input.stored),
            pointer: &operand.name,
            held: &operand.held,
        });
        transfer(text, shape, Direction::Load, &loads.collect::<Vec<_>>());
        text.unrolled("v", vectors, |text| {
            text.unrolled("k", width, |text| {
                for (input, operand) in &contiguous_inputs {
                    let loaded = format!("{}[v].at[k]", operand.held);
                    let chain = [input.stored, input.joined, input.lane];
                    let value = convert(uses, &loaded, chain, Memory::Loads);
                    text.line(&format!("const {} {} = {value};", input.lane.cuda_name(), operand.value));
                }
                let keep = |j: usize| format!("{}[v].at[k]", operands.outputs[j].held);
                for line in operands.call(spec, uses, &function, keep) {
                    text.line(&line);
                }
            });
        });
        let stores = spec.outputs.iter().zip(&operands.outputs).map(|(output, operand)| Transfer {
            access: output.access,
            memory_type: memory_type(output.stored),
            pointer: &operand.name,
            held: &operand.held,
        });
        transfer(text, shape, Direction::Store, &stores.collect::<Vec<_>>());
    });
}

/// One operand between memory and registers.
struct Transfer<'a> {
    access: Access,
    memory_type: &'static str,
    pointer: &'a str,
    held: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
}

/// Vectors in whole blocks, single elements in the last one.
fn transfer(text: &mut Writer, shape: Shape, direction: Direction, transfers: &[Transfer<'_>]) {
    if transfers.is_empty() {
        return;
    }
    let Shape { width, vectors, threads } = shape;
    let apart = width * threads;
    let element = |transfer: &Transfer<'_>| {
        let memory = format!("{}[i + k]", transfer.pointer);
        let register = format!("{}[v].at[k]", transfer.held);
        match direction {
            Direction::Load => format!("{register} = {memory};"),
            Direction::Store => format!("{memory} = {register};"),
        }
    };
    let vectors_at_once = |text: &mut Writer| {
        text.unrolled("v", vectors, |text| {
            text.line(&format!("const u64 i = first + v * {apart};"));
            for transfer in transfers {
                if transfer.access == (Access::Contiguous { aligned: true }) {
                    let vector = format!("math::vec<{}, {width}>", transfer.memory_type);
                    text.line(&match direction {
                        Direction::Load => format!(
                            "{}[v] = *reinterpret_cast<const {vector}*>({} + i);",
                            transfer.held, transfer.pointer
                        ),
                        Direction::Store => format!(
                            "*reinterpret_cast<{vector}*>({} + i) = {}[v];",
                            transfer.pointer, transfer.held
                        ),
                    });
                } else {
                    text.unrolled("k", width, |text| text.line(&element(transfer)));
                }
            }
        });
    };
    let one_by_one = |text: &mut Writer| {
        text.unrolled("v", vectors, |text| {
            text.line(&format!("const u64 i = first + v * {apart};"));
            text.unrolled("k", width, |text| {
                text.block("if (i + k < numel)", |text| {
                    for transfer in transfers {
                        text.line(&element(transfer));
                    }
                });
            });
        });
    };
    text.either("if (whole)", vectors_at_once, one_by_one);
}
