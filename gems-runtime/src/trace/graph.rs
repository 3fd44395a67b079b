//! What a traced function does: ops on memories, in order.
//!
//! A [`Memory`] is an input's or a result's; operands are views of one. Ops that write into given buffers write to the
//! memory behind them, so the order of nodes is the order of effects.
//! Holds no pointer and no size that the scope leaves open; does not fuse and does not run.

use crate::buffer::Meta;
use crate::dtype::{DType, Scalar};
use crate::layout::Layout;
use crate::op::OpDef;
use crate::trace::Dim;
use smallvec::SmallVec;
use std::fmt;

/// Position of a memory in its graph.
pub type MemoryId = usize;
/// Position of a node in its graph.
pub type NodeId = usize;

/// Ops on memories, in order.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) memories: Vec<Memory>,
    pub(super) nodes: Vec<Op>,
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

    /// The op and result that wrote a memory last before a node.
    pub(super) fn writer(&self, memory: MemoryId, before: NodeId) -> Option<(NodeId, usize)> {
        self.nodes[..before].iter().enumerate().rev().find_map(|(node, op)| {
            op.results.iter().position(|result| result.view.memory == memory).map(|output| (node, output))
        })
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

impl fmt::Display for Graph {
    /// A line an input and an op: `t: f32[n] = tanh(y)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for memory in self.memories.iter().filter(|memory| matches!(memory.origin, Origin::Input(_))) {
            writeln!(f, "{}: {} = input on {}", memory.name, memory.meta, memory.meta.device)?;
        }
        for op in &self.nodes {
            for (i, result) in op.results.iter().enumerate() {
                write!(f, "{}{}", if i == 0 { "" } else { ", " }, ViewText(self, &result.view))?;
            }
            write!(f, " = {}(", op.name())?;
            for (i, arg) in op.args.iter().enumerate() {
                write!(f, "{}", if i == 0 { "" } else { ", " })?;
                match &arg.value {
                    ArgValue::View(view) => write!(f, "{}", ViewText(self, view))?,
                    ArgValue::Number(number) => write!(f, "{number}")?,
                }
            }
            writeln!(f, ")")?;
        }
        Ok(())
    }
}

/// A view as text: the memory's name alone where it is all of it.
struct ViewText<'a>(&'a Graph, &'a View);

impl fmt::Display for ViewText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ViewText(graph, view) = self;
        let memory = &graph.memories[view.memory];
        f.write_str(&memory.name)?;
        if view.layout != memory.meta.layout {
            write!(f, "{:?}@{:?}", view.layout.shape(), view.layout.strides())?;
            let start = view.layout.start().terms();
            if !start.is_empty() {
                write!(f, "+{start:?}")?;
            }
        }
        Ok(())
    }
}
