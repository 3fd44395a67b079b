//! Buffers, streams and contexts of other crates, borrowed with their owners kept alive; each behind its feature.

#[cfg(feature = "cudarc")]
pub mod cudarc;
