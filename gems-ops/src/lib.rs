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

#![cfg_attr(
    test,
    expect(
        clippy::cast_possible_truncation,
        clippy::excessive_precision,
        reason = "tests compare with casts and with digits as they were published"
    )
)]

extern crate self as gems_ops;

pub mod activation;
pub mod arithmetic;
pub mod bitwise;
mod check;
pub mod comparison;
pub mod complex;
pub mod conversion;
pub mod exponential;
pub mod extreme;
pub mod gated;
pub mod gradient;
pub mod hyperbolic;
pub mod logical;
pub mod loss;
pub mod multi_output;
pub mod optimizer;
pub mod power;
pub mod prelude;
pub mod quantization;
pub mod random;
mod registry;
pub mod rounding;
mod slope;
pub mod special;
pub mod trigonometric;
pub mod vectors;

pub use activation::*;
pub use arithmetic::*;
pub use bitwise::*;
pub use comparison::*;
pub use complex::*;
pub use conversion::*;
pub use exponential::*;
pub use extreme::*;
pub use gated::*;
pub use gems_runtime::{
    buffer, compile, config, device, dtype, emit, error, interop, layout, math, op, plan, trace,
};
pub use gradient::*;
pub use hyperbolic::*;
pub use logical::*;
pub use loss::*;
pub use multi_output::*;
pub use optimizer::*;
pub use power::*;
pub use quantization::*;
pub use random::*;
pub use registry::{ALIASES, REGISTRY, find, names};
pub use rounding::*;
pub use special::*;
pub use trigonometric::*;
pub use vectors::*;

#[doc(hidden)]
pub use gems_runtime::__private;

/// The code of the README and of the pages in `docs`, run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/guide.md")]
    mod guide {}
    #[doc = include_str!("../../docs/adding-an-op.md")]
    mod adding_an_op {}
    #[doc = include_str!("../../docs/numerics.md")]
    mod numerics {}
    #[doc = include_str!("../../docs/tracing.md")]
    mod tracing {}
    #[doc = include_str!("../../docs/gradients.md")]
    mod gradients {}
}
