//! Pointwise operations with PyTorch's semantics.
