//! The runtime of gems: buffers, planning, code generation, compilation and execution of pointwise kernels.
//!
//! Reading order is the way of a call: an [`op`] meets [`buffer`]s, `plan` infers and schedules, `emit` writes the
//! kernel, `compile` makes it a binary, `exec` runs it.

extern crate self as gems_runtime;

pub mod buffer;
pub mod device;
pub mod dtype;
pub mod error;
pub mod layout;
pub mod math;
pub mod op;
