//! The gamma function's logarithm and its derivatives, and Hurwitz' zeta function.
//!
//! Computed in f64 and rounded once. Poles and the values at infinity are those of the functions' limits; where two
//! limits differ the result is NaN. The work is bounded for every argument.

use super::{slope, tables};
use crate::prelude::*;
use gems_runtime::op::Seen;

/// ln |Γ(x)|: ∞ at 0, negative integers and ±∞.
///
/// Integers become floats first. Matches `torch.lgamma`.
///
/// Accuracy: 4 ulp in f32, 1e-15·max(1, |r|) in f64; 1e-7 absolute near the zeros in f32. Derivative: ψ(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_lgamma, order = 2)
)]
pub fn lgamma<T: Float>(input: T) -> T {
    (input as f64).lgamma() as T
}

/// ψ(x) = d ln Γ(x)/dx: +0 → −∞, −0 → ∞, ∞ → ∞; negative integers and −∞ → NaN.
///
/// Integers become floats first. Matches `torch.digamma`.
///
/// Accuracy: 4 ulp in f32, 1e-14 in f64; absolute near the negative zeros. Derivative: ψ′(x).
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float),
    grad(backward = slope::of_digamma, order = 2)
)]
pub fn digamma<T: Float>(input: T) -> T {
    digamma_f64(input as f64) as T
}

/// A derivative has an order from 0 on.
fn derivative_order(arguments: &[Seen], _: DType) -> Result<()> {
    at_least("n", arguments.first(), 0)
}

/// The n-th derivative of ψ(x).
///
/// Poles: ∞ for odd n; for even n, ±0 → ∓∞ and negative integers → NaN. ∞ → 0 for odd n, −0 for even n.
///
/// Integers become floats first. Matches `torch.polygamma`, but for poles, infinities and great n.
///
/// Accuracy: 4 ulp in f32, 1e-14 in f64; above n = 20, 2e-16·(n·|ln x| + 20). Derivative: the derivative of order n +
/// 1.
///
/// # Errors
/// n is negative.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), check = derivative_order,
    grad(backward = slope::of_polygamma, order = 2)
)]
pub fn polygamma<T: Float>(#[param] n: i64, input: T) -> T {
    polygamma_f64(input as f64, n) as T
}

/// A dimension is 1 or more.
fn dimension(arguments: &[Seen], _: DType) -> Result<()> {
    at_least("p", arguments.get(1), 1)
}

/// ¼p(p−1)·ln π + Σ ln |Γ(x − ½(j−1))| over j = 1 to p.
///
/// The domain x > ½(p−1) is not checked. Integers become floats first. Matches `torch.mvlgamma`.
///
/// Special values: IEEE 754's, step by step. Accuracy: the sum of p terms of that of `lgamma`. Derivative: Σ ψ(x −
/// ½(j − 1)).
///
/// # Errors
/// p is less than 1.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(int, float), check = dimension,
    grad(backward = slope::of_mvlgamma)
)]
pub fn mvlgamma<T: Float>(input: T, #[param] p: i64) -> T {
    mvlgamma_f64(input as f64, p) as T
}

fn at_least(name: &str, argument: Option<&Seen>, least: i64) -> Result<()> {
    match argument {
        Some(Seen::Number(number)) if number.to_f64() < least as f64 => {
            let message = format!("`{name}` is {number}; it must be {least} or more");
            Err(Error::new(ErrorKind::Value, message))
        }
        _ => Ok(()),
    }
}

/// Hurwitz' ζ(s, q) = Σ (q + k)^(−s) over k ≥ 0; `input` is s, `other` is q.
///
/// s = 1 → ∞; s < 1 → NaN; s = ∞ → 1 for q = 1, ∞ below; s > 2.5e13 → NaN where q^(−s) vanishes; q = ∞ → 0; q an
/// integer ≤ 0 → ∞; q < 0 with a fractional s → NaN.
///
/// Integers become floats first. Matches `torch.special.zeta`, but for q = ∞ (NaN there).
///
/// Accuracy: 4 ulp in f32, 1e-14 in f64. Derivative: −s·ζ(s + 1, q) for q, none for s.
#[pointwise_dynamic(
    promote = int_to_float(input, other), dtypes(bool, int, float),
    grad(wrt(other), backward = slope::of_zeta)
)]
pub fn special_zeta<T: Float>(input: T, other: T) -> T {
    zeta_f64(input as f64, other as f64) as T
}

