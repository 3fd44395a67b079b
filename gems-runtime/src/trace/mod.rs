//! Sizes that a trace leaves open, and the guards under which its answers hold.
//!
//! A [`Scope`] holds the symbols of one trace. A [`Dim`] is a number or a product of symbols; layouts and plans compute
//! with it through [`layout::Extent`](crate::layout::Extent). What a question about open sizes cannot settle from what
//! is known is answered for the sizes seen, and becomes a [`Guard`].
//!
//! **Invariant:** the questions asked and their answers are the only way from a size to a result, so a result holds for
//! every choice of sizes that satisfies the guards.
//!
//! Does not record ops, and knows no buffer.

mod dim;
mod guard;
mod monomial;
mod scope;
mod state;
mod symbol;

pub use dim::{Dim, Start};
pub use guard::{Bindings, Guard, Guards, Relation, Values, Why};
pub use scope::{Policy, Scope};
