//! Sizes that a trace leaves open, and the guards under which its answers hold.
//!
//! A [`Scope`] holds the symbols of one trace. A [`Dim`] is a number or a product of symbols; layouts and plans compute
//! with it through [`layout::Extent`](crate::layout::Extent). What a question about open sizes cannot settle from what
//! is known is answered for the sizes seen, and becomes a [`Guard`].
//!
//! **Invariant:** the questions asked and their answers are the only way from a size to a result, so a result holds for
//! every choice of sizes that satisfies the guards.
//!
//! A [`Graph`] holds what a function did with traced buffers; a [`Form`] fuses and runs it, and [`compile()`] finds the form
//! of a call.

mod body;
mod compile;
mod cursor;
mod dim;
mod dot;
mod explain;
mod file;
mod form;
mod forms;
mod functional;
mod fuse;
mod graph;
mod guard;
mod loaded;
mod monomial;
mod obstacle;
mod ops;
mod options;
mod orders;
mod parse;
mod record;
mod returned;
mod reverse;
mod run;
mod saving;
mod scope;
mod simplify;
mod spelling;
mod split;
mod state;
mod symbol;
mod text;
mod transpose;
mod verify;
mod vjp;

pub use compile::{Compiled, Stats, compile};
pub use dim::{Dim, Start};
pub use form::{Form, trace};
pub use graph::{ArgValue, Graph, Memory, MemoryId, NodeId, Op, OpArg, OpResult, Origin, View, Work};
pub use guard::{Bindings, Guard, Guards, Relation, Values, Why};
pub use loaded::Loaded;
pub use options::{Fusion, Options, Rounding};
pub(crate) use record::{Recorded, Recorder, Traced};
pub use returned::Returned;
pub use saving::Saving;
pub use scope::{Policy, Scope};
pub use split::Saved;
pub use vjp::{Grad, Vjp, grad, vjp};
