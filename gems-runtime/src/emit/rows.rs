//! The kernel of rows: vectors along the innermost axis, any strides along the others.
//!
//! Each operand is reached in its own way: whole vectors, vectors from behind, one element for all, elements apart. All
//! loads of a thread are issued before its first use of one. Where rows of the first output begin between two aligned
//! vectors, each row's vectors count from there, so that stores are whole but for the row's ends.

use super::abi::memory_type;
use super::operand::{
    Operand, Operands, compute, declare_held, declare_policy, index_types, single_loads, wait_for_earlier,
};
use super::uses::Uses;
use super::writer::Writer;
use crate::plan::{Access, IndexWidth, KernelSpec};

/// Axes, index width, elements of a thread and a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) rank: u32,
    pub(super) index: IndexWidth,
    pub(super) width: u32,
    pub(super) vectors: u32,
    pub(super) threads: u32,
    pub(super) ragged: bool,
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
    let Shape { rank, index, width, vectors, threads, ragged } = shape;
    let (unsigned, signed) = index_types(index);
    let operands = Operands::new(spec);
    let per_block = vectors * threads;
    uses.require("vec", []);
    uses.require("divide", []);
    declare_axes(text, spec, &operands, rank, index, &["inner"]);
    // Rows of the first output begin between aligned vectors.
    let first = spec.outputs.first().zip(operands.outputs.first());
    let shifted =
        first.filter(|(output, _)| width > 1 && output.access == Access::Contiguous { aligned: false });
    let last = rank.saturating_sub(1);
    let place = |text: &mut Writer| {
        text.line(&format!("const {unsigned} unit = first + v * {threads};"));
        decode(text, "unit", rank, index);
        for Operand { name, row, .. } in with_strides(spec, &operands) {
            text.line(&format!("const {signed} {row} = {};", offset(0..last, name)));
        }
        let shift = shifted.map(|(output, operand)| {
            let per_line = 16_u32.div_ceil(u32::try_from(output.stored.size()).unwrap_or(16)).min(width);
            format!(
                " - {signed}(reinterpret_cast<u64>({} + {}) / {} % {per_line})",
                operand.name,
                operand.row,
                output.stored.size()
            )
        });
        text.line(&format!("const {signed} begin = i{last} * {width}{};", shift.unwrap_or_default()));
    };
    let below = format!("{signed}(axes.inner)");
    let bounds = match (ragged, shifted) {
        (false, _) => None,
        (true, None) => Some(Bounds {
            whole: format!("begin + {width} <= {below}"),
            element: format!("begin + {signed}(k) < {below}"),
        }),
        (true, Some(_)) => Some(Bounds {
            whole: format!("begin >= 0 && begin + {width} <= {below}"),
            element: format!("begin + {signed}(k) >= 0 && begin + {signed}(k) < {below}"),
        }),
    };
    let row = Row { signed, width, axis: last, shifted: shifted.is_some(), bounds };

    text.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    text.block(&format!("{entry}({})", operands.signature(spec)), |text| {
        wait_for_earlier(text, uses);
        text.line(&format!(
            "// A thread takes {vectors} vectors of {width} elements, {threads} vectors apart."
        ));
        text.line(&format!("const {unsigned} first = {unsigned}(blockIdx.x) * {per_block} + threadIdx.x;"));
        for line in single_loads(&operands, spec, uses) {
            text.line(&line);
        }
        declare_held(text, spec, &operands, width, vectors);
        declare_policy(text, uses, spec);
        if spec.inputs.iter().any(|input| input.access.has_strides()) {
            text.unrolled("v", vectors, |text| {
                place(text);
                text.block("if (unit < total)", |text| row.load(text, uses, spec, &operands));
            });
        }
        compute(text, uses, spec, &operands, function, (width, vectors));
        text.unrolled("v", vectors, |text| {
            place(text);
            text.block("if (unit < total)", |text| row.store(text, uses, spec, &operands));
        });
    });
}

