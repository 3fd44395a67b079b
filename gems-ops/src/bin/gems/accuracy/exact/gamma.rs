//! The gamma function's logarithm, its derivatives, and Hurwitz' zeta function.

use super::{BITS, Real};
use std::sync::LazyLock;

/// Terms of the asymptotic series: enough for 300 bits.
const TERMS: usize = 50;

/// From here on, the asymptotic series are as accurate as numbers of this width need.
fn far(x: &Real) -> f64 {
    if x.bits > BITS { 50.0 } else { 30.0 }
}

/// B₂, B₄, …, from the tangent numbers, which are integers.
static BERNOULLI: LazyLock<Vec<Real>> = LazyLock::new(|| {
    let wide = |value: f64| Real::of(value).at(1024);
    let mut tangent: Vec<Real> = vec![wide(1.0)];
    for k in 1..TERMS {
        let next = &tangent[k - 1] * f64::from(u32::try_from(k).unwrap_or(0));
        tangent.push(next);
    }
    for k in 1..TERMS {
        for j in k..TERMS {
            let (below, beside) = (index(j - k), index(j - k) + 2.0);
            tangent[j] = &tangent[j - 1] * below + &tangent[j] * beside;
        }
    }
    let mut power = wide(1.0);
    let mut numbers = Vec::new();
    for (k, tangent) in tangent.iter().enumerate() {
        power = power * 4.0;
        let n = index(k) + 1.0;
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        numbers.push(tangent * (sign * 2.0 * n) / (&power * (&power - 1.0)));
    }
    numbers
});

fn index(k: usize) -> f64 {
    f64::from(u32::try_from(k).unwrap_or(0))
}

/// Whether x is a pole of Γ.
fn is_pole(x: &Real) -> bool {
    x.is_integer() && !Real::of(0.0).less(x)
}

/// Σ B₂ₖ·f(k) over k = 1, 2, …
fn bernoulli_sum(mut term: impl FnMut(f64) -> Real) -> Real {
    let mut sum = Real::of(0.0);
    for (k, number) in BERNOULLI.iter().enumerate() {
        let term = number * term(index(k) + 1.0);
        sum = &sum + &term;
        if sum.exponent() - term.exponent() > 330 {
            break;
        }
    }
    sum
}

/// ln |Γ(x)|: ∞ at poles, and the very zeros.
pub(crate) fn lgamma(x: &Real) -> Real {
    if x.is_infinite() || is_pole(x) {
        return Real::of(f64::INFINITY);
    }
    if [1.0, 2.0].contains(&x.to_f64()) && x.is_integer() {
        return Real::of(0.0);
    }
    if x.is_negative() {
        return (Real::pi_at(x.bits) / x.sin_pi().abs()).ln() - lgamma(&(1.0 - x));
    }
    // Γ(x) = Γ(z)/(x(x + 1)…(z − 1)).
    let mut z = x.clone();
    let mut product = Real::of(1.0).at(x.bits);
    while z.below(far(x)) {
        product = product * &z;
        z = z + 1.0;
    }
    let inverse = 1.0 / &z;
    let square = &inverse * &inverse;
    let mut power = z.clone();
    let rest = bernoulli_sum(|k| {
        power = &power * &square;
        &power / (2.0 * k * (2.0 * k - 1.0))
    });
    let half_ln_tau = (Real::pi_at(x.bits) * 2.0).ln() * 0.5;
    (&z - 0.5) * z.ln() - z + half_ln_tau + rest - product.ln()
}

/// ¼p(p − 1)·ln π + Σ ln |Γ(x − ½j)| over j < p.
pub(crate) fn mvlgamma(x: &Real, p: f64) -> Real {
    let mut sum = Real::pi_at(BITS).ln() * (0.25 * p * (p - 1.0));
    let mut j = 0.0;
    while j < p {
        sum = sum + lgamma(&(x - 0.5 * j));
        j += 1.0;
    }
    sum
}

