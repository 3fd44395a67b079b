//! Which ops of a graph run in one kernel.
//!
//! Sums over axes are kernels of their own. Other ops join a kernel that computes over the same sizes, if the result of every op it depends on is at hand element by
//! element, or comes from a kernel that runs before. Results are rounded as if stored, so joining changes no bit.
//!
//! Guarantees: kernels run in an order that keeps every effect; a memory that is read otherwise than it is written
//! (mirrored, shifted, broadcast) is never read and written in one kernel; ops without effect are left out.

use crate::dtype::{DType, Scalar};
use crate::op::DeviceFn;
use crate::plan::{Arg, Node, NodeResult, Program, ProgramInput, ProgramOutput, ValueRef};
use crate::trace::graph::{ArgValue, Graph, MemoryId, NodeId, Op, Origin, View, Work};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether ops are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fusion {
    /// Ops over the same sizes share a kernel.
    #[default]
    On,
    /// A kernel an op, as eager calls run.
    Off,
}

/// Most buffers of one kernel: each takes registers for the vectors in flight.
const MOST_BUFFERS: usize = 14;
/// Most outputs of one kernel: members of the prelude's largest tuple.
const MOST_OUTPUTS: usize = 8;
/// Most numbers of one kernel.
const MOST_NUMBERS: usize = 32;
/// Most ops of one kernel.
const MOST_OPS: usize = 48;

/// One kernel of a graph.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) body: KernelBody,
    /// One an input of the program.
    pub(super) inputs: Vec<KernelInput>,
    /// One an output of the program.
    pub(super) outputs: Vec<View>,
    /// The ops in it, in order.
    pub(super) ops: Vec<NodeId>,
    /// Those of them that another kernel computes too.
    pub(super) recomputed: Vec<NodeId>,
}

/// What a kernel computes.
#[derive(Clone, Debug)]
pub(super) enum KernelBody {
    /// Pointwise ops.
    Program(Arc<Program>),
    /// The sums of its only input over the axes along which its only output is broadcast.
    Sum,
}

impl Kernel {
    pub(super) fn name(&self) -> &str {
        match &self.body {
            KernelBody::Program(program) => &program.name,
            KernelBody::Sum => "sum",
        }
    }
}

/// An input of a kernel.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are views")]
pub(super) enum KernelInput {
    View(View),
    Number(Scalar),
}

/// The kernels of a graph, in order; `results` are the views that the function returns.
pub(super) fn kernels(graph: &Graph, results: &[View], fusion: Fusion) -> Vec<Kernel> {
    let live = live_ops(graph, results);
    let mut groups = Groups { graph, results, live: &live, groups: Vec::new() };
    for &node in &live {
        groups.place(node, fusion);
    }
    groups.inline_cheap_producers(fusion);
    let order = groups.order();
    order.iter().map(|&group| groups.kernel(group)).collect()
}

/// The ops whose results are returned, stored in an input, or read by such an op.
pub(super) fn live_ops(graph: &Graph, results: &[View]) -> Vec<NodeId> {
    let is_input = |memory: MemoryId| matches!(graph.memories[memory].origin, Origin::Input(_));
    let mut wanted: BTreeSet<MemoryId> = results.iter().map(|view| view.memory).collect();
    let mut live = Vec::new();
    for (node, op) in graph.nodes.iter().enumerate().rev() {
        if op.writes().any(|view| is_input(view.memory) || wanted.contains(&view.memory)) {
            wanted.extend(op.reads().map(|view| view.memory));
            live.push(node);
        }
    }
    live.reverse();
    live
}

/// Sets of ops, each a kernel to be.
struct Groups<'a> {
    graph: &'a Graph,
    /// What the function returns.
    results: &'a [View],
    /// The ops that have an effect.
    live: &'a [NodeId],
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// Ops in order, recomputed ones among them.
    ops: Vec<NodeId>,
    recomputed: Vec<NodeId>,
}