/// Shifted to x ≥ 10 for the asymptotic series, reflected for x < 0, a Taylor series around the positive root.
#[device_fn(grad(backward = slope::of_digamma))]
pub(super) fn digamma_f64(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY.copysign(-x);
    }
    if x == f64::INFINITY {
        return x;
    }
    let mut value = 0.0;
    let mut z = x;
    if x < 0.0 {
        let fraction = x - x.round_ties_even();
        if fraction == 0.0 || x.is_infinite() {
            return f64::NAN;
        }
        value = -f64::PI * fraction.cos_pi() / fraction.sin_pi();
        z = 1.0 - x;
    }
    // The root in two parts, of which the first is exact.
    let from_root = z - 1.4616321449683622;
    if from_root.abs() < 0.2 {
        let delta = from_root - 9.549995429965697e-17;
        return value + delta * tables::digamma_at_root(delta);
    }
    while z < 10.0 {
        value -= 1.0 / z;
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    value + (z.ln() - 0.5 / z - square * tables::digamma_tail(square))
}

/// Σ (unit/(q + k))^s over k ≥ 0 for s > 1, q > 0 and unit > 0, by Euler and Maclaurin's formula.
#[device_fn]
fn zeta_sum(s: f64, q: f64, unit: f64) -> f64 {
    const BERNOULLI: [f64; 13] = [
        0.08333333333333333,
        -0.001388888888888889,
        3.306878306878307e-5,
        -8.267195767195768e-7,
        2.08767569878681e-8,
        -5.284190138687493e-10,
        1.3382536530684679e-11,
        -3.3896802963225827e-13,
        8.586062056277845e-15,
        -2.174868698558062e-16,
        5.5090028283602295e-18,
        -1.3954464685812522e-19,
        3.534707039629467e-21,
    ];
    let mut a = q;
    let mut sum = 0.0;
    let mut count = 0;
    let mut term = (a / unit).pow(-s);
    // Far from 0 the corrections alone are enough, and a sum would lose the last bits of a.
    while (count < 10 && (a < 1000.0 || a < s)) || a <= 10.0 {
        sum += term;
        if term <= 5e-17 * sum {
            return sum;
        }
        a += 1.0;
        count += 1;
        term = (a / unit).pow(-s);
    }
    sum += term * a / (s - 1.0) + 0.5 * term;
    let mut factor = s * term / a;
    for k in 0..13 {
        let correction = BERNOULLI[k] * factor;
        sum += correction;
        if correction.abs() <= 5e-17 * sum {
            return sum;
        }
        let rank = s + 2.0 * (k as f64);
        factor *= (rank + 1.0) * (rank + 2.0) / (a * a);
    }
    sum
}

/// The same for q < 0, no integer, and an integral s, from ζ(s, q) = ζ(s, f) ± (ζ(s, 1 − f) − ζ(s, 1 − q)), where f is
/// the fraction of q. The fraction nearest to 0 is exact.
#[device_fn]
fn zeta_sum_reflected(s: f64, q: f64, unit: f64) -> f64 {
    let fraction = q - q.round_ties_even();
    let above = if fraction > 0.0 { fraction } else { 1.0 + fraction };
    let below = if fraction > 0.0 { 1.0 - fraction } else { -fraction };
    // The two great sums first: halfway between poles they cancel, and leave the third.
    let positive = zeta_sum(s, above, unit);
    let negative = zeta_sum(s, below, unit);
    let rest = zeta_sum(s, 1.0 - q, unit);
    if s % 2.0 == 0.0 { positive + negative - rest } else { positive - negative + rest }
}

#[device_fn]
#[inline(never)]
pub(super) fn zeta_f64(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() {
        f64::NAN
    } else if s == 1.0 {
        f64::INFINITY
    } else if s < 1.0 {
        f64::NAN
    } else if q == f64::INFINITY {
        0.0
    } else if q <= 0.0 && q.floor() == q {
        f64::INFINITY
    } else if s > 2.5e13 && q > 1.0 && q.pow(-s) == 0.0 {
        // PyTorch has no value where the terms vanish and the 23rd power of s overflows.
        f64::NAN
    } else if q > 0.0 {
        zeta_sum(s, q, 1.0)
    } else if s.is_infinite() {
        s
    } else if s.floor() != s {
        f64::NAN
    } else {
        zeta_sum_reflected(s, q, 1.0)
    }
}

