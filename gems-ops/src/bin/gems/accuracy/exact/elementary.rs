//! Elementary functions. Outside their domains they are NaN.
//!
//! Reduced to where a Taylor series is short; logarithm and arctangent correct the f64 function by a short series.

use super::{ROUNDING, Real};
use std::sync::LazyLock;

/// Bits that a reduction or a sum may lose.
const GUARD: usize = 64;
/// From here on, e^x has no exponent of its own.
const ENORMOUS: i64 = 30;
/// How often the argument of the exponential is halved, and its value squared.
const HALVINGS: i64 = 12;

/// 1/k!, as wide as any computation.
static INVERSE_FACTORIALS: LazyLock<Vec<Real>> = LazyLock::new(|| {
    let mut all = vec![Real::of(1.0).at(512)];
    for k in 1..120 {
        let next = &all[all.len() - 1] / f64::from(k);
        all.push(next);
    }
    all
});

/// Σ ±x^k/k! over k = first, first + step, …
fn taylor(x: &Real, first: usize, step: usize, is_alternating: bool) -> Real {
    let ratio = if step == 2 { x * x } else { x.clone() };
    let ratio = if is_alternating { -ratio } else { ratio };
    let mut power = if first == 0 { Real::of(1.0) } else { x.clone() };
    let mut sum = Real::of(0.0);
    let last = i64::try_from(x.bits).unwrap_or(0) + 8;
    for inverse in INVERSE_FACTORIALS.iter().skip(first).step_by(step) {
        let term = (&power * inverse).at(x.bits);
        sum = sum + &term;
        if term.is_zero() || sum.exponent() - term.exponent() > last {
            break;
        }
        power = power * &ratio;
    }
    sum
}

/// z − z²/2 + z³/3 …, or z − z³/3 + z⁵/5 …: ln(1 + z) and atan z for small z.
fn short_series(z: &Real, step: f64) -> Real {
    let ratio = if step == 2.0 { -(z * z) } else { -z };
    let mut power = z.clone();
    Real::series(z.clone(), |_, k| {
        power = &power * &ratio;
        &power / (1.0 + step * k)
    })
}

impl Real {
    fn ln_2(bits: usize) -> Real {
        super::CONSTANTS.with_borrow_mut(|constants| Real { value: constants.ln_2(bits, ROUNDING), bits })
    }

    /// e^x for a number that is not enormous, less 1 if it is small: for the few bits that then count.
    fn exp_reduced(&self) -> (Real, i64) {
        let wide = self.at(self.bits + GUARD);
        #[expect(clippy::cast_possible_truncation, reason = "less than 2^31")]
        let n = (self.to_f64() * std::f64::consts::LOG2_E).round() as i64;
        #[expect(clippy::cast_precision_loss, reason = "less than 2^31")]
        let rest = &wide - Real::ln_2(wide.bits) * n as f64;
        let mut less_one = taylor(&rest.scaled(-HALVINGS), 1, 1, false);
        for _ in 0..HALVINGS {
            less_one = &less_one * (&less_one + 2.0);
        }
        (less_one, n)
    }

    pub(crate) fn exp(&self) -> Real {
        if self.is_nan() || self.is_zero() {
            return if self.is_zero() { Real::of(1.0).at(self.bits) } else { self.clone() };
        }
        if self.is_infinite() || self.exponent() >= ENORMOUS {
            return Real::of(if self.is_negative() { 0.0 } else { f64::INFINITY });
        }
        let (less_one, n) = self.exp_reduced();
        (less_one + 1.0).scaled(n).at(self.bits)
    }

    /// e^x − 1.
    pub(crate) fn exp_m1(&self) -> Real {
        if self.exponent() >= -2 || self.is_zero() || !self.is_finite() {
            return self.exp() - 1.0;
        }
        self.exp_reduced().0.at(self.bits)
    }

