//! The body of a kernel under construction: which inputs it has, and through which dtypes values pass.

use super::fuse::KernelInput;
use super::graph::View;
use crate::dtype::{DType, Scalar};
use crate::op::DeviceFn;
use crate::plan::{Node, ProgramInput, ProgramOutput, ValueRef};

/// A program under construction.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) inputs: Vec<ProgramInput>,
    pub(super) sources: Vec<KernelInput>,
    pub(super) nodes: Vec<Node>,
    pub(super) outputs: Vec<ProgramOutput>,
}

impl Builder {
    /// The dtypes that an argument passes through: from a result that is wider than what would have been stored, without
    /// being rounded to it, unless the function itself takes it so.
    pub(super) fn argument(&self, value: ValueRef, chain: [DType; 3]) -> [DType; 3] {
        let [stored, joined, lane] = chain;
        let given = match value {
            ValueRef::Input(_) => stored,
            ValueRef::Result { node, output } => self.nodes[node].results[output].chain[2],
        };
        let unrounded = given != stored && lane == joined.op_math();
        [given, if unrounded { lane } else { joined }, lane]
    }

    pub(super) fn number(&mut self, number: Scalar, name: &str, dtype: DType) -> ValueRef {
        self.inputs.push(ProgramInput { name: name.to_owned(), dtype });
        self.sources.push(KernelInput::Number(number));
        ValueRef::Input(self.inputs.len() - 1)
    }

    pub(super) fn view(&mut self, view: &View, name: &str, dtype: DType) -> ValueRef {
        let known =
            self.sources.iter().position(|source| matches!(source, KernelInput::View(v) if v == view));
        ValueRef::Input(known.unwrap_or_else(|| {
            self.inputs.push(ProgramInput { name: name.to_owned(), dtype });
            self.sources.push(KernelInput::View(view.clone()));
            self.inputs.len() - 1
        }))
    }
}

/// The dtypes of a result that stays as it is computed, if it is a small float and the function did not ask for its
/// dtype.
pub(super) fn widened(chain: [DType; 3]) -> [DType; 3] {
    let [lane, result, stored] = chain;
    let is_small = stored.op_math() != stored && lane == stored.op_math();
    if is_small && result == stored { [lane; 3] } else { chain }
}

/// Whether a function is a few instructions: it calls no function of a mathematical library and no other function.
pub(super) fn is_cheap(function: &DeviceFn) -> bool {
    function.calls.is_empty() && function.library_calls() == 0
}
