//! What a forward pass leaves for the backward pass.
//!
//! The backward pass needs values that the forward pass had. It reads each one from memory, or computes it again from
//! others. The cheapest choice is a minimum cut between the inputs and the backward pass, where an input or a result
//! weighs the bytes of reading it, and any other value those of writing and reading it.
//! Sizes are those seen by the trace; the choice changes what is moved, never a bit of the gradients.

use super::graph::{Graph, MemoryId, NodeId, Origin, View, Work};
use crate::layout::Extent;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// What a forward pass saves for the backward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Saving {
    /// What moves the fewest bytes in both passes together.
    #[default]
    FewestBytes,
    /// Nothing: the backward pass starts from the inputs.
    Nothing,
    /// Every value that a derivative reads.
    Everything,
}

/// What the backward pass reads.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The memories of the forward pass that it starts from.
    pub(super) loaded: Vec<MemoryId>,
    explained: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explained)
    }
}

/// The choice for a graph whose first `forward_end` steps are the forward pass, and whose first `n_inputs` inputs are
/// the function's.
pub(super) fn choose(
    graph: &Graph,
    forward_end: NodeId,
    n_inputs: usize,
    results: &[View],
    gradients: &[View],
    saving: Saving,
) -> Choice {
    let flow = Flow::new(graph, forward_end, n_inputs, results, gradients);
    let loaded = flow.loaded(saving);
    let explained = flow.explain(&loaded);
    Choice { loaded: loaded.into_iter().collect(), explained }
}

/// The values of a forward pass and who needs them.
struct Flow<'a> {
    graph: &'a Graph,
    /// Values that can be read at the start of the backward pass at the cost of reading them.
    stored: BTreeSet<MemoryId>,
    inputs: BTreeSet<MemoryId>,
    /// What each value is computed from.
    made_of: BTreeMap<MemoryId, BTreeSet<MemoryId>>,
    /// Values that a kernel of its own computes.
    dear: BTreeSet<MemoryId>,
    /// What derivatives read.
    needed: BTreeSet<MemoryId>,
}