/// ψ(x): NaN at poles, but −∞ at 0.
pub(crate) fn digamma(x: &Real) -> Real {
    if x.is_infinite() || is_pole(x) {
        return Real::of(match (x.is_zero(), x.is_negative()) {
            (true, _) => f64::NEG_INFINITY,
            (false, true) => f64::NAN,
            (false, false) => f64::INFINITY,
        });
    }
    if x.is_negative() {
        return digamma(&(1.0 - x)) - Real::pi_at(x.bits) * x.cos_pi() / x.sin_pi();
    }
    let mut z = x.clone();
    let mut shift = Real::of(0.0);
    while z.below(far(x)) {
        shift = shift + 1.0 / &z;
        z = z + 1.0;
    }
    let square = 1.0 / (&z * &z);
    let mut power = Real::of(1.0);
    let rest = bernoulli_sum(|k| {
        power = &power * &square;
        &power / (2.0 * k)
    });
    z.ln() - 0.5 / z - rest - shift
}

/// Σ (q + k)^(−s) over k ≥ 0 for s > 1 and q no pole; s is whole where q < 0.
fn zeta_sum(s: &Real, q: &Real) -> Real {
    if !q.is_negative() {
        return zeta_sum_above(s, q);
    }
    // With q = f − m: the terms above 0, and m terms below. The distance from the nearest pole is exact.
    let rest = q - q.round_ties_even();
    let (fraction, other) =
        if rest.is_negative() { (1.0 + &rest, -&rest) } else { (rest.clone(), 1.0 - &rest) };
    let below = zeta_sum_above(s, &other) - zeta_sum_above(s, &(1.0 - q));
    let is_even = (s * 0.5).is_integer();
    zeta_sum_above(s, &fraction) + if is_even { below } else { -below }
}

/// The same for q > 0, by Euler's and Maclaurin's formula.
fn zeta_sum_above(s: &Real, q: &Real) -> Real {
    let term_at = |a: &Real| a.pow(&-s);
    let far = 22.0 + 0.5 * s.to_f64().min(1e4);
    let mut a = q.clone();
    let mut sum = Real::of(0.0);
    let mut term = term_at(&a);
    while a.below(far) {
        sum = sum + &term;
        if sum.exponent() - term.exponent() > 200 {
            return sum;
        }
        a = a + 1.0;
        term = term_at(&a);
    }
    let square = &a * &a;
    // s(s + 1)…(s + 2k − 2)/(2k)!·a^(−s − 2k + 1).
    let mut factor = &term * &a;
    let corrections = bernoulli_sum(|k| {
        let rank = s + 2.0 * k;
        let rising = if k == 1.0 { s.clone() } else { (&rank - 3.0) * (&rank - 2.0) };
        factor = &factor * rising / (2.0 * k * (2.0 * k - 1.0)) / &square;
        factor.clone()
    });
    sum + &term * &a / (s - 1.0) + term * 0.5 + corrections
}

/// ζ(s, q): ∞ at s = 1 and where q is a pole; NaN for s < 1, and for q < 0 with a fraction in s.
pub(crate) fn zeta(s: &Real, q: &Real) -> Real {
    let is_whole = s.is_integer();
    if s.below(1.0) || q.is_negative() && !is_pole(q) && !is_whole {
        return Real::of(f64::NAN);
    }
    if is_pole(q) || (s - 1.0).is_zero() { Real::of(f64::INFINITY) } else { zeta_sum(s, q) }
}

/// The n-th derivative of ψ at x, for n ≥ 1: ∞ at poles for odd n, NaN for even n, but −∞ at 0.
pub(crate) fn polygamma(n: f64, x: &Real) -> Real {
    let is_odd = n % 2.0 == 1.0;
    if is_pole(x) {
        return Real::of(match (is_odd, x.is_zero()) {
            (true, _) => f64::INFINITY,
            (false, true) => f64::NEG_INFINITY,
            (false, false) => f64::NAN,
        });
    }
    let mut size = zeta_sum(&Real::of(n + 1.0), x);
    let mut k = 2.0;
    while k <= n {
        size = size * k;
        k += 1.0;
    }
    if is_odd { size } else { -size }
}
