//! The Airy function Ai and its slope.
//!
//! Computed in f64 and rounded once: relative to the result above 0, to the amplitude below, which is |x|^(−¼)/√π of
//! the function and |x|^¼/√π of the slope.

use super::error::two_prod;
use super::{integers, slope, tables};
use crate::prelude::*;

/// Ai(x): ±∞ → 0; underflows near 107.5 in f64.
///
/// Integers become f32, in which the phase of great ones is rounded. Matches `torch.special.airy_ai`, but for ±∞ (NaN
/// there) and from 103.9 on (0 there).
///
/// Accuracy: 2 ulp above 0, 2e-7 of the amplitude below, in f32; 2e-14 and 3e-15 in f64. Derivative: Ai′(x).
#[pointwise_dynamic(
    promote = int_to_float(x), dtypes(bool, int, float), integers = integers::airy,
    grad(backward = slope::of_airy_ai, order = 2)
)]
pub fn special_airy_ai<T: Float>(x: T) -> T {
    airy_ai(x as f64) as T
}

/// ⅔x^1.5 in two parts, and √x.
#[device_fn]
fn phase(x: f64) -> (f64, f64, f64) {
    let root = x.sqrt();
    let root_low = root.mul_add(-root, x) / (2.0 * root);
    let (product, lost) = two_prod(x, root);
    let high = 2.0 * product / 3.0;
    let low = (high.mul_add(-3.0, 2.0 * product) + 2.0 * (lost + x * root_low)) / 3.0;
    (high, low, root)
}

/// Power series around 0; beyond, the asymptotic forms with Chebyshev series in place of their sums.
#[device_fn]
#[inline(never)]
pub(super) fn airy_ai(x: f64) -> f64 {
    if -4.0 < x && x < 2.0 {
        let cube = x * x * x;
        return 0.3550280538878172 * tables::airy_f(cube) - 0.2588194037928068 * (x * tables::airy_g(cube));
    }
    // Of a greater argument even the phase would overflow.
    if x > 110.0 || x < -1e200 {
        return 0.0;
    }
    let (zeta, low, root) = phase(x.abs());
    if x > 0.0 {
        // 2ζ at x = 2, and 1/(2√π).
        let series = tables::airy_decay(3.771236166328254 / zeta - 1.0);
        return series * (-zeta).exp() * (1.0 - low) * 0.28209479177387814 / root.sqrt();
    }
    let (cosine, sine) = wave(zeta, low);
    let t = far(zeta);
    let value = cosine * tables::airy_cosine(t) + sine * tables::airy_sine(t) / zeta;
    value * 0.5641895835477563 / root.sqrt()
}

/// The argument of the series below −4.
#[device_fn]
fn far(zeta: f64) -> f64 {
    let ratio = 16.0 / (3.0 * zeta);
    2.0 * ratio * ratio - 1.0
}

/// Cosine and sine of the angle ζ + low − ¼π; of a great x even the low part is many turns.
#[device_fn]
fn wave(zeta: f64, low: f64) -> (f64, f64) {
    let c = (zeta.cos() + zeta.sin()) * f64::FRAC_1_SQRT_2;
    let d = (zeta.sin() - zeta.cos()) * f64::FRAC_1_SQRT_2;
    (c * low.cos() - d * low.sin(), d * low.cos() + c * low.sin())
}

/// Ai′(x), as [`airy_ai`]; at ∞ it is 0, at −∞ it has no limit. Ai″(x) = x·Ai(x).
#[device_fn(grad(backward = airy_ai_bend))]
#[inline(never)]
pub(super) fn airy_ai_slope(x: f64) -> f64 {
    if -4.0 < x && x < 2.0 {
        let cube = x * x * x;
        let even = x * x * tables::airy_f_slope(cube);
        return 0.3550280538878172 * even - 0.2588194037928068 * tables::airy_g_slope(cube);
    }
    if x > 110.0 {
        return 0.0;
    }
    let (zeta, low, root) = phase(x.abs());
    if x > 0.0 {
        let series = tables::airy_slope_decay(3.771236166328254 / zeta - 1.0);
        return -(series * (-zeta).exp() * (1.0 - low) * 0.28209479177387814 * root.sqrt());
    }
    let (cosine, sine) = wave(zeta, low);
    let t = far(zeta);
    let slope = sine * tables::airy_slope_sine(t) - cosine * tables::airy_slope_cosine(t) / zeta;
    slope * 0.5641895835477563 * root.sqrt()
}

#[device_fn]
fn airy_ai_bend(g: f64, x: f64) -> f64 {
    g * (x * airy_ai(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::close;

    #[test]
    fn the_function_vanishes_at_both_ends() {
        assert_eq!(special_airy_ai::scalar(f64::INFINITY), 0.0);
        assert_eq!(special_airy_ai::scalar(f64::NEG_INFINITY), 0.0);
        assert!(special_airy_ai::scalar(106.0f64) > 0.0 && special_airy_ai::scalar(108.0f64) == 0.0);
        assert!(special_airy_ai::scalar(f64::NAN).is_nan());
    }

    #[test]
    fn values_are_those_of_the_tables() {
        close(special_airy_ai::scalar(0.0f64), 0.3550280538878172, 1e-16);
        close(special_airy_ai::scalar(1.0f64), 0.13529241631288141, 1e-14);
        close(special_airy_ai::scalar(2.0f64), 0.03492413042327437, 1e-15);
        close(special_airy_ai::scalar(-4.0f64), -0.07026553294928964, 1e-14);
        close(special_airy_ai::scalar(-1.5f64), 0.46425657774886947, 1e-14);
    }

    #[test]
    fn the_phase_survives_great_arguments() {
        // −2⁶³, where the low part of the phase alone is many turns.
        close(special_airy_ai::scalar(-9_223_372_036_854_775_808.0f64), 7.8277782e-6, 1e-3);
    }
}
