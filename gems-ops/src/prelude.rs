//! All that a program needs that calls ops and annotates its own.

pub use crate::activation::*;
pub use crate::arithmetic::*;
pub use crate::bitwise::*;
pub use crate::comparison::*;
pub use crate::complex::*;
pub use crate::conversion::*;
pub use crate::exponential::*;
pub use crate::extreme::*;
pub use crate::gated::*;
pub use crate::gradient::*;
pub use crate::hyperbolic::*;
pub use crate::logical::*;
pub use crate::loss::*;
pub use crate::multi_output::*;
pub use crate::optimizer::*;
pub use crate::power::*;
pub use crate::random::*;
pub use crate::rounding::*;
pub use crate::special::*;
pub use crate::trigonometric::*;
pub use crate::vectors::*;
pub use gems_macros::{device_fn, pointwise_dynamic};
pub use gems_runtime::buffer::{Buffer, StridedBuffer, SymbolicBuffer, Views};
pub use gems_runtime::device::Device;
pub use gems_runtime::dtype::{DType, Scalar};
pub use gems_runtime::error::{Error, ErrorKind, Result};
pub use gems_runtime::trace::{Compiled, Fusion, Grad, Rounding, Saving, Vjp, compile, grad, vjp};
