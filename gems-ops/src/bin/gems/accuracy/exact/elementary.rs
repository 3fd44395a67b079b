//! Elementary functions. Outside their domains they are NaN.

use super::{BITS, ROUNDING, Real};

/// From here on, e^x has no exponent of its own.
const ENORMOUS: i64 = 30;

/// Functions of astro-float as they are.
macro_rules! functions {
    ($($name:ident)*) => {
        impl Real {$(
            pub(crate) fn $name(&self) -> Real {
                self.with(|x, bits, constants| x.$name(bits, ROUNDING, constants))
            }
        )*}
    };
}

functions! { ln log2 log10 sin cos tan asin acos asinh acosh atanh atan tanh }

impl Real {
    pub(crate) fn exp(&self) -> Real {
        match (self.exponent() >= ENORMOUS, self.is_negative()) {
            (true, true) => Real::of(0.0),
            (true, false) => Real::of(f64::INFINITY),
            (false, _) => self.with(|x, bits, constants| x.exp(bits, ROUNDING, constants)),
        }
    }

    /// e^x − 1.
    pub(crate) fn exp_m1(&self) -> Real {
        if self.exponent() >= -60 || !self.is_finite() {
            return self.exp() - 1.0;
        }
        Real::series(self.clone(), |term, k| term * self / (k + 1.0))
    }

    /// ln(1 + x).
    pub(crate) fn ln_1p(&self) -> Real {
        if self.exponent() >= -60 || !self.is_finite() {
            return (self + 1.0).ln();
        }
        let mut power = self.clone();
        Real::series(self.clone(), |_, k| {
            power = -(&power * self);
            &power / (k + 1.0)
        })
    }

    pub(crate) fn sinh(&self) -> Real {
        (self.exp_m1() - (-self).exp_m1()) * 0.5
    }

    pub(crate) fn cosh(&self) -> Real {
        (self.exp() + (-self).exp()) * 0.5
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
        let size = (y * self.abs().at(self.bits + 64).ln()).exp();
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
            return Real::pi(BITS) * 0.25 * eighths.round();
        }
        let angle = (self / x).atan();
        match (x.is_negative(), self.is_negative()) {
            (false, _) => angle,
            (true, false) => angle + Real::pi(BITS),
            (true, true) => angle - Real::pi(BITS),
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
        Real::pi(self.bits) * if is_odd { -rest } else { rest }
    }

    pub(crate) fn hypot(&self, other: &Real) -> Real {
        if self.is_infinite() || other.is_infinite() {
            return Real::of(f64::INFINITY);
        }
        (self * self + other * other).sqrt()
    }
}
