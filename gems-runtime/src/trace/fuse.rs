//! Which ops of a graph run in one kernel.
//!
//! Sums over axes are kernels of their own. Other ops join a kernel that computes over the same sizes, if the result of
//! every op it depends on is at hand element by element, or comes from a kernel that runs before. Results are rounded as
//! if stored, so joining changes no bit, except with [`Rounding::Wide`].
//!
//! Guarantees: kernels run in an order that keeps every effect; a memory that is read otherwise than it is written
//! (mirrored, shifted, broadcast) is never read and written in one kernel. Takes graphs without dead ops.

use crate::dtype::Scalar;
use crate::plan::{Arg, Node, NodeResult, Program, ProgramOutput, ValueRef};
use crate::trace::body::{Builder, is_cheap, widened};
use crate::trace::graph::{ArgValue, Graph, MemoryId, NodeId, Op, Origin, View, Work};
use crate::trace::{Fusion, Options, Rounding};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most buffers of one kernel: each takes registers for the vectors in flight.
pub(super) const MOST_BUFFERS: usize = 14;
/// Most outputs of one kernel: members of the prelude's largest tuple.
pub(super) const MOST_OUTPUTS: usize = 8;
/// Most numbers of one kernel.
pub(super) const MOST_NUMBERS: usize = 32;
/// Most ops of one kernel.
pub(super) const MOST_OPS: usize = 48;

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
    /// Earlier kernels that it has to do with, and why it is none with each of them.
    pub(super) apart: Vec<(usize, String)>,
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

/// The kernels of a graph, in order.
pub(super) fn kernels(graph: &Graph, options: Options) -> Vec<Kernel> {
    let mut groups = Groups::new(graph);
    for node in 0..graph.nodes.len() {
        groups.place(node, options.fusion);
    }
    groups.inline_cheap_producers(options.fusion);
    let order = groups.order();
    let mut kernels: Vec<Kernel> =
        order.iter().map(|&group| groups.kernel(group, options.rounding)).collect();
    for (position, kernel) in kernels.iter_mut().enumerate() {
        let earlier = (0..position).filter(|&other| groups.are_related(order[other], order[position]));
        kernel.apart = match options.fusion {
            Fusion::On => earlier
                .filter_map(|other| Some((other, groups.obstacle_text(order[position], order[other])?)))
                .collect(),
            Fusion::Off => earlier.map(|other| (other, "fusion is off".to_owned())).collect(),
        };
    }
    kernels
}

/// Sets of ops, each a kernel to be.
pub(super) struct Groups<'a> {
    pub(super) graph: &'a Graph,
    pub(super) groups: Vec<Group>,
    /// The group that computes each node for all.
    homes: Vec<Option<usize>>,
    /// The earlier nodes whose effects each node sees, or that must have read before it writes.
    dependencies: Vec<Vec<NodeId>>,
    /// The nodes that read each memory, in order.
    readers: Vec<Vec<NodeId>>,
    /// The results that are in each memory, in order.
    writers: Vec<Vec<(NodeId, usize)>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Ops in order, recomputed ones among them.
    pub(super) ops: Vec<NodeId>,
    recomputed: Vec<NodeId>,
}

impl<'a> Groups<'a> {
    fn new(graph: &'a Graph) -> Groups<'a> {
        let mut readers = vec![Vec::new(); graph.memories.len()];
        let mut writers = vec![Vec::new(); graph.memories.len()];
        for (node, op) in graph.nodes.iter().enumerate() {
            op.reads().for_each(|view| readers[view.memory].push(node));
            op.writes().enumerate().for_each(|(output, view)| writers[view.memory].push((node, output)));
        }
        let needs = |(node, op): (NodeId, &Op)| -> Vec<NodeId> {
            let writers = |view: &View| writers[view.memory].iter().map(|&(writer, _)| writer);
            let users = |view| writers(view).chain(readers[view.memory].iter().copied());
            let earlier: BTreeSet<NodeId> =
                op.reads().flat_map(writers).chain(op.writes().flat_map(users)).collect();
            earlier.into_iter().take_while(|&other| other < node).collect()
        };
        let dependencies = graph.nodes.iter().enumerate().map(needs).collect();
        Groups {
            graph,
            groups: Vec::new(),
            homes: vec![None; graph.nodes.len()],
            dependencies,
            readers,
            writers,
        }
    }

    pub(super) fn op(&self, node: NodeId) -> &'a Op {
        &self.graph.nodes[node]
    }

