//! Helpers shared by the test targets.

pub mod cases;
pub mod host_run;
