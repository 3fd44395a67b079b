//! Local.
#[cfg(feature = "cudarc")]
pub mod cudarc;
