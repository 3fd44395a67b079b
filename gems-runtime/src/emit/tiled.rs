//! The kernel of tiles: operands whose fastest axes differ, turned in shared memory.
//!
//! A block takes one tile of the two innermost axes. Operands that run along the other axis are loaded by vectors going
//! down the tile into shared memory and read by vectors going across; all other operands, and all outputs, are reached
//! along the rows. All loads of a thread are issued before the barrier.

use super::abi::memory_type;
use super::operand::{
    Operand, Operands, compute, declare_held, declare_policy, index_types, single_loads, wait_for_earlier,
};
use super::rows::{Bounds, Row, declare_axes, decode, offset};
use super::uses::Uses;
use super::writer::Writer;
use crate::plan::policy;
use crate::plan::{Access, IndexWidth, KernelSpec};

/// Axes, index width, the tile and the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) rank: u32,
    pub(super) index: IndexWidth,
    pub(super) width: u32,
    pub(super) across: u32,
    pub(super) down: u32,
    pub(super) threads: u32,
}

/// An operand that is turned: elements of one of its vectors, and rounds that a block takes to fill its tile.
struct Turned<'a> {
    operand: &'a Operand,
    ty: &'static str,
    width: u32,
    /// Columns that a thread fills together.
    columns: u32,
    rounds: u32,
    reversed: bool,
    aligned: bool,
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
    let Shape { rank, index, width, across, down, threads } = shape;
    let (unsigned, signed) = index_types(index);
    let operands = Operands::new(spec);
    let vectors = across * down / width / threads;
    for piece in ["vec", "divide", "fill_tile", "read_tile"] {
        uses.require(piece, []);
    }
    declare_axes(text, spec, &operands, rank, index, &["inner", "outer"]);
    let turned: Vec<_> = spec
        .inputs
        .iter()
        .zip(&operands.inputs)
        .filter_map(|(input, operand)| {
            let Access::Tiled { reversed, aligned } = input.access else { return None };
            let size = u32::try_from(input.stored.size()).unwrap_or(16);
            let width = (16 / size).min(width).max(1);
            // Groups of columns must not be cut by the permutation of the tile.
            let columns = policy::columns_at_once(size).min(width);
            let rounds = across * down / width / columns / threads;
            Some(Turned { operand, ty: memory_type(input.stored), width, columns, rounds, reversed, aligned })
        })
        .collect();
    let (last, next) = (rank - 1, rank - 2);
    let row = Row {
        signed,
        width,
        axis: last,
        shifted: false,
        bounds: Some(Bounds {
            whole: format!("begin + {width} <= {signed}(axes.inner)"),
            element: format!("begin + {signed}(k) < {signed}(axes.inner)"),
        }),
    };
    let in_rows: Vec<&Operand> = spec
        .inputs
        .iter()
        .map(|input| input.access)
        .zip(&operands.inputs)
        .chain(spec.outputs.iter().map(|output| output.access).zip(&operands.outputs))
        .filter(|(access, _)| !matches!(access, Access::Value | Access::Single | Access::Tiled { .. }))
        .map(|(_, operand)| operand)
        .collect();
    // The vector `v` of a thread in the tile: `across / width` vectors a row.
    let place = |text: &mut Writer| {
        text.line(&format!("const u32 s = v * {threads} + threadIdx.x;"));
        text.line(&format!("const u32 b = s / {}, a = s % {} * {width};", across / width, across / width));
        text.line(&format!("const {signed} begin = across + {signed}(a);"));
    };
    let place_rows = |text: &mut Writer| {
        place(text);
        for operand in &in_rows {
            let row = format!("{} + {signed}(b) * axes.{}[{next}]", operand.base, operand.name);
            text.line(&format!("const {signed} {} = {row};", operand.row));
        }
    };
    let in_tile = format!("if (down + {signed}(b) < {signed}(axes.outer))");

    text.line(&format!("extern \"C\" __global__ void __launch_bounds__({threads})"));
    text.block(&format!("{entry}({})", operands.signature(spec)), |text| {
        wait_for_earlier(text, uses);
        text.line(&format!(
            "// A block takes a tile of {down} × {across} elements, a thread {vectors} vectors of {width}."
        ));
        for turned in &turned {
            let Operand { tile, tile_bytes, .. } = turned.operand;
            text.line(&format!(
                "alignas(16) __shared__ unsigned char {tile_bytes}[sizeof({}) * {}];",
                turned.ty,
                across * down
            ));
            text.line(&format!("{0}* const {tile} = reinterpret_cast<{0}*>({tile_bytes});", turned.ty));
        }
        decode(text, &format!("{unsigned}(blockIdx.x)"), rank, index);
        text.line(&format!("const {signed} down = i{next} * {down}, across = i{last} * {across};"));
        for operand in turned.iter().map(|turned| turned.operand) {
            let outer = offset(0..next, &operand.name);
            text.line(&format!("const {signed} {} = {outer};", operand.base));
        }
        for Operand { name, base, .. } in in_rows.iter().copied() {
            let outer = offset(0..next, name);
            text.line(&format!("const {signed} {base} = {outer} + down * axes.{name}[{next}];"));
        }
        for line in single_loads(&operands, spec, uses) {
            text.line(&line);
        }
        declare_held(text, spec, &operands, width, vectors);
        declare_policy(text, uses, spec);
        for turned in &turned {
            turned.load(text, uses, shape);
        }
        text.unrolled("v", vectors, |text| {
            place_rows(text);
            text.block(&in_tile, |text| row.load(text, uses, spec, &operands));
        });
        for turned in &turned {
            turned.fill(text, shape);
        }
        text.line("__syncthreads();");
        text.unrolled("v", vectors, |text| {
            place(text);
            for turned in &turned {
                let Turned { operand, ty, width: own, .. } = turned;
                text.line(&format!(
                    "{}[v] = math::read_tile<{ty}, {across}, {own}, {width}>({}, b, a);",
                    operand.held, operand.tile
                ));
            }
        });
        compute(text, uses, spec, &operands, function, (width, vectors));
        text.unrolled("v", vectors, |text| {
            place_rows(text);
            text.block(&in_tile, |text| row.store(text, uses, spec, &operands));
        });
    });
}

