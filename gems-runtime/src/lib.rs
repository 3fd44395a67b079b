//! The runtime of gems: buffers, planning, code generation, compilation and execution of pointwise kernels.
//!
//! Reading order is the way of a call: an [`op`] meets [`buffer`]s, [`plan`] infers and schedules, [`emit`] writes the
//! kernel, [`compile`] makes it a binary, and the executors run it on a [`device`].

#![cfg_attr(
    test,
    expect(
        clippy::approx_constant,
        clippy::cast_abs_to_unsigned,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::excessive_precision,
        reason = "tests compare with casts and with digits as they were published"
    )
)]

extern crate self as gems_runtime;

pub mod error;

pub mod dtype;
pub mod layout;
pub mod math;

pub mod buffer;
pub mod op;

pub mod plan;

pub mod trace;

pub mod emit;

pub mod compile;
pub mod config;
pub mod device;

#[doc(hidden)]
pub mod exec;
pub use exec::{trim, warm};

pub mod interop;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
