//! Orthogonal polynomials of a degree that may differ from element to element.
//!
//! The degree is truncated toward zero: below 0 and beyond i64 the value is 0, for NaN it is NaN; of degree 0 it is 1
//! for every x.
//! Floats are computed in f64 by the three-term recurrence and rounded once. Values too great are ±∞, never NaN.
//! The work is bounded: beyond 4096 steps (2²⁰ for Legendre and Laguerre) closed or asymptotic forms take over.

use super::bessel::i0_f64;
use super::{integers, slope};
use crate::prelude::*;

/// Tₙ(x), with Tₙ(cos θ) = cos nθ.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.chebyshev_polynomial_t`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: n·Uₙ₋₁(x) for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::chebyshev_t,
    grad(wrt(x), backward = slope::of_chebyshev_t)
)]
pub fn special_chebyshev_polynomial_t<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(y, 1.0 - y, 1.0 + y, n as f64, 0) as T
}

/// Uₙ(x), with Uₙ(cos θ) = sin((n+1)θ)/sin θ.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.chebyshev_polynomial_u`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: by the recurrence,
/// differentiated, for x; NaN beyond degree 2²⁰.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::chebyshev_u,
    grad(wrt(x), backward = slope::of_chebyshev_u)
)]
pub fn special_chebyshev_polynomial_u<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(y, 1.0 - y, 1.0 + y, n as f64, 1) as T
}

/// Vₙ(x), with Vₙ(cos θ) = cos((n+½)θ)/cos(½θ).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.chebyshev_polynomial_v`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: by the recurrence,
/// differentiated, for x; NaN beyond degree 2²⁰.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::chebyshev_v,
    grad(wrt(x), backward = slope::of_chebyshev_v)
)]
pub fn special_chebyshev_polynomial_v<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(y, 1.0 - y, 1.0 + y, n as f64, 2) as T
}

/// Wₙ(x), with Wₙ(cos θ) = sin((n+½)θ)/sin(½θ).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.chebyshev_polynomial_w`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: by the recurrence,
/// differentiated, for x; NaN beyond degree 2²⁰.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::chebyshev_w,
    grad(wrt(x), backward = slope::of_chebyshev_w)
)]
pub fn special_chebyshev_polynomial_w<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(y, 1.0 - y, 1.0 + y, n as f64, 3) as T
}

/// Tₙ(2x − 1); see [`special_chebyshev_polynomial_t`](fn@special_chebyshev_polynomial_t).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.shifted_chebyshev_polynomial_t`, but for NaN
/// degrees (0 there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: 2 times that of the
/// polynomial at 2x − 1, for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::shifted_chebyshev_t,
    grad(wrt(x), backward = slope::of_shifted_chebyshev_t)
)]
pub fn special_shifted_chebyshev_polynomial_t<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(2.0 * y - 1.0, 2.0 * (1.0 - y), 2.0 * y, n as f64, 0) as T
}

/// Uₙ(2x − 1); see [`special_chebyshev_polynomial_u`](fn@special_chebyshev_polynomial_u).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.shifted_chebyshev_polynomial_u`, but for NaN
/// degrees (0 there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: 2 times that of the
/// polynomial at 2x − 1, for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::shifted_chebyshev_u,
    grad(wrt(x), backward = slope::of_shifted_chebyshev_u)
)]
pub fn special_shifted_chebyshev_polynomial_u<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(2.0 * y - 1.0, 2.0 * (1.0 - y), 2.0 * y, n as f64, 1) as T
}

/// Vₙ(2x − 1); see [`special_chebyshev_polynomial_v`](fn@special_chebyshev_polynomial_v).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.shifted_chebyshev_polynomial_v`, but for NaN
/// degrees (0 there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: 2 times that of the
/// polynomial at 2x − 1, for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::shifted_chebyshev_v,
    grad(wrt(x), backward = slope::of_shifted_chebyshev_v)
)]
pub fn special_shifted_chebyshev_polynomial_v<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(2.0 * y - 1.0, 2.0 * (1.0 - y), 2.0 * y, n as f64, 2) as T
}

