//! Gradients of activation functions under PyTorch's names.
//!
//! Each multiplies the incoming gradient with the derivative of the branch that the value took.

use crate::prelude::*;

/// The gradient of [`elu`] from its operand.
///
/// Matches `aten::elu_backward` with `is_result` false.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn elu_backward<T: Float>(
    grad_output: T,
    input: T,
    #[param] alpha: T,
    #[param] scale: T,
    #[param] input_scale: T,
) -> T {
    let slope = if input > 0 { scale } else { scale * alpha * input_scale * (input_scale * input).exp() };
    grad_output * slope
}

/// The gradient of [`elu`] from its result.
///
/// Matches `aten::elu_backward` with `is_result` true.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, output), grad)]
pub fn elu_backward_from_result<T: Float>(
    grad_output: T,
    output: T,
    #[param] alpha: T,
    #[param] scale: T,
    #[param] input_scale: T,
) -> T {
    let slope = if output > 0 { scale } else { input_scale * (output + scale * alpha) };
    grad_output * slope
}

/// The gradient of [`gelu`]: Φ(x) + x·φ(x), 0 and 1 at ∓∞.
///
/// Matches `aten::gelu_backward`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: that of the formula.
#[doc(alias = "infinitely_differentiable_gelu_backward")]
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn gelu_backward<T: Float>(grad_output: T, input: T) -> T {
    let cdf = input.normal_cdf();
    let density = 0.3989422804014327 * (-0.5 * input * input).exp();
    grad_output * (cdf + if density == 0 { 0 } else { input * density })
}

/// The gradient of [`gelu_tanh`]: s + 2x·s(1 − s)·u′ with s = σ(2u) and u′ = √(2/π)·(1 + 0.134145·x²), 0 and 1 at ∓∞.
///
/// Matches `aten::gelu_backward(…, approximate="tanh")`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn gelu_tanh_backward<T: Float>(grad_output: T, input: T) -> T {
    let u = 0.7978845608028654 * (input + 0.044715 * input * input * input);
    let gate = sigmoid::scalar(2 * u);
    let slope = gate * sigmoid::scalar(-2 * u);
    let change = 0.7978845608028654 * (1 + 0.134145 * input * input);
    grad_output * (gate + if slope == 0 { 0 } else { 2 * input * slope * change })
}

/// The gradient of [`hardshrink`].
///
/// Matches `aten::hardshrink_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn hardshrink_backward<T: Float>(grad_output: T, input: T, #[param] lambd: T) -> T {
    if -lambd <= input && input <= lambd { 0 } else { grad_output }
}

/// The gradient of [`softshrink`].
///
/// Matches `aten::softshrink_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn softshrink_backward<T: Float>(grad_output: T, input: T, #[param] lambd: T) -> T {
    if -lambd <= input && input <= lambd { 0 } else { grad_output }
}

/// The gradient of [`hardsigmoid`]: 1/6 within ±3, else 0.
///
/// Matches `aten::hardsigmoid_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn hardsigmoid_backward<T: Float>(grad_output: T, input: T) -> T {
    if -3 < input && input < 3 { grad_output / 6 } else { 0 }
}

/// The gradient of [`hardswish`]: 0 up to −3, x/3 + ½ below 3, else 1.
///
/// Matches `aten::hardswish_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn hardswish_backward<T: Float>(grad_output: T, input: T) -> T {
    if input <= -3 {
        0
    } else if input < 3 {
        grad_output * (input / 3 + 0.5)
    } else {
        grad_output
    }
}

/// The gradient of [`hardtanh`]: 0 on the bounds and outside.
///
/// Matches `aten::hardtanh_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn hardtanh_backward<T: Float>(grad_output: T, input: T, #[param] min_val: T, #[param] max_val: T) -> T {
    if input <= min_val || input >= max_val { 0 } else { grad_output }
}

/// The gradient of [`leaky_relu`], from the operand, or from the result if the slope is positive.
///
/// Matches `aten::leaky_relu_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn leaky_relu_backward<T: Float>(grad_output: T, input: T, #[param] negative_slope: T) -> T {
    if input > 0 { grad_output } else { grad_output * negative_slope }
}

/// The gradient of [`log_sigmoid`]: σ(−x).
///
/// Matches `aten::log_sigmoid_backward`, which may take a saved buffer.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn log_sigmoid_backward<T: Float>(grad_output: T, input: T) -> T {
    grad_output * sigmoid::scalar(-input)
}

/// The gradient of [`mish`]: t + x·σ(x)·(1 − t²) with t = tanh(softplus(x)), 0 and 1 at ∓∞.
///
/// Matches `aten::mish_backward`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn mish_backward<T: Float>(grad_output: T, input: T) -> T {
    // For positive x everything is written in e⁻ˣ, so that nothing overflows.
    let e = (-input.abs()).exp();
    let (n, rest) = if input < 0 { (e * (e + 2), 2 * (1 + e)) } else { (1 + 2 * e, 2 * e * (1 + e)) };
    let total = if input < 0 { n + 2 } else { n + 2 * e * e };
    let inverse = rest / total;
    let bump = sigmoid::scalar(input) * inverse * inverse;
    grad_output * (n / total + if bump == 0 { 0 } else { input * bump })
}