impl Groups<'_> {
    fn op(&self, node: NodeId) -> &Op {
        &self.graph.nodes[node]
    }

    /// The group that computes a node for all.
    fn home(&self, node: NodeId) -> Option<usize> {
        self.groups.iter().position(|group| group.ops.contains(&node) && !group.recomputed.contains(&node))
    }

    /// The earlier nodes whose effects a node sees, or that must have read before it writes.
    fn dependencies(&self, node: NodeId) -> Vec<NodeId> {
        let op = self.op(node);
        let reads: BTreeSet<MemoryId> = op.reads().map(|view| view.memory).collect();
        let writes: BTreeSet<MemoryId> = op.writes().map(|view| view.memory).collect();
        (0..node)
            .filter(|&earlier| {
                let earlier = self.op(earlier);
                earlier.writes().any(|view| reads.contains(&view.memory) || writes.contains(&view.memory))
                    || earlier.reads().any(|view| writes.contains(&view.memory))
            })
            .collect()
    }

    /// Whether both ops can be in one kernel as far as their memories go: the later one reads what the earlier one
    /// wrote, and writes what it read, element by element.
    fn aligned(&self, earlier: NodeId, later: NodeId) -> bool {
        let (first, second) = (self.op(earlier), self.op(later));
        let same = |a: &View, b: &View| a.memory != b.memory || a.layout == b.layout;
        let written_apart = |a: &View, b: &View| a.memory != b.memory;
        first.writes().all(|written| second.reads().all(|read| same(written, read)))
            && first.reads().all(|read| second.writes().all(|written| same(read, written)))
            && first.writes().all(|a| second.writes().all(|b| written_apart(a, b)))
    }

    /// Whether a group needs another one to have run, directly or through others.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut left = vec![from];
        while let Some(group) = left.pop() {
            for &node in &self.groups[group].ops {
                for dependency in self.dependencies(node) {
                    match self.home(dependency) {
                        Some(home) if home == to && home != group => return true,
                        Some(home) if seen.insert(home) => left.push(home),
                        _ => {}
                    }
                }
            }
        }
        false
    }

    /// Puts a node into a group of the same sizes if that is possible, else into one of its own.
    fn place(&mut self, node: NodeId, fusion: Fusion) {
        self.groups.push(Group { ops: vec![node], recomputed: Vec::new() });
        if fusion == Fusion::Off {
            return;
        }
        // Merging renumbers the groups, so the search starts again after each one.
        while let Some((into, from)) = self.mergeable_with(node) {
            let moved = self.groups.remove(from);
            let into = if from < into { into - 1 } else { into };
            let ops = &mut self.groups[into].ops;
            ops.extend(moved.ops);
            ops.sort_unstable();
        }
    }

    /// The group of a node and another one that it can be one kernel with.
    fn mergeable_with(&self, node: NodeId) -> Option<(usize, usize)> {
        let own = self.home(node)?;
        let related = |group: &Group| {
            let reads = |ops: &[NodeId]| -> BTreeSet<MemoryId> {
                ops.iter().flat_map(|&op| self.op(op).reads()).map(|view| view.memory).collect()
            };
            let dependencies: BTreeSet<NodeId> =
                self.groups[own].ops.iter().flat_map(|&op| self.dependencies(op)).collect();
            let (theirs, ours) = (reads(&group.ops), reads(&self.groups[own].ops));
            // What reads nothing is a number in every element, which any kernel of these sizes can store.
            theirs.is_empty()
                || ours.is_empty()
                || group.ops.iter().any(|op| dependencies.contains(op))
                || !theirs.is_disjoint(&ours)
        };
        (0..self.groups.len())
            .rev()
            .find(|&other| other != own && related(&self.groups[other]) && self.can_merge(own, other))
            .map(|other| (own, other))
    }

    fn can_merge(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.groups[a], &self.groups[b]);
        let (Some(&x), Some(&y)) = (first.ops.first(), second.ops.first()) else { return false };
        if self.op(x).shape() != self.op(y).shape() || first.ops.len() + second.ops.len() > MOST_OPS {
            return false;
        }
        let device =
            |op: NodeId| self.op(op).writes().next().map(|view| self.graph.memories[view.memory].meta.device);
        let pairs = || first.ops.iter().flat_map(|&x| second.ops.iter().map(move |&y| (x.min(y), x.max(y))));
        let is_sum = |&op: &NodeId| self.op(op).pointwise().is_none();
        !first.ops.iter().chain(&second.ops).any(is_sum)
            && device(x) == device(y)
            && pairs().all(|(earlier, later)| self.aligned(earlier, later))
            && !self.passes_outside(a, b)
            && !self.passes_outside(b, a)
            && self.fits(&[&first.ops[..], &second.ops[..]].concat())
    }

    /// Whether `from` needs `to` through a third group, which could then run neither before nor after both.
    fn passes_outside(&self, from: usize, to: usize) -> bool {
        let dependencies = self.groups[from].ops.iter().flat_map(|&op| self.dependencies(op));
        let between: BTreeSet<usize> = dependencies.filter_map(|node| self.home(node)).collect();
        between.into_iter().any(|group| group != from && group != to && self.reaches(group, to))
    }

    /// Whether a kernel of these ops has few enough parameters.
    fn fits(&self, ops: &[NodeId]) -> bool {
        let mut read: Vec<&View> = Vec::new();
        let (mut numbers, mut written) = (0, 0);
        for &node in ops {
            let op = self.op(node);
            numbers += op.args.len() - op.reads().count();
            for view in op.reads() {
                let made_here =
                    self.graph.writer(view.memory, node).is_some_and(|(writer, _)| ops.contains(&writer));
                if !made_here && !read.contains(&view) {
                    read.push(view);
                }
            }
            written += op.writes().filter(|view| self.leaves(view.memory, ops)).count();
        }
        read.len() + written <= MOST_BUFFERS && written <= MOST_OUTPUTS && numbers <= MOST_NUMBERS
    }

    /// Whether a memory that these ops write is needed beyond them.
    fn leaves(&self, memory: MemoryId, ops: &[NodeId]) -> bool {
        matches!(self.graph.memories[memory].origin, Origin::Input(_))
            || self.results.iter().any(|view| view.memory == memory)
            || self
                .live
                .iter()
                .any(|&node| !ops.contains(&node) && self.op(node).reads().any(|view| view.memory == memory))
    }

    /// Computes cheap results of smaller sizes again in the kernels that broadcast them, instead of storing them.
    fn inline_cheap_producers(&mut self, fusion: Fusion) {
        if fusion == Fusion::Off {
            return;
        }
        for group in 0..self.groups.len() {
            let mut at = 0;
            while let Some(&node) = self.groups[group].ops.get(at) {
                let producers: Vec<NodeId> = self
                    .op(node)
                    .reads()
                    .filter_map(|view| {
                        let (producer, _) = self.graph.writer(view.memory, node)?;
                        let whole = self.graph.memories[view.memory].meta.layout == view.layout;
                        let mine = self.groups[group].ops.contains(&producer);
                        (whole && !mine && self.can_recompute(producer, group)).then_some(producer)
                    })
                    .collect();
                let found = !producers.is_empty();
                for producer in producers {
                    let Group { ops, recomputed } = &mut self.groups[group];
                    if !ops.contains(&producer) {
                        ops.push(producer);
                        ops.sort_unstable();
                        recomputed.push(producer);
                    }
                }
                at = if found { 0 } else { at + 1 };
            }
        }
        // What nobody but recomputing kernels read needs no kernel of its own.
        let mut group = self.groups.len();
        while group > 0 {
            group -= 1;
            let needed = self.groups[group].ops.iter().any(|&node| self.is_stored(node, group));
            if !needed {
                self.groups.remove(group);
            }
        }
    }

    /// Whether an op is cheap, reads only memories that nothing writes, and makes new memory.
    fn can_recompute(&self, node: NodeId, group: usize) -> bool {
        let op = self.op(node);
        let never_written = |memory: MemoryId| {
            matches!(self.graph.memories[memory].origin, Origin::Input(_))
                && !self.graph.nodes.iter().any(|op| op.writes().any(|view| view.memory == memory))
        };
        let written_once = op.writes().all(|view| {
            matches!(self.graph.memories[view.memory].origin, Origin::Result(maker) if maker == node)
                && self.graph.nodes.iter().filter(|op| op.writes().any(|w| w.memory == view.memory)).count()
                    == 1
        });
        let mut ops = self.groups[group].ops.clone();
        // A group that reads some of the result in another order needs it in memory anyway.
        let read_in_order = ops.iter().flat_map(|&reader| self.op(reader).reads()).all(|read| {
            op.writes().all(|written| written.memory != read.memory || written.layout == read.layout)
        });
        ops.push(node);
        let is_pointwise = |&node: &NodeId| self.op(node).pointwise().is_some();
        op.pointwise().is_some_and(|op| is_cheap(op.device))
            && ops.iter().all(is_pointwise)
            && written_once
            && read_in_order
            && op.reads().all(|view| never_written(view.memory))
            && ops.len() <= MOST_OPS
            && self.fits(&ops)
    }

    /// Whether a result of a node goes to memory: an input's, a returned one, or one that another kernel reads.
    fn is_stored(&self, node: NodeId, group: usize) -> bool {
        (0..self.op(node).results.len()).any(|output| self.result_is_stored(node, output, group))
    }

    fn result_is_stored(&self, node: NodeId, output: usize, group: usize) -> bool {
        let memory = self.op(node).results[output].view.memory;
        let read_elsewhere = self.groups.iter().enumerate().any(|(other, readers)| {
            other != group
                && readers.ops.iter().any(|&reader| {
                    let reads = self.op(reader).reads().any(|view| view.memory == memory);
                    let computes = readers.ops.contains(&node);
                    reader > node && reads && !computes
                })
        });
        matches!(self.graph.memories[memory].origin, Origin::Input(_))
            || self.results.iter().any(|view| view.memory == memory)
            || read_elsewhere
    }

    /// Groups in an order in which each one runs behind those that it needs.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.groups.len() {
            let ready = (0..self.groups.len()).find(|&group| {
                let done = |dependency: NodeId| {
                    self.home(dependency).is_none_or(|home| home == group || order.contains(&home))
                };
                let needs = |&node: &NodeId| self.dependencies(node).into_iter().all(done);
                !order.contains(&group) && self.groups[group].ops.iter().all(needs)
            });
            // Merging keeps the groups free of cycles, so one is always ready.
            match ready {
                Some(group) => order.push(group),
                None => break,
            }
        }
        order
    }

    /// The kernel of a group.
    fn kernel(&self, group: usize) -> Kernel {
        let Group { ops, recomputed } = &self.groups[group];
        if let &[only] = ops.as_slice()
            && self.op(only).pointwise().is_none()
        {
            return self.sum(only);
        }
        let mut builder = Builder::default();
        for &node in ops {
            let op = self.op(node);
            let Work::Pointwise { op: def, compute } = op.work else { continue };
            let args = op
                .args
                .iter()
                .zip(def.params)
                .map(|(arg, param)| {
                    let value = match &arg.value {
                        ArgValue::Number(number) => builder.number(*number, param.name, arg.chain[0]),
                        ArgValue::View(view) => {
                            let writer = self.graph.writer(view.memory, node);
                            match writer.and_then(|(writer, output)| {
                                let position = ops.iter().position(|&op| op == writer)?;
                                (self.op(writer).results[output].view == *view)
                                    .then_some(ValueRef::Result { node: position, output })
                            }) {
                                Some(value) => value,
                                None => {
                                    let memory = &self.graph.memories[view.memory];
                                    builder.view(view, &memory.name, memory.meta.dtype)
                                }
                            }
                        }
                    };
                    Arg { value, chain: arg.chain }
                })
                .collect();
            let results = op
                .results
                .iter()
                .map(|result| NodeResult {
                    name: self.graph.memories[result.view.memory].name.clone(),
                    chain: result.chain,
                })
                .collect();
            builder.nodes.push(Node { op: def, compute, args, results });
        }
        let mut outputs = Vec::new();
        for (position, &node) in ops.iter().enumerate().filter(|(_, node)| !recomputed.contains(node)) {
            for (output, result) in self.op(node).results.iter().enumerate() {
                if self.result_is_stored(node, output, group) {
                    let memory = &self.graph.memories[result.view.memory];
                    builder.outputs.push(ProgramOutput {
                        name: format!("{}_out", memory.name),
                        value: ValueRef::Result { node: position, output },
                        dtype: memory.meta.dtype,
                    });
                    outputs.push(result.view.clone());
                }
            }
        }
        let name = match ops.as_slice() {
            [only] => self.op(*only).name().to_owned(),
            [.., last] => format!("fused_{}_{}", ops.len(), self.op(*last).name()),
            [] => String::new(),
        };
        let Builder { inputs, sources, nodes, outputs: program_outputs } = builder;
        let body = KernelBody::Program(Arc::new(Program { name, inputs, nodes, outputs: program_outputs }));
        Kernel { body, inputs: sources, outputs, ops: ops.clone(), recomputed: recomputed.clone() }
    }

    /// The kernel of a sum.
    fn sum(&self, node: NodeId) -> Kernel {
        let op = self.op(node);
        Kernel {
            body: KernelBody::Sum,
            inputs: op.reads().cloned().map(KernelInput::View).collect(),
            outputs: op.writes().cloned().collect(),
            ops: vec![node],
            recomputed: Vec::new(),
        }
    }
}

