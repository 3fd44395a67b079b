//! Bessel functions of the orders 0 and 1, and the Airy function.
//!
//! Power series from wide numbers near 0, asymptotic series beyond. Relative to the result for I and K and for Ai
//! above 0; to the amplitude for J, Y and Ai below 0.

use super::Real;
use super::gamma::{digamma, lgamma};
use std::sync::LazyLock;

/// From here on the asymptotic series have 140 bits.
const FAR: f64 = 50.0;
/// Bits for the power series below, of which all but 150 may cancel.
const WIDE: usize = 320;

/// ψ(1).
static MINUS_EULER: LazyLock<Real> = LazyLock::new(|| digamma(&Real::of(1.0).at(WIDE)));
/// Ai(0) and −Ai′(0).
static AIRY: LazyLock<(Real, Real)> = LazyLock::new(|| {
    let third = Real::of(1.0).at(WIDE) / 3.0;
    let two_thirds = &third * 2.0;
    let ln_3 = Real::of(3.0).at(WIDE).ln();
    let value = (-(&two_thirds * &ln_3) - lgamma(&two_thirds)).exp();
    let slope = (-(&third * &ln_3) - lgamma(&third)).exp();
    (value, slope)
});

/// Σ (±x²/4)ᵏ/(k!(k + order)!): I for +1, J for −1, over (x/2)^order.
fn power_series(x: &Real, order: f64, sign: f64) -> Real {
    let square = x * x * (0.25 * sign);
    Real::series(Real::of(1.0).at(x.bits), |term, k| term * &square / (k * (k + order)))
}

