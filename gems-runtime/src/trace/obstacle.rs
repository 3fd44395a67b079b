//! Why two kernels of a graph are not one.

use super::fuse::{Groups, MOST_BUFFERS, MOST_NUMBERS, MOST_OPS, MOST_OUTPUTS};
use super::graph::{MemoryId, NodeId, View};
use std::fmt;

/// What keeps two kernels apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// They compute over other sizes.
    Sizes,
    /// They run on different devices.
    Devices,
    /// One of them is a sum.
    Sum,
    /// One writes a memory that the other one takes in another order, over other sizes or again.
    Order(MemoryId),
    /// A third kernel needs one of them and is needed by the other.
    Between,
    /// Together they would have too much of something.
    Limit(usize, &'static str),
}

impl Groups<'_> {
    /// Whether two groups have something to do with each other: one needs the other, or both read the same.
    pub(super) fn are_related(&self, a: usize, b: usize) -> bool {
        let reads = |group: usize| -> std::collections::BTreeSet<MemoryId> {
            let ops = self.groups[group].ops.iter();
            ops.flat_map(|&op| self.op(op).reads()).map(|view| view.memory).collect()
        };
        let needs = |from: usize, to: usize| {
            let mut dependencies = self.groups[from].ops.iter().flat_map(|&op| self.dependencies(op));
            dependencies.any(|node| self.groups[to].ops.contains(&node))
        };
        if needs(a, b) || needs(b, a) {
            return true;
        }
        let (theirs, ours) = (reads(a), reads(b));
        // What reads nothing is a number in every element, which any kernel of these sizes can store.
        theirs.is_empty() || ours.is_empty() || !theirs.is_disjoint(&ours)
    }

    /// What keeps two groups from being one kernel.
    pub(super) fn obstacle(&self, a: usize, b: usize) -> Option<Obstacle> {
        let (first, second) = (&self.groups[a].ops, &self.groups[b].ops);
        let (&x, &y) = first.first().zip(second.first())?;
        let device =
            |op: NodeId| self.op(op).writes().next().map(|view| self.graph.memories[view.memory].meta.device);
        let is_sum = |&op: &NodeId| self.op(op).pointwise().is_none();
        // Ops that do not depend on each other share no memory that one of them writes.
        let depending = |ops: &'_ [NodeId], others: &'_ [NodeId]| -> Vec<(NodeId, NodeId)> {
            let earlier = |later| self.dependencies(later).filter(|op| others.binary_search(op).is_ok());
            ops.iter().flat_map(|&later| earlier(later).map(move |op| (op, later))).collect()
        };
        let pairs = || [depending(second, first), depending(first, second)].concat();
        let mut pairs = first.iter().chain(second).map(|&op| (op, op)).chain(pairs());
        if first.iter().chain(second).any(is_sum) {
            Some(Obstacle::Sum)
        } else if self.op(x).shape() != self.op(y).shape() {
            Some(Obstacle::Sizes)
        } else if device(x) != device(y) {
            Some(Obstacle::Devices)
        } else if first.len() + second.len() > MOST_OPS {
            // Before what looks at all pairs of ops.
            Some(Obstacle::Limit(MOST_OPS, "ops"))
        } else if let Some(memory) = pairs.find_map(|(earlier, later)| self.misaligned(earlier, later)) {
            Some(Obstacle::Order(memory))
        } else if self.passes_outside(a, b) || self.passes_outside(b, a) {
            Some(Obstacle::Between)
        } else {
            self.excess(&[&first[..], &second[..]].concat())
        }
    }

    /// A memory that keeps both ops from being in one kernel: the later one does not read what the earlier one wrote, or
    /// write what it read, element by element. An op that does so by itself is in a kernel with no other.
    fn misaligned(&self, earlier: NodeId, later: NodeId) -> Option<MemoryId> {
        let (first, second) = (self.op(earlier), self.op(later));
        let differ = |a: &View, b: &View| a.memory == b.memory && a.layout != b.layout;
        let read = second.reads().find(|read| first.writes().any(|written| differ(written, read)));
        let overwritten = || second.writes().find(|written| first.reads().any(|read| differ(read, written)));
        let again =
            || second.writes().find(|b| earlier != later && first.writes().any(|a| a.memory == b.memory));
        read.or_else(overwritten).or_else(again).map(|view| view.memory)
    }

    /// What a kernel of these ops would have too much of.
    pub(super) fn excess(&self, ops: &[NodeId]) -> Option<Obstacle> {
        let mut read: Vec<&View> = Vec::new();
        let (mut numbers, mut written) = (0, 0);
        for &node in ops {
            let op = self.op(node);
            numbers += op.args.len() - op.reads().count();
            for view in op.reads() {
                if self.at_hand(view, node, ops).is_none() && !read.contains(&view) {
                    read.push(view);
                }
            }
            written += op.writes().filter(|view| self.leaves(view.memory, ops)).count();
        }
        let limits = [
            (ops.len(), MOST_OPS, "ops"),
            (read.len() + written, MOST_BUFFERS, "buffers"),
            (written, MOST_OUTPUTS, "outputs"),
            (numbers, MOST_NUMBERS, "numbers"),
        ];
        limits
            .into_iter()
            .find(|(count, most, _)| count > most)
            .map(|(_, most, what)| Obstacle::Limit(most, what))
    }

    /// What keeps two groups apart, in words.
    pub(super) fn obstacle_text(&self, a: usize, b: usize) -> Option<String> {
        let obstacle = self.obstacle(a, b)?;
        let shape =
            |group: usize| self.groups[group].ops.last().map(|&op| self.op(op).shape()).unwrap_or_default();
        Some(match obstacle {
            Obstacle::Sizes => format!("{:?} are other sizes than {:?}", shape(a), shape(b)),
            Obstacle::Order(memory) => {
                let name = &self.graph.memories[memory].name;
                format!("{name} is written, and taken in another order, over other sizes, or written again")
            }
            other => other.to_string(),
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Sizes => f.write_str("their sizes differ"),
            Obstacle::Devices => f.write_str("they run on different devices"),
            Obstacle::Sum => f.write_str("a sum is a kernel of its own"),
            Obstacle::Order(_) => f.write_str("a memory is written, and taken in another order"),
            Obstacle::Between => f.write_str("a third kernel needs one of them and is needed by the other"),
            Obstacle::Limit(most, what) => write!(f, "together they have more than {most} {what}"),
        }
    }
}