    pub(crate) fn ln(&self) -> Real {
        if self.is_zero() || self.is_negative() || !self.is_finite() {
            return Real::of(self.to_f64().ln());
        }
        let wide = self.at(self.bits + GUARD);
        let mut n = wide.exponent();
        if !wide.scaled(-n).below(std::f64::consts::SQRT_2) {
            n += 1;
        }
        let fraction = wide.scaled(-n);
        let near = Real::of(fraction.to_f64().ln()).at(wide.bits);
        let rest = short_series(&(&fraction * (-&near).exp() - 1.0), 1.0);
        #[expect(clippy::cast_precision_loss, reason = "less than 2^31")]
        let whole = Real::ln_2(wide.bits) * n as f64;
        (whole + (near + rest)).at(self.bits)
    }

    /// ln(1 + x).
    pub(crate) fn ln_1p(&self) -> Real {
        if self.exponent() >= -40 || !self.is_finite() {
            (self.at(self.bits + GUARD) + 1.0).ln().at(self.bits)
        } else {
            short_series(self, 1.0)
        }
    }

    pub(crate) fn log2(&self) -> Real {
        self.ln() / Real::ln_2(self.bits)
    }

    pub(crate) fn log10(&self) -> Real {
        self.ln() / Real::of(10.0).at(self.bits).ln()
    }

    /// The r within ±π/4 and the whole number n with x = r + nπ/2, modulo 4.
    fn quarters(&self) -> (Real, u8) {
        let bits = self.bits + 2 * GUARD + usize::try_from(self.exponent().max(0)).unwrap_or(0);
        let wide = self.at(bits);
        let quarter = Real::pi_at(bits) * 0.5;
        let n = (&wide / &quarter).round_ties_even();
        let rest = (wide - &n * quarter).at(self.bits + GUARD);
        let turn = n.rem(&Real::of(4.0)).to_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 3")]
        (rest, turn.rem_euclid(4.0) as u8)
    }

    /// sin(x + turns·π/2).
    fn circular(&self, turns: u8) -> Real {
        if !self.is_finite() {
            return Real::of(f64::NAN);
        }
        let (rest, quarter) = self.quarters();
        let quarter = (quarter + turns) % 4;
        let size = taylor(&rest, usize::from(quarter.is_multiple_of(2)), 2, true).at(self.bits);
        if quarter < 2 { size } else { -size }
    }

    pub(crate) fn sin(&self) -> Real {
        self.circular(0)
    }

    pub(crate) fn cos(&self) -> Real {
        self.circular(1)
    }

    pub(crate) fn tan(&self) -> Real {
        self.sin() / self.cos()
    }

    pub(crate) fn atan(&self) -> Real {
        if self.is_nan() || self.is_zero() {
            return self.clone();
        }
        if !self.abs().below(1.5) {
            let rest = if self.is_infinite() { Real::of(0.0) } else { (1.0 / self).atan() };
            let quarter = Real::pi_at(self.bits) * 0.5;
            return if self.is_negative() { -quarter - rest } else { quarter - rest };
        }
        let wide = self.at(self.bits + GUARD);
        let near = Real::of(self.to_f64().atan()).at(wide.bits);
        let (sine, cosine) = (near.sin(), near.cos());
        let gap = (&wide * &cosine - &sine) / (cosine + wide * sine);
        (near + short_series(&gap, 2.0)).at(self.bits)
    }

    /// √(1 − x²).
    fn complement(&self) -> Real {
        ((1.0 - self) * (1.0 + self)).sqrt()
    }

    pub(crate) fn asin(&self) -> Real {
        if Real::of(1.0).less(&self.abs()) { Real::of(f64::NAN) } else { self.atan2(&self.complement()) }
    }

    pub(crate) fn acos(&self) -> Real {
        if Real::of(1.0).less(&self.abs()) { Real::of(f64::NAN) } else { self.complement().atan2(self) }
    }

    pub(crate) fn sinh(&self) -> Real {
        (self.exp_m1() - (-self).exp_m1()) * 0.5
    }

    pub(crate) fn cosh(&self) -> Real {
        (self.exp() + (-self).exp()) * 0.5
    }