impl<'a> Flow<'a> {
    fn new(
        graph: &'a Graph,
        forward_end: NodeId,
        n_inputs: usize,
        results: &[View],
        gradients: &[View],
    ) -> Flow<'a> {
        let is_input =
            |&memory: &MemoryId| matches!(graph.memories[memory].origin, Origin::Input(i) if i < n_inputs);
        let inputs: BTreeSet<MemoryId> = (0..graph.memories.len()).filter(is_input).collect();
        let mut made_of: BTreeMap<MemoryId, BTreeSet<MemoryId>> = BTreeMap::new();
        let mut dear = BTreeSet::new();
        for op in &graph.nodes[..forward_end] {
            // An op computes all of its results or none, so one that must not be computed again keeps the others.
            if matches!(op.work, Work::Sum) || op.writes().any(|view| made_of.contains_key(&view.memory)) {
                dear.extend(op.writes().map(|view| view.memory));
            }
            for written in op.writes() {
                made_of.entry(written.memory).or_default().extend(op.reads().map(|view| view.memory));
            }
        }
        let is_forward = |memory: &MemoryId| inputs.contains(memory) || made_of.contains_key(memory);
        let backward = graph.ops_needed_for(gradients).into_iter().filter(|&node| node >= forward_end);
        let reads = backward.flat_map(|node| graph.nodes[node].reads()).map(|view| view.memory);
        let needed = reads.filter(is_forward).collect();
        let stored = inputs.iter().copied().chain(results.iter().map(|view| view.memory)).collect();
        Flow { graph, stored, inputs, made_of, dear, needed }
    }

    fn bytes(&self, memory: MemoryId) -> u64 {
        let meta = &self.graph.memories[memory].meta;
        let elements: usize = meta.layout.shape().iter().map(Extent::seen).product();
        (elements as u64).saturating_mul(meta.dtype.size() as u64)
    }

    /// Bytes of loading a value in the backward pass, and of storing it for that.
    fn weight(&self, memory: MemoryId) -> u64 {
        let times = if self.stored.contains(&memory) { 1 } else { 2 };
        self.bytes(memory).saturating_mul(times)
    }

    fn loaded(&self, saving: Saving) -> BTreeSet<MemoryId> {
        match saving {
            Saving::FewestBytes => self.minimum_cut(),
            Saving::Nothing => self.recomputed(&self.inputs).1,
            Saving::Everything => {
                let is_constant =
                    |memory: &MemoryId| self.recomputed_from(*memory, &self.inputs).1.is_empty();
                self.needed.iter().copied().filter(|memory| !is_constant(memory)).collect()
            }
        }
    }

    /// What the backward pass computes again when it starts from these, and which of these it reads.
    fn recomputed(&self, from: &BTreeSet<MemoryId>) -> (BTreeSet<MemoryId>, BTreeSet<MemoryId>) {
        let (mut again, mut read) = (BTreeSet::new(), BTreeSet::new());
        for &memory in &self.needed {
            let (more, reads) = self.recomputed_from(memory, from);
            again.extend(more);
            read.extend(reads);
        }
        (again, read)
    }

    fn recomputed_from(
        &self,
        memory: MemoryId,
        from: &BTreeSet<MemoryId>,
    ) -> (BTreeSet<MemoryId>, BTreeSet<MemoryId>) {
        let (mut again, mut read) = (BTreeSet::new(), BTreeSet::new());
        let mut left = vec![memory];
        while let Some(memory) = left.pop() {
            if from.contains(&memory) {
                read.insert(memory);
            } else if again.insert(memory) {
                left.extend(self.made_of.get(&memory).into_iter().flatten());
            }
        }
        (again, read)
    }

    /// The values that separate the inputs from the backward pass and weigh least; among equals those nearest to the
    /// inputs, which keeps the least memory.
    fn minimum_cut(&self) -> BTreeSet<MemoryId> {
        const ENDLESS: u64 = u64::MAX / 4;
        let (entry, exit) = (|memory: MemoryId| 2 * memory, |memory: MemoryId| 2 * memory + 1);
        let (source, sink) = (2 * self.graph.memories.len(), 2 * self.graph.memories.len() + 1);
        let mut network = Network::new(sink + 1);
        for &memory in self.inputs.iter().chain(self.made_of.keys()) {
            network.add(entry(memory), exit(memory), self.weight(memory));
            if self.inputs.contains(&memory) || self.dear.contains(&memory) {
                network.add(source, entry(memory), ENDLESS);
            }
            for &part in self.made_of.get(&memory).into_iter().flatten() {
                network.add(exit(part), entry(memory), ENDLESS);
            }
            if self.needed.contains(&memory) {
                network.add(exit(memory), sink, ENDLESS);
            }
        }
        let reached = network.reached_at_capacity(source, sink);
        let is_cut = |memory: &MemoryId| reached[entry(*memory)] && !reached[exit(*memory)];
        self.inputs.iter().chain(self.made_of.keys()).copied().filter(is_cut).collect()
    }

    fn explain(&self, loaded: &BTreeSet<MemoryId>) -> String {
        let names = |memories: &mut dyn Iterator<Item = MemoryId>| {
            let names: Vec<&str> = memories.map(|memory| self.graph.memories[memory].name.as_str()).collect();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        let weight =
            |loaded: &BTreeSet<MemoryId>| loaded.iter().map(|&memory| self.weight(memory)).sum::<u64>();
        let saved = names(&mut loaded.iter().copied().filter(|memory| !self.stored.contains(memory)));
        let read = names(&mut loaded.iter().copied());
        let again = names(&mut self.recomputed(loaded).0.into_iter());
        format!(
            "the forward pass saves {saved}\n\
             the backward pass reads {read} and computes {again} again\n\
             this moves {} bytes; saving nothing moves {}, saving everything {}\n",
            weight(loaded),
            weight(&self.loaded(Saving::Nothing)),
            weight(&self.loaded(Saving::Everything)),
        )
    }
}

/// A flow network: how much more can flow from each place to each of its neighbors.
struct Network {
    residual: Vec<BTreeMap<usize, u64>>,
}

impl Network {
    fn new(places: usize) -> Network {
        Network { residual: vec![BTreeMap::new(); places] }
    }

    fn add(&mut self, from: usize, to: usize, capacity: u64) {
        *self.residual[from].entry(to).or_default() += capacity;
        self.residual[to].entry(from).or_default();
    }

    /// The places that can still be reached from the source once no more can flow to the sink.
    fn reached_at_capacity(mut self, source: usize, sink: usize) -> Vec<bool> {
        loop {
            let before = self.search(source);
            if before[sink].is_none() {
                let reached = |place: usize| place == source || before[place].is_some();
                return (0..before.len()).map(reached).collect();
            }
            let mut steps = Vec::new();
            let mut place = sink;
            while let Some(previous) = before[place].filter(|_| place != source) {
                steps.push((previous, place));
                place = previous;
            }
            let room = steps.iter().map(|(from, to)| self.residual[*from][to]).min().unwrap_or(0);
            for (from, to) in steps {
                *self.residual[from].entry(to).or_default() -= room;
                *self.residual[to].entry(from).or_default() += room;
            }
        }
    }

    /// Where each place is reached from on a shortest way with room.
    fn search(&self, source: usize) -> Vec<Option<usize>> {
        let mut before = vec![None; self.residual.len()];
        let mut left = VecDeque::from([source]);
        while let Some(place) = left.pop_front() {
            for (&next, &room) in &self.residual[place] {
                if room > 0 && next != source && before[next].is_none() {
                    before[next] = Some(place);
                    left.push_back(next);
                }
            }
        }
        before
    }
}
