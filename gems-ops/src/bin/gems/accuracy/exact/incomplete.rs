//! The regularized incomplete gamma functions of positive numbers.

use super::Real;
use super::gamma::lgamma;

/// x^a·e^(−x)/Γ(a).
fn density(a: &Real, x: &Real) -> Real {
    (a * x.ln() - x - lgamma(a)).exp()
}

/// Whether Q is a continued fraction there, and P the rest; else P is a series, and Q the rest.
fn is_upper(a: &Real, x: &Real) -> bool {
    !x.below(2.0) && (a + 1.0).less(x)
}

/// P(a, x) = density·Σ xᵏ/(a(a + 1)…(a + k)).
fn lower_series(a: &Real, x: &Real) -> Real {
    density(a, x) * Real::series(1.0 / a, |term, k| term * x / (a + k))
}

/// Q(a, x) = density/(x + 1 − a − 1(1 − a)/(x + 3 − a − 2(2 − a)/(x + 5 − a − …))), by Lentz' method.
fn upper_fraction(a: &Real, x: &Real) -> Real {
    let mut bottom = x - a + 1.0;
    let mut d = 1.0 / &bottom;
    let mut c = Real::of(f64::INFINITY);
    let mut value = d.clone();
    for k in 1..1_000_000 {
        let k = f64::from(k);
        let top = k * (a - k);
        bottom = bottom + 2.0;
        d = 1.0 / (&bottom + &top * d);
        c = if c.is_infinite() { bottom.clone() } else { &bottom + top / c };
        let change = &c * &d;
        value = value * &change;
        if (change - 1.0).exponent() < -170 {
            break;
        }
    }
    density(a, x) * value
}

pub(crate) fn igamma(a: &Real, x: &Real) -> Real {
    if is_upper(a, x) { 1.0 - upper_fraction(a, x) } else { lower_series(a, x) }
}

pub(crate) fn igammac(a: &Real, x: &Real) -> Real {
    if is_upper(a, x) { upper_fraction(a, x) } else { 1.0 - lower_series(a, x) }
}
