//! Exponentials and logarithms. Integers become floats first.

use crate::prelude::*;

/// eˣ; −∞ → 0; subnormal results are kept.
///
/// Matches `torch.exp`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: the result.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn exp<T: Analytic>(input: T) -> T {
    input.exp()
}

/// 2ˣ; exact for whole x; subnormal results are kept.
///
/// Matches `torch.exp2`.
///
/// Special values: −∞ → 0, ∞ → ∞, NaN stays. Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: ln 2 times
/// the result.
#[doc(alias = "special_exp2")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn exp2<T: Analytic>(input: T) -> T {
    input.exp2()
}

/// eˣ − 1, accurate near 0; −0 → −0; −∞ → −1.
///
/// Matches `torch.expm1`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: exp(x).
#[doc(alias = "special_expm1")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn expm1<T: Analytic>(input: T) -> T {
    input.exp_m1()
}

/// The natural logarithm; ±0 → −∞, negative → NaN.
///
/// Matches `torch.log`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1/x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn log<T: Analytic>(input: T) -> T {
    input.ln()
}

/// The logarithm to base 2, exact at powers of two; ±0 → −∞, negative → NaN.
///
/// Matches `torch.log2`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1/(x·ln 2).
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn log2<T: Analytic>(input: T) -> T {
    input.log2()
}

/// The logarithm to base 10; ±0 → −∞, negative → NaN.
///
/// Matches `torch.log10`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1/(x·ln 10).
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn log10<T: Analytic>(input: T) -> T {
    input.log10()
}

/// ln(1 + x), accurate near 0; −0 → −0; −1 → −∞, below → NaN.
///
/// Matches `torch.log1p`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1/(1+x).
#[doc(alias = "special_log1p")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn log1p<T: Analytic>(input: T) -> T {
    input.ln_1p()
}

/// ln(eˣ + eʸ) without overflow; equal infinities stay.
///
/// Matches `torch.logaddexp`.
///
/// Accuracy: 4 ulp of the larger term. Derivative: σ(x − y) for x, σ(y − x) for y, ½ each at equal infinities.
#[pointwise_dynamic(promote = default(input, other), complex = logaddexp_complex, grad(backward = crate::slope::of_logaddexp, order = 2))]
pub fn logaddexp<T: Float>(input: T, other: T) -> T {
    if input == other {
        input + T::LN_2
    } else {
        input.maximum(other) + (-(input - other).abs()).exp().ln_1p()
    }
}

#[pointwise_dynamic(promote = default(input, other), dtypes(complex), name = "logaddexp", grad(backward = of_complex_logaddexp))]
fn logaddexp_complex<T: Analytic>(input: T, other: T) -> T {
    let is_greater = input.re() > other.re();
    let (greater, less) = if is_greater { (input, other) } else { (other, input) };
    if input == other { input + 0.6931471805599453 } else { greater + (less - greater).exp().ln_1p() }
}

/// Shares that sum to 1, halves where the operands are equal.
#[device_fn]
fn of_complex_logaddexp<T: Analytic>(g: T, x: T, y: T) -> (T, T) {
    (g * sigmoid_complex::scalar(x - y).conj(), g * sigmoid_complex::scalar(y - x).conj())
}

/// log₂(2ˣ + 2ʸ) without overflow; equal infinities stay.
///
/// Matches `torch.logaddexp2`.
///
/// Accuracy: 4 ulp of the larger term. Derivative: 1/(1 + 2^(y−x)) for x, 1/(1 + 2^(x−y)) for y.
#[pointwise_dynamic(promote = default(input, other), grad(backward = crate::slope::of_logaddexp2, order = 2))]
pub fn logaddexp2<T: Float>(input: T, other: T) -> T {
    if input == other {
        input + 1
    } else {
        input.maximum(other) + (-(input - other).abs()).exp2().ln_1p() / T::LN_2
    }
}

/// x·ln y; 0 for x = 0, unless y is NaN.
///
/// Matches `torch.xlogy`.
///
/// Accuracy: 4 ulp. Derivative: ln y for x, 0 where x = 0 and y ≤ 0; x/y for y.
#[doc(alias = "special_xlogy")]
#[pointwise_dynamic(
    promote = int_to_float(input, other), dtypes(bool, int, float),
    grad(backward = crate::slope::of_xlogy, order = 2)
)]
pub fn xlogy<T: Float>(input: T, other: T) -> T {
    if input == 0 && !other.is_nan() { 0 } else { input * other.ln() }
}

/// x·ln(1 + y); 0 for x = 0, unless y is NaN.
///
/// Matches `torch.special.xlog1py`.
///
/// Accuracy: 4 ulp. Derivative: ln(1 + y) for x, 0 where x = 0 and y ≤ −1; x/(1 + y) for y.
#[pointwise_dynamic(
    promote = int_to_float(input, other), dtypes(bool, int, float),
    grad(backward = crate::slope::of_xlog1py, order = 2)
)]
pub fn special_xlog1py<T: Float>(input: T, other: T) -> T {
    if input == 0 && !other.is_nan() { 0 } else { input * other.ln_1p() }
}

/// −x·ln x; 0 at 0; −∞ for x < 0.
///
/// Matches `torch.special.entr`.
///
/// Accuracy: 4 ulp. Derivative: −ln x − 1; ∞ at 0, NaN below.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = crate::slope::of_entr, order = 2)
)]
pub fn special_entr<T: Float>(input: T) -> T {
    if input == 0 {
        0
    } else if input < 0 {
        T::NEG_INFINITY
    } else {
        -input * input.ln()
    }
}

