//! What the attributes accept: one file a construct, with values that it must give.
//!
//! What they refuse is in `compile_fail`. These are modules of one program, so that they cost one compilation.
#![allow(
    dead_code,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "the files show the language, not style"
)]

#[path = "accepted/arithmetic.rs"]
mod arithmetic;
#[path = "accepted/arrays.rs"]
mod arrays;
#[path = "accepted/attributes.rs"]
mod attributes;
#[path = "accepted/bits.rs"]
mod bits;
#[path = "accepted/branches.rs"]
mod branches;
#[path = "accepted/calls.rs"]
mod calls;
#[path = "accepted/casts.rs"]
mod casts;
#[path = "accepted/constants.rs"]
mod constants;
#[path = "accepted/inside_functions.rs"]
mod inside_functions;
#[path = "accepted/let_and_blocks.rs"]
mod let_and_blocks;
#[path = "accepted/literals.rs"]
mod literals;
#[path = "accepted/logic.rs"]
mod logic;
#[path = "accepted/loops.rs"]
mod loops;
#[path = "accepted/methods.rs"]
mod methods;
#[path = "accepted/options.rs"]
mod options;
#[path = "accepted/results_of_calls.rs"]
mod results_of_calls;
#[path = "accepted/tuples.rs"]
mod tuples;
