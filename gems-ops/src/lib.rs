//! Pointwise operations with PyTorch's names and semantics, for CPU and CUDA.
//!
//! Each op is a Rust scalar function; the attribute makes the kernel, the CPU loop and the tensor function of it.
//! Where an op departs from PyTorch, its documentation says so.
//!
//! ```
//! use gems_ops::prelude::*;
//!
//! let x = StridedBuffer::from_vec(vec![-1.0f32, 0.0, 2.0], &[3])?;
//! let y = add(&relu(&x)?, 0.5)?;
//! assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5, 2.5]);
//! # Ok::<(), Error>(())
//! ```

extern crate self as gems_ops;

pub mod activation;
pub mod arithmetic;
pub mod bitwise;
pub mod comparison;
pub mod conversion;
pub mod exponential;
pub mod gated;
pub mod hyperbolic;
pub mod logical;
pub mod power;
pub mod prelude;
mod registry;
pub mod special;
pub mod trigonometric;

pub use activation::*;
pub use arithmetic::*;
pub use bitwise::*;
pub use comparison::*;
pub use conversion::*;
pub use exponential::*;
pub use gated::*;
pub use gems_runtime::{buffer, compile, device, dtype, emit, error, layout, math, op, plan};
pub use hyperbolic::*;
pub use logical::*;
pub use power::*;
pub use registry::REGISTRY;
pub use special::*;
pub use trigonometric::*;

#[doc(hidden)]
pub use gems_runtime::__private;
