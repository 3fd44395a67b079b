//! Derivatives of special functions, in f64 and rounded once.
//!
//! Each takes the gradient of the result first. Relations of the functions among themselves are used, and series
//! near 0 and far out, where those cancel; of the scaled Bessel functions as many digits cancel as the argument has.

use super::airy::airy_ai_slope;
use super::bessel::{i0_f64, i0e_f64, i1_f64, i1e_f64};
use super::error::{erfcx_f64, erfinv_f64, ndtri_f64};
use super::gamma::{digamma_f64, polygamma_f64, zeta_f64};
use super::orthopoly::{chebyshev, hermite, laguerre, legendre};
use crate::prelude::*;
use crate::slope::sinc_slope;

/// √π/2·exp(y²) for y = erfinv(x).
#[device_fn(grad)]
pub(super) fn of_erfinv<T: Float>(g: T, y: T) -> T {
    let y = y as f64;
    (g as f64 * (0.886226925452758 * (y * y).exp())) as T
}

/// [`of_erfinv`] at x.
#[device_fn]
pub(super) fn at_erfinv(g: f64, x: f64) -> f64 {
    of_erfinv(g, erfinv_f64(x))
}

/// √(2π)·exp(½y²) for y = ndtri(x).
#[device_fn(grad)]
pub(super) fn of_ndtri<T: Float>(g: T, y: T) -> T {
    let y = y as f64;
    (g as f64 * (2.5066282746310002 * (0.5 * y * y).exp())) as T
}

/// [`of_ndtri`] at x.
#[device_fn]
pub(super) fn at_ndtri(g: f64, x: f64) -> f64 {
    of_ndtri(g, ndtri_f64(x))
}

/// 2x·erfcx(x) − 2/√π; far out, where that cancels, its asymptotic series −(1 − 3q + 15q² − …)/(x²√π) in q = 1/(2x²).
#[device_fn(grad)]
pub(super) fn of_erfcx<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let slope = if x > 50.0 {
        let q = 0.5 / (x * x);
        -f64::FRAC_2_SQRT_PI * q * (1.0 - q * (3.0 - q * (15.0 - q * (105.0 - q * 945.0))))
    } else {
        2.0 * x * erfcx_f64(x) - f64::FRAC_2_SQRT_PI
    };
    (g as f64 * slope) as T
}

/// The density of the normal distribution.
#[device_fn(grad)]
pub(super) fn of_ndtr<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    (g as f64 * (0.3989422804014327 * (-0.5 * x * x).exp())) as T
}

/// √(2/π)/erfcx(−x/√2), the density over the distribution without its tail's underflow.
#[device_fn(grad)]
pub(super) fn of_log_ndtr<T: Float>(g: T, x: T) -> T {
    (g as f64 * (0.7978845608028654 / erfcx_f64(-(x as f64) * f64::FRAC_1_SQRT_2))) as T
}

#[device_fn(grad)]
pub(super) fn of_lgamma<T: Float>(g: T, x: T) -> T {
    (g as f64 * digamma_f64(x as f64)) as T
}

#[device_fn(grad)]
pub(super) fn of_digamma<T: Float>(g: T, x: T) -> T {
    (g as f64 * polygamma_f64(x as f64, 1_i64)) as T
}

#[device_fn(grad)]
pub(super) fn of_polygamma<T: Float>(g: T, n: i64, x: T) -> T {
    (g as f64 * polygamma_f64(x as f64, n + 1)) as T
}

/// The sum of ψ(x − ½j) for j below p.
#[device_fn]
pub(super) fn of_mvlgamma<T: Float>(g: T, x: T, p: i64) -> T {
    let mut sum = 0.0_f64;
    for j in 0..p {
        sum += digamma_f64(x as f64 - 0.5 * j as f64);
    }
    (g as f64 * sum) as T
}

/// x^(a−1)·e^(−x)/Γ(a), the density that the incomplete gamma function integrates.
#[device_fn]
pub(super) fn of_igamma<T: Float>(g: T, a: T, x: T) -> T {
    let (a, x) = (a as f64, x as f64);
    let power = if a == 1.0 { 0.0 } else { (a - 1.0) * x.ln() };
    (g as f64 * (power - x - a.lgamma()).exp()) as T
}