/// The terms aₖ(order)/xᵏ of the expansions for great x, as far as they shrink and count.
fn asymptotic(x: &Real, order: f64) -> Vec<Real> {
    shrinking(|k| (4.0 * order * order - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (8.0 * k * x))
}

/// Terms from 1 on, each the one before times a ratio, as far as they shrink and count.
fn shrinking(ratio: impl Fn(f64) -> Real) -> Vec<Real> {
    let mut terms = vec![Real::of(1.0)];
    let mut k = 1.0;
    loop {
        let last = &terms[terms.len() - 1];
        let next = last * ratio(k);
        if next.exponent() >= last.exponent() || next.exponent() < -200 {
            return terms;
        }
        terms.push(next);
        k += 1.0;
    }
}

/// Σ terms·sign^k.
fn alternating(terms: &[Real], sign: f64) -> Real {
    let mut factor = 1.0;
    let mut sum = Real::of(0.0);
    for term in terms {
        sum = sum + term * factor;
        factor *= sign;
    }
    sum
}

/// The even or the odd ones of the terms, with alternating signs.
fn part(terms: &[Real], from: usize) -> Real {
    let part: Vec<Real> = terms.iter().skip(from).step_by(2).cloned().collect();
    alternating(&part, -1.0)
}

/// I of an order 0 or 1 times e^(−|x|).
pub(crate) fn bessel_i_scaled(order: f64, x: &Real) -> Real {
    let size = x.abs();
    if x.is_infinite() {
        return Real::of(0.0);
    }
    let value = if size.below(FAR) {
        near_i(order, &size) * (-&size).exp()
    } else {
        alternating(&asymptotic(&size, order), -1.0) / (Real::pi_at(x.bits) * 2.0 * &size).sqrt()
    };
    if x.is_negative() && order == 1.0 { -value } else { value }
}

fn near_i(order: f64, x: &Real) -> Real {
    let series = power_series(x, order, 1.0);
    if order == 0.0 { series } else { series * x * 0.5 }
}

pub(crate) fn bessel_i(order: f64, x: &Real) -> Real {
    if x.is_infinite() {
        return if order == 0.0 { x.abs() } else { x.clone() };
    }
    bessel_i_scaled(order, x) * x.abs().exp()
}

/// The logarithm's partner in K and Y: Σ (±x²/4)ᵏ/(k!(k + order)!)·(ψ(k + 1) + ψ(k + order + 1)).
fn psi_series(x: &Real, order: f64, sign: f64) -> Real {
    let square = x * x * (0.25 * sign);
    let mut psi = &*MINUS_EULER * 2.0 + order;
    let mut factor = Real::of(1.0).at(x.bits);
    let first = psi.clone();
    Real::series(first, |_, k| {
        factor = &factor * &square / (k * (k + order));
        psi = &psi + 1.0 / Real::of(k).at(x.bits) + 1.0 / Real::of(k + order).at(x.bits);
        &factor * &psi
    })
}

/// K of an order 0 or 1 times e^x.
pub(crate) fn bessel_k_scaled(order: f64, x: &Real) -> Real {
    if x.is_negative() || x.is_zero() || x.is_infinite() {
        return Real::of(edge(x, f64::INFINITY));
    }
    if !x.below(FAR) {
        let sum = alternating(&asymptotic(x, order), 1.0);
        return sum * (Real::pi_at(x.bits) * 0.5 / x).sqrt();
    }
    near_k(order, &x.at(WIDE)) * x.exp()
}

fn near_k(order: f64, x: &Real) -> Real {
    let half = x * 0.5;
    let log = half.ln();
    let psi = psi_series(x, order, 1.0) * 0.5;
    let series = power_series(x, order, 1.0);
    if order == 0.0 { psi - log * series } else { 1.0 / x + (log * series - psi) * half }
}

pub(crate) fn bessel_k(order: f64, x: &Real) -> Real {
    bessel_k_scaled(order, x) * if x.is_infinite() { Real::of(1.0) } else { (-x).exp() }
}

/// Of K and Y: NaN below 0, 0 at ∞, the pole at 0.
fn edge(x: &Real, pole: f64) -> f64 {
    match (x.is_zero(), x.is_negative()) {
        (true, _) => pole,
        (false, true) => f64::NAN,
        (false, false) => 0.0,
    }
}

/// The two sums of Hankel's expansion, and sine and cosine of x − (2·order + 1)·π/4, times √(2/(πx)).
fn hankel(order: f64, x: &Real) -> (Real, Real, Real, Real) {
    let terms = asymptotic(x, order);
    // So wide that the angle is right in all of its bits.
    let wide = x.at(x.bits + usize::try_from(x.exponent().max(0)).unwrap_or(0));
    let angle = &wide - Real::pi_at(wide.bits) * (0.25 * (2.0 * order + 1.0));
    let amplitude = (2.0 / (Real::pi_at(x.bits) * x)).sqrt();
    (part(&terms, 0), part(&terms, 1), angle.sin() * &amplitude, angle.cos() * amplitude)
}

pub(crate) fn bessel_j(order: f64, x: &Real) -> Real {
    if x.is_infinite() {
        return Real::of(0.0);
    }
    let size = x.abs();
    let value = if size.below(FAR) {
        let wide = size.at(WIDE);
        let series = power_series(&wide, order, -1.0);
        if order == 0.0 { series } else { series * wide * 0.5 }
    } else {
        let (even, odd, sine, cosine) = hankel(order, &size);
        even * cosine - odd * sine
    };
    if x.is_negative() && order == 1.0 { -value } else { value }
}

pub(crate) fn bessel_y(order: f64, x: &Real) -> Real {
    if x.is_negative() || x.is_zero() || x.is_infinite() {
        return Real::of(edge(x, f64::NEG_INFINITY));
    }
    if !x.below(FAR) {
        let (even, odd, sine, cosine) = hankel(order, x);
        return even * sine + odd * cosine;
    }
    let x = x.at(WIDE);
    let half = &x * 0.5;
    let log = half.ln() * 2.0;
    let series = log * power_series(&x, order, -1.0) - psi_series(&x, order, -1.0);
    let value = if order == 0.0 { series } else { series * half - 2.0 / &x };
    value / Real::pi_at(x.bits)
}

/// Ai(x): 0 at ±∞.
pub(crate) fn airy_ai(x: &Real) -> Real {
    if x.is_infinite() {
        return Real::of(0.0);
    }
    if x.abs().below(18.0) {
        return airy_near(&x.at(WIDE));
    }
    // ⅔|x|^1.5, so wide that the angle is right in all of its bits.
    let wide = x.abs().at(x.bits + usize::try_from(2 * x.exponent()).unwrap_or(0));
    let zeta = &wide * wide.sqrt() * 2.0 / 3.0;
    let narrow = zeta.at(x.bits);
    let terms = shrinking(|k| (6.0 * k - 5.0) * (6.0 * k - 1.0) / (72.0 * k * &narrow));
    let amplitude = 1.0 / (Real::pi_at(x.bits) * wide.sqrt().at(x.bits)).sqrt();
    if !x.is_negative() {
        return alternating(&terms, -1.0) * (-zeta).exp() * amplitude * 0.5;
    }
    let angle = &zeta - Real::pi_at(zeta.bits) * 0.25;
    (angle.cos() * part(&terms, 0) + angle.sin() * part(&terms, 1)) * amplitude
}

/// Ai(0)·f(x) + Ai′(0)·g(x), both power series in x³.
fn airy_near(x: &Real) -> Real {
    let cube = x * x * x;
    let f = Real::series(Real::of(1.0).at(x.bits), |term, k| term * &cube / (3.0 * k * (3.0 * k - 1.0)));
    let g = Real::series(x.clone(), |term, k| term * &cube / (3.0 * k * (3.0 * k + 1.0)));
    let (value, slope) = &*AIRY;
    value * f - slope * g
}
