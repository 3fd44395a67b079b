//! A graph from its text.
//!
//! Guarantees: whatever the text says, the answer is a graph that [`Graph::verify`] accepts or an error that names the
//! line; numbers that do not fit are errors, never wrapped.

use super::cursor::{Cursor, in_word, wrong};
use super::guard::{Relation, Why};
use super::monomial::Monomial;
use super::ops::Ops;
use super::state::Fact;
use super::symbol::{Definition, Range, id};
use super::text::OPEN;
use crate::buffer::Meta;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::{Layout, contiguous_strides};
use crate::op::OpDef;
use crate::trace::graph::{ArgValue, Graph, Memory, Op, OpArg, OpResult, Origin, View, Work};
use crate::trace::{Dim, Policy, Scope, Start};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Graph {
    /// The graph that a text describes, in which ops are named from among `ops`; their other forms and derivatives are
    /// found with them.
    ///
    /// # Errors
    /// `Value` with the number of a line that is none of a graph's, names an op that is not given, or contradicts what
    /// stands before it.
    pub fn parse(text: &str, ops: impl IntoIterator<Item = &'static OpDef>) -> Result<Graph> {
        Graph::read(text, &Ops::new(ops))
    }

    pub(super) fn read(text: &str, ops: &Ops) -> Result<Graph> {
        let mut reader = Reader {
            graph: Graph::default(),
            scope: Scope::new(Policy::Guard),
            sizes: BTreeMap::new(),
            memories: BTreeMap::new(),
            named: BTreeMap::new(),
            ops,
        };
        // Which ops names are is said last, and needed first.
        reader.each(text, |line| line.eats_word("op"), Reader::name_op)?;
        reader.each(text, |line| !line.eats_word("op"), Reader::line)?;
        reader.finish()
    }
}

/// What was read so far.
struct Reader<'a> {
    graph: Graph,
    scope: Scope,
    sizes: BTreeMap<String, Monomial>,
    memories: BTreeMap<String, usize>,
    named: BTreeMap<String, &'static OpDef>,
    ops: &'a Ops,
}

