//! What must be true of a graph.
//!
//! 1. Inputs come first, in order; a result's memory belongs to one op, which writes all of it before anything reads it.
//! 2. An op has its op's number of arguments and results; numbers where its op takes only numbers.
//! 3. Dtypes: an operand begins in its memory's dtype and ends in the function's; a result the other way round; the op
//!    takes the dtype that it computes in.
//! 4. Shapes: results of one op have one shape, to which its operands broadcast; views stay inside their memory.
//! 5. Devices: results are on one device, and operands are where the results are, but for 0-d ones on the host.
//! 6. Every op has an effect: its result is returned, left in an input, or read before it is overwritten.
//!
//! Sizes are compared by what the guards say of them. Views are looked at as they were in the run that was traced; that
//! they stay inside their memory is checked again when the graph runs at other sizes.

use crate::device::Device;
use crate::dtype::{Category, DType};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::contiguous_strides;
use crate::op::{OpDef, Role};
use crate::trace::Dim;
use crate::trace::graph::{ArgValue, Graph, Memory, NodeId, Op, Origin, View, Work, all};

impl Graph {
    /// Checks all of the above.
    ///
    /// # Errors
    /// `Value` that names the first op or memory of which something is not true.
    pub fn verify(&self) -> Result<()> {
        self.verify_memories()?;
        for (node, op) in self.nodes.iter().enumerate() {
            let verified = match op.work {
                Work::Pointwise { op: def, compute } => self.verify_pointwise(node, op, def, compute),
                Work::Sum => self.verify_sum(node, op),
            };
            verified.map_err(|error| {
                let text = format!("op {node} of the graph, `{}`: {error}", op.name());
                Error::new(error.kind(), text)
            })?;
        }
        for view in &self.results {
            self.verify_view(view, self.nodes.len())?;
        }
        let needed = self.needed_ops();
        match (0..self.nodes.len()).find(|node| !needed.contains(node)) {
            None => Ok(()),
            Some(dead) => {
                let name = self.nodes[dead].name();
                Err(wrong(format!(
                    "op {dead} of the graph, `{name}`, has no effect; leave it out, as `Graph::simplified` does"
                )))
            }
        }
    }

    fn verify_memories(&self) -> Result<()> {
        let mut n_inputs = 0;
        for (place, memory) in self.memories.iter().enumerate() {
            match memory.origin {
                Origin::Input(index) if index == n_inputs && place == n_inputs => n_inputs += 1,
                Origin::Input(index) => {
                    return Err(wrong(format!("input {index}, `{}`, is not in its place", memory.name)));
                }
                Origin::Result(maker) => {
                    let made = self.nodes.get(maker).is_some_and(|op| {
                        op.writes().any(|view| view.memory == place && self.is_whole(view))
                    });
                    if !made {
                        return Err(wrong(format!("`{}` is made by no op", memory.name)));
                    }
                    memory.meta.seen().bytes()?;
                }
            }
        }
        Ok(())
    }

    fn verify_sum(&self, node: NodeId, op: &Op) -> Result<()> {
        let ([arg], [result]) = (op.args.as_slice(), op.results.as_slice()) else {
            return Err(wrong("a sum has one argument and one result"));
        };
        let ArgValue::View(view) = &arg.value else { return Err(wrong("a sum is of a view")) };
        let from = &self.verify_view(view, node)?.meta;
        let to = &self.memories[result.view.memory];
        let layout = &to.meta.layout;
        let same_place = to.origin == Origin::Result(node) && to.meta.device == from.device;
        let summable = |dtype: DType| dtype.category() >= Category::Float;
        if !same_place || !all(layout.strides(), &contiguous_strides(layout.shape()), Dim::is_same_term) {
            return Err(wrong("the result of a sum is a new contiguous memory on the same device"));
        }
        if [arg.chain, result.chain] != [[from.dtype; 3], [to.meta.dtype; 3]]
            || !summable(from.dtype)
            || !summable(to.meta.dtype)
        {
            return Err(wrong(format!("sums of {} are not kept in {}", from.dtype, to.meta.dtype)));
        }
        if broadcasts(layout.shape(), view.layout.shape(), true) {
            return Ok(());
        }
        let (from, to) = (view.layout.shape(), layout.shape());
        Err(wrong(format!("{to:?} does not broadcast to {from:?}")))
    }

