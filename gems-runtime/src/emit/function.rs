//! The op's device function and everything it calls, each once, callees first.

use super::names::Names;
use super::uses::Uses;
use super::writer::Writer;
use crate::dtype::DType;
use crate::op::{DeviceFn, Piece, TypeRef};
use std::collections::BTreeSet;

/// Whether `#line` directives lead back to the Rust source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    Omit,
    Rust,
}

/// How accurate the elementary functions must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accuracy {
    /// To a few ulps of the computation dtype.
    Full,
    /// Enough for results that are rounded to bf16: f32 to 20 bits.
    Bf16,
}

/// Functions of f32 that have a shorter form for results in bf16. With them, functions of several elementary ones run at
/// the speed of memory also on two-byte elements.
const SHORT: [(&str, &str); 4] = [
    ("exp", "exp_short"),
    ("tanh", "tanh_short"),
    ("erfc", "erfc_short"),
    ("normal_cdf", "normal_cdf_short"),
];

/// Device functions of one kernel with the names they get.
#[derive(Debug)]
pub(super) struct Functions {
    accuracy: Accuracy,
    /// Callees before callers.
    functions: Vec<(&'static DeviceFn, String)>,
    /// The dtypes with which a generic function may be called.
    dtypes: BTreeSet<DType>,
    /// The functions that the kernel itself calls, each with the type it is called for.
    roots: Vec<(&'static DeviceFn, DType)>,
}

impl Functions {
    /// The closure under calls of some functions, each with what its type parameter is.
    pub(super) fn collect(
        accuracy: Accuracy,
        roots: impl IntoIterator<Item = (&'static DeviceFn, DType)>,
    ) -> Functions {
        let roots: Vec<_> = roots.into_iter().collect();
        let mut order: Vec<&'static DeviceFn> = Vec::new();
        for (root, _) in &roots {
            visit(root, &mut order);
        }
        let mut names = Names::new();
        // Roots are named first: in conflicts they keep their own names.
        let is_root = |function: &DeviceFn| roots.iter().any(|(root, _)| std::ptr::eq(*root, function));
        let mut named: Vec<(&'static DeviceFn, String)> = Vec::new();
        for root_turn in [true, false] {
            for &function in order.iter().filter(|function| is_root(function) == root_turn) {
                named.push((function, names.unique(function.name)));
            }
        }
        let position = |function: &DeviceFn| order.iter().position(|other| std::ptr::eq(*other, function));
        named.sort_by_key(|(function, _)| position(function));
        let concrete = named.iter().flat_map(|(function, _)| function.uses).flat_map(|used| used.types);
        let dtypes = concrete
            .filter_map(|ty| match ty {
                TypeRef::Fixed(dtype) if dtype.is_float() => Some(*dtype),
                _ => None,
            })
            .chain(roots.iter().flat_map(|(_, compute)| [*compute, compute.real()]))
            .collect();
        Functions { accuracy, functions: named, dtypes, roots }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The qualified name of a function.
    pub(super) fn qualified(&self, function: &DeviceFn) -> String {
        let outer = if self.accuracy == Accuracy::Bf16 { "to_bf16::" } else { "" };
        format!("{outer}op::{}", self.name(function))
    }

    /// The prelude functions in use, for every type that a generic function may be called with here:
    /// the computation dtypes, their parts, and each float that some function converts to.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (root, compute) in &self.roots {
            for used in root.uses {
                uses.require(self.piece(used.name), used.types.iter().map(|ty| ty.resolve(*compute)));
            }
        }
        for (function, _) in &self.functions {
            if self.roots.iter().any(|(root, _)| std::ptr::eq(*root, *function)) && self.functions.len() == 1
            {
                continue;
            }
            for used in function.uses {
                for &dtype in &self.dtypes {
                    uses.offer(self.piece(used.name), used.types.iter().map(|ty| ty.resolve(dtype)));
                }
            }
        }
        uses
    }

    /// Writes all definitions into `namespace op`.
    pub(super) fn write(&self, text: &mut Writer, lines: Lines) {
        if self.accuracy == Accuracy::Bf16 {
            self.open_short(text);
        }
        text.line("namespace op {");
        for (function, name) in &self.functions {
            text.blank();
            self.write_one(text, function, name, lines);
        }
        text.blank();
        text.line("}  // namespace op");
        if self.accuracy == Accuracy::Bf16 {
            text.line("}  // namespace to_bf16");
        }
    }

    /// Opens a namespace in which `op` and `math` mean its own, with the short forms under their usual names.
    fn open_short(&self, text: &mut Writer) {
        text.line("namespace to_bf16 {");
        text.line("namespace math {");
        text.line("using namespace ::math;");
        for (name, short) in SHORT.iter().filter(|(name, _)| self.is_short() && self.uses_piece(name)) {
            text.line(&format!(
                "__device__ __forceinline__ f32 {name}(f32 x) {{ return ::math::{short}(x); }}"
            ));
        }
        text.line("}  // namespace math");
    }

    /// Whether short forms stand in; they exist for f32 only.
    fn is_short(&self) -> bool {
        self.accuracy == Accuracy::Bf16 && self.dtypes.iter().all(|&dtype| dtype == DType::F32)
    }

    /// The piece of the prelude that a function calls by this name.
    fn piece(&self, name: &'static str) -> &'static str {
        let short = SHORT.iter().find(|(full, _)| *full == name).filter(|_| self.is_short());
        short.map_or(name, |(_, short)| short)
    }

    fn uses_piece(&self, name: &str) -> bool {
        self.functions.iter().flat_map(|(function, _)| function.uses).any(|used| used.name == name)
    }

    fn write_one(&self, text: &mut Writer, function: &DeviceFn, name: &str, lines: Lines) {
        for piece in function.pieces {
            match piece {
                Piece::Text(part) => text.raw(part),
                Piece::Name => text.raw(name),
                Piece::Call(index) => {
                    text.raw(function.calls.get(*index).map_or("", |callee| self.name(callee)))
                }
                Piece::Line(line) if lines == Lines::Rust => {
                    text.raw(&format!("#line {line} \"{}\"\n", function.file.replace('\\', "/")));
                }
                Piece::Line(_) => {}
            }
        }
    }

    fn name(&self, function: &DeviceFn) -> &str {
        let found = self.functions.iter().find(|(other, _)| std::ptr::eq(*other, function));
        found.map_or(function.name, |(_, name)| name)
    }
}

fn visit(function: &'static DeviceFn, order: &mut Vec<&'static DeviceFn>) {
    if order.iter().any(|seen| std::ptr::eq(*seen, function)) {
        return;
    }
    for callee in function.calls {
        visit(callee, order);
    }
    order.push(function);
}
