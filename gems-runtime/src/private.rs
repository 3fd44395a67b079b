//! What expansions of the macros name; no public API.
//!
//! An expansion is data of these types and calls of these functions, by absolute paths. An exact version pin keeps this
//! list and the macros in step.

use std::any::Any;

pub use half::{bf16, f16};
pub use num_complex::Complex;

pub use crate::buffer::Buffer;
pub use crate::dtype::{DType, DTypeSet, Element, F8E4M3FN, F8E5M2, Kind, Scalar};
pub use crate::error::Result;
pub use crate::math;
pub use crate::op::{
    Call, Compute, DeviceFn, OpDef, Operand, OutputDef, ParamDef, Piece, Pointwise, Promote, Role, TypeRef, Use,
    cpu_kernel,
};

/// The value itself; lets rustc check the type that the device text gives to the result of a call.
#[inline(always)]
#[must_use]
pub fn typed<T>(value: T) -> T {
    value
}

/// A position in an array; wraps where usize is narrower.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "device code has 64 bits; an array that large does not exist")]
pub fn to_index(value: u64) -> usize {
    value as usize
}

/// A position or count as an integer.
#[inline(always)]
#[must_use]
pub fn from_index(value: usize) -> u64 {
    value as u64
}

/// `as` between any two element types, also where a function is generic in one of them.
#[inline(always)]
#[must_use]
pub fn cast<From: Element, To: Element>(value: From) -> To {
    macro_rules! from {
        ($($from:ty),*) => {
            $(if let Some(value) = (&value as &dyn Any).downcast_ref::<$from>() {
                return to::<$from, To>(*value);
            })*
        };
    }
    from!(
        f32, f64, bool, u8, i8, i16, u16, i32, u32, i64, u64, F8E4M3FN, F8E5M2, f16, bf16, Complex<f16>, Complex<f32>,
        Complex<f64>
    );
    unreachable!("`Element` is sealed; these are all")
}
