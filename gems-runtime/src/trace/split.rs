//! A traced function and its gradients as two passes.
//!
//! The forward pass computes the results and stores what was chosen; the backward pass starts from that, the inputs and
//! results it needs, and the gradients of the results. Both are cut from one graph.

use super::forms::{Bind, Calls};
use super::graph::{ArgValue, Graph, Memory, MemoryId, NodeId, Origin, View};
use super::run;
use super::saving::{self, Choice, Saving};
use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Results;
use crate::op::builtin::gradient_copy;
use crate::trace::{Dim, Form, Options, Values};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The two passes of a form of inputs.
pub(super) struct Split {
    pub(super) forward: Form,
    pub(super) backward: Form,
    forward_calls: Calls,
    backward_calls: Calls,
    n_results: usize,
    /// What the backward pass reads first.
    sources: Vec<Source>,
    /// What it expects as the gradient of each result; none where there is no gradient.
    cotangents: Vec<Option<Meta<Dim>>>,
    pub(super) choice: Choice,
}

/// Where a value comes from that the backward pass reads.
#[derive(Clone, Copy, Debug)]
enum Source {
    Input(usize),
    /// A result of the forward pass, the saved ones behind those of the function.
    Result(usize),
}

/// What a forward pass left for the backward pass.
///
/// It holds inputs and results where those are what the backward pass reads, so they must keep their values until then.
#[derive(Clone)]
pub struct Saved {
    split: Arc<Split>,
    values: Values,
    buffers: Vec<StridedBuffer>,
}

impl std::fmt::Debug for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.buffers).finish()
    }
}

impl Saved {
    /// The buffers that are kept.
    #[must_use]
    pub fn buffers(&self) -> &[StridedBuffer] {
        &self.buffers
    }

    /// The gradients of the inputs.
    pub(super) fn backward(&self, cotangents: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        let expected = &self.split.cotangents;
        if expected.len() != cotangents.len() {
            let message = format!(
                "the function has {} results, got gradients of {}; give one each",
                expected.len(),
                cotangents.len()
            );
            return Err(Error::new(ErrorKind::Value, message));
        }
        let mut inputs = self.buffers.clone();
        for (i, (meta, cotangent)) in expected.iter().zip(cotangents).enumerate() {
            if let Some(meta) = meta {
                inputs.push(self.laid_out(i, meta, cotangent)?);
            }
        }
        let inputs: Vec<&StridedBuffer> = inputs.iter().collect();
        let Split { backward, backward_calls: calls, .. } = &*self.split;
        // What the backward pass reads need not tell all sizes of what it gives.
        let sizes = self.values.all();
        let mut results = Results::new();
        match calls.again(sizes, &inputs, &mut results) {
            Some(done) => done?,
            None => results = calls.first(backward, &self.values, sizes, &inputs)?,
        }
        Ok(results.into_vec())
    }

    /// A gradient in the layout for which the backward pass was traced.
    fn laid_out(&self, i: usize, meta: &Meta<Dim>, cotangent: &StridedBuffer) -> Result<StridedBuffer> {
        let layout = run::layout(&self.values, &meta.layout)?;
        let expected = Meta { dtype: meta.dtype, device: meta.device, layout };
        let wrong = |kind, what: &str| {
            let message =
                format!("the gradient of result {i} is {}, not {expected}; {what}", cotangent.meta());
            Err(Error::new(kind, message))
        };
        if cotangent.shape() != expected.layout.shape() {
            return wrong(ErrorKind::Shape, "give it the result's shape");
        }
        if cotangent.dtype() != expected.dtype {
            return wrong(ErrorKind::DType, "convert it");
        }
        if cotangent.device() != expected.device {
            return wrong(ErrorKind::Device, "move it to the result's device");
        }
        if cotangent.strides() == expected.layout.strides() {
            return Ok((*cotangent).clone());
        }
        let mut copied = StridedBuffer::allocate(&expected)?;
        StridedBuffer::call_out(gradient_copy::DEF, &[(cotangent).into()], &mut [&mut copied])?;
        Ok(copied)
    }
}

/// A function and its gradients as one recording.
pub(super) struct Joint {
    /// Its results are those of the function, then the gradients.
    pub(super) recording: Graph,
    pub(super) n_inputs: usize,
    pub(super) n_results: usize,
    /// The step behind the last one of the function.
    pub(super) forward_end: NodeId,
    /// The gradients of results, in order; none where there is no gradient.
    pub(super) cotangents: Vec<Option<MemoryId>>,
}