/// The structure of what a launch tells of the axes: the list that `abi` packs.
pub(super) fn declare_axes(
    text: &mut Writer,
    spec: &KernelSpec,
    operands: &Operands,
    rank: u32,
    index: IndexWidth,
    extents: &[&str],
) {
    let (unsigned, signed) = index_types(index);
    text.line("// Axes from the outermost to the innermost: units, extents and strides in elements.");
    text.line("struct Axes {");
    text.line(&format!("  math::divisor<{unsigned}> by[{rank}];"));
    for extent in extents {
        text.line(&format!("  {unsigned} {extent};"));
    }
    for operand in with_strides(spec, operands) {
        text.line(&format!("  {signed} {}[{rank}];", operand.name));
    }
    text.line("};");
    text.blank();
}

/// The operands whose strides a launch tells, inputs first.
fn with_strides<'a>(spec: &'a KernelSpec, operands: &'a Operands) -> impl Iterator<Item = &'a Operand> {
    let inputs = spec.inputs.iter().map(|input| input.access).zip(&operands.inputs);
    let outputs = spec.outputs.iter().map(|output| output.access).zip(&operands.outputs);
    inputs.chain(outputs).filter(|(access, _)| access.has_strides()).map(|(_, operand)| operand)
}

/// `i0`, `i1`, …: the position of a unit along each axis, innermost axis last.
pub(super) fn decode(text: &mut Writer, unit: &str, rank: u32, index: IndexWidth) {
    let (unsigned, signed) = index_types(index);
    let mut rest = unit.to_owned();
    for axis in (1..rank).rev() {
        let next = format!("rest{axis}");
        text.line(&format!("const {unsigned} {next} = math::divide({rest}, axes.by[{axis}]);"));
        text.line(&format!("const {signed} i{axis} = {signed}({rest} - {next} * axes.by[{axis}].extent);"));
        rest = next;
    }
    text.line(&format!("const {signed} i0 = {signed}({rest});"));
}

/// The offset of the element at `i0`, `i1`, … along some axes, in elements.
pub(super) fn offset(axes: std::ops::Range<u32>, name: &str) -> String {
    let terms: Vec<_> = axes.map(|axis| format!("i{axis} * axes.{name}[{axis}]")).collect();
    if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
}

/// Conditions where a vector may reach beyond its row.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// The whole vector lies in the row.
    pub(super) whole: String,
    /// Its element `k` does.
    pub(super) element: String,
}

/// How vectors lie in a row: the vector `v` begins at element `begin` of the row at each operand's row offset.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) signed: &'static str,
    pub(super) width: u32,
    /// The innermost axis.
    pub(super) axis: u32,
    /// Vectors are aligned to the first output, wherever its row begins.
    pub(super) shifted: bool,
    pub(super) bounds: Option<Bounds>,
}

impl Row {
    /// Loads vector `v` of every input that is reached along the row.
    pub(super) fn load(&self, text: &mut Writer, uses: &mut Uses, spec: &KernelSpec, operands: &Operands) {
        let inputs = spec.inputs.iter().zip(&operands.inputs);
        let along = |access: Access| access.has_strides() && !matches!(access, Access::Tiled { .. });
        let inputs: Vec<_> = inputs.filter(|(input, _)| along(input.access)).collect();
        if inputs.is_empty() {
            return;
        }
        let mut whole = |text: &mut Writer| {
            for (input, operand) in &inputs {
                self.load_one(text, uses, input.access, memory_type(input.stored), operand);
            }
        };
        let elements = |text: &mut Writer, condition: &str| {
            text.unrolled("k", self.width, |text| {
                text.block(&format!("if ({condition})"), |text| {
                    for (input, operand) in &inputs {
                        let element = self.element(input.access, operand);
                        text.line(&format!("{}[v].set(k, {element});", operand.held));
                    }
                });
            });
        };
        match &self.bounds {
            None => whole(text),
            Some(bounds) => {
                text.either(&format!("if ({})", bounds.whole), whole, |text| elements(text, &bounds.element));
            }
        }
    }