/// ln(x/(1 − x)); 0 → −∞, 1 → ∞, outside NaN.
///
/// Near ½ it is 2·artanh(2x − 1), whose argument is exact. Matches `torch.logit` without `eps`.
///
/// Accuracy: 4 ulp of the larger term. Derivative: 1/(x(1 − x)), NaN outside [0, 1].
#[doc(alias = "special_logit")]
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = logit_backward::scalar, order = 2)
)]
pub fn logit<T: Float>(input: T) -> T {
    if (input - 0.5).abs() < 0.25 { 2 * (2 * input - 1).atanh() } else { input.ln() - (-input).ln_1p() }
}

/// [`logit`] of x moved into [eps, 1 − eps]; NaN stays NaN; eps where the bounds cross and x is below it.
///
/// Matches `torch.logit(…, eps=…)`.
///
/// Accuracy: 4 ulp of the larger term. Derivative: 1/(x(1 − x)), 0 outside [eps, 1 − eps].
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = logit_eps_backward::scalar, order = 2)
)]
pub fn logit_eps<T: Float>(input: T, #[param] eps: T) -> T {
    let bounded = if input < eps {
        eps
    } else if input > 1 - eps {
        1 - eps
    } else {
        input
    };
    logit::scalar(bounded)
}

/// 1 / (1 + e⁻ˣ), accurate in both tails.
///
/// Matches `torch.sigmoid`.
///
/// Special values: −∞ → 0, ∞ → 1, NaN stays. Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: r(1 − r)
/// for the result r.
#[doc(alias = "special_expit")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float), complex = sigmoid_complex, grad(backward = crate::slope::of_sigmoid, order = 2))]
pub fn sigmoid<T: Float>(input: T) -> T {
    let decay = (-input.abs()).exp();
    let quotient = (if input < 0 { decay } else { 1 }) / (1 + decay);
    // In the tail, the rounding of 1 + decay counts less in the difference than in the quotient.
    if input < -0.7 { decay - decay * quotient } else { quotient }
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "sigmoid", grad)]
pub(crate) fn sigmoid_complex<T: Analytic>(input: T) -> T {
    let is_left = input.re() < 0;
    let outward = if is_left { input } else { -input };
    let decay = outward.exp();
    // Near the imaginary axis 1 + decay may cancel; the product does not.
    let sum = if outward.re() < -1 { 1 + decay } else { 2 * (0.5 * outward).exp() * (0.5 * outward).cosh() };
    (if is_left { decay } else { 1 }) / sum
}

// Gradients under PyTorch's names.

/// dz · y(1 − y): the gradient of [`sigmoid`] from its result.
///
/// Matches `aten::sigmoid_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, output), grad)]
pub fn sigmoid_backward<T: Float>(grad_output: T, output: T) -> T {
    grad_output * ((1 - output) * output)
}

/// dz / (x(1 − x)): the gradient of [`logit`]; NaN outside [0, 1].
///
/// Matches `aten::logit_backward` without `eps`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn logit_backward<T: Float>(grad_output: T, input: T) -> T {
    if input < 0 || input > 1 {
        T::NAN
    } else if input == 0 || input == 1 {
        grad_output * T::INFINITY
    } else {
        grad_output / (input * (1 - input))
    }
}

/// dz / (x(1 − x)), or 0 outside [eps, 1 − eps]: the gradient of [`logit_eps`].
///
/// Matches `aten::logit_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input), grad)]
pub fn logit_eps_backward<T: Float>(grad_output: T, input: T, #[param] eps: T) -> T {
    if input < eps || input > 1 - eps { 0 } else { grad_output / (input * (1 - input)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn tails_are_kept() {
        assert_eq!(exp::scalar(-100.0f32), 3.783506e-44);
        assert_eq!(exp2::scalar(-1074.0f64).to_bits(), 1);
        assert_eq!(sigmoid::scalar(-100.0f32), 3.783506e-44);
        assert_eq!((sigmoid::scalar(INF), sigmoid::scalar(-INF)), (1.0, 0.0));
    }

    #[test]
    fn equal_infinities_stay_under_logaddexp() {
        for x in [INF, -INF] {
            assert_eq!((logaddexp::scalar(x, x), logaddexp2::scalar(x, x)), (x, x));
        }
        assert_eq!((logaddexp::scalar(INF, -INF), logaddexp2::scalar(3.0, -INF)), (INF, 3.0));
        assert_eq!(logaddexp2::scalar(1.0, 1.0), 2.0);
        assert!(logaddexp::scalar(f64::NAN, INF).is_nan());
    }

    #[test]
    fn zero_times_a_logarithm_is_zero_unless_that_is_nan() {
        assert_eq!((xlogy::scalar(0.0, 0.0), special_xlog1py::scalar(0.0, -1.0)), (0.0, 0.0));
        assert!(xlogy::scalar(0.0, f64::NAN).is_nan() && special_xlog1py::scalar(0.0, f64::NAN).is_nan());
        assert_eq!((special_entr::scalar(0.0), special_entr::scalar(-1.0)), (0.0, -INF));
    }

    #[test]
    fn logit_is_accurate_near_one_half() {
        let x = 0.5 + 1e-10;
        assert_eq!(logit::scalar(x), 2.0 * (2.0f64 * x - 1.0).atanh());
        assert_eq!((logit::scalar(0.0), logit::scalar(1.0)), (-INF, INF));
        assert!(logit::scalar(1.5f64).is_nan() && logit_eps::scalar(f64::NAN, 0.1).is_nan());
        assert_eq!(logit_eps::scalar(-3.0, 0.25), logit::scalar(0.25));
    }
}