/// The gradient of [`rrelu_with_noise`].
///
/// Matches `aten::rrelu_with_noise_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input, noise), grad)]
pub fn rrelu_with_noise_backward<T: Float>(
    grad_output: T,
    input: T,
    noise: T,
    #[param] lower: T,
    #[param] upper: T,
    #[param] training: bool,
) -> T {
    leaky_relu_backward::scalar(grad_output, input, if training { noise } else { (lower + upper) / 2 })
}

/// The gradient of [`silu`]: σ(1 + x(1 − σ)), 0 and 1 at ∓∞.
///
/// Matches `aten::silu_backward`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn silu_backward<T: Float>(grad_output: T, input: T) -> T {
    let gate = sigmoid::scalar(input);
    let slope = gate * sigmoid::scalar(-input);
    grad_output * (gate + if slope == 0 { 0 } else { input * slope })
}

/// The gradient of [`softplus`]: σ(beta·x), 1 above the threshold.
///
/// Matches `aten::softplus_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn softplus_backward<T: Float>(grad_output: T, input: T, #[param] beta: T, #[param] threshold: T) -> T {
    let scaled = beta * input;
    if scaled > threshold { grad_output } else { grad_output * sigmoid::scalar(scaled) }
}

/// The gradient of [`threshold`](fn@threshold): 0 up to the threshold.
///
/// Matches `aten::threshold_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input), dtypes(int, float), grad)]
pub fn threshold_backward<T: Real>(grad_output: T, input: T, #[param] threshold: T) -> T {
    if input <= threshold { 0 } else { grad_output }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    /// A function, its derivative, and whether it has one everywhere.
    type Pair = (&'static str, fn(f64) -> f64, fn(f64) -> f64);

    const PAIRS: [Pair; 13] = [
        ("elu", |x| elu::scalar(x, 1.5, 2.0, 0.7), |x| elu_backward::scalar(1.0, x, 1.5, 2.0, 0.7)),
        (
            "elu from its result",
            |x| elu::scalar(x, 1.5, 2.0, 0.7),
            |x| elu_backward_from_result::scalar(1.0, elu::scalar(x, 1.5, 2.0, 0.7), 1.5, 2.0, 0.7),
        ),
        ("gelu", gelu::scalar, |x| gelu_backward::scalar(1.0, x)),
        ("gelu_tanh", gelu_tanh::scalar, |x| gelu_tanh_backward::scalar(1.0, x)),
        ("hardshrink", |x| hardshrink::scalar(x, 0.5), |x| hardshrink_backward::scalar(1.0, x, 0.5)),
        ("softshrink", |x| softshrink::scalar(x, 0.5), |x| softshrink_backward::scalar(1.0, x, 0.5)),
        ("hardsigmoid", hardsigmoid::scalar, |x| hardsigmoid_backward::scalar(1.0, x)),
        ("hardswish", hardswish::scalar, |x| hardswish_backward::scalar(1.0, x)),
        ("log_sigmoid", log_sigmoid::scalar, |x| log_sigmoid_backward::scalar(1.0, x)),
        ("mish", mish::scalar, |x| mish_backward::scalar(1.0, x)),
        ("silu", silu::scalar, |x| silu_backward::scalar(1.0, x)),
        ("softplus", |x| softplus::scalar(x, 2.0, 20.0), |x| softplus_backward::scalar(1.0, x, 2.0, 20.0)),
        ("sigmoid", sigmoid::scalar, |x| sigmoid_backward::scalar(1.0, sigmoid::scalar(x))),
    ];

    #[test]
    fn gradients_are_slopes() {
        for (name, function, gradient) in PAIRS {
            for x in [-7.3, -2.1, -0.7, -0.2, 0.3, 0.9, 2.6, 5.1] {
                let step = 1e-5;
                let slope = (function(x + step) - function(x - step)) / (2.0 * step);
                assert!((gradient(x) - slope).abs() < 1e-8, "{name} at {x}: {} and {slope}", gradient(x));
            }
        }
    }

    #[test]
    fn limits_are_kept() {
        for gradient in
            [gelu_backward::scalar, gelu_tanh_backward::scalar, silu_backward::scalar, mish_backward::scalar]
        {
            assert_eq!((gradient(1.0, -INF), gradient(1.0, INF)), (0.0, 1.0));
            assert!(gradient(1.0, f64::NAN).is_nan());
        }
        assert_eq!(mish_backward::scalar(1.0, 1000.0), 1.0);
    }

    #[test]
    fn bounds_have_no_gradient() {
        assert_eq!(
            (hardtanh_backward::scalar(1.0, 2.0, 0.0, 2.0), threshold_backward::scalar(5, 3, 3)),
            (0.0, 0)
        );
        assert_eq!(hardtanh_backward::scalar(1.0, f64::NAN, 0.0, 2.0), 1.0);
    }
}
