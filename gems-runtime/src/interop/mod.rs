//! Buffers, streams and contexts of other crates, borrowed with their owners kept alive; cudarc with the feature `cuda`.

#[cfg(feature = "cuda")]
pub mod cudarc;