/// Wₙ(2x − 1); see [`special_chebyshev_polynomial_w`](fn@special_chebyshev_polynomial_w).
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.shifted_chebyshev_polynomial_w`, but for NaN
/// degrees (0 there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: 2 times that of the
/// polynomial at 2x − 1, for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::shifted_chebyshev_w,
    grad(wrt(x), backward = slope::of_shifted_chebyshev_w)
)]
pub fn special_shifted_chebyshev_polynomial_w<T: Float>(x: T, n: T) -> T {
    let y = x as f64;
    chebyshev(2.0 * y - 1.0, 2.0 * (1.0 - y), 2.0 * y, n as f64, 3) as T
}

/// Hₙ(x), the physicists' Hermite polynomial: Hₙ₊₁ = 2x·Hₙ − 2n·Hₙ₋₁.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.hermite_polynomial_h`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: 2n·Hₙ₋₁(x) for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::hermite_h,
    grad(wrt(x), backward = slope::of_hermite_h)
)]
pub fn special_hermite_polynomial_h<T: Float>(x: T, n: T) -> T {
    hermite(x as f64, n as f64, 2.0f64) as T
}

/// Heₙ(x), the probabilists' Hermite polynomial: Heₙ₊₁ = x·Heₙ − n·Heₙ₋₁.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.hermite_polynomial_he`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: n·Heₙ₋₁(x) for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::hermite_he,
    grad(wrt(x), backward = slope::of_hermite_he)
)]
pub fn special_hermite_polynomial_he<T: Float>(x: T, n: T) -> T {
    hermite(x as f64, n as f64, 1.0f64) as T
}

/// Lₙ(x): (n+1)·Lₙ₊₁ = (2n+1−x)·Lₙ − n·Lₙ₋₁.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.laguerre_polynomial_l`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: −(L₀ + … + Lₙ₋₁) for x.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::laguerre_l,
    grad(wrt(x), backward = slope::of_laguerre)
)]
pub fn special_laguerre_polynomial_l<T: Float>(x: T, n: T) -> T {
    laguerre(x as f64, n as f64) as T
}

/// Pₙ(x): (n+1)·Pₙ₊₁ = (2n+1)x·Pₙ − n·Pₙ₋₁.
///
/// Integers take PyTorch's recurrence in f32. Matches `torch.special.legendre_polynomial_p`, but for NaN degrees (0
/// there), ±∞ and overflow (NaN there).
///
/// Accuracy: 1 ulp in f32, (2n + 8)·2⁻⁵³ of the greatest value on [−1, 1] in f64. Derivative: n(x·Pₙ − Pₙ₋₁)/(x² − 1)
/// for x, by a recurrence that holds at ±1.
#[pointwise_dynamic(
    promote = int_to_float(x, n), dtypes(bool, int, float), integers = integers::legendre_p,
    grad(wrt(x), backward = slope::of_legendre)
)]
pub fn special_legendre_polynomial_p<T: Float>(x: T, n: T) -> T {
    legendre(x as f64, n as f64) as T
}

/// A degree that needs no step: below 2, NaN or beyond i64.
#[device_fn]
fn is_other_degree(k: f64) -> bool {
    k.is_nan() || k < 2.0 || k >= 9223372036854775808.0
}

/// The value for such a degree, given that of degree 1.
#[device_fn]
fn other_degree(k: f64, first: f64) -> f64 {
    if k.is_nan() {
        k
    } else if k < 0.0 || k >= 9223372036854775808.0 {
        0.0
    } else if k < 1.0 {
        1.0
    } else {
        first
    }
}

/// ∞ with the sign of xᵏ.
#[device_fn]
fn leading(x: f64, k: f64) -> f64 {
    if x < 0.0 && k % 2.0 != 0.0 { f64::NEG_INFINITY } else { f64::INFINITY }
}

/// pₖ from p₀ = 1, p₁ and pⱼ₊₁ = slope·pⱼ − (constant + growth·j)·pⱼ₋₁; `overflow` if a product leaves f64.
#[device_fn]
fn recurrence(slope: f64, constant: f64, growth: f64, first: f64, k: f64, overflow: f64) -> f64 {
    let mut low = 1.0;
    let mut high = first;
    let mut lifts = 0;
    let mut j = 1.0;
    while j < k {
        let next = slope * high - (constant + growth * j) * low;
        low = high;
        high = next;
        j += 1.0;
        if high.abs() > 1e150 {
            if high.is_infinite() {
                return overflow;
            }
            low = low.ldexp(-498);
            high = high.ldexp(-498);
            lifts += 1;
        }
    }
    high.ldexp(498 * lifts)
}

