//! Hyperbolic functions.

use crate::prelude::*;

/// The hyperbolic tangent; ±∞ → ±1; −0 → −0.
///
/// Integers become floats first. Matches `torch.tanh`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn tanh<T: Analytic>(input: T) -> T {
    input.tanh()
}

/// dz · (1 − y²): the gradient of `tanh` from its result.
///
/// Matches `aten::tanh_backward`.
#[pointwise_dynamic(promote = default(grad_output, output))]
pub fn tanh_backward<T: Float>(grad_output: T, output: T) -> T {
    grad_output * (1 - output * output)
}