impl Split {
    pub(super) fn new(joint: Joint, options: Options, saving: Saving) -> Split {
        let Joint { recording: graph, n_inputs, n_results, forward_end, cotangents } = joint;
        let (results, gradients) = graph.results.split_at(n_results);
        let choice = saving::choose(&graph, forward_end, n_inputs, results, gradients, saving);
        let mut forward_results = results.to_vec();
        let mut sources = Vec::new();
        for &memory in &choice.loaded {
            sources.push(match graph.memories[memory].origin {
                Origin::Input(i) => Source::Input(i),
                Origin::Result(_) => {
                    let layout = graph.memories[memory].meta.layout.clone();
                    forward_results.push(View { memory, layout });
                    Source::Result(forward_results.len() - 1)
                }
            });
        }
        let pass = |given: &[MemoryId], results: &[View]| Form::fused(graph.part(given, results), options);
        let is_own =
            |memory: &MemoryId| matches!(graph.memories[*memory].origin, Origin::Input(i) if i < n_inputs);
        let own: Vec<MemoryId> = (0..graph.memories.len()).filter(is_own).collect();
        let read: Vec<MemoryId> =
            choice.loaded.iter().copied().chain(cotangents.iter().copied().flatten()).collect();
        let expected = |memory: &Option<MemoryId>| memory.map(|memory| graph.memories[memory].meta.clone());
        Split {
            forward: pass(&own, &forward_results),
            backward: pass(&read, gradients),
            forward_calls: Calls::default(),
            backward_calls: Calls::default(),
            n_results,
            sources,
            cotangents: cotangents.iter().map(expected).collect(),
            choice,
        }
    }

    /// The results of the function, and what the backward pass needs.
    pub(super) fn run(
        self: &Arc<Self>,
        values: Values,
        inputs: &[&StridedBuffer],
    ) -> Result<(Vec<StridedBuffer>, Saved)> {
        let mut results = Results::new();
        match self.forward_calls.again(&[], inputs, &mut results) {
            Some(done) => done?,
            None => results = self.forward_calls.first(&self.forward, &values, &[], inputs)?,
        }
        let mut results = results.into_vec();
        let buffer = |source: &Source| match *source {
            Source::Input(i) => inputs[i].clone(),
            Source::Result(i) => results[i].clone(),
        };
        let buffers = self.sources.iter().map(buffer).collect();
        results.truncate(self.n_results);
        Ok((results, Saved { split: self.clone(), values, buffers }))
    }
}

impl Bind for Split {
    fn bind(&self, inputs: &[&StridedBuffer]) -> Option<Values> {
        self.forward.bind(inputs)
    }
}

impl Graph {
    /// The steps that compute some views from some memories, which become the inputs; those views are its
    /// results.
    fn part(&self, given: &[MemoryId], views: &[View]) -> Graph {
        let mut whole = self.clone();
        whole.nodes.retain(|op| !op.writes().any(|view| given.contains(&view.memory)));
        let mut part = Graph { guards: self.guards.clone(), ..Graph::default() };
        let mut renamed = BTreeMap::new();
        let mut add = |part: &mut Graph, memory: MemoryId, origin: Origin| {
            *renamed.entry(memory).or_insert_with(|| {
                part.memories.push(Memory { origin, ..self.memories[memory].clone() });
                part.memories.len() - 1
            })
        };
        for (position, &memory) in given.iter().enumerate() {
            add(&mut part, memory, Origin::Input(position));
        }
        for node in whole.ops_needed_for(views) {
            let mut op = whole.nodes[node].clone();
            let place = part.nodes.len();
            let read = op.args.iter_mut().filter_map(|arg| match &mut arg.value {
                ArgValue::View(view) => Some(view),
                ArgValue::Number(_) => None,
            });
            for view in read.chain(op.results.iter_mut().map(|result| &mut result.view)) {
                view.memory = add(&mut part, view.memory, Origin::Result(place));
            }
            part.nodes.push(op);
        }
        for view in views {
            let memory = add(&mut part, view.memory, Origin::Result(0));
            part.results.push(View { memory, layout: view.layout.clone() });
        }
        part
    }
}