/// As [`recurrence`] without overflow, for p₁ = x and (j+1)·pⱼ₊₁ = (2j+1)x·pⱼ − j·pⱼ₋₁.
#[device_fn]
fn averaging_recurrence(x: f64, k: f64) -> f64 {
    let mut low = 1.0;
    let mut high = x;
    let mut j = 1.0;
    while j < k {
        let next = ((2.0 * j + 1.0) * x * high - j * low) / (j + 1.0);
        low = high;
        high = next;
        j += 1.0;
    }
    high
}

/// pₖ from p₀ = 1 and (j+1)(pⱼ₊₁ − pⱼ) = j·(pⱼ − pⱼ₋₁) − (growth·j + 1)·distance·pⱼ, which keeps a small distance.
#[device_fn]
fn averaging_differences(distance: f64, growth: f64, k: f64, overflow: f64) -> f64 {
    let mut difference = 0.0;
    let mut value = 1.0;
    let mut lifts = 0;
    let mut j = 0.0;
    while j < k {
        difference = (j * difference - (growth * j + 1.0) * distance * value) / (j + 1.0);
        value += difference;
        j += 1.0;
        if value.abs() > 1e150 {
            if value.is_infinite() {
                return overflow;
            }
            difference = difference.ldexp(-498);
            value = value.ldexp(-498);
            lifts += 1;
        }
    }
    value.ldexp(498 * lifts)
}

/// T, U, V or W, for family 0 to 3, at y; `right` is 1 − y and `left` is 1 + y, each accurate near its zero.
#[device_fn]
#[inline(never)]
pub(super) fn chebyshev(y: f64, right: f64, left: f64, n: f64, family: i32) -> f64 {
    let k = n.trunc();
    let first = if family == 0 {
        y
    } else if family == 1 {
        2.0 * y
    } else if family == 2 {
        2.0 * y - 1.0
    } else {
        2.0 * y + 1.0
    };
    if is_other_degree(k) {
        return other_degree(k, first);
    }
    if y.abs() < 0.5 && k <= 4096.0 {
        return recurrence(2.0 * y, 1.0, 0.0, first, k, f64::INFINITY);
    }
    let is_mirrored = y < 0.0;
    // V and W are each other's mirror images.
    let family = if is_mirrored && family >= 2 { 5 - family } else { family };
    let near = if is_mirrored { left } else { right };
    let value =
        if k <= 4096.0 { chebyshev_differences(near, k, family) } else { chebyshev_far(near, k, family) };
    if is_mirrored && k % 2.0 != 0.0 { -value } else { value }
}

/// For y ≥ ½, by Reinsch's recurrence of differences; `right` is 1 − y.
#[device_fn]
fn chebyshev_differences(right: f64, k: f64, family: i32) -> f64 {
    let mut difference = if family == 0 {
        -right
    } else if family == 1 {
        1.0 - 2.0 * right
    } else if family == 2 {
        -2.0 * right
    } else {
        2.0 - 2.0 * right
    };
    let mut value = 1.0 + difference;
    let mut j = 1.0;
    while j < k {
        difference -= 2.0 * right * value;
        value += difference;
        j += 1.0;
    }
    value
}

/// The closed form for y ≥ 0; `right` is 1 − y.
#[device_fn]
#[inline(never)]
fn chebyshev_far(right: f64, k: f64, family: i32) -> f64 {
    let is_sine = family == 1 || family == 3;
    let order = if family == 0 { k } else { k + if family == 1 { 1.0 } else { 0.5 } };
    let left = 2.0 - right;
    let divisor = if family == 0 {
        1.0
    } else if family == 1 {
        (right.abs() * left).sqrt()
    } else if family == 2 {
        (0.5 * left).sqrt()
    } else {
        (0.5 * right.abs()).sqrt()
    };
    if right == 0.0 {
        return if is_sine { if family == 1 { order } else { 2.0 * order } } else { 1.0 };
    }
    if right > 0.0 {
        let angle = order * 2.0 * right.sqrt().atan2(left.sqrt());
        return if is_sine { angle.sin() / divisor } else { angle.cos() / divisor };
    }
    let angle = order * 2.0 * (-0.5 * right).sqrt().asinh();
    let growth = if is_sine { angle.sinh() } else { angle.cosh() };
    if growth.is_infinite() { growth } else { growth / divisor }
}