/// A program under construction.
#[derive(Default)]
struct Builder {
    inputs: Vec<ProgramInput>,
    sources: Vec<KernelInput>,
    nodes: Vec<Node>,
    outputs: Vec<ProgramOutput>,
}

impl Builder {
    fn number(&mut self, number: Scalar, name: &str, dtype: DType) -> ValueRef {
        self.inputs.push(ProgramInput { name: name.to_owned(), dtype });
        self.sources.push(KernelInput::Number(number));
        ValueRef::Input(self.inputs.len() - 1)
    }

    fn view(&mut self, view: &View, name: &str, dtype: DType) -> ValueRef {
        let known =
            self.sources.iter().position(|source| matches!(source, KernelInput::View(v) if v == view));
        ValueRef::Input(known.unwrap_or_else(|| {
            self.inputs.push(ProgramInput { name: name.to_owned(), dtype });
            self.sources.push(KernelInput::View(view.clone()));
            self.inputs.len() - 1
        }))
    }
}

/// Whether a function is a few instructions: it calls no function of a mathematical library and no other function.
pub(super) fn is_cheap(function: &DeviceFn) -> bool {
    const DEAR: [&str; 12] =
        ["pow", "lgamma", "tgamma", "erf", "erfc", "exp", "ln", "sin", "cos", "tan", "tanh", "hypot"];
    function.calls.is_empty() && !function.uses.iter().any(|used| DEAR.contains(&used.name))
}
