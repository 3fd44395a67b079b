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

/// Device functions of one kernel with the names they get.
#[derive(Debug)]
pub(super) struct Functions {
    /// Callees before callers; the root is the last.
    functions: Vec<(&'static DeviceFn, String)>,
    compute: DType,
}

impl Functions {
    /// The closure of `root` under calls.
    pub(super) fn collect(root: &'static DeviceFn, compute: DType) -> Functions {
        let mut order: Vec<&'static DeviceFn> = Vec::new();
        visit(root, &mut order);
        let mut names = Names::new();
        // The root is named first: in conflicts it keeps its own name.
        let root_name = names.unique(root.name);
        let mut functions: Vec<_> = order
            .iter()
            .filter(|function| !std::ptr::eq(**function, root))
            .map(|&function| (function, names.unique(function.name)))
            .collect();
        functions.push((root, root_name));
        Functions { functions, compute }
    }

    /// The qualified name of the op's own function.
    pub(super) fn root(&self) -> String {
        let name = self.functions.last().map_or("", |(_, name)| name);
        format!("op::{name}")
    }

    /// The prelude functions in use, for every type that a generic function may be called with here:
    /// the computation dtype, and each float that some function converts to.
    pub(super) fn uses(&self) -> Uses {
        let all = self.functions.iter().flat_map(|(function, _)| function.uses);
        let concrete: BTreeSet<DType> = all
            .clone()
            .flat_map(|used| used.types)
            .filter_map(|ty| match ty {
                TypeRef::Fixed(dtype) if dtype.is_float() => Some(*dtype),
                _ => None,
            })
            .collect();
        let mut uses = Uses::new();
        for used in all {
            uses.require(used.name, used.types.iter().map(|ty| ty.resolve(self.compute)));
            if self.functions.len() > 1 {
                for &dtype in &concrete {
                    uses.offer(used.name, used.types.iter().map(|ty| ty.resolve(dtype)));
                }
            }
        }
        uses
    }

    /// Writes all definitions into `namespace op`.
    pub(super) fn write(&self, text: &mut Writer, lines: Lines) {
        text.line("namespace op {");
        for (function, name) in &self.functions {
            text.blank();
            self.write_one(text, function, name, lines);
        }
        text.blank();
        text.line("}  // namespace op");
    }

    fn write_one(&self, text: &mut Writer, function: &DeviceFn, name: &str, lines: Lines) {
        for piece in function.pieces {
            match piece {
                Piece::Text(part) => text.raw(part),
                Piece::Name => text.raw(name),
                Piece::Call(index) => text.raw(function.calls.get(*index).map_or("", |callee| self.name(callee))),
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
