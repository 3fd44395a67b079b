//! Comparisons and tests; the results are bool.
//!
//! Operands are joined first, so that u8 meets i8 in i16. A number meets an integer buffer with its exact value,
//! a float buffer in the computation dtype.

use crate::prelude::*;

/// x = y; false for NaN; −0 = 0.
///
/// Matches `torch.eq`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float, complex), numbers = exact)]
pub fn eq<T: Number>(input: T, other: T) -> bool {
    input == other
}

/// x ≠ y; true for NaN.
///
/// Matches `torch.ne`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float, complex), numbers = exact)]
pub fn ne<T: Number>(input: T, other: T) -> bool {
    input != other
}

/// x < y; false for NaN.
///
/// Matches `torch.lt`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn lt<T: Real>(input: T, other: T) -> bool {
    input < other
}

/// x ≤ y; false for NaN.
///
/// Matches `torch.le`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn le<T: Real>(input: T, other: T) -> bool {
    input <= other
}

/// x > y; false for NaN.
///
/// Matches `torch.gt`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn gt<T: Real>(input: T, other: T) -> bool {
    input > other
}

/// x ≥ y; false for NaN.
///
/// Matches `torch.ge`; an integer number outside the dtype's range keeps its value here.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn ge<T: Real>(input: T, other: T) -> bool {
    input >= other
}

/// x is NaN; complex: either part is.
///
/// Matches `torch.isnan`.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float, complex))]
pub fn isnan<T: Number>(input: T) -> bool {
    input != input
}