#[device_fn]
pub(super) fn of_igammac<T: Float>(g: T, a: T, x: T) -> T {
    -of_igamma(g, a, x)
}

/// −s·ζ(s + 1, q), for q.
#[device_fn]
pub(super) fn of_zeta<T: Float>(g: T, s: T, q: T) -> T {
    let s = s as f64;
    (g as f64 * (-s * zeta_f64(s + 1.0, q as f64))) as T
}

#[device_fn(grad)]
pub(super) fn of_i0<T: Float>(g: T, x: T) -> T {
    (g as f64 * i1_f64(x as f64)) as T
}

#[device_fn(grad)]
pub(super) fn of_i0e<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    (g as f64 * (i1e_f64(x) - sign::scalar(x) * i0e_f64(x))) as T
}

#[device_fn(grad)]
pub(super) fn of_i1<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    (g as f64 * if x == 0.0 { 0.5 } else { i0_f64(x) - i1_f64(x) / x }) as T
}

#[device_fn(grad)]
pub(super) fn of_i1e<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let slope = if x == 0.0 { 0.5 } else { i0e_f64(x) - i1e_f64(x) * (sign::scalar(x) + 1.0 / x) };
    (g as f64 * slope) as T
}

#[device_fn(grad)]
pub(super) fn of_k0<T: Float>(g: T, x: T) -> T {
    let slope = -special_modified_bessel_k1::scalar(x as f64);
    (g as f64 * slope) as T
}

#[device_fn(grad)]
pub(super) fn of_k1<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let slope = -special_modified_bessel_k0::scalar(x) - special_modified_bessel_k1::scalar(x) / x;
    (g as f64 * slope) as T
}

#[device_fn(grad)]
pub(super) fn of_scaled_k0<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let slope = special_scaled_modified_bessel_k0::scalar(x) - special_scaled_modified_bessel_k1::scalar(x);
    (g as f64 * slope) as T
}

#[device_fn(grad)]
pub(super) fn of_scaled_k1<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let k1 = special_scaled_modified_bessel_k1::scalar(x);
    let slope = k1 * (1.0 - 1.0 / x) - special_scaled_modified_bessel_k0::scalar(x);
    (g as f64 * slope) as T
}

/// (cos x − j₀(x))/x; near 0 its series.
#[device_fn(grad)]
pub(super) fn of_spherical_j0<T: Float>(g: T, x: T) -> T {
    let x = x as f64;
    let slope =
        if x.abs() < 0.5 { sinc_slope(x) } else { (x.cos() - special_spherical_bessel_j0::scalar(x)) / x };
    (g as f64 * slope) as T
}

#[device_fn(grad)]
pub(super) fn of_airy_ai<T: Float>(g: T, x: T) -> T {
    (g as f64 * airy_ai_slope(x as f64)) as T
}

/// n·Uₙ₋₁.
#[device_fn]
fn chebyshev_t_slope(x: f64, n: f64) -> f64 {
    let k = n.trunc();
    k * chebyshev(x, 1.0 - x, 1.0 + x, k - 1.0, 1)
}

/// The slope of U, V or W, for family 1 to 3, by the recurrence differentiated; NaN beyond degree 2²⁰.
#[device_fn]
fn chebyshev_slope(x: f64, n: f64, family: i32) -> f64 {
    let k = n.trunc();
    if k > 1048576.0 || k.is_nan() {
        return f64::NAN;
    }
    if k < 1.0 {
        return 0.0;
    }
    let shift = if family == 1 {
        0.0
    } else if family == 2 {
        -1.0
    } else {
        1.0
    };
    let mut low = 1.0;
    let mut high = 2.0 * x + shift;
    let mut low_slope = 0.0;
    let mut high_slope = 2.0;
    let mut j = 1.0;
    while j < k {
        let next = 2.0 * x * high - low;
        let next_slope = 2.0 * high + 2.0 * x * high_slope - low_slope;
        low = high;
        high = next;
        low_slope = high_slope;
        high_slope = next_slope;
        j += 1.0;
    }
    high_slope
}

