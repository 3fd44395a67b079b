//! Bessel functions of the orders 0 and 1: I, K, J, Y, and the spherical j₀.
//!
//! Computed in f64 and rounded once. I and K are series near 0 and Chebyshev series beyond; the exponential is split,
//! so that nothing overflows before its result does. J and Y are those of the platform's library.

use super::{integers, slope, tables};
use crate::prelude::*;

/// I₀(x): even, ±∞ → ∞; overflows above 91.9 in f32, 713.98 in f64.
///
/// Integers become floats first. Matches `torch.i0`, but for ±∞ (NaN there) and above 88.7 and 709 (∞ there).
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: I₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i0, order = 2)
)]
pub fn i0<T: Float>(input: T) -> T {
    i0_f64(input as f64) as T
}

/// exp(−|x|)·I₀(x): even, ±∞ → 0.
///
/// Integers become floats first. Matches `torch.special.i0e`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: i1e(x) − sign(x)·r.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i0e, order = 2)
)]
pub fn special_i0e<T: Float>(input: T) -> T {
    i0e_f64(input as f64) as T
}

/// I₁(x): odd, ±∞ → ±∞.
///
/// Integers become floats first. Matches `torch.special.i1`, but for ±∞ (NaN there).
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: I₀(x) − r/x, ½ at 0.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i1, order = 2)
)]
pub fn special_i1<T: Float>(input: T) -> T {
    i1_f64(input as f64) as T
}

/// exp(−|x|)·I₁(x): odd, ±∞ → ±0.
///
/// Integers become floats first. Matches `torch.special.i1e`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: i0e(x) − r(sign x + 1/x), ½ at 0.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i1e, order = 2)
)]
pub fn special_i1e<T: Float>(input: T) -> T {
    i1e_f64(input as f64) as T
}

/// I₀(x), the same function as [`i0`](fn@i0).
///
/// Matches `torch.special.modified_bessel_i0`, but for ±∞ (NaN there).
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: I₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i0, order = 2)
)]
pub fn special_modified_bessel_i0<T: Float>(input: T) -> T {
    i0_f64(input as f64) as T
}

/// I₁(x), the same function as [`special_i1`](fn@special_i1).
///
/// Matches `torch.special.modified_bessel_i1`, but for ±∞ (NaN there).
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: I₀(x) − r/x, ½ at 0.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_i1, order = 2)
)]
pub fn special_modified_bessel_i1<T: Float>(input: T) -> T {
    i1_f64(input as f64) as T
}

/// K₀(x): negative → NaN, ±0 → ∞, ∞ → 0.
///
/// Integers become floats first. Matches `torch.special.modified_bessel_k0`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: −K₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_k0, order = 2)
)]
pub fn special_modified_bessel_k0<T: Float>(input: T) -> T {
    let x = input as f64;
    if x < 2.0 { k0_near(x) as T } else { (k0e_far(x) * (-x).exp()) as T }
}

/// K₁(x): negative → NaN, ±0 → ∞, ∞ → 0.
///
/// Integers become floats first. Matches `torch.special.modified_bessel_k1`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: −K₀(x) − r/x.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_k1, order = 2)
)]
pub fn special_modified_bessel_k1<T: Float>(input: T) -> T {
    let x = input as f64;
    if x < 2.0 { k1_near(x) as T } else { (k1e_far(x) * (-x).exp()) as T }
}

/// exp(x)·K₀(x): negative → NaN, ±0 → ∞, ∞ → 0.
///
/// Integers become floats first. Matches `torch.special.scaled_modified_bessel_k0`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: r − eˣ·K₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_scaled_k0, order = 2)
)]
pub fn special_scaled_modified_bessel_k0<T: Float>(input: T) -> T {
    let x = input as f64;
    if x < 2.0 { (k0_near(x) * x.exp()) as T } else { k0e_far(x) as T }
}

/// exp(x)·K₁(x): negative → NaN, ±0 → ∞, ∞ → 0.
///
/// Integers become floats first. Matches `torch.special.scaled_modified_bessel_k1`.
///
/// Accuracy: 4 ulp in f32, 2e-15 in f64. Derivative: r(1 − 1/x) − eˣ·K₀(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_scaled_k1, order = 2)
)]
pub fn special_scaled_modified_bessel_k1<T: Float>(input: T) -> T {
    let x = input as f64;
    if x < 2.0 { (k1_near(x) * x.exp()) as T } else { k1e_far(x) as T }
}