/// H for scale 2, He for scale 1. A degree beyond 4096 leaves only the sign to be found, by Plancherel and Rotach.
#[device_fn]
#[inline(never)]
pub(super) fn hermite(x: f64, n: f64, scale: f64) -> f64 {
    let k = n.trunc();
    if is_other_degree(k) {
        return other_degree(k, scale * x);
    }
    if k <= 4096.0 {
        return recurrence(scale * x, 0.0, scale, scale * x, k, leading(x, k));
    }
    if x == 0.0 {
        let sign = (0.5 * k).cos_pi();
        return if sign == 0.0 { 0.0 } else { f64::INFINITY.copysign(sign) };
    }
    let cosine = x * (0.5 * scale / (2.0 * k + 1.0)).sqrt();
    if cosine.abs() >= 1.0 {
        return leading(x, k);
    }
    let angle = cosine.acos();
    let wave = (0.5 * k + 0.25) * ((2.0 * angle).sin() - 2.0 * angle) + 0.75 * f64::PI;
    if x.is_nan() { x } else { f64::INFINITY.copysign(wave.sin()) }
}

/// Beyond 2²⁰, by Erdélyi's uniform form with a Bessel function, whose error is below the square root of f64's.
#[device_fn]
#[inline(never)]
pub(super) fn laguerre(x: f64, n: f64) -> f64 {
    let k = n.trunc();
    if is_other_degree(k) {
        return other_degree(k, 1.0 - x);
    }
    let overflow = leading(-x, k);
    if k <= 1048576.0 {
        return averaging_differences(x, 0.0, k, overflow);
    }
    let order = 4.0 * k + 2.0;
    let ratio = (x / order).abs();
    if x == 0.0 {
        return 1.0;
    }
    if x > 0.0 {
        if ratio >= 1.0 {
            return overflow;
        }
        let mean = (ratio * (1.0 - ratio)).sqrt();
        let angle = 0.5 * (mean + ratio.sqrt().asin());
        return (0.5 * x).exp() * (angle / mean).sqrt() * (order * angle).bessel_j0();
    }
    let mean = (ratio * (1.0 + ratio)).sqrt();
    let angle = 0.5 * (mean + ratio.sqrt().asinh());
    let growth = i0_f64(order * angle);
    if growth.is_infinite() { growth } else { (0.5 * x).exp() * (angle / mean).sqrt() * growth }
}

