//! Gated activations: two operands, one result, no rounding in between.

use crate::prelude::*;

/// silu(x)·y.
///
/// Matches FlagGems' `silu_and_mul`.
#[pointwise_dynamic(promote = default(x, y))]
pub fn silu_and_mul<T: Float>(x: T, y: T) -> T {
    silu::scalar(x) * y
}

/// gelu(x)·y.
///
/// Matches FlagGems' `gelu_and_mul`.
#[pointwise_dynamic(promote = default(x, y))]
pub fn gelu_and_mul<T: Float>(x: T, y: T) -> T {
    gelu::scalar(x) * y
}

/// gelu(x)·y with the tanh form of gelu.
///
/// Matches FlagGems' `gelu_and_mul(…, approximate="tanh")`.
#[pointwise_dynamic(promote = default(x, y))]
pub fn gelu_tanh_and_mul<T: Float>(x: T, y: T) -> T {
    gelu_tanh::scalar(x) * y
}

/// The gradients of [`gelu_and_mul`] for x and y: (dz·y·gelu′(x), dz·gelu(x)).
///
/// gelu′ = Φ(x) + x·φ(x), with the limits 0 and 1 at ∓∞. Matches FlagGems' `gelu_and_mul` backward.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy))]
pub fn gelu_and_mul_backward<T: Float>(grad_output: T, x: T, y: T) -> (T, T) {
    let cdf = 0.5 * (-x * T::FRAC_1_SQRT_2).erfc();
    let density = 0.3989422804014327 * (-0.5 * x * x).exp();
    let bump = if density == 0 { 0 } else { x * density };
    (grad_output * y * (cdf + bump), grad_output * gelu::scalar(x))
}

/// The gradients of [`gelu_tanh_and_mul`] for x and y: (dz·y·gelu′(x), dz·gelu(x)).
///
/// gelu′ = s + 2x·s(1 − s)·u′ with s = σ(2u) and u′ = √(2/π)·(1 + 0.134145·x²), with the limits 0 and 1 at ∓∞.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy))]
pub fn gelu_tanh_and_mul_backward<T: Float>(grad_output: T, x: T, y: T) -> (T, T) {
    let u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    let gate = sigmoid::scalar(2 * u);
    let slope = gate * sigmoid::scalar(-2 * u);
    let bump = if slope == 0 { 0 } else { 2 * x * slope * (0.7978845608028654 * (1 + 0.134145 * x * x)) };
    (grad_output * y * (gate + bump), grad_output * gelu_tanh::scalar(x))
}