impl Reader<'_> {
    /// Reads the lines that are of a kind.
    fn each(
        &mut self,
        text: &str,
        is_wanted: impl Fn(&mut Cursor<'_>) -> bool,
        read: impl Fn(&mut Self, &mut Cursor<'_>) -> Result<()>,
    ) -> Result<()> {
        for (position, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut cursor = Cursor::new(line);
            if is_wanted(&mut cursor) {
                read(self, &mut cursor).and_then(|()| cursor.end()).map_err(|error| {
                    let message = format!("line {} of the graph, `{}`: {error}", position + 1, line.trim());
                    Error::new(error.kind(), message)
                })?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Graph> {
        let guards = self.scope.guards()?;
        let graph = Graph { guards, ..self.graph }.settled();
        graph.verify()?;
        Ok(graph)
    }

    fn name_op(&mut self, line: &mut Cursor<'_>) -> Result<()> {
        let alias = line.op_name()?;
        let name = alias.split_once('.').map_or(alias, |(name, _)| name);
        line.expect("=")?;
        let op = self.ops.known(name, line.take("a fingerprint", |c| c.is_ascii_hexdigit())?)?;
        self.named.insert(alias.to_owned(), op);
        Ok(())
    }

    fn line(&mut self, line: &mut Cursor<'_>) -> Result<()> {
        if line.eats_word("size") {
            return self.size(line);
        }
        if line.eats_word("input") {
            let name = line.word()?.to_owned();
            line.expect(":")?;
            let meta = self.meta(line)?;
            let origin = Origin::Input(self.graph.inputs().count());
            return self.remember(Memory { name, origin, meta }).map(|_| ());
        }
        if line.eats_word("return") {
            self.graph.results = line.list(|line| self.view(line))?;
            return Ok(());
        }
        if line.eats_word("guard") {
            return self.guard(line);
        }
        self.op(line)
    }

    fn size(&mut self, line: &mut Cursor<'_>) -> Result<()> {
        let name = line.size_name()?;
        line.expect("=")?;
        let term = if line.eats("ceil(") {
            let a = self.term(line)?;
            line.expect("/")?;
            let b = self.term(line)?;
            line.expect(")")?;
            self.scope.state().defined(Definition::Quotient(a, b))
        } else {
            let a = self.term(line)?;
            if line.eats("+") {
                let b = self.term(line)?;
                self.scope.state().defined(Definition::Sum(a, b))
            } else if line.eats("-") {
                let b = self.term(line)?.negated();
                self.scope.state().defined(Definition::Sum(a, b))
            } else {
                let seen = a.as_number().ok_or_else(|| wrong("a size is a number, a sum or a quotient"))?;
                let range = if line.eats_word("in") {
                    let low = line.number()?;
                    line.expect("..=")?;
                    Range { low, high: line.number()? }
                } else {
                    OPEN
                };
                if range.low < OPEN.low || !(range.low..=range.high).contains(&seen) {
                    return Err(wrong(format!("{seen} is not within {}..={}", range.low, range.high)));
                }
                self.scope.state().given(name.to_owned(), seen, range)
            }
        };
        let place = self.scope.state().symbols.len() - 1;
        let derived = matches!(self.scope.state().symbols[place].origin, super::symbol::Origin::Derived(_));
        if derived && name != format!("s{}", id(place)) {
            return Err(wrong(format!("the size at this place is called s{place}")));
        }
        match self.sizes.insert(name.to_owned(), term) {
            Some(_) => Err(wrong(format!("`{name}` is defined twice"))),
            None => Ok(()),
        }
    }

    fn guard(&mut self, line: &mut Cursor<'_>) -> Result<()> {
        const SIGNS: [Relation; 4] = [Relation::Equal, Relation::NotEqual, Relation::AtMost, Relation::Less];
        let lhs = self.term(line)?;
        let relation = SIGNS.into_iter().find(|relation| line.eats(relation.sign()));
        let relation = relation.ok_or_else(|| wrong("a guard has one of ==, !=, <=, <"))?;
        let rhs = self.term(line)?;
        line.expect(",")?;
        line.expect("from ")?;
        let why = why(line.take_all());
        let [left, right] = [&lhs, &rhs].map(|term| term.value(&self.scope.state().seen));
        if !relation.holds(left, right) {
            return Err(wrong(format!("the sizes of this text are {left} and {right}")));
        }
        self.scope.state().guarded(Fact { relation, lhs, rhs, why });
        Ok(())
    }

    fn op(&mut self, line: &mut Cursor<'_>) -> Result<()> {
        let node = self.graph.nodes.len();
        let mut results: SmallVec<[OpResult; 2]> = SmallVec::new();
        loop {
            let mut ahead = *line;
            ahead.word()?;
            let view = if ahead.eats(":") {
                let name = line.word()?.to_owned();
                line.expect(":")?;
                let meta = self.meta(line)?;
                let layout = meta.layout.clone();
                View { memory: self.remember(Memory { name, origin: Origin::Result(node), meta })?, layout }
            } else {
                self.view(line)?
            };
            let stored = self.graph.memories[view.memory].meta.dtype;
            let joined = line.as_dtype()?.unwrap_or(stored);
            results.push(OpResult { view, chain: [stored, joined, stored] });
            if !line.eats(",") {
                break;
            }
        }
        line.expect("=")?;
        if line.eats_word("sum") {
            let view = self.view(line)?;
            let dtype = self.graph.memories[view.memory].meta.dtype;
            let args = smallvec![OpArg { value: ArgValue::View(view), chain: [dtype; 3] }];
            self.graph.nodes.push(Op { work: Work::Sum, args, results });
            return Ok(());
        }
        let name = line.op_name()?;
        let op = self.named.get(name).copied().map_or_else(|| self.ops.named(name), Ok)?;
        line.expect("(")?;
        let mut args: SmallVec<[OpArg; 4]> = SmallVec::new();
        if !line.eats(")") {
            args = line
                .list(|line| {
                    let value = self.argument(line)?;
                    let own = match &value {
                        ArgValue::View(view) => Some(self.graph.memories[view.memory].meta.dtype),
                        ArgValue::Number(_) => None,
                    };
                    let joined = line.as_dtype()?.or(own);
                    // What a number's chain is depends on the function's type parameter, which comes last.
                    let chain = [own, joined, None].map(|dtype| dtype.unwrap_or(DType::Bool));
                    Ok(OpArg { value, chain })
                })?
                .into_iter()
                .collect();
            line.expect(")")?;
        }
        line.expect("in ")?;
        let compute = line.dtype()?;
        for (arg, param) in args.iter_mut().zip(op.params) {
            let lane = param.ty.resolve(compute);
            match arg.value {
                ArgValue::View(_) => arg.chain[2] = lane,
                ArgValue::Number(_) => arg.chain = [lane; 3],
            }
        }
        for (result, output) in results.iter_mut().zip(op.outputs) {
            result.chain[0] = output.ty.resolve(compute);
        }
        self.graph.nodes.push(Op { work: Work::Pointwise { op, compute }, args, results });
        Ok(())
    }

    fn argument(&self, line: &mut Cursor<'_>) -> Result<ArgValue> {
        match line.scalar()? {
            Some(number) => Ok(ArgValue::Number(number)),
            None => self.view(line).map(ArgValue::View),
        }
    }

    fn view(&self, line: &mut Cursor<'_>) -> Result<View> {
        let name = line.word()?;
        let memory = *self.memories.get(name).ok_or_else(|| wrong(format!("`{name}` is not known here")))?;
        let whole = &self.graph.memories[memory].meta.layout;
        let layout = if line.rest.starts_with('[') { self.layout(line)? } else { whole.clone() };
        Ok(View { memory, layout })
    }

    fn meta(&self, line: &mut Cursor<'_>) -> Result<Meta<Dim>> {
        let dtype = line.dtype()?;
        let layout = self.layout(line)?;
        let device = if line.eats_word("on") { line.device()? } else { Device::Cpu };
        Ok(Meta { dtype, device, layout })
    }

    fn layout(&self, line: &mut Cursor<'_>) -> Result<Layout<Dim>> {
        let shape = self.dims(line, ["[", "]"])?;
        if let Some(below) = shape.iter().find(|dim| dim.seen() < 0) {
            return Err(wrong(format!("{below} is no size")));
        }
        let strides = if line.eats("@") { self.dims(line, ["(", ")"])? } else { contiguous_strides(&shape) };
        let start = if line.eats("+") { self.dims(line, ["(", ")"])? } else { SmallVec::new() };
        Layout::from_parts(shape, strides, Start::sum(start))
    }

    fn dims(&self, line: &mut Cursor<'_>, [open, close]: [&str; 2]) -> Result<SmallVec<[Dim; 6]>> {
        line.expect(open)?;
        if line.eats(close) {
            return Ok(SmallVec::new());
        }
        let terms = line.list(|line| self.term(line))?;
        line.expect(close)?;
        Ok(terms.into_iter().map(|term| Dim::in_scope(term, &self.scope)).collect())
    }

    /// `-4*n*m`.
    fn term(&self, line: &mut Cursor<'_>) -> Result<Monomial> {
        line.skip();
        let negative =
            line.rest.starts_with('-') && !line.rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if negative {
            line.expect("-")?;
        }
        let mut term = Monomial::number(if negative { -1 } else { 1 });
        loop {
            line.skip();
            let factor = if line.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                Monomial::number(line.number()?)
            } else {
                let name = line.size_name()?;
                self.sizes
                    .get(name)
                    .cloned()
                    .ok_or_else(|| wrong(format!("size `{name}` is not known here")))?
            };
            term = term.times(&factor);
            if !line.eats("*") {
                return Ok(term);
            }
        }
    }

    fn remember(&mut self, memory: Memory) -> Result<usize> {
        let place = self.graph.memories.len();
        if self.memories.insert(memory.name.clone(), place).is_some() {
            return Err(wrong(format!("`{}` is defined twice", memory.name)));
        }
        self.graph.memories.push(memory);
        Ok(place)
    }
}

/// The reason of a guard: `STEP axis 1 of `y` in op`, all but the step optional.
fn why(text: &str) -> Why {
    let owned = |text: &str| Cow::Owned(text.to_owned());
    let (text, op) = match text.rsplit_once(" in ") {
        Some((before, op)) if op.chars().all(in_word) => (before, Some(owned(op))),
        _ => (text, None),
    };
    let (text, operand) = match text.strip_suffix('`').and_then(|text| text.rsplit_once(" of `")) {
        Some((before, operand)) => (before, Some(owned(operand))),
        None => (text, None),
    };
    let (step, axis) = match text.rsplit_once(" axis ") {
        Some((before, axis)) if axis.parse::<usize>().is_ok() => (before, axis.parse().ok()),
        _ => (text, None),
    };
    Why { step: owned(step), axis, operand, op }
}
