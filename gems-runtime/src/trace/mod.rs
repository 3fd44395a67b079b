//! Sizes that a trace leaves open, and the guards under which its answers hold.
//!
//! A [`Scope`] holds the symbols of one trace. A [`Dim`] is a number or a product of symbols; layouts and plans compute
//! with it through [`layout::Extent`](crate::layout::Extent). What a question about open sizes cannot settle from what
//! is known is answered for the sizes seen, and becomes a [`Guard`].
//!
//! **Invariant:** the questions asked and their answers are the only way from a size to a result, so a result holds for
//! every choice of sizes that satisfies the guards.
//!
//! A [`Graph`] holds what a function did with traced buffers; [`compile()`] fuses and runs it.

mod compile;
mod dim;
mod explain;
mod forms;
mod functional;
mod fuse;
mod graph;
mod guard;
mod monomial;
mod record;
mod returned;
mod reverse;
mod run;
mod saving;
mod scope;
mod split;
mod state;
mod symbol;
mod transpose;
mod vjp;

pub use compile::{Compiled, Stats, compile, trace_and_run};
pub use dim::{Dim, Start};
pub use fuse::Fusion;
pub use graph::{ArgValue, Graph, Memory, MemoryId, NodeId, Op, OpArg, OpResult, Origin, View, Work};
pub use guard::{Bindings, Guard, Guards, Relation, Values, Why};
pub(crate) use record::{Recorded, Recorder, Traced};
pub use returned::Returned;
pub use saving::Saving;
pub use scope::{Policy, Scope};
pub use split::Saved;
pub use vjp::{Grad, Vjp, grad, vjp};