/// J₀(x): even, ±∞ → 0.
///
/// Integers become f32, in which the phase of great ones is rounded. Matches `torch.special.bessel_j0`, but for ±∞
/// (NaN there).
///
/// Accuracy: 8 ulp below 8 away from zeros, else 2e-7 of the amplitude in f32, 1e-13 in f64. Derivative: −J₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), integers = integers::bessel_j0, grad(order = 2)
)]
pub fn special_bessel_j0<T: Float>(input: T) -> T {
    (input as f64).bessel_j0() as T
}

/// J₁(x): odd, ±∞ → 0.
///
/// Integers become f32, in which the phase of great ones is rounded. Matches `torch.special.bessel_j1`, but for ±∞
/// (NaN there).
///
/// Accuracy: 8 ulp below 8 away from zeros, else 2e-7 of the amplitude in f32, 1e-13 in f64. Derivative: J₀(x) − r/x,
/// ½ at 0.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), integers = integers::bessel_j1, grad(order = 2)
)]
pub fn special_bessel_j1<T: Float>(input: T) -> T {
    (input as f64).bessel_j1() as T
}

/// Y₀(x): negative → NaN, ±0 → −∞, ∞ → 0.
///
/// Integers become f32, in which the phase of great ones is rounded. Matches `torch.special.bessel_y0`, but for ∞
/// (NaN there).
///
/// Accuracy: 8 ulp below 8 away from zeros, else 2e-7 of the amplitude in f32, 1e-13 in f64. Derivative: −Y₁(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), integers = integers::bessel_y0, grad(order = 2)
)]
pub fn special_bessel_y0<T: Float>(input: T) -> T {
    (input as f64).bessel_y0() as T
}

/// Y₁(x): negative → NaN, ±0 → −∞, ∞ → 0.
///
/// Integers become f32, in which the phase of great ones is rounded. Matches `torch.special.bessel_y1`, but for ∞
/// (NaN there).
///
/// Accuracy: 8 ulp below 8 away from zeros, else 2e-7 of the amplitude in f32, 1e-13 in f64. Derivative: Y₀(x) − r/x.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), integers = integers::bessel_y1, grad(order = 2)
)]
pub fn special_bessel_y1<T: Float>(input: T) -> T {
    (input as f64).bessel_y1() as T
}

/// sin(x)/x: 1 at 0, ±∞ → 0.
///
/// Integers become floats first. Matches `torch.special.spherical_bessel_j0`.
///
/// Accuracy: 4 ulp. Derivative: (cos x − r)/x, near 0 its series.
#[pointwise_dynamic(
    promote = int_to_float(x), dtypes(bool, int, float),
    grad(backward = slope::of_spherical_j0, order = 2)
)]
pub fn special_spherical_bessel_j0<T: Float>(x: T) -> T {
    spherical_j0(x as f64) as T
}

#[device_fn(grad(backward = slope::of_i0))]
#[inline(never)]
pub(super) fn i0_f64(x: f64) -> f64 {
    let z = x.abs();
    if z <= 8.0 {
        tables::i0_series(0.25 * z * z)
    } else if z.is_infinite() {
        z
    } else {
        let half = (0.5 * z).exp();
        tables::i0e(16.0 / z - 1.0) / z.sqrt() * half * half
    }
}

#[device_fn(grad(backward = slope::of_i0e))]
#[inline(never)]
pub(super) fn i0e_f64(x: f64) -> f64 {
    let z = x.abs();
    if z <= 8.0 {
        tables::i0_series(0.25 * z * z) * (-z).exp()
    } else {
        tables::i0e(16.0 / z - 1.0) / z.sqrt()
    }
}

#[device_fn(grad(backward = slope::of_i1))]
#[inline(never)]
pub(super) fn i1_f64(x: f64) -> f64 {
    let z = x.abs();
    if z <= 8.0 {
        0.5 * x * tables::i1_series(0.25 * z * z)
    } else if z.is_infinite() {
        x
    } else {
        let half = (0.5 * z).exp();
        (tables::i1e(16.0 / z - 1.0) / z.sqrt() * half * half).copysign(x)
    }
}

#[device_fn(grad(backward = slope::of_i1e))]
#[inline(never)]
pub(super) fn i1e_f64(x: f64) -> f64 {
    let z = x.abs();
    if z <= 8.0 {
        0.5 * x * tables::i1_series(0.25 * z * z) * (-z).exp()
    } else {
        (tables::i1e(16.0 / z - 1.0) / z.sqrt()).copysign(x)
    }
}