/// (−1)^(n+1)·n!·d^(−n−1)·Σ (d/(x + k))^(n+1), where d is the distance of the nearest pole.
#[device_fn(grad(backward = slope::of_polygamma(grad_output, n, x)))]
#[inline(never)]
pub(super) fn polygamma_f64(x: f64, n: i64) -> f64 {
    if n == 0 {
        return digamma_f64(x);
    }
    let odd = n % 2 == 1;
    if x.is_nan() {
        return x;
    }
    if x == f64::INFINITY {
        return if odd { 0.0 } else { -0.0 };
    }
    if x.floor() == x && x <= 0.0 {
        let even = if x == 0.0 { f64::NEG_INFINITY.copysign(-x) } else { f64::NAN };
        return if odd { f64::INFINITY } else { even };
    }
    let s = n as f64 + 1.0;
    let distance = if x > 0.0 { x } else { (x - x.round_ties_even()).abs() };
    let sum = if x > 0.0 { zeta_sum(s, x, distance) } else { zeta_sum_reflected(s, x, distance) };
    let size = if n > 170 {
        (s.lgamma() - s * distance.ln()).exp() * sum
    } else {
        let mut factorial = 1.0;
        for k in 2..n + 1 {
            factorial *= k as f64;
        }
        // Two powers, so that neither overflows before the product does.
        let half = (0.5 * s).floor();
        factorial * distance.pow(-half) * sum * distance.pow(half - s)
    };
    if odd { size } else { -size }
}

#[device_fn]
fn mvlgamma_f64(x: f64, p: i64) -> f64 {
    let dimension = p as f64;
    let mut sum = 0.25 * dimension * (dimension - 1.0) * 1.1447298858494002;
    for j in 0..p {
        sum += (x - 0.5 * (j as f64)).lgamma();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::tests::close;

    #[test]
    fn poles_follow_their_limits() {
        let infinity = f64::INFINITY;
        assert_eq!((digamma::scalar(0.0f64), digamma::scalar(-0.0f64)), (-infinity, infinity));
        assert!(digamma::scalar(-3.0f64).is_nan() && digamma::scalar(-infinity).is_nan());
        assert_eq!((polygamma::scalar(1, -2.0f64), polygamma::scalar(3, 0.0f64)), (infinity, infinity));
        assert_eq!((polygamma::scalar(2, 0.0f64), polygamma::scalar(2, -0.0f64)), (-infinity, infinity));
        assert!(polygamma::scalar(2, -2.0f64).is_nan());
        assert_eq!(polygamma::scalar(2, infinity).to_bits(), (-0.0f64).to_bits());
        assert_eq!((lgamma::scalar(-2.0f64), lgamma::scalar(-infinity)), (infinity, infinity));
        assert_eq!(
            (special_zeta::scalar(1.0f64, 2.0), special_zeta::scalar(2.0f64, -3.0)),
            (infinity, infinity)
        );
        assert!(special_zeta::scalar(0.5f64, 2.0).is_nan() && special_zeta::scalar(2.5f64, -0.5).is_nan());
        assert!(special_zeta::scalar(f64::NAN, -infinity).is_nan());
        assert_eq!(special_zeta::scalar(2.0f64, infinity), 0.0);
    }

    #[test]
    fn values_are_those_of_the_definitions() {
        let third = std::f64::consts::PI.powi(2) / 6.0;
        close(special_zeta::scalar(2.0f64, 1.0), third, 1e-15);
        close(polygamma::scalar(1, 1.0f64), third, 1e-15);
        close(digamma::scalar(1.0f64), -0.5772156649015329, 1e-15);
        close(digamma::scalar(1.4616321449683622f64), -9.241265521729428e-17, 1e-9);
        close(digamma::scalar(-0.25f64), 2.914139120213528, 1e-15);
        // ψ″(x) − ψ″(x + 1) = −2/x³, on both sides of the reflection.
        close(polygamma::scalar(2, -0.3f64) - polygamma::scalar(2, 0.7f64), 2.0 / 0.027, 1e-14);
        close(polygamma::scalar(170, 1.0f64), -7.257415615307999e306, 1e-13);
        // The great terms on both sides cancel, and far away x + 1 is x.
        close(polygamma::scalar(20, -3.5f64), -47340.82936317666, 1e-14);
        close(polygamma::scalar(20, 9007199254740990.0f64), -9.846892969478258e-303, 1e-14);
        close(mvlgamma::scalar(3.0f64, 1), std::f64::consts::LN_2, 1e-15);
        close(lgamma::scalar(1.0f64 + f64::EPSILON), -0.5772156649015329 * f64::EPSILON, 1e-15);
    }

    #[test]
    fn a_wrong_order_is_refused_before_planning() {
        let x = StridedBuffer::from_vec(vec![1.0f32], &[1]).unwrap();
        assert_eq!(polygamma(-1, &x).unwrap_err().kind(), ErrorKind::Value);
        assert_eq!(mvlgamma(&x, 0).unwrap_err().kind(), ErrorKind::Value);
        assert!(polygamma(0, &x).is_ok() && mvlgamma(&x, 1).is_ok());
    }

    #[test]
    fn the_work_is_bounded_far_from_zero() {
        assert!(special_zeta::scalar(3.0f64, -1e15 - 0.5).is_finite());
        assert!(
            polygamma::scalar(i64::MAX, 2.5f64).is_infinite() || polygamma::scalar(i64::MAX, 2.5f64).is_nan()
        );
    }
}
