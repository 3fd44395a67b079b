//! Error functions and the normal distribution.
//!
//! Tails are relative: what is small is as accurate as what is large. All but erf and erfc are computed in f64 and
//! rounded once, whatever the operand is.

use super::{slope, tables};
use crate::prelude::*;

/// erf(x): odd, ±∞ → ±1.
///
/// Integers become floats first. Matches `torch.erf`.
///
/// Accuracy: 4 ulp. Derivative: 2/√π·exp(−x²).
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float), grad(order = 2))]
pub fn erf<T: Float>(input: T) -> T {
    input.erf()
}

/// erfc(x) = 1 − erf(x), relative to the result in the tail: −∞ → 2, ∞ → 0.
///
/// Integers become floats first. Matches `torch.erfc`.
///
/// Accuracy: 4 ulp. Derivative: −2/√π·exp(−x²).
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float), grad(order = 2))]
pub fn erfc<T: Float>(input: T) -> T {
    input.erfc()
}

/// The inverse of erf: ±1 → ±∞, outside NaN, −0 → −0.
///
/// Newton's method in f64. Integers become floats first. Matches `torch.erfinv`.
///
/// Accuracy: 4 ulp. Derivative: ½√π·exp(r²).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_erfinv(grad_output, output), order = 2)
)]
pub fn erfinv<T: Float>(input: T) -> T {
    erfinv_f64(input as f64) as T
}

/// exp(x²)·erfc(x): ∞ → 0, −∞ → ∞; overflows below −26.6 in f64.
///
/// A Chebyshev series in f64. Integers become floats first. Matches `torch.special.erfcx`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: 2x·r − 2/√π, far out its series.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_erfcx, order = 2)
)]
pub fn special_erfcx<T: Float>(input: T) -> T {
    erfcx_f64(input as f64) as T
}

/// The normal distribution Φ(x) = ½erfc(−x/√2), relative to the result in the tail.
///
/// Integers become floats first. Matches `torch.special.ndtr`, which is 0 below −8.3.
///
/// Special values: −∞ → 0, ∞ → 1, NaN stays. Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: exp(−½x²)/√(2π).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_ndtr, order = 2)
)]
pub fn special_ndtr<T: Float>(input: T) -> T {
    ndtr_f64(input as f64) as T
}

/// The inverse of the normal distribution: 0 → −∞, 1 → ∞, ½ → 0, outside NaN.
///
/// Halley's method on ln Φ in f64. Integers become floats first. Matches `torch.special.ndtri`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: √(2π)·exp(½r²).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_ndtri(grad_output, output), order = 2)
)]
pub fn special_ndtri<T: Float>(input: T) -> T {
    ndtri_f64(input as f64) as T
}

/// ln Φ(x), relative to the result on both sides: −∞ → −∞, ∞ → −0.
///
/// Integers become floats first. Matches `torch.special.log_ndtr`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: √(2/π)/erfcx(−x/√2).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_log_ndtr, order = 2)
)]
pub fn special_log_ndtr<T: Float>(input: T) -> T {
    log_ndtr_f64(input as f64) as T
}

/// The product and what its rounding lost.
#[device_fn]
pub(super) fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Shepherd and Laframboise's series for x ≥ 0, reflected for x < 0 with the square kept exactly.
#[device_fn(grad(backward = slope::of_erfcx))]
#[inline(never)]
pub(super) fn erfcx_f64(x: f64) -> f64 {
    if x < -27.0 {
        return f64::INFINITY;
    }
    let z = x.abs();
    let right = if z > 5e7 {
        0.5 * f64::FRAC_2_SQRT_PI / z
    } else {
        tables::erfcx((z - 3.75) / (z + 3.75)) / (1.0 + 2.0 * z)
    };
    if x < 0.0 {
        let (square, lost) = two_prod(x, x);
        let growth = square.exp();
        2.0 * growth * (1.0 + lost) - right
    } else {
        right
    }
}

#[device_fn]
#[inline(never)]
fn ndtr_f64(x: f64) -> f64 {
    let t = x * f64::FRAC_1_SQRT_2;
    if x < -40.0 {
        0.0
    } else if x < -1.0 {
        let (square, lost) = two_prod(x, x);
        0.5 * erfcx_f64(-t) * (-0.5 * square).exp() * (1.0 - 0.5 * lost)
    } else {
        0.5 * (-t).erfc()
    }
}

