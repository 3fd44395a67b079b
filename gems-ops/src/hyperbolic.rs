//! Hyperbolic functions. Integers become floats first.

use crate::prelude::*;

/// The hyperbolic sine, finite as long as the result is; −0 → −0.
///
/// Matches `torch.sinh`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: cosh x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn sinh<T: Analytic>(input: T) -> T {
    input.sinh()
}

/// The hyperbolic cosine, finite as long as the result is.
///
/// Matches `torch.cosh`.
///
/// Special values: ±∞ → ∞, NaN stays. Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: sinh x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn cosh<T: Analytic>(input: T) -> T {
    input.cosh()
}

/// The hyperbolic tangent; ±∞ → ±1; −0 → −0.
///
/// Matches `torch.tanh`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1 − r².
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float, complex),
    grad(saves = output, order = 2)
)]
pub fn tanh<T: Analytic>(input: T) -> T {
    input.tanh()
}

/// The inverse hyperbolic sine, accurate for great and small x; −0 → −0.
///
/// Matches `torch.asinh`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 1/hypot(1,x).
#[doc(alias = "arcsinh")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn asinh<T: Analytic>(input: T) -> T {
    input.asinh()
}

/// The inverse hyperbolic cosine; 1 → 0, below → NaN.
///
/// Matches `torch.acosh`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 1/√((x−1)(x+1)).
#[doc(alias = "arccosh")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn acosh<T: Analytic>(input: T) -> T {
    input.acosh()
}

/// The inverse hyperbolic tangent; ±1 → ±∞, beyond → NaN; −0 → −0.
///
/// Matches `torch.atanh`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 1/((1−x)(1+x)).
#[doc(alias = "arctanh")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn atanh<T: Analytic>(input: T) -> T {
    input.atanh()
}

// Gradients under PyTorch's names.

/// dz · (1 − y²): the gradient of `tanh` from its result.
///
/// Matches `aten::tanh_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, output), grad)]
pub fn tanh_backward<T: Float>(grad_output: T, output: T) -> T {
    grad_output * (1 - output * output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_finite_to_the_limit() {
        assert!(sinh::scalar(89.4159f32).is_finite() && cosh::scalar(-710.4758f64).is_finite());
        assert!((asinh::scalar(1e20f32) - 46.744849).abs() < 1e-5);
        assert_eq!((tanh::scalar(f32::INFINITY), acosh::scalar(1.0f32)), (1.0, 0.0));
        assert!(atanh::scalar(1.0f32).is_infinite() && acosh::scalar(0.5f32).is_nan());
    }
}
