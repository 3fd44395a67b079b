//! A graph as text: a line a size, an input, an op and a guard.
//!
//! ```text
//! size x0.shape[0] = 64
//! size s1 = x0.shape[0] - 3
//! input x0: bf16[x0.shape[0]]
//! tanh_0: bf16[x0.shape[0]] = tanh(x0) in f32
//! x0[s1]@(1)+(3) = add(tanh_0[s1]@(1), 2) in f32
//! return tanh_0
//! guard 5 <= x0.shape[0], from slicing axis 0
//! op tanh = 5cf7a1e84d2b9c30
//! op add = 0f2d8a41c6b3e597
//! ```
//!
//! A size has the value seen in the run that was traced. A name alone is all of a memory; another view of it has shape,
//! strides and, unless it begins with the memory, the sum that is its start. Behind `in` stands what the function's type
//! parameter is. Where an operand is converted to a common dtype that is not its own, or a result is rounded to one that
//! is not stored, it is written `x0 as f32`. `sum x` is the sums of a view over the axes along which the
//! result is broadcast to it. The last lines say which formulas the ops had.
//!
//! Guarantees: the same graph gives the same text, and [`Graph::parse`] gives an equal graph back.

use super::guard::Guard;
use super::monomial::{Monomial, SymbolId};
use super::ops;
use super::symbol::{Definition, Origin as SizeOrigin, Range, Symbol, id};
use crate::buffer::Meta;
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::layout::{Layout, contiguous_strides};
use crate::op::OpDef;
use crate::trace::graph::{ArgValue, Graph, Op, Origin, View, Work, all};
use crate::trace::{Dim, Start};
use std::fmt;

/// Bounds of a size that has none of its own.
pub(super) const OPEN: Range = Range { low: 2, high: isize::MAX - 1 };

impl fmt::Display for Graph {
    /// The lines that [`Graph::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sizes, names) = (self.sizes(), self.op_names());
        for (place, symbol) in sizes.0.iter().enumerate() {
            let name = sizes.name(id(place));
            match &symbol.origin {
                SizeOrigin::Derived(definition) => {
                    writeln!(f, "size {name} = {}", sizes.definition(definition))?
                }
                SizeOrigin::Given { slot, .. } => {
                    write!(f, "size {name} = {}", symbol.seen)?;
                    match self.bounds(*slot) {
                        OPEN => writeln!(f)?,
                        Range { low, high } => writeln!(f, " in {low}..={high}")?,
                    }
                }
            }
        }
        for memory in self.inputs() {
            writeln!(f, "input {}: {}", memory.name, sizes.meta(&memory.meta))?;
        }
        for (node, op) in self.nodes.iter().enumerate() {
            writeln!(f, "{}", OpText { graph: self, names: &names, node, op })?;
        }
        if !self.results.is_empty() {
            let results: Vec<String> = self.results.iter().map(|view| self.view_text(view)).collect();
            writeln!(f, "return {}", results.join(", "))?;
        }
        for guard in &self.guards {
            writeln!(f, "guard {}", sizes.guard(guard))?;
        }
        for (name, op) in &names {
            writeln!(f, "op {name} = {}", ops::fingerprint(op))?;
        }
        Ok(())
    }
}

impl Graph {
    pub(super) fn sizes(&self) -> Sizes<'_> {
        Sizes(self.guards.symbols())
    }

    /// The ops in the order of their first use, with names that tell them apart: the second `neg` is `neg.2`.
    fn op_names(&self) -> Vec<(String, &'static OpDef)> {
        let mut names: Vec<(String, &'static OpDef)> = Vec::new();
        for op in self.nodes.iter().filter_map(Op::pointwise) {
            if !names.iter().any(|(_, known)| std::ptr::eq(*known, op)) {
                let same_name = names.iter().filter(|(_, known)| known.name == op.name).count();
                let name = op.name.to_owned();
                names.push((if same_name == 0 { name } else { format!("{name}.{}", same_name + 1) }, op));
            }
        }
        names
    }

    /// The bounds of a given size; each has made two assumptions.
    fn bounds(&self, slot: usize) -> Range {
        let of = |guard: Option<&Guard>, side: fn((&Dim, &Dim)) -> isize, other| {
            guard.map_or(other, |guard| side(guard.dims()))
        };
        let assumptions = self.guards.assumptions();
        Range {
            low: of(assumptions.get(2 * slot), |(low, _)| low.term().coefficient, OPEN.low),
            high: of(assumptions.get(2 * slot + 1), |(_, high)| high.term().coefficient, OPEN.high),
        }
    }

    /// A view as text: the memory's name alone where it is all of it.
    pub(super) fn view_text(&self, view: &View) -> String {
        let name = &self.memories[view.memory].name;
        if self.is_whole(view) {
            name.clone()
        } else {
            format!("{name}{}", self.sizes().layout(&view.layout))
        }
    }
}

/// The line of an op.
struct OpText<'a> {
    graph: &'a Graph,
    names: &'a [(String, &'static OpDef)],
    node: usize,
    op: &'a Op,
}

