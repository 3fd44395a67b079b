//! Several ops as the body of one kernel.
//!
//! A program computes one element of every output from one element of every input, op by op. Each result is rounded
//! to the last dtype of its chain: the one that the op alone would have stored, so fusing changes no bit, unless the
//! program was made to keep small floats wide.
//! Holds no layout: all inputs are already broadcast to the one iteration space of the kernel.

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::op::OpDef;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// A straight line of ops.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// What comes in, in the order of the kernel's parameters.
    pub inputs: Vec<ProgramInput>,
    /// Ops, each after those whose results it takes.
    pub nodes: Vec<Node>,
    /// What goes out, in the order of the kernel's outputs.
    pub outputs: Vec<ProgramOutput>,
}

/// A value that comes into a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramInput {
    /// Name in generated code.
    pub name: String,
    /// Its dtype: the stored one of a buffer, the lane's of a number.
    pub dtype: DType,
}

/// A value that goes out of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramOutput {
    /// Name in generated code.
    pub name: String,
    /// The value.
    pub value: ValueRef,
    /// Its dtype.
    pub dtype: DType,
}

/// One op of a program.
#[derive(Clone, Debug)]
pub struct Node {
    /// The op.
    pub op: &'static OpDef,
    /// What the type parameter of its function is.
    pub compute: DType,
    /// One a parameter.
    pub args: SmallVec<[Arg; 4]>,
    /// One a result.
    pub results: SmallVec<[NodeResult; 2]>,
}

/// An argument of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arg {
    /// Where it comes from.
    pub value: ValueRef,
    /// The dtypes it passes through: its own, the common one of the op's operands, the lane's.
    pub chain: [DType; 3],
}

/// A result of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeResult {
    /// Name in generated code.
    pub name: String,
    /// The dtypes it passes through: the lane's, the op's result dtype, the one it would be stored in; all the lane's
    /// if it stays wide.
    pub chain: [DType; 3],
}

/// A value within a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueRef {
    /// The n-th input.
    Input(usize),
    /// A result of a node.
    Result {
        /// Position of the node.
        node: usize,
        /// Position among its results.
        output: usize,
    },
}

impl Program {
    /// That every value comes from before its use, and that values have the dtypes that ops and outputs ask for.
    ///
    /// # Errors
    /// `Value`.
    pub fn check(&self) -> Result<()> {
        let has = |value: ValueRef, before: usize, dtype: DType| match value {
            ValueRef::Input(input) => self.inputs.get(input).is_some_and(|input| input.dtype == dtype),
            ValueRef::Result { node, output } => {
                let earlier = self.nodes[..before].get(node);
                earlier.and_then(|node| node.results.get(output)).is_some_and(|it| it.chain[2] == dtype)
            }
        };
        let is_call = |(index, node): (usize, &Node)| {
            let Node { op, compute, args, results } = node;
            let mut takes = args.iter().zip(op.params);
            let mut gives = results.iter().zip(op.outputs);
            args.len() == op.params.len()
                && results.len() == op.outputs.len()
                && takes.all(|(arg, param)| {
                    has(arg.value, index, arg.chain[0]) && arg.chain[2] == param.ty.resolve(*compute)
                })
                && gives.all(|(result, output)| result.chain[0] == output.ty.resolve(*compute))
        };
        let is_value = |output: &ProgramOutput| has(output.value, self.nodes.len(), output.dtype);
        if self.nodes.iter().enumerate().all(is_call) && self.outputs.iter().all(is_value) {
            return Ok(());
        }
        let message =
            "values and dtypes do not fit together; take each value from before its use, in its dtype";
        Err(Error::new(ErrorKind::Value, message).in_op(&self.name))
    }
}

impl Node {
    fn key(&self) -> impl Ord + std::hash::Hash + '_ {
        (std::ptr::from_ref(self.op), self.compute, &self.args, &self.results)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// An order for maps; it has no other meaning.
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}
