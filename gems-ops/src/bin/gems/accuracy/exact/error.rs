//! Error functions and the normal distribution.

use super::Real;

/// From here on, erfc is a continued fraction.
const FAR: f64 = 3.0;

fn root_of_two(x: &Real) -> Real {
    Real::of(2.0).at(x.bits).sqrt()
}

/// By e^(−x²)·Σ 2ᵏ·x^(2k + 1)/(2k + 1)!!, whose terms are all of one sign.
pub(crate) fn erf(x: &Real) -> Real {
    if FAR < x.abs().to_f64() {
        let rest = 1.0 - erfc(&x.abs());
        return if x.is_negative() { -rest } else { rest };
    }
    let square = x * x;
    let sum = Real::series(x.clone(), |term, k| term * &square * 2.0 / (2.0 * k + 1.0));
    sum * (-square).exp() * 2.0 / Real::pi_at(x.bits).sqrt()
}

pub(crate) fn erfc(x: &Real) -> Real {
    if x.below(FAR) {
        return 1.0 - erf(x);
    }
    if x.is_infinite() { Real::of(0.0) } else { (-(x * x)).exp() * erfcx(x) }
}

/// e^(x²)·erfc(x).
pub(crate) fn erfcx(x: &Real) -> Real {
    if x.is_infinite() {
        return if x.is_negative() { -x } else { Real::of(0.0) };
    }
    if x.below(FAR) {
        return (x * x).exp() * erfc(x);
    }
    // 1/(x + ½/(x + 1/(x + 1½/(x + …)))), from a step that no longer counts.
    let size = x.to_f64();
    #[expect(clippy::cast_possible_truncation, reason = "at most some hundreds")]
    let steps = (2200.0 / (size * size)) as i32 + 30;
    let bottom = (1..steps).rev().fold(x.clone(), |bottom, k| x + 0.5 * f64::from(k) / bottom);
    1.0 / (bottom * Real::pi_at(x.bits).sqrt())
}

/// Φ(x).
pub(crate) fn ndtr(x: &Real) -> Real {
    erfc(&(-x / root_of_two(x))) * 0.5
}

/// ln Φ(x).
pub(crate) fn log_ndtr(x: &Real) -> Real {
    if x.is_infinite() {
        return if x.is_negative() { x.clone() } else { Real::of(0.0) };
    }
    if x.below(-1.0) {
        return (erfcx(&(-x / root_of_two(x))) * 0.5).ln() - x * x * 0.5;
    }
    (-ndtr(&-x)).ln_1p()
}

/// The x with Φ(x) = p.
pub(crate) fn ndtri(p: &Real) -> Real {
    if p.is_negative() || Real::of(1.0).less(p) {
        return Real::of(f64::NAN);
    }
    if p.below(0.25) {
        return ndtri_tail(p);
    }
    if p.below(0.75) {
        return erfinv(&(p * 2.0 - 1.0)) * root_of_two(p);
    }
    -ndtri_tail(&(1.0 - p))
}

/// The x < 0 with Φ(x) = q, by Halley's method on ln Φ.
fn ndtri_tail(q: &Real) -> Real {
    if q.is_zero() {
        return Real::of(f64::NEG_INFINITY);
    }
    let target = q.ln();
    let t = (&target * -2.0).to_f64().sqrt();
    // Abramowitz and Stegun's 26.2.23, to three digits.
    let top = 2.515517 + t * (0.802853 + t * 0.010328);
    let bottom = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let slope = (Real::pi_at(q.bits) * 0.5).sqrt();
    halley(Real::of(top / bottom - t), |x| {
        let ratio = erfcx(&(-x / root_of_two(x))) * &slope;
        let change = (log_ndtr(x) - &target) * &ratio;
        let bend = (x + 1.0 / ratio) * &change * 0.5 + 1.0;
        change / bend
    })
}

/// The x with erf(x) = y.
pub(crate) fn erfinv(y: &Real) -> Real {
    let size = y.abs();
    if Real::of(1.0).less(&size) || y.is_zero() {
        return if y.is_zero() { y.clone() } else { Real::of(f64::NAN) };
    }
    if Real::of(0.5).less(&size) {
        let x = -ndtri_tail(&((1.0 - &size) * 0.5)) / root_of_two(y);
        return if y.is_negative() { -x } else { x };
    }
    let slope = Real::pi_at(y.bits).sqrt() * 0.5;
    // Two terms of the series.
    let start = y * &slope * (&size * &size * 0.2617993877991494 + 1.0);
    halley(start, |x| {
        let change = (erf(x) - y) * (x * x).exp() * &slope;
        let bend = x * &change + 1.0;
        change / bend
    })
}

/// The limit of x − step(x), reached when the step no longer counts or no longer shrinks.
fn halley(start: Real, step: impl Fn(&Real) -> Real) -> Real {
    let mut x = start;
    for _ in 0..20 {
        let change = step(&x);
        x = &x - &change;
        // The number of right digits is three times as large after each step.
        if change.is_zero() || x.exponent() - change.exponent() > 60 {
            break;
        }
    }
    x
}