impl fmt::Display for OpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpText { graph, names, node, op } = self;
        for (i, result) in op.results.iter().enumerate() {
            let memory = &graph.memories[result.view.memory];
            // Several results may be in one memory that has no element.
            let again = op.results[..i].iter().any(|earlier| earlier.view.memory == result.view.memory);
            f.write_str(separator(i))?;
            if memory.origin == Origin::Result(*node) && !again {
                write!(f, "{}: {}", memory.name, graph.sizes().meta(&memory.meta))?;
            } else {
                f.write_str(&graph.view_text(&result.view))?;
            }
            as_dtype(f, result.chain[1], result.chain[2])?;
        }
        let compute = match op.work {
            Work::Sum => {
                let summed = op.reads().next().map(|view| graph.view_text(view));
                return write!(f, " = sum {}", summed.unwrap_or_default());
            }
            Work::Pointwise { compute, .. } => compute,
        };
        let is_this = |known: &OpDef| op.pointwise().is_some_and(|op| std::ptr::eq(known, op));
        let name = names.iter().find(|(_, known)| is_this(known)).map_or("", |(name, _)| name);
        write!(f, " = {name}(")?;
        for (i, arg) in op.args.iter().enumerate() {
            f.write_str(separator(i))?;
            match &arg.value {
                ArgValue::View(view) => f.write_str(&graph.view_text(view))?,
                ArgValue::Number(number) => f.write_str(&number_text(*number))?,
            }
            as_dtype(f, arg.chain[1], arg.chain[0])?;
        }
        write!(f, ") in {compute}")
    }
}

fn as_dtype(f: &mut fmt::Formatter<'_>, joined: DType, stored: DType) -> fmt::Result {
    if joined == stored { Ok(()) } else { write!(f, " as {joined}") }
}

const fn separator(position: usize) -> &'static str {
    if position == 0 { "" } else { ", " }
}

/// A number with its kind: `true`, `3`, `3u`, `3.0`, `inf`, `NaN`, `NaN:7ff8000000000001`, `(1.0, 2.0)`.
fn number_text(number: Scalar) -> String {
    let float = |value: f64| {
        if value.is_nan() && value.to_bits() != f64::NAN.to_bits() {
            format!("NaN:{:016x}", value.to_bits())
        } else {
            format!("{value:?}")
        }
    };
    match number {
        Scalar::Bool(value) => value.to_string(),
        Scalar::I64(value) => value.to_string(),
        Scalar::U64(value) => format!("{value}u"),
        Scalar::F64(value) => float(value),
        Scalar::C128(value) => format!("({}, {})", float(value.re), float(value.im)),
    }
}

/// Terms as text, by a table of symbols.
pub(super) struct Sizes<'a>(pub(super) &'a [Symbol]);

impl Sizes<'_> {
    /// A given symbol has its own name, a derived one its place.
    pub(super) fn name(&self, symbol: SymbolId) -> String {
        match self.0.get(symbol as usize).map(|symbol| &symbol.origin) {
            Some(SizeOrigin::Given { name, .. }) => name.clone(),
            Some(SizeOrigin::Derived(_)) | None => format!("s{symbol}"),
        }
    }

    fn term(&self, term: &Monomial) -> String {
        let names: Vec<String> = term.symbols.iter().map(|&symbol| self.name(symbol)).collect();
        match (term.coefficient, names.is_empty()) {
            (number, true) => number.to_string(),
            (1, false) => names.join("*"),
            (-1, false) => format!("-{}", names.join("*")),
            (number, false) => format!("{number}*{}", names.join("*")),
        }
    }

    fn definition(&self, definition: &Definition) -> String {
        match definition {
            Definition::Sum(a, b) if b.coefficient < 0 && b.coefficient != isize::MIN => {
                format!("{} - {}", self.term(a), self.term(&b.negated()))
            }
            Definition::Sum(a, b) => format!("{} + {}", self.term(a), self.term(b)),
            Definition::Quotient(a, b) => format!("ceil({} / {})", self.term(a), self.term(b)),
        }
    }

    fn guard(&self, guard: &Guard) -> String {
        let (lhs, rhs) = guard.dims();
        let sign = guard.relation().sign();
        format!("{} {sign} {}, from {}", self.term(lhs.term()), self.term(rhs.term()), guard.why())
    }

    fn dims(&self, dims: &[Dim]) -> String {
        dims.iter().map(|dim| self.term(dim.term())).collect::<Vec<_>>().join(", ")
    }

    /// `bf16[n, m]@(1, n) on cuda:0`, without strides where they are those of a contiguous buffer, and without the CPU.
    pub(super) fn meta(&self, meta: &Meta<Dim>) -> String {
        let Meta { dtype, device, layout } = meta;
        let start = layout.start().terms();
        let dense = all(layout.strides(), &contiguous_strides(layout.shape()), Dim::is_same_term);
        let layout = if dense && start.is_empty() {
            format!("[{}]", self.dims(layout.shape()))
        } else {
            self.layout(layout)
        };
        match device {
            Device::Cpu => format!("{dtype}{layout}"),
            Device::Cuda(_) => format!("{dtype}{layout} on {device}"),
        }
    }

    /// `[n, m]@(1, n)+(3, n)`.
    fn layout(&self, layout: &Layout<Dim>) -> String {
        let start: &Start = layout.start();
        let start = match start.terms() {
            [] => String::new(),
            terms => format!("+({})", self.dims(terms)),
        };
        format!("[{}]@({}){start}", self.dims(layout.shape()), self.dims(layout.strides()))
    }
}