/// −(L₀ + … + Lₙ₋₁), in which nothing cancels near 0; by Lₙ and Lₙ₋₁ beyond degree 2²⁰.
#[device_fn]
fn laguerre_slope(x: f64, n: f64) -> f64 {
    let k = n.trunc();
    if k.is_nan() {
        return k;
    }
    if k > 1048576.0 {
        return k * (laguerre(x, k) - laguerre(x, k - 1.0)) / x;
    }
    let mut low = 0.0;
    let mut high = 1.0;
    let mut slope = 0.0;
    let mut j = 0.0;
    while j < k {
        slope -= high;
        let next = ((2.0 * j + 1.0 - x) * high - j * low) / (j + 1.0);
        low = high;
        high = next;
        j += 1.0;
    }
    slope
}

/// P′ₙ = P′ₙ₋₂ + (2n − 1)·Pₙ₋₁, which holds at ±1 too; by Pₙ and Pₙ₋₁ beyond degree 2²⁰.
#[device_fn]
fn legendre_slope(x: f64, n: f64) -> f64 {
    let k = n.trunc();
    if k.is_nan() {
        return k;
    }
    if k > 1048576.0 {
        return k * (x * legendre(x, k) - legendre(x, k - 1.0)) / (x * x - 1.0);
    }
    let mut low = 0.0;
    let mut high = 1.0;
    let mut low_slope = 0.0;
    let mut high_slope = 0.0;
    let mut j = 0.0;
    while j < k {
        let next_slope = low_slope + (2.0 * j + 1.0) * high;
        let next = ((2.0 * j + 1.0) * x * high - j * low) / (j + 1.0);
        low = high;
        high = next;
        low_slope = high_slope;
        high_slope = next_slope;
        j += 1.0;
    }
    high_slope
}

#[device_fn]
pub(super) fn of_chebyshev_t<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * chebyshev_t_slope(x as f64, n as f64)) as T
}

#[device_fn]
pub(super) fn of_chebyshev_u<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * chebyshev_slope(x as f64, n as f64, 1_i32)) as T
}

#[device_fn]
pub(super) fn of_chebyshev_v<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * chebyshev_slope(x as f64, n as f64, 2_i32)) as T
}

#[device_fn]
pub(super) fn of_chebyshev_w<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * chebyshev_slope(x as f64, n as f64, 3_i32)) as T
}

#[device_fn]
pub(super) fn of_shifted_chebyshev_t<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * (2.0 * chebyshev_t_slope(2.0 * x as f64 - 1.0, n as f64))) as T
}

#[device_fn]
pub(super) fn of_shifted_chebyshev_u<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * (2.0 * chebyshev_slope(2.0 * x as f64 - 1.0, n as f64, 1_i32))) as T
}

#[device_fn]
pub(super) fn of_shifted_chebyshev_v<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * (2.0 * chebyshev_slope(2.0 * x as f64 - 1.0, n as f64, 2_i32))) as T
}

#[device_fn]
pub(super) fn of_shifted_chebyshev_w<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * (2.0 * chebyshev_slope(2.0 * x as f64 - 1.0, n as f64, 3_i32))) as T
}

/// 2n·Hₙ₋₁.
#[device_fn]
pub(super) fn of_hermite_h<T: Float>(g: T, x: T, n: T) -> T {
    let k = (n as f64).trunc();
    (g as f64 * (2.0 * k * hermite(x as f64, k - 1.0, 2.0_f64))) as T
}

/// n·Heₙ₋₁.
#[device_fn]
pub(super) fn of_hermite_he<T: Float>(g: T, x: T, n: T) -> T {
    let k = (n as f64).trunc();
    (g as f64 * (k * hermite(x as f64, k - 1.0, 1.0_f64))) as T
}

#[device_fn]
pub(super) fn of_laguerre<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * laguerre_slope(x as f64, n as f64)) as T
}

#[device_fn]
pub(super) fn of_legendre<T: Float>(g: T, x: T, n: T) -> T {
    (g as f64 * legendre_slope(x as f64, n as f64)) as T
}
