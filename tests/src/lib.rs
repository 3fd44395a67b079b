//! Helpers shared by the test targets.

pub mod agree;
pub mod cases;
pub mod compare;
pub mod host_run;
pub mod random;