/// Beyond 2²⁰, by Hilb's form with a Bessel function, whose error is below the square root of f64's.
#[device_fn]
#[inline(never)]
pub(super) fn legendre(x: f64, n: f64) -> f64 {
    let k = n.trunc();
    if is_other_degree(k) {
        return other_degree(k, x);
    }
    let overflow = leading(x, k);
    if k <= 1048576.0 {
        if x.abs() < 0.5 {
            return averaging_recurrence(x, k);
        }
        let value = averaging_differences(1.0 - x.abs(), 2.0, k, f64::INFINITY);
        return if overflow < 0.0 { -value } else { value };
    }
    let right = 1.0 - x.abs();
    let left = 1.0 + x.abs();
    let sine = (right.abs() * left).sqrt();
    let sign = if overflow < 0.0 { -1.0 } else { 1.0 };
    if right == 0.0 {
        return sign;
    }
    if right > 0.0 {
        let angle = 2.0 * right.sqrt().atan2(left.sqrt());
        return sign * (angle / sine).sqrt() * ((k + 0.5) * angle).bessel_j0();
    }
    let angle = 2.0 * (-0.5 * right).sqrt().asinh();
    let growth = i0_f64((k + 0.5) * angle);
    if growth.is_infinite() { overflow } else { sign * (angle / sine).sqrt() * growth }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::close;

    /// Every polynomial here.
    const ALL: [fn(f64, f64) -> f64; 12] = [
        special_chebyshev_polynomial_t::scalar,
        special_chebyshev_polynomial_u::scalar,
        special_chebyshev_polynomial_v::scalar,
        special_chebyshev_polynomial_w::scalar,
        special_shifted_chebyshev_polynomial_t::scalar,
        special_shifted_chebyshev_polynomial_u::scalar,
        special_shifted_chebyshev_polynomial_v::scalar,
        special_shifted_chebyshev_polynomial_w::scalar,
        special_hermite_polynomial_h::scalar,
        special_hermite_polynomial_he::scalar,
        special_laguerre_polynomial_l::scalar,
        special_legendre_polynomial_p::scalar,
    ];

    #[test]
    fn degrees_are_truncated_and_have_edges() {
        for p in ALL {
            assert_eq!((p(0.3, -1.0), p(0.3, -0.5), p(f64::NAN, 0.0)), (0.0, 1.0, 1.0));
            assert_eq!((p(0.3, f64::INFINITY), p(1.0, 1e19), p(0.3, f64::NEG_INFINITY)), (0.0, 0.0, 0.0));
            assert_eq!(p(0.3, 2.7), p(0.3, 2.0));
            assert!(p(0.3, f64::NAN).is_nan() && p(f64::NAN, 1.0).is_nan() && p(f64::NAN, 7.0).is_nan());
        }
    }

    #[test]
    fn infinities_have_the_sign_of_the_leading_term() {
        for (i, p) in ALL.into_iter().enumerate() {
            let sign = if i == 10 { -1.0 } else { 1.0 };
            for k in 1..6 {
                let odd = if k % 2 == 1 { -1.0 } else { 1.0 };
                let at_sign = if i == 10 { odd } else { 1.0 };
                assert_eq!(p(f64::INFINITY, f64::from(k)), at_sign * f64::INFINITY, "{i} {k}");
                assert_eq!(p(-sign * f64::INFINITY, f64::from(k)), odd * f64::INFINITY, "{i} {k}");
            }
        }
    }

    #[test]
    fn overflow_is_infinite_never_nan() {
        for p in ALL {
            for k in [300.0, 5000.0, 3e6] {
                for x in [-1e200, -7.5, 1.5, 40.0, 1e200] {
                    assert!(!p(x, k).is_nan(), "{x} {k}");
                }
            }
        }
        assert_eq!(special_hermite_polynomial_h::scalar(0.0f64, 301.0), 0.0);
        assert_eq!(special_hermite_polynomial_h::scalar(0.0f64, 100_001.0), 0.0);
    }

    #[test]
    fn ends_are_exact() {
        for k in [1.0, 2.0, 9.0, 4096.0, 4097.0, 1e6] {
            let sign = if k % 2.0 == 0.0 { 1.0 } else { -1.0 };
            let wide = 2.0 * k + 1.0;
            let ends = [(1.0, sign), (k + 1.0, sign * (k + 1.0)), (1.0, sign * wide), (wide, sign)];
            for (i, (right, left)) in ends.into_iter().enumerate() {
                assert_eq!((ALL[i](1.0, k), ALL[i](-1.0, k)), (right, left), "{i} {k}");
                assert_eq!((ALL[4 + i](1.0, k), ALL[4 + i](0.0, k)), (right, left), "{i} {k}");
            }
            assert_eq!((ALL[11](1.0, k), ALL[11](-1.0, k), ALL[10](0.0, k)), (1.0, sign, 1.0));
        }
    }

    #[test]
    fn values_are_those_of_the_definitions() {
        close(ALL[0](0.3, 5.0), 16.0 * 0.00243 - 20.0 * 0.027 + 1.5, 1e-15);
        close(ALL[8](0.3, 3.0), 8.0 * 0.027 - 3.6, 1e-15);
        close(ALL[9](0.3, 3.0), 0.027 - 0.9, 1e-15);
        close(ALL[10](0.3, 2.0), 1.0 - 0.6 + 0.045, 1e-15);
        close(ALL[11](0.3, 3.0), 0.5 * (5.0 * 0.027 - 0.9), 1e-15);
    }

    #[test]
    fn far_forms_continue_the_recurrences() {
        for family in 0..4 {
            for right in [1e-9, 0.01, 0.4, -0.001] {
                let near = chebyshev_differences(right, 4096.0, family);
                close(chebyshev_far(right, 4096.0, family), near, 1e-9);
            }
        }
        // Beyond 2²⁰ only the leading term is left: relative to the amplitude.
        for x in [0.2, 0.7, -0.9] {
            let [before, behind] =
                [1048576.0, 1048577.0].map(|k| special_legendre_polynomial_p::scalar(x, k));
            let third: f64 = special_legendre_polynomial_p::scalar(x, 1048575.0);
            let step = ((2.0 * 1048576.0 + 1.0) * x * before - 1048576.0 * third) / 1048577.0;
            assert!((behind - step).abs() < 1e-9, "{x}: {behind} {step}");
        }
    }
}
