//! Activation functions.

use crate::prelude::*;

/// x where it is positive, else +0; NaN stays NaN.
///
/// Matches `torch.nn.functional.relu`.
#[pointwise_dynamic(promote = default(input), dtypes(int, float))]
pub fn relu<T: Real>(input: T) -> T {
    if input <= 0 { 0 } else { input }
}

/// x·Φ(x) with the normal distribution Φ; −∞ → −0.
///
/// Computed as ½x·erfc(−x/√2), which keeps the negative tail. Matches `torch.nn.functional.gelu`, but for −∞ (NaN
/// there) and the tail (0 there).
#[pointwise_dynamic(promote = default(input))]
pub fn gelu<T: Float>(input: T) -> T {
    let twice_cdf = (-input * T::FRAC_1_SQRT_2).erfc();
    if twice_cdf == 0 { -0.0 } else { 0.5 * input * twice_cdf }
}

/// x·σ(2u) with u = √(2/π)·(x + 0.044715·x³); −∞ → −0.
///
/// Matches `torch.nn.functional.gelu(…, approximate="tanh")`, but for −∞ (NaN there).
#[pointwise_dynamic(promote = default(input))]
pub fn gelu_tanh<T: Float>(input: T) -> T {
    let u = 0.7978845608028654 * (input + 0.044715 * input * input * input);
    let gate = sigmoid::scalar(2 * u);
    if gate == 0 { -0.0 } else { input * gate }
}

/// x·σ(x); −∞ → −0.
///
/// Matches `torch.nn.functional.silu`, but for −∞ (NaN there).
#[pointwise_dynamic(promote = default(input))]
pub fn silu<T: Float>(input: T) -> T {
    let decay = (-input.abs()).exp();
    if input < 0 { if decay == 0 { -0.0 } else { input * decay / (1 + decay) } } else { input / (1 + decay) }
}
