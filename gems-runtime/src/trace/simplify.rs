//! Graphs without ops that nobody needs and without the same op twice.
//!
//! Guarantees: what the function returns and what it leaves in its inputs stays, bit for bit; two memories that are both
//! returned stay two; an op is never taken for an earlier one if something it reads was written in between. Inputs may share memory, so a write
//! to one counts for all, and none is taken for overwritten.

use super::graph::{ArgValue, Graph, Memory, MemoryId, NodeId, Op, OpArg, Origin, View};
use std::collections::{BTreeMap, BTreeSet};

impl Graph {
    /// The same function with each result computed once, and only if something needs it.
    #[must_use]
    pub fn simplified(mut self) -> Graph {
        self.share_equal_ops();
        let needed = self.needed_ops();
        self.keep(&needed)
    }

    pub(super) fn needed_ops(&self) -> Vec<NodeId> {
        self.ops_needed_for(&self.results)
    }

    /// The ops whose results are these, left in an input, or read by such an op before they are overwritten.
    pub(super) fn ops_needed_for(&self, results: &[View]) -> Vec<NodeId> {
        let inputs = (0..self.memories.len()).filter(|&memory| self.is_input(memory));
        let mut wanted: BTreeSet<MemoryId> = results.iter().map(|view| view.memory).chain(inputs).collect();
        let mut needed = Vec::new();
        for (node, op) in self.nodes.iter().enumerate().rev() {
            if op.writes().any(|view| wanted.contains(&view.memory)) {
                for overwritten in
                    op.writes().filter(|view| !self.is_input(view.memory) && self.is_whole(view))
                {
                    wanted.remove(&overwritten.memory);
                }
                wanted.extend(op.reads().map(|view| view.memory));
                needed.push(node);
            }
        }
        needed.reverse();
        needed
    }

    /// Makes readers of an op that repeats an earlier one readers of the earlier one.
    fn share_equal_ops(&mut self) {
        let mut replaced: BTreeMap<MemoryId, MemoryId> = BTreeMap::new();
        for node in 0..self.nodes.len() {
            self.nodes[node].args.iter_mut().for_each(|arg| rename(arg, &replaced));
            let same = (0..node).find(|&earlier| self.repeats(earlier, node));
            if let Some(earlier) = same {
                let memories = |node: NodeId| self.nodes[node].writes().map(|view| view.memory);
                let renamed: BTreeMap<MemoryId, MemoryId> = memories(node).zip(memories(earlier)).collect();
                // At once, since whether the next op can be replaced depends on what is returned by now.
                self.results.iter_mut().for_each(|view| move_to(view, &renamed));
                replaced.extend(renamed);
            }
        }
    }

    /// Whether a later op gives what an earlier one gave, and its results can be those of the earlier one.
    fn repeats(&self, earlier: NodeId, later: NodeId) -> bool {
        let (first, second) = (&self.nodes[earlier], &self.nodes[later]);
        let may_share = |a: MemoryId, b: MemoryId| a == b || (self.is_input(a) && self.is_input(b));
        let unwritten = |view: &View| {
            let mut writes = self.nodes[earlier..later].iter().flat_map(Op::writes);
            !writes.any(|written| may_share(written.memory, view.memory))
        };
        let can_be = |(a, b): (&View, &View)| {
            self.is_written_once(a, earlier)
                && self.is_written_once(b, later)
                && self.memories[a.memory].meta == self.memories[b.memory].meta
                && !(self.is_returned(a.memory) && self.is_returned(b.memory))
        };
        computes_the_same(first, second)
            && first.writes().zip(second.writes()).all(can_be)
            && second.reads().all(unwritten)
    }

    /// Whether a memory is made by a node and written by no other.
    fn is_written_once(&self, view: &View, maker: NodeId) -> bool {
        let writers =
            self.nodes.iter().enumerate().filter(|(_, op)| op.writes().any(|w| w.memory == view.memory));
        self.memories[view.memory].origin == Origin::Result(maker) && writers.count() == 1
    }

    fn is_returned(&self, memory: MemoryId) -> bool {
        self.results.iter().any(|view| view.memory == memory)
    }

    /// The graph with these nodes alone, in this order, and the memories that they use. Where the op that made a memory
    /// is gone because another one overwrote it, that one makes it now.
    fn keep(self, kept: &[NodeId]) -> Graph {
        let inputs = (0..self.memories.len()).filter(|&memory| self.is_input(memory));
        let mut order: Vec<MemoryId> = inputs.collect();
        let mut memories: Vec<Memory> = order.iter().map(|&input| self.memories[input].clone()).collect();
        for (new, &node) in kept.iter().enumerate() {
            for view in self.nodes[node].writes() {
                if !order.contains(&view.memory) {
                    order.push(view.memory);
                    memories
                        .push(Memory { origin: Origin::Result(new), ..self.memories[view.memory].clone() });
                }
            }
        }
        let places: BTreeMap<MemoryId, MemoryId> =
            order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let mut nodes: Vec<Op> = Vec::new();
        for (node, mut op) in self.nodes.into_iter().enumerate() {
            if kept.contains(&node) {
                op.args.iter_mut().for_each(|arg| rename(arg, &places));
                op.results.iter_mut().for_each(|result| move_to(&mut result.view, &places));
                nodes.push(op);
            }
        }
        let mut results = self.results;
        results.iter_mut().for_each(|view| move_to(view, &places));
        Graph { memories, nodes, results, guards: self.guards }
    }
}

fn move_to(view: &mut View, places: &BTreeMap<MemoryId, MemoryId>) {
    view.memory = places.get(&view.memory).copied().unwrap_or(view.memory);
}

fn rename(arg: &mut OpArg, places: &BTreeMap<MemoryId, MemoryId>) {
    if let ArgValue::View(view) = &mut arg.value {
        move_to(view, places);
    }
}

/// The same op of the same operands, with results of the same dtypes.
fn computes_the_same(a: &Op, b: &Op) -> bool {
    let args = || a.args.iter().zip(&b.args);
    let results = || a.results.iter().zip(&b.results);
    a.work.is_same(b.work)
        && args().all(|(a, b)| a.chain == b.chain && a.value.is_same(&b.value, View::eq))
        && results().all(|(a, b)| a.chain == b.chain)
}
