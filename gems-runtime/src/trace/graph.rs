//! What a traced function does: ops on memories, in order.
//!
//! A [`Memory`] is an input's or a result's; operands are views of one. Ops that write into given buffers write to the
//! memory behind them, so the order of nodes is the order of effects.
//! Holds no pointer and no size that the scope leaves open; does not fuse and does not run.

use crate::buffer::Meta;
use crate::dtype::{DType, Scalar};
use crate::layout::Layout;
use crate::op::OpDef;
use crate::trace::{Dim, Guards};
use smallvec::SmallVec;

/// Position of a memory in its graph.
pub type MemoryId = usize;
/// Position of a node in its graph.
pub type NodeId = usize;

/// Ops on memories, in order, with what they return and the guards under which they are what the function does.
///
/// Prints as text that [`Graph::parse`] reads, and as DOT.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) memories: Vec<Memory>,
    pub(super) nodes: Vec<Op>,
    pub(super) results: Vec<View>,
    pub(super) guards: Guards,
}

/// Memory that ops read and write.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Name in texts and in generated code.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// Dtype, device and whole layout.
    pub meta: Meta<Dim>,
}

/// Whose a memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An input's of the traced function.
    Input(usize),
    /// A result's, made by a node.
    Result(NodeId),
}

/// One step.
#[derive(Clone, Debug)]
pub struct Op {
    /// What it computes.
    pub work: Work,
    /// One a parameter.
    pub args: SmallVec<[OpArg; 4]>,
    /// One a result.
    pub results: SmallVec<[OpResult; 2]>,
}

/// What a step computes.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A pointwise op.
    Pointwise {
        /// The op.
        op: &'static OpDef,
        /// What the type parameter of its function is.
        compute: DType,
    },
    /// The sums over the axes along which the result is broadcast to the argument, rounded once to the result's dtype.
    Sum,
}

/// An argument of an op.
#[derive(Clone, Debug)]
pub struct OpArg {
    /// What is passed.
    pub value: ArgValue,
    /// The dtypes that it passes through: its own, the common one of the operands, the function's.
    pub chain: [DType; 3],
}

/// What is passed for a parameter.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are views")]
pub enum ArgValue {
    /// A view of a memory.
    View(View),
    /// A number.
    Number(Scalar),
}

/// A view of a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The memory.
    pub memory: MemoryId,
    /// Shape, strides and start within it.
    pub layout: Layout<Dim>,
}

/// A result of an op.
#[derive(Clone, Debug)]
pub struct OpResult {
    /// Where it goes.
    pub view: View,
    /// The dtypes that it passes through: the function's, the op's result dtype, the memory's.
    pub chain: [DType; 3],
}

impl Graph {
    /// The memories.
    #[must_use]
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// The ops in order.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.nodes
    }

    /// The views that the function returns.
    #[must_use]
    pub fn results(&self) -> &[View] {
        &self.results
    }

    /// The conditions on sizes under which the graph is what the function does.
    #[must_use]
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The memories of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Memory> {
        self.memories.iter().filter(|memory| matches!(memory.origin, Origin::Input(_)))
    }

    /// Whether a view is all of its memory.
    pub(super) fn is_whole(&self, view: &View) -> bool {
        self.memories[view.memory].meta.layout == view.layout
    }

    pub(super) fn is_input(&self, memory: MemoryId) -> bool {
        matches!(self.memories[memory].origin, Origin::Input(_))
    }

    /// The graph with every size as it is known at the end of the trace; those of inputs stay, since calls bind them.
    pub(super) fn settled(mut self) -> Graph {
        let settle = |layout: &mut Layout<Dim>| {
            let start = layout.start().settled();
            *layout = layout.converted(Dim::settled, Dim::settled, start);
        };
        let made = |memory: &&mut Memory| matches!(memory.origin, Origin::Result(_));
        self.memories.iter_mut().filter(made).for_each(|memory| settle(&mut memory.meta.layout));
        for op in &mut self.nodes {
            for arg in &mut op.args {
                if let ArgValue::View(view) = &mut arg.value {
                    settle(&mut view.layout);
                }
            }
            op.results.iter_mut().for_each(|result| settle(&mut result.view.layout));
        }
        self.results.iter_mut().for_each(|view| settle(&mut view.layout));
        self
    }
}