    pub(crate) fn tanh(&self) -> Real {
        let growth = (self.abs() * 2.0).exp_m1();
        let size = if growth.is_infinite() { Real::of(1.0) } else { &growth / (&growth + 2.0) };
        if self.is_negative() { -size } else { size }
    }

    pub(crate) fn asinh(&self) -> Real {
        let square = self * self;
        let size = (self.abs() + &square / ((&square + 1.0).sqrt() + 1.0)).ln_1p();
        if self.is_negative() { -size } else { size }
    }

    pub(crate) fn acosh(&self) -> Real {
        let above = self - 1.0;
        (&above + (&above * (&above + 2.0)).sqrt()).ln_1p()
    }

    pub(crate) fn atanh(&self) -> Real {
        let size = self.abs();
        let size = (&size * 2.0 / (1.0 - &size)).ln_1p() * 0.5;
        if self.is_negative() { -size } else { size }
    }

    /// x^y; C99's special values.
    pub(crate) fn pow(&self, y: &Real) -> Real {
        let (base, exponent) = (self.to_f64(), y.to_f64());
        if self.is_zero() || y.is_zero() || !self.is_finite() || !y.is_finite() {
            return Real::of(base.powf(exponent));
        }
        if self.is_negative() && !y.is_integer() {
            return Real::of(f64::NAN);
        }
        if y.is_integer() && exponent.abs() <= 64.0 {
            let power = self.abs().whole_power(exponent.abs());
            let size = if y.is_negative() { 1.0 / power } else { power };
            return if self.is_negative() && exponent % 2.0 != 0.0 { -size } else { size };
        }
        let size = (y * self.abs().at(self.bits + GUARD).ln()).exp();
        let is_odd = y.is_integer() && !(y * 0.5).is_integer();
        if self.is_negative() && is_odd { -size } else { size }
    }

    /// xⁿ by squaring, for n ≥ 1.
    fn whole_power(&self, n: f64) -> Real {
        let half = (n / 2.0).floor();
        let square = if half > 0.0 { self.whole_power(half) } else { Real::of(1.0) };
        let square = &square * &square;
        if n % 2.0 == 1.0 { square * self } else { square }
    }

    /// 2^x.
    pub(crate) fn exp2(&self) -> Real {
        Real::of(2.0).pow(self)
    }

    /// The angle of the point (x, self).
    pub(crate) fn atan2(&self, x: &Real) -> Real {
        if self.is_zero() || x.is_zero() || !self.is_finite() || !x.is_finite() {
            // A multiple of ¼π.
            let eighths = self.to_f64().atan2(x.to_f64()) / std::f64::consts::FRAC_PI_4;
            return Real::pi_at(self.bits.max(x.bits)) * 0.25 * eighths.round();
        }
        let angle = (self / x).atan();
        let half_turn = Real::pi_at(angle.bits);
        match (x.is_negative(), self.is_negative()) {
            (false, _) => angle,
            (true, false) => angle + half_turn,
            (true, true) => angle - half_turn,
        }
    }

    /// sin(πx).
    pub(crate) fn sin_pi(&self) -> Real {
        self.turned().sin()
    }

    /// cos(πx).
    pub(crate) fn cos_pi(&self) -> Real {
        // Through the sine, which keeps its relative accuracy at its zeros.
        (0.5 - self.rem(&Real::of(2.0)).abs()).sin_pi()
    }

    /// πr for the r nearest to 0 with sin(πr) = sin(πx).
    fn turned(&self) -> Real {
        let turn = self.rem(&Real::of(2.0));
        let nearest = turn.round_ties_even();
        let rest = &turn - &nearest;
        let is_odd = !(nearest * 0.5).is_integer();
        Real::pi_at(self.bits) * if is_odd { -rest } else { rest }
    }

    pub(crate) fn hypot(&self, other: &Real) -> Real {
        if self.is_infinite() || other.is_infinite() {
            return Real::of(f64::INFINITY);
        }
        (self * self + other * other).sqrt()
    }
}