impl Turned<'_> {
    /// The vectors `r` of a thread on the way into the tile: eight vectors down, then columns, then the next eight down.
    fn place(&self, text: &mut Writer, shape: Shape) {
        let Shape { across, threads, .. } = shape;
        let groups = across / self.columns;
        text.line(&format!("const u32 s = r * {threads} + threadIdx.x;"));
        let column = if self.columns == 1 { String::new() } else { format!(" * {}", self.columns) };
        text.line(&format!("const u32 a = s / 8 % {groups}{column};"));
        text.line(&format!("const u32 b = (s / {} * 8 + s % 8) * {};", 8 * groups, self.width));
    }

    fn load(&self, text: &mut Writer, uses: &mut Uses, shape: Shape) {
        let Turned { operand: Operand { name, base, going, .. }, ty, width, columns, rounds, .. } = self;
        let signed = index_types(shape.index).1;
        let (last, next) = (shape.rank - 1, shape.rank - 2);
        text.line(&format!("math::vec<{ty}, {width}> {going}[{rounds}][{columns}] = {{}};"));
        let step = format!("axes.{name}[{next}]");
        let piece = if self.aligned { "load_whole" } else { "load_any" };
        let mut whole = |text: &mut Writer| {
            if *width == 1 {
                text.line(&format!("{going}[r][c].set(0, {name}[column + begin * {step}]);"));
                return;
            }
            uses.require(piece, []);
            let vector = |from: &str| format!("math::{piece}<{ty}, {width}>({name} + ({from}), policy)");
            text.line(&if self.reversed {
                uses.require("backward", []);
                let vector = vector(&format!("column - begin - {}", width - 1));
                format!("{going}[r][c] = math::backward({vector});")
            } else {
                format!("{going}[r][c] = {};", vector("column + begin"))
            });
        };
        text.unrolled("r", *rounds, |text| {
            self.place(text, shape);
            text.line(&format!("const {signed} begin = down + {signed}(b);"));
            text.unrolled("c", *columns, |text| {
                text.block(&format!("if (across + {signed}(a + c) < {signed}(axes.inner))"), |text| {
                    text.line(&format!(
                        "const {signed} column = {base} + (across + {signed}(a + c)) * axes.{name}[{last}];"
                    ));
                    text.either(
                        &format!("if (begin + {width} <= {signed}(axes.outer))"),
                        &mut whole,
                        |text| {
                            text.unrolled("k", *width, |text| {
                                text.block(
                                    &format!("if (begin + {signed}(k) < {signed}(axes.outer))"),
                                    |text| {
                                        text.line(&format!(
                                    "{going}[r][c].set(k, {name}[column + (begin + {signed}(k)) * {step}]);"
                                ));
                                    },
                                );
                            });
                        },
                    );
                });
            });
        });
    }

    fn fill(&self, text: &mut Writer, shape: Shape) {
        let Turned { operand: Operand { tile, going, .. }, ty, width, columns, rounds, .. } = self;
        text.unrolled("r", *rounds, |text| {
            self.place(text, shape);
            text.line(&format!(
                "math::fill_tile<{ty}, {}, {width}, {columns}>({tile}, b, a, {going}[r]);",
                shape.across
            ));
        });
    }
}
