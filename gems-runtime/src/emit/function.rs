//! The op's device function and everything it calls, each once, callees first.

use super::names::Names;
use super::uses::Uses;
use super::writer::Writer;
use crate::dtype::DType;
use crate::op::{DeviceFn, Piece, TypeRef};

/// Whether `#line` directives lead back to the Rust source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    Omit,
    Rust,
}

/// A function that a kernel calls, with what its type parameter is.
pub(super) type Root = (&'static DeviceFn, DType);

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
    /// The namespace around those that may have short forms.
    outer: String,
    /// Those that the kernel calls.
    roots: Vec<Root>,
    /// Callees before callers.
    functions: Vec<(&'static DeviceFn, String)>,
    /// Every function with each type that it is called for, in the kernel or by another one.
    instances: Vec<(&'static DeviceFn, DType)>,
}

impl Functions {
    /// The functions that are as accurate as their types, from these on.
    pub(super) fn full(roots: impl IntoIterator<Item = Root>) -> Functions {
        Functions::collect(Accuracy::Full, String::new(), roots.into_iter().collect())
    }

    /// The functions whose results are rounded to bf16, from these on. In a group are those that have the short forms of
    /// the others: each has what it has alone, so that joining ops in a kernel changes no bit.
    pub(super) fn short(roots: impl IntoIterator<Item = Root>) -> Vec<Functions> {
        let mut groups: Vec<Functions> = Vec::new();
        for root in roots {
            if groups.iter().any(|group| group.has_root(root)) {
                continue;
            }
            let alone = Functions::of_group(groups.len(), vec![root]);
            let joined = |(at, group): (usize, &Functions)| {
                let joined = Functions::of_group(at, group.roots.iter().copied().chain([root]).collect());
                let agrees = |one: &Functions| one.shortened().eq(joined.shortened_of(one));
                (agrees(&alone) && agrees(group)).then_some((at, joined))
            };
            match groups.iter().enumerate().find_map(joined) {
                Some((at, joined)) => groups[at] = joined,
                None => groups.push(alone),
            }
        }
        groups
    }

    fn of_group(group: usize, roots: Vec<Root>) -> Functions {
        let outer = if group == 0 { "to_bf16".to_owned() } else { format!("to_bf16_{}", group + 1) };
        Functions::collect(Accuracy::Bf16, outer, roots)
    }

    /// The closure under calls of some functions.
    fn collect(accuracy: Accuracy, outer: String, roots: Vec<Root>) -> Functions {
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
        let mut instances = Vec::new();
        for &(root, compute) in &roots {
            reach(root, compute, &mut instances);
        }
        Functions { accuracy, outer, roots, functions: named, instances }
    }

    /// Whether the kernel calls this one of them.
    pub(super) fn has_root(&self, root: Root) -> bool {
        self.roots.iter().any(|known| std::ptr::eq(known.0, root.0) && known.1 == root.1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The qualified name of a function.
    pub(super) fn qualified(&self, function: &DeviceFn) -> String {
        let outer = if self.accuracy == Accuracy::Bf16 { format!("{}::", self.outer) } else { String::new() };
        format!("{outer}op::{}", self.name(function))
    }

    /// The prelude functions in use, for every type that the functions are called for.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (name, types) in self.needs() {
            uses.require(self.short_form(name).unwrap_or(name), types);
        }
        uses
    }

    /// The prelude functions by the names that the text has, with their types.
    fn needs(&self) -> impl Iterator<Item = (&'static str, impl Iterator<Item = DType>)> {
        self.instances.iter().flat_map(|&(function, compute)| {
            let resolved = move |ty: &TypeRef| ty.resolve(compute);
            function.uses.iter().map(move |used| (used.name, used.types.iter().map(resolved)))
        })
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
            text.line(&format!("}}  // namespace {}", self.outer));
        }
    }

    /// Opens a namespace in which `op` and `math` mean its own, with the short forms under their usual names.
    fn open_short(&self, text: &mut Writer) {
        text.line(&format!("namespace {} {{", self.outer));
        text.line("namespace math {");
        text.line("using namespace ::math;");
        for (name, short) in
            SHORT.iter().filter(|(name, _)| self.short_form(name).is_some() && self.uses_piece(name))
        {
            text.line(&format!(
                "__device__ __forceinline__ f32 {name}(f32 x) {{ return ::math::{short}(x); }}"
            ));
        }
        text.line("}  // namespace math");
    }

    /// The short form of a prelude function, if it stands in: it is one of f32, so every call must be.
    fn short_form(&self, name: &str) -> Option<&'static str> {
        let (_, short) = SHORT.iter().find(|(full, _)| *full == name)?;
        let mut types = self.needs().filter(|need| need.0 == name).flat_map(|need| need.1);
        let stands_in =
            self.accuracy == Accuracy::Bf16 && !self.is_wide() && types.all(|ty| ty == DType::F32);
        stands_in.then_some(*short)
    }

    /// Which of the functions that have short forms are used, and whether the short form stands in.
    fn shortened(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.shortened_of(self)
    }

    /// The same for those that another set uses.
    fn shortened_of(&self, other: &Functions) -> impl Iterator<Item = (&'static str, bool)> {
        let used = SHORT.iter().map(|(name, _)| *name).filter(|name| other.uses_piece(name));
        used.map(|name| (name, self.short_form(name).is_some()))
    }

    /// Whether something is computed in f64; its author wants more digits than the short forms have.
    fn is_wide(&self) -> bool {
        let computed = self.instances.iter().map(|(_, compute)| *compute);
        computed.chain(self.needs().flat_map(|need| need.1)).any(|dtype| dtype == DType::F64)
    }

    fn uses_piece(&self, name: &str) -> bool {
        self.needs().any(|need| need.0 == name)
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

/// Notes a function with the type that it is called for, and the functions that it then calls.
fn reach(function: &'static DeviceFn, compute: DType, found: &mut Vec<(&'static DeviceFn, DType)>) {
    if found.iter().any(|(other, dtype)| std::ptr::eq(*other, function) && *dtype == compute) {
        return;
    }
    found.push((function, compute));
    for (callee, dtype) in function.instances(compute) {
        reach(callee, dtype, found);
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