/// ln(½x), also where ½x is not exact.
#[device_fn]
fn ln_half(x: f64) -> f64 {
    if x < 1e-300 { x.ln() - f64::LN_2 } else { (0.5 * x).ln() }
}

/// K₀ below 2.
#[device_fn]
#[inline(never)]
fn k0_near(x: f64) -> f64 {
    let y = 0.25 * x * x;
    tables::k0_series(y) - ln_half(x) * tables::i0_series(y)
}

/// K₁ below 2.
#[device_fn]
#[inline(never)]
fn k1_near(x: f64) -> f64 {
    let y = 0.25 * x * x;
    if x == 0.0 {
        f64::INFINITY
    } else {
        1.0 / x + 0.5 * x * (ln_half(x) * tables::i1_series(y) - 0.5 * tables::k1_series(y))
    }
}

/// eˣ·K₀ from 2 on.
#[device_fn]
#[inline(never)]
fn k0e_far(x: f64) -> f64 {
    tables::k0e(4.0 / x - 1.0) / x.sqrt()
}

/// eˣ·K₁ from 2 on.
#[device_fn]
#[inline(never)]
fn k1e_far(x: f64) -> f64 {
    tables::k1e(4.0 / x - 1.0) / x.sqrt()
}

#[device_fn]
#[inline(never)]
fn spherical_j0(x: f64) -> f64 {
    if x.abs() < 0.5 {
        tables::spherical_j0_series(x * x)
    } else if x.is_infinite() {
        0.0
    } else {
        x.sin() / x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::close;

    #[test]
    fn edges_are_the_limits() {
        let infinity = f64::INFINITY;
        assert_eq!((i0::scalar(-infinity), special_i1::scalar(-infinity)), (infinity, -infinity));
        assert_eq!((special_i0e::scalar(infinity), special_i1e::scalar(-infinity).to_bits()), (0.0, 1 << 63));
        assert_eq!(special_i1::scalar(-0.0f64).to_bits(), 1 << 63);
        for k in [
            special_modified_bessel_k0::scalar,
            special_modified_bessel_k1::scalar,
            special_scaled_modified_bessel_k0::scalar,
            special_scaled_modified_bessel_k1::scalar,
        ] {
            assert_eq!((k(0.0f64), k(-0.0), k(infinity)), (infinity, infinity, 0.0));
            assert!(k(-1.0).is_nan());
        }
        assert_eq!((special_bessel_j0::scalar(infinity), special_bessel_j1::scalar(-infinity)), (0.0, 0.0));
        assert_eq!((special_bessel_y0::scalar(infinity), special_bessel_y1::scalar(infinity)), (0.0, 0.0));
        assert_eq!(
            (special_bessel_y0::scalar(0.0f64), special_bessel_y1::scalar(-0.0f64)),
            (-infinity, -infinity)
        );
        assert!(special_bessel_y0::scalar(-1.0f64).is_nan());
        assert_eq!(
            (special_spherical_bessel_j0::scalar(0.0f64), special_spherical_bessel_j0::scalar(infinity)),
            (1.0, 0.0)
        );
    }

    #[test]
    fn nothing_overflows_before_its_result() {
        assert!(i0::scalar(713.9f64).is_finite() && i0::scalar(714.0f64).is_infinite());
        assert!(i0::scalar(91.9f32).is_finite() && special_i1::scalar(713.9f64).is_finite());
    }

    #[test]
    fn values_are_those_of_the_tables() {
        close(i0::scalar(1.0f64), 1.2660658777520084, 1e-15);
        close(special_i1::scalar(20.0f64), 42454973.385127775, 1e-15);
        close(special_i0e::scalar(8.0f64), 0.14343178185685031, 1e-15);
        close(special_modified_bessel_k0::scalar(2.0f64), 0.11389387274953344, 1e-15);
        close(special_modified_bessel_k1::scalar(0.5f64), 1.6564411200033009, 1e-15);
        close(special_modified_bessel_k0::scalar(5e-324f64), 744.5560034370397, 1e-15);
        assert_eq!(special_scaled_modified_bessel_k1::scalar(5e-324f64), f64::INFINITY);
        close(special_scaled_modified_bessel_k1::scalar(100.0f64), 0.12579995047957854, 1e-15);
        close(special_spherical_bessel_j0::scalar(0.49f64), 0.49f64.sin() / 0.49, 1e-15);
    }
}