    /// Stores vector `v` of every output.
    pub(super) fn store(&self, text: &mut Writer, uses: &mut Uses, spec: &KernelSpec, operands: &Operands) {
        let outputs: Vec<_> = spec.outputs.iter().zip(&operands.outputs).enumerate().collect();
        let mut whole = |text: &mut Writer| {
            for (j, (output, operand)) in &outputs {
                let aligned = self.shifted && *j == 0;
                self.store_one(text, uses, output.access, aligned, operand);
            }
        };
        let elements = |text: &mut Writer, condition: &str| {
            text.unrolled("k", self.width, |text| {
                text.block(&format!("if ({condition})"), |text| {
                    for (_, (output, operand)) in &outputs {
                        let element = self.element(output.access, operand);
                        text.line(&format!("{element} = {}[v].get(k);", operand.held));
                    }
                });
            });
        };
        match &self.bounds {
            None => whole(text),
            Some(bounds) => {
                text.either(&format!("if ({})", bounds.whole), whole, |text| elements(text, &bounds.element));
            }
        }
    }

    fn load_one(&self, text: &mut Writer, uses: &mut Uses, access: Access, ty: &str, operand: &Operand) {
        let Row { width, .. } = self;
        let Operand { name, held, row, .. } = operand;
        let mut vector = |aligned: bool, from: &str| {
            let piece = if aligned { "load_whole" } else { "load_any" };
            uses.require(piece, []);
            format!("math::{piece}<{ty}, {width}>({from}, policy)")
        };
        let line = match access {
            Access::Contiguous { aligned } if *width > 1 => {
                let vector = vector(aligned, &format!("{name} + ({row} + begin)"));
                format!("{held}[v] = {vector};")
            }
            Access::Reversed { aligned } if *width > 1 => {
                let vector = vector(aligned, &format!("{name} + ({row} - begin - {})", width - 1));
                uses.require("backward", []);
                format!("{held}[v] = math::backward({vector});")
            }
            _ => {
                let element = self.element(access, operand);
                text.unrolled("k", *width, |text| text.line(&format!("{held}[v].set(k, {element});")));
                return;
            }
        };
        text.line(&line);
    }

    fn store_one(
        &self,
        text: &mut Writer,
        uses: &mut Uses,
        access: Access,
        is_aligned: bool,
        operand: &Operand,
    ) {
        let Row { width, .. } = self;
        let Operand { name, held, row, .. } = operand;
        let mut store = |aligned: bool, to: &str, vector: &str| {
            let piece = if aligned { "store_whole" } else { "store_any" };
            uses.require(piece, []);
            format!("math::{piece}({to}, {vector});")
        };
        let line = match access {
            Access::Contiguous { aligned } if *width > 1 => {
                store(aligned || is_aligned, &format!("{name} + ({row} + begin)"), &format!("{held}[v]"))
            }
            Access::Reversed { aligned } if *width > 1 => {
                let to = format!("{name} + ({row} - begin - {})", width - 1);
                let line = store(aligned, &to, &format!("math::backward({held}[v])"));
                uses.require("backward", []);
                line
            }
            _ => {
                let element = self.element(access, operand);
                text.unrolled("k", *width, |text| text.line(&format!("{element} = {held}[v].get(k);")));
                return;
            }
        };
        text.line(&line);
    }

    /// Element `k` of vector `v` in memory.
    fn element(&self, access: Access, operand: &Operand) -> String {
        let Row { signed, axis, .. } = self;
        let Operand { name, row, .. } = operand;
        match access {
            Access::Repeated => format!("{name}[{row}]"),
            Access::Contiguous { .. } => format!("{name}[{row} + begin + {signed}(k)]"),
            Access::Reversed { .. } => format!("{name}[{row} - begin - {signed}(k)]"),
            Access::Strided | Access::Tiled { .. } | Access::Value | Access::Single => {
                format!("{name}[{row} + (begin + {signed}(k)) * axes.{name}[{axis}]]")
            }
        }
    }
}
