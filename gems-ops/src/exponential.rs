//! Exponentials and logarithms.

use crate::prelude::*;

/// eˣ; −∞ → 0; subnormal results are kept.
///
/// Integers become floats first. Matches `torch.exp`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn exp<T: Analytic>(input: T) -> T {
    input.exp()
}

/// The natural logarithm; ±0 → −∞, negative → NaN.
///
/// Integers become floats first. Matches `torch.log`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn log<T: Analytic>(input: T) -> T {
    input.ln()
}

/// 1 / (1 + e⁻ˣ), accurate in both tails.
///
/// Integers become floats first. Matches `torch.sigmoid`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float))]
pub fn sigmoid<T: Float>(input: T) -> T {
    let decay = (-input.abs()).exp();
    if input < 0 { decay / (1 + decay) } else { 1 / (1 + decay) }
}
