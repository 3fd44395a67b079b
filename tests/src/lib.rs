//! Helpers shared by the test targets.

pub mod agree;
pub mod batch;
pub mod cases;
pub mod compare;
pub mod dag;
pub mod grid;
pub mod host_run;
pub mod random;
pub mod sweep;

/// The guides; their code is run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/tracing.md")]
#[derive(Debug)]
pub struct Guides;
