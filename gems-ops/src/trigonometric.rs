//! Circular functions; angles in radians.

use crate::prelude::*;

/// The sine, reduced exactly for every finite x; ±∞ → NaN; −0 → −0.
///
/// Integers become floats first. Matches `torch.sin`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn sin<T: Analytic>(input: T) -> T {
    input.sin()
}

/// The cosine, reduced exactly for every finite x; ±∞ → NaN.
///
/// Integers become floats first. Matches `torch.cos`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn cos<T: Analytic>(input: T) -> T {
    input.cos()
}
