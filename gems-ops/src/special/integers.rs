//! Special functions of integers, by PyTorch's recurrences and phases in single precision.
//!
//! Integers become f32. Where PyTorch's steps in f32 lose digits (long recurrences, phases of great arguments), floats
//! have the exact function's value, rounded once, and integers have PyTorch's value. What leaves f32 on the way has the
//! exact function's value here, too.

use super::airy::airy_ai;
use super::orthopoly::{chebyshev, hermite, laguerre, legendre};
use crate::prelude::*;

/// pₖ from p₀ = 1, p₁ and (1 + e·j)·pⱼ₊₁ = (a + b·j)·pⱼ − (c + d·j)·pⱼ₋₁, where the first product is fused with the
/// difference, as in PyTorch's compiled kernels; not finite if a step overflows.
#[device_fn]
fn recurrence(first: f32, k: f32, a: f32, b: f32, c: f32, d: f32, e: f32) -> f32 {
    let mut low = 1.0;
    let mut high = first;
    let mut j = 1.0;
    while j < k && high.is_finite() {
        let next = (a + b * j).mul_add(high, -((c + d * j) * low)) / (1.0 + e * j);
        low = high;
        high = next;
        j += 1.0;
    }
    high
}

/// T, U, V or W, for family 0 to 3. Inside (−1, 1) lies 0 alone, where PyTorch has the closed form from some degree on.
#[device_fn]
#[inline(never)]
fn chebyshev_polynomial(y: f32, n: f32, family: i32) -> f32 {
    let closed = if family == 0 { 6.0 } else { 8.0 };
    if y == 0.0 && n > closed && n < 9223372036854775808.0 {
        let angle = f32::FRAC_PI_2;
        return if family == 0 {
            (n * angle).cos()
        } else if family == 1 {
            ((n + 1.0) * angle).sin()
        } else if family == 2 {
            ((n + 0.5) * angle).cos() / (0.5 * angle).cos()
        } else {
            ((n + 0.5) * angle).sin() / (0.5 * angle).sin()
        };
    }
    if y.abs() > 1.0 && n >= 2.0 && n < 9223372036854775808.0 {
        let shift: f32 = if family == 2 {
            -1.0
        } else if family == 3 {
            1.0
        } else {
            0.0
        };
        let first = if family == 0 { y } else { 2.0 * y + shift };
        let value = recurrence(first, n, 2.0 * y, 0.0_f32, 1.0_f32, 0.0_f32, 0.0_f32);
        if value.is_finite() {
            return value;
        }
    }
    let x = y as f64;
    chebyshev(x, 1.0 - x, 1.0 + x, n as f64, family) as f32
}

/// H for scale 2, He for scale 1. PyTorch ends at degree 128.
#[device_fn]
#[inline(never)]
fn hermite_polynomial(x: f32, n: f32, scale: f32) -> f32 {
    if n >= 2.0 && n <= 128.0 {
        let value = recurrence(scale * x, n, scale * x, 0.0_f32, 0.0_f32, scale, 0.0_f32);
        if value.is_finite() {
            return value;
        }
    }
    hermite(x as f64, n as f64, scale as f64) as f32
}

/// A degree that takes steps, but not too many.
#[device_fn]
fn takes_steps(n: f32) -> bool {
    n >= 2.0 && n <= 1048576.0
}

#[device_fn]
#[inline(never)]
fn laguerre_polynomial(x: f32, n: f32) -> f32 {
    if x != 0.0 && takes_steps(n) {
        let value = recurrence(1.0 - x, n, 1.0 - x, 2.0_f32, 0.0_f32, 1.0_f32, 1.0_f32);
        if value.is_finite() {
            return value;
        }
    }
    laguerre(x as f64, n as f64) as f32
}

#[device_fn]
#[inline(never)]
fn legendre_polynomial(x: f32, n: f32) -> f32 {
    if x.abs() != 1.0 && takes_steps(n) {
        let value = recurrence(x, n, x, 2.0 * x, 0.0_f32, 1.0_f32, 1.0_f32);
        if value.is_finite() {
            return value;
        }
    }
    legendre(x as f64, n as f64) as f32
}