    fn verify_pointwise(&self, node: NodeId, op: &Op, def: &'static OpDef, compute: DType) -> Result<()> {
        if op.args.len() != def.params.len() || op.results.len() != def.outputs.len() {
            return Err(wrong(format!(
                "takes {} arguments and gives {} results, not {} and {}",
                def.params.len(),
                def.outputs.len(),
                op.args.len(),
                op.results.len()
            )));
        }
        if (def.cpu)(compute).is_none() {
            return Err(wrong(format!("does not compute in {}", compute)));
        }
        let Some(first) = op.writes().next() else { return Err(wrong("has no result")) };
        let device = self.memories.get(first.memory).map_or(Device::Cpu, |memory| memory.meta.device);
        for (result, output) in op.results.iter().zip(def.outputs) {
            let memory = self.verify_write(&result.view, node)?;
            let ends = [output.ty.resolve(compute), memory.meta.dtype];
            if [result.chain[0], result.chain[2]] != ends {
                return Err(wrong(format!("`{}` has dtypes {:?}, not {ends:?}", memory.name, result.chain)));
            }
            if memory.meta.device != device {
                return Err(wrong(format!("its results are on {device} and {}", memory.meta.device)));
            }
            let (shape, expected) = (result.view.layout.shape(), first.layout.shape());
            if shape.len() != expected.len() || !broadcasts(shape, expected, false) {
                return Err(wrong(format!("its results have shapes {shape:?} and {expected:?}")));
            }
        }
        for (arg, param) in op.args.iter().zip(def.params) {
            let lane = param.ty.resolve(compute);
            let begin = match &arg.value {
                ArgValue::Number(_) => lane,
                ArgValue::View(_) if param.role == Role::Number => {
                    return Err(wrong(format!("`{}` is a number, not a view", param.name)));
                }
                ArgValue::View(view) => {
                    self.verify_view(view, node)?;
                    let (meta, shape) = (&self.memories[view.memory].meta, view.layout.shape());
                    if !broadcasts(shape, op.shape(), true) {
                        return Err(wrong(format!(
                            "`{}` has shape {shape:?}, which does not broadcast to {:?}",
                            param.name,
                            op.shape()
                        )));
                    }
                    if meta.device != device && (meta.device != Device::Cpu || !shape.is_empty()) {
                        return Err(wrong(format!(
                            "`{}` is on {}, not on {device}",
                            param.name, meta.device
                        )));
                    }
                    meta.dtype
                }
            };
            if [arg.chain[0], arg.chain[2]] != [begin, lane] {
                return Err(wrong(format!(
                    "`{}` has dtypes {:?}, not {begin} to {lane}",
                    param.name, arg.chain
                )));
            }
        }
        Ok(())
    }

    fn verify_write(&self, view: &View, node: NodeId) -> Result<&Memory> {
        match self.memories.get(view.memory) {
            Some(memory) if memory.origin == Origin::Result(node) => Ok(memory),
            _ => self.verify_view(view, node),
        }
    }

    /// A view that a node takes: of a memory that is there by then, within it.
    fn verify_view(&self, view: &View, node: NodeId) -> Result<&Memory> {
        let memory = self.memories.get(view.memory).ok_or_else(|| wrong("a view of no memory"))?;
        if matches!(memory.origin, Origin::Result(maker) if maker >= node) {
            return Err(wrong(format!("`{}` is used before it is made", memory.name)));
        }
        let (seen, whole) = (view.layout.seen(), memory.meta.layout.seen());
        if whole.contains(&seen) {
            return Ok(memory);
        }
        Err(wrong(format!("{} reaches beyond its memory", self.view_text(view))))
    }
}

/// Whether a shape broadcasts to another one; without `ones`, whether they are equal.
fn broadcasts(shape: &[Dim], to: &[Dim], ones: bool) -> bool {
    let fits = |(size, target): (&Dim, &Dim)| {
        size.is_known_to_equal(target) || (ones && size.as_number() == Some(1))
    };
    shape.len() <= to.len() && shape.iter().rev().zip(to.iter().rev()).all(fits)
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}
