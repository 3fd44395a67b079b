//! What expansions of the macros name; no public API.
//!
//! An expansion is data of these types and calls of these functions, by absolute paths. An exact version pin keeps this
//! list and the macros in step.

use std::any::Any;

use crate::math::Cast;

pub use half::{bf16, f16};
pub use num_complex::Complex;

pub use crate::buffer::Buffer;
pub use crate::dtype::{DType, DTypeSet, Element, F8E4M3FN, F8E5M2, Kind, Scalar};
pub use crate::error::Result;
pub use crate::math;
pub use crate::op::{
    Compute, DeviceFn, Gradient, Instance, Numbers, OpDef, Operand, OutputDef, ParamDef, Piece, Pointwise,
    Promote, Role, TypeRef, Use, VjpDef, VjpSource, cpu_kernel, gradients,
};

/// A function with a derivative of some order, for functions that are differentiated through it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no derivative of order {ORDER}",
    label = "this call is differentiated",
    note = "annotate `{Self}` with `#[device_fn(grad)]`, or `grad(order = 2)`, or give the derivative of the function that calls it by `grad(backward = path)`"
)]
pub trait Derivative<const ORDER: usize> {
    /// The CUDA C++ form of the derivative.
    const DEVICE: &'static DeviceFn;
}

/// The value itself; lets rustc check the type that the device text gives to the result of a call.
#[inline(always)]
#[must_use]
pub fn typed<T>(value: T) -> T {
    value
}

/// A position in an array; wraps where usize is narrower.
#[inline(always)]
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "device code has 64 bits; an array that large does not exist"
)]
pub fn to_index(value: u64) -> usize {
    value as usize
}

/// A position or count as an integer.
#[inline(always)]
#[must_use]
pub fn from_index(value: usize) -> u64 {
    value as u64
}

/// `as` between any two element types, also where a function is generic in both.
///
/// The types are compared at run time in appearance only: every question is constant once the function is instantiated.
#[inline(always)]
#[must_use]
pub fn cast<From: Element, To: Element>(value: From) -> To {
    let mut result = None;
    macro_rules! try_each {
        ($($from:ty),*) => {
            $(if let Some(value) = (&value as &dyn Any).downcast_ref::<$from>() {
                cast_into(*value, &mut result);
            })*
        };
    }
    try_each!(bool, u8, i8, i16, u16, i32, u32, i64, u64, f32, f64);
    try_each!(F8E4M3FN, F8E5M2, f16, bf16, Complex<f16>, Complex<f32>, Complex<f64>);
    result.unwrap_or_else(|| unreachable!("`Element` is sealed, and these are all of its types"))
}

macro_rules! cast_into {
    ($($to:ty),*) => {
        /// Converts to whichever type the result has.
        #[inline(always)]
        fn cast_into<From: $(Cast<$to> +)*, To: Element>(value: From, result: &mut Option<To>) {
            let result: &mut dyn Any = result;
            $(if let Some(result) = result.downcast_mut::<Option<$to>>() {
                *result = Some(Cast::<$to>::cast(value));
            })*
        }
    };
}

cast_into!(
    bool,
    u8,
    i8,
    i16,
    u16,
    i32,
    u32,
    i64,
    u64,
    f32,
    f64,
    F8E4M3FN,
    F8E5M2,
    f16,
    bf16,
    Complex<f16>,
    Complex<f32>,
    Complex<f64>
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_are_those_of_the_trait() {
        assert_eq!(cast::<f64, u8>(300.7), 255);
        assert_eq!(cast::<i32, bf16>(3), bf16::from_f32(3.0));
        assert_eq!(cast::<Complex<f32>, f64>(Complex::new(2.0, 5.0)), 2.0);
        assert_eq!(cast::<bool, Complex<f64>>(true), Complex::new(1.0, 0.0));
        assert!(cast::<F8E5M2, bool>(F8E5M2::from_bits(1)));
    }
}
