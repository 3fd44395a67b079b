//! The ops that gradients need beside those of the program: a conversion, a sum of two and a number everywhere.
//!
//! They are ops like any other, so they fuse, run on every device and have derivatives themselves.

use crate::op::Registry;
use gems_macros::pointwise_dynamic;

/// The same values in a new buffer, or in a given one of any dtype.
#[pointwise_dynamic(promote = no_opmath(input), casts = freely, grad(order = 2))]
pub(crate) fn gradient_copy<T: Element>(input: T) -> T {
    input
}

/// x + y, two gradients of one value.
#[pointwise_dynamic(promote = default(input, other), dtypes(float, complex), grad(order = 2))]
pub(crate) fn gradient_add<T: Number>(input: T, other: T) -> T {
    input + other
}

/// One number in every element of a given buffer.
#[pointwise_dynamic(promote = no_opmath(value), casts = freely, grad(zero))]
pub(crate) fn gradient_fill<T: Element>(value: T) -> T {
    value
}

/// The ops that gradients record beside those of a program, by name, for graphs that are read back.
pub const BUILTIN: Registry = Registry::new(&[gradient_copy::DEF, gradient_add::DEF, gradient_fill::DEF]);