impl Op {
    /// The name of what it computes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.work {
            Work::Pointwise { op, .. } => op.name,
            Work::Sum => "sum",
        }
    }

    /// The pointwise op; none for a sum.
    #[must_use]
    pub const fn pointwise(&self) -> Option<&'static OpDef> {
        match self.work {
            Work::Pointwise { op, .. } => Some(op),
            Work::Sum => None,
        }
    }

    /// The views that it reads.
    pub fn reads(&self) -> impl Iterator<Item = &View> {
        self.args.iter().filter_map(|arg| match &arg.value {
            ArgValue::View(view) => Some(view),
            ArgValue::Number(_) => None,
        })
    }

    /// The views that it writes.
    pub fn writes(&self) -> impl Iterator<Item = &View> {
        self.results.iter().map(|result| &result.view)
    }

    /// The sizes over which it is computed.
    #[must_use]
    pub fn shape(&self) -> &[Dim] {
        self.results.first().map_or(&[], |result| result.view.layout.shape())
    }
}

impl PartialEq for Graph {
    /// Whether both do the same to the same memories: sizes are compared by their place in the table of symbols, so the
    /// scopes may differ.
    fn eq(&self, other: &Graph) -> bool {
        let memory = |a: &Memory, b: &Memory| {
            let meta = |memory: &Memory| (memory.meta.dtype, memory.meta.device);
            (&a.name, a.origin, meta(a)) == (&b.name, b.origin, meta(b))
                && same_terms(&a.meta.layout, &b.meta.layout)
        };
        let arg = |a: &OpArg, b: &OpArg| a.chain == b.chain && a.value.is_same(&b.value, same_view);
        let result = |a: &OpResult, b: &OpResult| a.chain == b.chain && same_view(&a.view, &b.view);
        let op = |a: &Op, b: &Op| {
            a.work.is_same(b.work) && all(&a.args, &b.args, arg) && all(&a.results, &b.results, result)
        };
        all(&self.memories, &other.memories, memory)
            && all(&self.nodes, &other.nodes, op)
            && all(&self.results, &other.results, same_view)
            && self.guards.is_same(&other.guards)
    }
}

impl Work {
    /// Whether both compute the same.
    pub(super) fn is_same(self, other: Work) -> bool {
        match (self, other) {
            (Work::Sum, Work::Sum) => true,
            (Work::Pointwise { op: a, compute: c }, Work::Pointwise { op: b, compute: d }) => {
                std::ptr::eq(a, b) && c == d
            }
            _ => false,
        }
    }
}

impl ArgValue {
    /// Whether both pass the same: numbers by their bits, views as `views` says.
    pub(super) fn is_same(&self, other: &ArgValue, views: impl Fn(&View, &View) -> bool) -> bool {
        match (self, other) {
            (ArgValue::View(a), ArgValue::View(b)) => views(a, b),
            (ArgValue::Number(a), ArgValue::Number(b)) => bits(*a) == bits(*b),
            _ => false,
        }
    }
}

/// A number by kind and bits, so that NaN is itself and zeros have signs.
fn bits(number: Scalar) -> (u8, u64, u64) {
    match number {
        Scalar::Bool(value) => (0, value.into(), 0),
        Scalar::I64(value) => (1, value.cast_unsigned(), 0),
        Scalar::U64(value) => (2, value, 0),
        Scalar::F64(value) => (3, value.to_bits(), 0),
        Scalar::C128(value) => (4, value.re.to_bits(), value.im.to_bits()),
    }
}

fn same_view(a: &View, b: &View) -> bool {
    a.memory == b.memory && same_terms(&a.layout, &b.layout)
}

fn same_terms(a: &Layout<Dim>, b: &Layout<Dim>) -> bool {
    all(a.shape(), b.shape(), Dim::is_same_term)
        && all(a.strides(), b.strides(), Dim::is_same_term)
        && all(a.start().terms(), b.start().terms(), Dim::is_same_term)
}

/// Whether two lists agree element by element.
pub(super) fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
