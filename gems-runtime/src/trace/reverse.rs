//! Reverse mode over what a function recorded: the gradients of its inputs from those of its results.
//!
//! The steps of the function are walked backward; the derivative of each op is recorded behind them, in the same graph,
//! so forward and backward fuse as any other ops do. What several uses of a value contribute is added up.
//! Decides nothing about what is saved: that is a question of how the graph is cut.

use super::dim::Dim;
use super::functional::Latest;
use super::graph::{ArgValue, Graph, MemoryId, NodeId, Op, View, Work};
use super::record::{Recorder, Traced};
use super::transpose::{self, Gradient};
use crate::buffer::{Buffer, Meta, SymbolicBuffer, Views};
use crate::dtype::Category;
use crate::error::{Error, ErrorKind, Result};
use crate::op::builtin::gradient_copy;
use crate::op::{self, Operand};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// What a function gave and how that changes with its inputs.
#[derive(Debug)]
pub(super) struct Differentiated {
    /// Its results.
    pub(super) results: Vec<SymbolicBuffer>,
    /// The gradients of the inputs that were asked for, each of the shape and dtype of its input.
    pub(super) gradients: Vec<SymbolicBuffer>,
    /// The step behind the last one of the function.
    pub(super) forward_end: NodeId,
}

/// Runs a function on traced buffers and records the gradients of some of them.
///
/// `seed` gives the gradients of the results, one each; that of a bool or an integer is not looked at.
///
/// # Errors
/// The function's own; an op without derivative, by name; an input to differentiate by that is a bool or an integer;
/// an input that is written to.
pub(super) fn differentiate(
    recorder: &Recorder,
    inputs: &[SymbolicBuffer],
    wrt: &[usize],
    function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<Vec<SymbolicBuffer>>,
    seed: impl FnOnce(&[SymbolicBuffer]) -> Result<Vec<SymbolicBuffer>>,
) -> Result<Differentiated> {
    let mut given = inputs.to_vec();
    for &position in wrt {
        let input = inputs.get(position).ok_or_else(|| no_such_input(position, inputs.len()))?;
        given[position] = leaf(recorder, input, position, &inputs[..position])?;
    }
    let start = recorder.snapshot().nodes.len();
    let returned = function(given.clone())?;
    let latest = recorder.make_functional(start)?;
    let results: Vec<SymbolicBuffer> = returned
        .into_iter()
        .enumerate()
        .map(|(i, result)| renamed(recorder, i, result, &latest))
        .collect::<Result<_>>()?;
    let graph = recorder.snapshot();
    let forward_end = graph.nodes.len();
    let leaves =
        wrt.iter().map(|&position| memory(recorder, &given[position])).collect::<Result<Vec<_>>>()?;
    let mut reverse =
        Reverse { recorder, active: active(&graph, start, &leaves), graph, gradients: BTreeMap::new() };
    let cotangents = seed(&results)?;
    check_seed(&results, &cotangents)?;
    for (result, cotangent) in results.iter().zip(&cotangents).filter(|(result, _)| is_differentiable(result))
    {
        let view = View { memory: memory(recorder, result)?, layout: result.meta().layout.clone() };
        reverse.add(&view, cotangent.clone())?;
    }
    for node in (start..forward_end).rev() {
        reverse.step(node)?;
    }
    let mut gradients: Vec<SymbolicBuffer> = Vec::new();
    for (i, (&position, leaf)) in wrt.iter().zip(&leaves).enumerate() {
        // An input that is named twice has its gradient twice.
        let total = match leaves[..i].iter().position(|earlier| earlier == leaf) {
            Some(earlier) => Some(gradients[earlier].clone()),
            None => reverse.gradients.remove(leaf).map_or(Ok(None), Gradient::total)?,
        };
        gradients.push(match total {
            Some(gradient) => apart(recorder, gradient, &gradients)?,
            None => inputs[position].filled(0.0)?,
        });
    }
    Ok(Differentiated { results, gradients, forward_end })
}

/// An input as a memory of its own in which every element has one place: itself, or a copy.
fn leaf(
    recorder: &Recorder,
    input: &SymbolicBuffer,
    position: usize,
    earlier: &[SymbolicBuffer],
) -> Result<SymbolicBuffer> {
    if !is_differentiable(input) {
        let message = format!(
            "input {position} is {}, which has no gradient; name the inputs to differentiate by with `wrt`",
            input.dtype()
        );
        return Err(Error::new(ErrorKind::DType, message));
    }
    let own = memory(recorder, input)?;
    let layout = &input.meta().layout;
    let forward = !layout.strides().iter().any(crate::layout::Stride::is_negative);
    let whole = recorder.is_whole(own, layout) && forward && layout.seen().is_dense();
    let alone = !earlier.iter().any(|other| recorder.memory(other) == Some(own));
    if whole && alone { Ok(input.clone()) } else { transpose::copy(input) }
}