/// J or Y of order 0 or 1 at a great x, with its phase rounded to f32.
#[device_fn]
#[inline(never)]
fn wave(x: f32, order: i32, is_second: bool) -> f64 {
    // ½π(order + ½)
    let shift: f32 = if order == 0 { 0.5 * f32::FRAC_PI_2 } else { 2.3561945 };
    let phase = (x - shift) as f64;
    let square: f64 = if order == 0 { 0.0 } else { 4.0 };
    let z = 8.0 * x as f64;
    let even = 1.0 - (square - 1.0) * (square - 9.0) / (2.0 * z * z);
    let odd = (square - 1.0) / z;
    let (sine, cosine) = (phase.sin(), phase.cos());
    let value = if is_second { even * sine + odd * cosine } else { even * cosine - odd * sine };
    // √(2/π)
    value * 0.7978845608028654 / (x as f64).sqrt()
}

/// Where a phase in f32 is too coarse to be right, and two terms of the asymptotic series are enough.
#[device_fn]
fn is_far(x: f32) -> bool {
    x > 1000.0
}

/// Ai far to the left, with its phase rounded to f32.
#[device_fn]
#[inline(never)]
fn airy_wave(x: f32) -> f64 {
    let phase = -2.0 * x * (-x).sqrt() / 3.0;
    let angle = (phase + 0.5 * f32::FRAC_PI_2) as f64;
    let z = 1.0 / phase as f64;
    let even = 1.0 - 0.03713348765432099 * z * z;
    let odd = z * (0.06944444444444445 - 0.03799305912780064 * z * z);
    let value = angle.sin() * even - angle.cos() * odd;
    // 1/√π
    value * 0.5641895835477563 / (-x as f64).sqrt().sqrt()
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_chebyshev_polynomial_t")]
pub(super) fn chebyshev_t<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(x as f32, n as f32, 0) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_chebyshev_polynomial_u")]
pub(super) fn chebyshev_u<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(x as f32, n as f32, 1) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_chebyshev_polynomial_v")]
pub(super) fn chebyshev_v<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(x as f32, n as f32, 2) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_chebyshev_polynomial_w")]
pub(super) fn chebyshev_w<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(x as f32, n as f32, 3) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_shifted_chebyshev_polynomial_t")]
pub(super) fn shifted_chebyshev_t<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(2.0 * x as f32 - 1.0, n as f32, 0) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_shifted_chebyshev_polynomial_u")]
pub(super) fn shifted_chebyshev_u<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(2.0 * x as f32 - 1.0, n as f32, 1) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_shifted_chebyshev_polynomial_v")]
pub(super) fn shifted_chebyshev_v<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(2.0 * x as f32 - 1.0, n as f32, 2) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_shifted_chebyshev_polynomial_w")]
pub(super) fn shifted_chebyshev_w<T: Float>(x: T, n: T) -> T {
    chebyshev_polynomial(2.0 * x as f32 - 1.0, n as f32, 3) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_hermite_polynomial_h")]
pub(super) fn hermite_h<T: Float>(x: T, n: T) -> T {
    hermite_polynomial(x as f32, n as f32, 2.0_f32) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_hermite_polynomial_he")]
pub(super) fn hermite_he<T: Float>(x: T, n: T) -> T {
    hermite_polynomial(x as f32, n as f32, 1.0_f32) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_laguerre_polynomial_l")]
pub(super) fn laguerre_l<T: Float>(x: T, n: T) -> T {
    laguerre_polynomial(x as f32, n as f32) as T
}

#[pointwise_dynamic(promote = int_to_float(x, n), dtypes(bool, int), name = "special_legendre_polynomial_p")]
pub(super) fn legendre_p<T: Float>(x: T, n: T) -> T {
    legendre_polynomial(x as f32, n as f32) as T
}

#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int), name = "special_bessel_j0")]
pub(super) fn bessel_j0<T: Float>(input: T) -> T {
    let x = input as f32;
    (if is_far(x.abs()) { wave(x.abs(), 0_i32, false) } else { (x as f64).bessel_j0() }) as T
}

#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int), name = "special_bessel_j1")]
pub(super) fn bessel_j1<T: Float>(input: T) -> T {
    let x = input as f32;
    if is_far(x.abs()) {
        let value: f64 = wave(x.abs(), 1_i32, false);
        (if x < 0.0 { -value } else { value }) as T
    } else {
        (x as f64).bessel_j1() as T
    }
}

#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int), name = "special_bessel_y0")]
pub(super) fn bessel_y0<T: Float>(input: T) -> T {
    let x = input as f32;
    (if is_far(x) { wave(x, 0_i32, true) } else { (x as f64).bessel_y0() }) as T
}

#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int), name = "special_bessel_y1")]
pub(super) fn bessel_y1<T: Float>(input: T) -> T {
    let x = input as f32;
    (if is_far(x) { wave(x, 1_i32, true) } else { (x as f64).bessel_y1() }) as T
}

#[pointwise_dynamic(promote = int_to_float(x), dtypes(bool, int), name = "special_airy_ai")]
pub(super) fn airy<T: Float>(x: T) -> T {
    let x = x as f32;
    (if x < -16.0 { airy_wave(x) } else { airy_ai(x as f64) }) as T
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[track_caller]
    fn check(result: Result<StridedBuffer>, expected: f32) {
        let got = result.unwrap().to_vec::<f32>().unwrap()[0];
        assert!((got - expected).abs() <= 2e-6 * expected.abs(), "{got:e} is not {expected:e}");
    }

    fn whole(value: i32) -> StridedBuffer {
        StridedBuffer::from_vec(vec![value], &[1]).unwrap()
    }

    #[test]
    fn integers_take_the_recurrence_in_single_precision() {
        // PyTorch's values; the exact ones differ in the fifth digit.
        check(special_hermite_polynomial_h(&whole(3), 32), 6.60147e22);
        check(special_hermite_polynomial_h(&whole(-7), 31), -1.639_018_1e30);
        check(special_laguerre_polynomial_l(&whole(-3), 127), 1.439_617_3e15);
        assert!((special_hermite_polynomial_h::scalar(3.0f32, 32.0) / 6.601_442_7e22 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn what_leaves_single_precision_is_the_exact_value() {
        let low = special_hermite_polynomial_h(&whole(i32::MIN), 31).unwrap();
        assert_eq!(low.to_vec::<f32>().unwrap(), [f32::NEG_INFINITY]);
        check(special_chebyshev_polynomial_u(&whole(1), i32::MAX), 2_147_483_648.0);
        check(special_legendre_polynomial_p(&whole(-1), 7), -1.0);
        check(special_laguerre_polynomial_l(&whole(5), 0), 1.0);
    }

    #[test]
    fn great_integers_have_a_rounded_phase() {
        let x = whole(1_000_003);
        let phase = (1_000_003.0f32 - 2.356_194_5).into();
        let size = (2.0 / (std::f64::consts::PI * 1_000_003.0)).sqrt();
        check(special_bessel_j1(&x), (size * f64::cos(phase)) as f32);
        check(special_bessel_y1(&x), (size * f64::sin(phase)) as f32);
        check(special_bessel_j1(&whole(-1_000_003)), -(size * f64::cos(phase)) as f32);
        check(special_bessel_j0(&whole(999)), special_bessel_j0::scalar(999.0));
        check(special_airy_ai(&whole(-16)), special_airy_ai::scalar(-16.0));
    }

    #[test]
    fn the_far_forms_continue_the_near_ones() {
        for x in [1001.0f32, 1024.0, 1500.0] {
            let exact = [special_bessel_j0::scalar(x), special_bessel_y1::scalar(x)];
            let far = [super::wave(x, 0, false), super::wave(x, 1, true)];
            assert!(
                (f64::from(exact[0]) - far[0]).abs() < 2e-6 && (f64::from(exact[1]) - far[1]).abs() < 2e-6
            );
        }
        assert!((f64::from(special_airy_ai::scalar(-17.0f32)) - super::airy_wave(-17.0)).abs() < 1e-6);
    }
}