    /// The op and result that wrote a memory last before a node.
    fn writer(&self, memory: MemoryId, before: NodeId) -> Option<(NodeId, usize)> {
        self.writers[memory].iter().rev().find(|(node, _)| *node < before).copied()
    }

    fn home(&self, node: NodeId) -> Option<usize> {
        self.homes[node]
    }

    pub(super) fn dependencies(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.dependencies[node].iter().copied()
    }

    /// Takes a group out; those behind it move up.
    fn remove(&mut self, group: usize) -> Group {
        let moved = |home: usize| match home.cmp(&group) {
            Ordering::Less => Some(home),
            Ordering::Equal => None,
            Ordering::Greater => Some(home - 1),
        };
        for home in &mut self.homes {
            *home = home.and_then(moved);
        }
        self.groups.remove(group)
    }

    /// Whether a group needs another one to have run, directly or through others.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let Some(&first) = self.groups[to].ops.first() else { return false };
        let mut seen = vec![false; self.groups.len()];
        let mut left = vec![from];
        seen[from] = true;
        while let Some(group) = left.pop() {
            // What runs before all of `to` does not need it.
            for &node in self.groups[group].ops.iter().rev().take_while(|&&node| node > first) {
                for home in self.dependencies(node).filter_map(|dependency| self.home(dependency)) {
                    if home == to && home != group {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[home], true) {
                        left.push(home);
                    }
                }
            }
        }
        false
    }

    /// Puts a node into a group of the same sizes if that is possible, else into one of its own.
    fn place(&mut self, node: NodeId, fusion: Fusion) {
        self.homes[node] = Some(self.groups.len());
        self.groups.push(Group { ops: vec![node], recomputed: Vec::new() });
        if fusion == Fusion::Off {
            return;
        }
        // Merging renumbers the groups, so the search starts again after each one.
        while let Some((into, from)) = self.mergeable_with(node) {
            let moved = self.remove(from);
            let into = if from < into { into - 1 } else { into };
            for &op in &moved.ops {
                self.homes[op] = Some(into);
            }
            let ops = &mut self.groups[into].ops;
            ops.extend(moved.ops);
            ops.sort_unstable();
        }
    }

    /// The group of a node and another one that it can be one kernel with.
    fn mergeable_with(&self, node: NodeId) -> Option<(usize, usize)> {
        let own = self.home(node)?;
        (0..self.groups.len())
            .rev()
            .find(|&other| {
                // What is full is known at once, and in long functions nearly all groups are.
                let fits = self.groups[own].ops.len() + self.groups[other].ops.len() <= MOST_OPS;
                other != own && fits && self.are_related(own, other) && self.obstacle(own, other).is_none()
            })
            .map(|other| (own, other))
    }

    /// Whether `from` needs `to` through a third group, which could then run neither before nor after both.
    pub(super) fn passes_outside(&self, from: usize, to: usize) -> bool {
        let dependencies = self.groups[from].ops.iter().flat_map(|&op| self.dependencies(op));
        let between: BTreeSet<usize> = dependencies.filter_map(|node| self.home(node)).collect();
        between.into_iter().any(|group| group != from && group != to && self.reaches(group, to))
    }

    /// Whether a memory that these ops write is needed beyond them.
    pub(super) fn leaves(&self, memory: MemoryId, ops: &[NodeId]) -> bool {
        matches!(self.graph.memories[memory].origin, Origin::Input(_))
            || self.graph.results.iter().any(|view| view.memory == memory)
            || self.readers[memory].iter().any(|node| !ops.contains(node))
    }

    /// Computes cheap results again in the kernels that read them, instead of storing them.
    fn inline_cheap_producers(&mut self, fusion: Fusion) {
        if fusion == Fusion::Off {
            return;
        }
        for group in 0..self.groups.len() {
            let mut at = 0;
            while let Some(&node) = self.groups[group].ops.get(at) {
                // One at a time: each takes from what the limits leave to the next.
                let producer = self.op(node).reads().find_map(|view| {
                    let (producer, _) = self.writer(view.memory, node)?;
                    let whole = self.graph.memories[view.memory].meta.layout == view.layout;
                    let mine = self.groups[group].ops.contains(&producer);
                    (whole && !mine && self.can_recompute(producer, group)).then_some(producer)
                });
                at = match producer {
                    Some(producer) => {
                        let Group { ops, recomputed } = &mut self.groups[group];
                        ops.push(producer);
                        ops.sort_unstable();
                        recomputed.push(producer);
                        0
                    }
                    None => at + 1,
                };
            }
        }
        // What nobody but recomputing kernels read needs no kernel of its own.
        let mut group = self.groups.len();
        while group > 0 {
            group -= 1;
            let needed = self.groups[group].ops.iter().any(|&node| self.is_stored(node, group));
            if !needed {
                self.remove(group);
            }
        }
    }

    /// Whether an op is cheap, reads only memories that nothing writes, and makes new memory.
    fn can_recompute(&self, node: NodeId, group: usize) -> bool {
        let op = self.op(node);
        let never_written = |memory: MemoryId| {
            matches!(self.graph.memories[memory].origin, Origin::Input(_)) && self.writers[memory].is_empty()
        };
        let written_once = op.writes().all(|view| {
            matches!(self.graph.memories[view.memory].origin, Origin::Result(maker) if maker == node)
                && self.writers[view.memory].iter().all(|&(writer, _)| writer == node)
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
            && self.excess(&ops).is_none()
    }

    /// Where among these ops the value of a view that a node reads was computed, if it was: element by element.
    pub(super) fn at_hand(&self, view: &View, node: NodeId, ops: &[NodeId]) -> Option<ValueRef> {
        let (writer, output) = self.writer(view.memory, node)?;
        let position = ops.iter().position(|&op| op == writer)?;
        let same = self.op(writer).results[output].view == *view;
        same.then_some(ValueRef::Result { node: position, output })
    }

    /// Whether a result of a node goes to memory: an input's, a returned one, or one that another kernel reads.
    fn is_stored(&self, node: NodeId, group: usize) -> bool {
        (0..self.op(node).results.len()).any(|output| self.result_is_stored(node, output, group))
    }

    fn result_is_stored(&self, node: NodeId, output: usize, group: usize) -> bool {
        let memory = self.op(node).results[output].view.memory;
        let is_read = |readers: &Group, reader: NodeId| {
            let mut views = self.op(reader).reads().filter(|view| view.memory == memory);
            reader > node && views.any(|view| self.at_hand(view, reader, &readers.ops).is_none())
        };
        let mut others = self.groups.iter().enumerate().filter(|(other, _)| *other != group);
        let read_elsewhere =
            others.any(|(_, readers)| readers.ops.iter().any(|&reader| is_read(readers, reader)));
        matches!(self.graph.memories[memory].origin, Origin::Input(_))
            || self.graph.results.iter().any(|view| view.memory == memory)
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
                let needs = |&node: &NodeId| self.dependencies(node).all(done);
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
    fn kernel(&self, group: usize, rounding: Rounding) -> Kernel {
        let Group { ops, recomputed } = &self.groups[group];
        if let &[only] = ops.as_slice()
            && self.op(only).pointwise().is_none()
        {
            return self.sum(only);
        }
        let mut builder = Builder::default();
        let stored = |node: NodeId, output: usize| {
            !recomputed.contains(&node) && self.result_is_stored(node, output, group)
        };
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
                        ArgValue::View(view) => match self.at_hand(view, node, ops) {
                            Some(value) => value,
                            None => {
                                let memory = &self.graph.memories[view.memory];
                                builder.view(view, &memory.name, memory.meta.dtype)
                            }
                        },
                    };
                    Arg { value, chain: builder.argument(value, arg.chain) }
                })
                .collect();
            let results = op
                .results
                .iter()
                .enumerate()
                .map(|(output, result)| NodeResult {
                    name: self.graph.memories[result.view.memory].name.clone(),
                    chain: match rounding {
                        Rounding::Wide if !stored(node, output) => widened(result.chain),
                        Rounding::Wide | Rounding::Exact => result.chain,
                    },
                })
                .collect();
            builder.nodes.push(Node { op: def, compute, args, results });
        }
        let mut outputs = Vec::new();
        for (position, &node) in ops.iter().enumerate() {
            for (output, result) in self.op(node).results.iter().enumerate() {
                if stored(node, output) {
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
        Kernel {
            body,
            inputs: sources,
            outputs,
            ops: ops.clone(),
            recomputed: recomputed.clone(),
            apart: Vec::new(),
        }
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
            apart: Vec::new(),
        }
    }
}