/// A result under the name that its memory has without writing in place.
fn renamed(
    recorder: &Recorder,
    position: usize,
    result: SymbolicBuffer,
    latest: &Latest,
) -> Result<SymbolicBuffer> {
    let Some(memory) = recorder.memory(&result) else {
        let message =
            format!("result {position} ({result}) does not come from the inputs, so it has no value");
        return Err(Error::new(ErrorKind::Value, message));
    };
    let memory = latest.of(memory);
    let meta = result.meta().clone();
    Ok(SymbolicBuffer::recorded(meta, Traced { recorder: recorder.clone(), memory }))
}

/// A gradient in memory that is no input's and no other gradient's.
fn apart(recorder: &Recorder, gradient: SymbolicBuffer, others: &[SymbolicBuffer]) -> Result<SymbolicBuffer> {
    let own = memory(recorder, &gradient)?;
    let given = recorder.snapshot().is_input(own);
    let shared = others.iter().any(|other| recorder.memory(other) == Some(own));
    if given || shared { transpose::copy(&gradient) } else { Ok(gradient) }
}

fn check_seed(results: &[SymbolicBuffer], cotangents: &[SymbolicBuffer]) -> Result<()> {
    if results.len() != cotangents.len() {
        let message = format!(
            "the function has {} results, got gradients of {}; give one each",
            results.len(),
            cotangents.len()
        );
        return Err(Error::new(ErrorKind::Value, message));
    }
    let pairs = results.iter().zip(cotangents).enumerate();
    for (i, (result, cotangent)) in pairs.filter(|(_, (result, _))| is_differentiable(result)) {
        let place = crate::layout::Place::new("comparing a gradient with its result");
        if !result.meta().layout.has_shape(cotangent.dims(), place) {
            let message = format!(
                "the gradient of result {i} is {cotangent} and the result {result}; give them one shape"
            );
            return Err(Error::new(ErrorKind::Shape, message));
        }
        if result.dtype() != cotangent.dtype() {
            let message = format!(
                "the gradient of result {i} is {cotangent} and the result {result}; convert it to {}",
                result.dtype()
            );
            return Err(Error::new(ErrorKind::DType, message));
        }
    }
    Ok(())
}

/// The memories that hold values which change with these, and can change smoothly.
fn active(graph: &Graph, start: NodeId, leaves: &[MemoryId]) -> BTreeSet<MemoryId> {
    let mut active: BTreeSet<MemoryId> = leaves.iter().copied().collect();
    for op in &graph.nodes[start..] {
        if op.reads().any(|view| active.contains(&view.memory)) {
            let smooth = |view: &&View| graph.memories[view.memory].meta.dtype.category() >= Category::Float;
            active.extend(op.writes().filter(smooth).map(|view| view.memory));
        }
    }
    active
}

fn is_differentiable(buffer: &SymbolicBuffer) -> bool {
    buffer.dtype().category() >= Category::Float
}

fn memory(recorder: &Recorder, buffer: &SymbolicBuffer) -> Result<MemoryId> {
    recorder.memory(buffer).ok_or_else(untraced)
}

pub(super) fn untraced() -> Error {
    Error::new(ErrorKind::Value, "a buffer does not belong to the trace; pass it as an input")
}

fn no_such_input(position: usize, count: usize) -> Error {
    let message = format!("there is no input {position} to differentiate by; the function has {count}");
    Error::new(ErrorKind::Value, message)
}

/// The way back through the steps of a function.
struct Reverse<'a> {
    recorder: &'a Recorder,
    graph: Graph,
    /// Memories through which a gradient flows.
    active: BTreeSet<MemoryId>,
    gradients: BTreeMap<MemoryId, Gradient>,
}