#[device_fn]
#[inline(never)]
fn log_ndtr_f64(x: f64) -> f64 {
    let t = x * f64::FRAC_1_SQRT_2;
    if x < -1.0 {
        (0.5 * erfcx_f64(-t)).ln() - 0.5 * x * x
    } else if x <= 1.0 {
        (-0.5 * t.erfc()).ln_1p()
    } else {
        (-ndtr_f64(-x)).ln_1p()
    }
}

/// The x < 0 with Φ(x) = q, for 0 < q ≤ 0.2: Abramowitz and Stegun's 26.2.23, then three steps of Halley's method.
#[device_fn]
fn ndtri_tail(q: f64) -> f64 {
    let log = q.ln();
    let t = (-2.0 * log).sqrt();
    let top = 2.515517 + t * (0.802853 + t * 0.010328);
    let bottom = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut x = top / bottom - t;
    for _ in 0..3 {
        // Φ(x)/φ(x), the slope of x against ln Φ.
        let ratio = erfcx_f64(-x * f64::FRAC_1_SQRT_2) * 1.2533141373155003;
        let error = (log_ndtr_f64(x) - log) * ratio;
        x -= error / (1.0 + 0.5 * error * (x + 1.0 / ratio));
    }
    x
}

#[device_fn(grad(backward = slope::at_ndtri))]
#[inline(never)]
pub(super) fn ndtri_f64(p: f64) -> f64 {
    let q = if p > 0.5 { 1.0 - p } else { p };
    if (p - 0.5).abs() <= 0.3 {
        f64::SQRT_2 * erfinv_f64(2.0 * p - 1.0)
    } else if q > 0.0 {
        let x = ndtri_tail(q);
        if p > 0.5 { -x } else { x }
    } else if q == 0.0 {
        if p > 0.5 { f64::INFINITY } else { f64::NEG_INFINITY }
    } else {
        f64::NAN
    }
}

#[device_fn(grad(backward = slope::at_erfinv))]
#[inline(never)]
pub(super) fn erfinv_f64(y: f64) -> f64 {
    let a = y.abs();
    if a < 0.8 {
        let square = a * a;
        let start = 1.0 + square * (0.2617993877991494 + square * (0.1439317308 + 0.3 * square));
        let mut x = 0.886226925452758 * a * start;
        for _ in 0..3 {
            let error = (x.erf() - a) / (f64::FRAC_2_SQRT_PI * (-x * x).exp());
            x -= error / (1.0 + x * error);
        }
        x.copysign(y)
    } else if a < 1.0 {
        (-f64::FRAC_1_SQRT_2 * ndtri_tail(0.5 * (1.0 - a))).copysign(y)
    } else if a == 1.0 {
        f64::INFINITY.copysign(y)
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::close;

    #[test]
    fn edges_are_the_limits() {
        let infinity = f64::INFINITY;
        assert_eq!((erfinv::scalar(1.0f64), erfinv::scalar(-1.0f32)), (infinity, f32::NEG_INFINITY));
        assert!(erfinv::scalar(1.5f64).is_nan() && special_ndtri::scalar(-0.1f64).is_nan());
        assert_eq!(erfinv::scalar(-0.0f64).to_bits(), (-0.0f64).to_bits());
        assert_eq!((special_erfcx::scalar(infinity), special_erfcx::scalar(-infinity)), (0.0, infinity));
        assert_eq!(special_erfcx::scalar(-26.7f64), infinity);
        assert_eq!((special_ndtr::scalar(infinity), special_ndtr::scalar(-infinity)), (1.0, 0.0));
        assert_eq!((special_ndtri::scalar(0.0f64), special_ndtri::scalar(1.0f64)), (-infinity, infinity));
        assert_eq!(special_ndtri::scalar(0.5f64), 0.0);
        assert_eq!(special_log_ndtr::scalar(-infinity), -infinity);
        assert_eq!(special_log_ndtr::scalar(infinity).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn tails_are_relative() {
        close(special_ndtr::scalar(-30.0f64), 4.906713927148187e-198, 1e-15);
        close(special_log_ndtr::scalar(34.0f64), -1.1138987855743794e-253, 1e-15);
        close(special_log_ndtr::scalar(-1e5f64), -5000000012.431864, 1e-15);
        close(special_ndtri::scalar(1e-300f64), -37.0471, 1e-5);
        close(special_erfcx::scalar(1e5f64), 5.641895835195468e-6, 1e-15);
        close(erfinv::scalar(1.0f64 - f64::EPSILON / 2.0), 5.863584748755168, 1e-15);
        close(f64::from(special_ndtr::scalar(-10.0f32)), 7.61985302416052e-24, 6e-8);
    }
}