impl Reverse<'_> {
    fn meta(&self, memory: MemoryId) -> &Meta<Dim> {
        &self.graph.memories[memory].meta
    }

    fn buffer(&self, view: &View) -> SymbolicBuffer {
        let Meta { dtype, device, .. } = *self.meta(view.memory);
        let meta = Meta { dtype, device, layout: view.layout.clone() };
        SymbolicBuffer::recorded(meta, Traced { recorder: self.recorder.clone(), memory: view.memory })
    }

    /// Adds what a use of a view contributes.
    fn add(&mut self, view: &View, gradient: SymbolicBuffer) -> Result<()> {
        if self.active.contains(&view.memory) {
            let meta = &self.graph.memories[view.memory].meta;
            self.gradients.entry(view.memory).or_default().add(meta, &view.layout, gradient)?;
        }
        Ok(())
    }

    /// Takes the gradient of what a step wrote: before it, the memory had another value, or none.
    fn take(&mut self, written: &View) -> Result<Option<SymbolicBuffer>> {
        let meta = &self.graph.memories[written.memory].meta;
        if written.layout == meta.layout {
            return self.gradients.remove(&written.memory).map_or(Ok(None), Gradient::total);
        }
        match self.gradients.get_mut(&written.memory) {
            Some(gradient) => gradient.take_part(meta, &written.layout),
            None => Ok(None),
        }
    }

    /// Records the derivative of a step.
    fn step(&mut self, node: NodeId) -> Result<()> {
        let op = self.graph.nodes[node].clone();
        let cotangents = op.writes().map(|view| self.take(view)).collect::<Result<SmallVec<[_; 2]>>>()?;
        let matters = op.reads().any(|view| self.active.contains(&view.memory));
        if !matters || cotangents.iter().all(Option::is_none) {
            return Ok(());
        }
        match op.work {
            Work::Pointwise { op: def, .. } => self.pointwise(&op, def, cotangents),
            Work::Sum => match (op.reads().next(), cotangents.into_iter().next().flatten()) {
                (Some(summed), Some(cotangent)) => self.sum(summed, &cotangent),
                _ => Ok(()),
            },
        }
    }

    fn pointwise(
        &mut self,
        op: &Op,
        def: &'static op::OpDef,
        cotangents: SmallVec<[Option<SymbolicBuffer>; 2]>,
    ) -> Result<()> {
        let outputs: SmallVec<[SymbolicBuffer; 2]> = op.writes().map(|view| self.buffer(view)).collect();
        let cotangents = cotangents
            .into_iter()
            .zip(&outputs)
            .map(|(cotangent, output)| cotangent.map_or_else(|| output.filled(0.0), Ok))
            .collect::<Result<SmallVec<[SymbolicBuffer; 2]>>>()?;
        let buffers: SmallVec<[Option<SymbolicBuffer>; 4]> = op
            .args
            .iter()
            .map(|arg| match &arg.value {
                ArgValue::View(view) => Some(self.buffer(view)),
                ArgValue::Number(_) => None,
            })
            .collect();
        let operands: SmallVec<[Operand<'_, SymbolicBuffer>; 4]> = op
            .args
            .iter()
            .zip(&buffers)
            .filter_map(|(arg, buffer)| match (&arg.value, buffer) {
                (ArgValue::View(_), buffer) => buffer.as_ref().map(Operand::Buffer),
                (ArgValue::Number(number), _) => Some(Operand::Scalar(*number)),
            })
            .collect();
        let outputs: SmallVec<[&SymbolicBuffer; 2]> = outputs.iter().collect();
        let cotangents: SmallVec<[&SymbolicBuffer; 2]> = cotangents.iter().collect();
        let gradients = op::vjp(def, &cotangents, &operands, Some(&outputs))?;
        for ((arg, gradient), param) in op.args.iter().zip(gradients).zip(def.params) {
            match (&arg.value, gradient) {
                (ArgValue::View(view), Some(gradient)) => self.add(view, gradient)?,
                (ArgValue::View(view), None) if self.active.contains(&view.memory) => {
                    let message = format!(
                        "has no gradient of `{}`; leave the inputs that it comes from out of `wrt`",
                        param.name
                    );
                    return Err(Error::new(ErrorKind::Unsupported, message).in_op(def.name));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Every element of a sum has the gradient of the sum.
    fn sum(&mut self, summed: &View, cotangent: &SymbolicBuffer) -> Result<()> {
        let stretched = cotangent.broadcast_to_dims(summed.layout.shape())?;
        let dtype = self.meta(summed.memory).dtype;
        let gradient = if cotangent.dtype() == dtype {
            stretched
        } else {
            let results = SymbolicBuffer::run(gradient_copy::DEF, &[(&stretched).into()], Some(dtype))?;
            results.into_iter().next().ok_or_else(untraced)?
        };
        self.add(summed, gradient)
    }
}
