//! Numbers of 192 bits and more, and the functions that ops are measured against.
//!
//! Guarantees 100 correct bits, relative to the result unless a function says otherwise; the tests compare all of them
//! with balls that Arb has proven. An operation is as wide as the wider of its operands, so a computation that is going
//! to cancel starts from wider numbers.

mod bessel;
mod complex;
mod elementary;
mod error;
mod gamma;
mod incomplete;
mod polynomial;
#[cfg(test)]
mod tests;

pub(super) use bessel::{airy_ai, bessel_i, bessel_i_scaled, bessel_j, bessel_k, bessel_k_scaled, bessel_y};
pub(super) use complex::Complex;
pub(super) use error::{erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri};
pub(super) use gamma::{digamma, lgamma, mvlgamma, polygamma, zeta};
pub(super) use incomplete::{igamma, igammac};
pub(super) use polynomial::{Family, polynomial};

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Bits of a number that comes from a float.
const BITS: usize = 192;
/// The last bit may be off by one.
const ROUNDING: RoundingMode = RoundingMode::None;

thread_local! {
    /// π, ln 2 and others, as far as they were needed.
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("memory for a few constants"));
}

/// A real number, an infinity or NaN.
#[derive(Clone, Debug)]
pub(super) struct Real {
    value: BigFloat,
    bits: usize,
}

impl Real {
    /// The very value.
    pub(super) fn of(value: f64) -> Real {
        // astro-float takes subnormal numbers for twice and more of what they are, and −0 for 0.
        if value.abs() < f64::MIN_POSITIVE && value != 0.0 {
            return Real::of(value * 2f64.powi(200)).scaled(-200);
        }
        let mut exact = BigFloat::from_f64(value, BITS);
        if value == 0.0 && value.is_sign_negative() {
            exact.set_sign(Sign::Neg);
        }
        Real { value: exact, bits: BITS }
    }

    /// The same number, at the head of a wider computation.
    pub(super) fn at(&self, bits: usize) -> Real {
        let mut value = self.value.clone();
        if self.is_finite() && !self.is_zero() {
            value.set_precision(bits, ROUNDING).expect("memory for one number");
        }
        Real { value, bits }
    }

    pub(super) fn pi() -> Real {
        Real::pi_at(BITS)
    }

    /// π of that many bits.
    fn pi_at(bits: usize) -> Real {
        CONSTANTS.with_borrow_mut(|constants| Real { value: constants.pi(bits, ROUNDING), bits })
    }

    /// The nearest f64, or one beside it.
    #[expect(clippy::cast_precision_loss, reason = "rounds")]
    pub(super) fn to_f64(&self) -> f64 {
        let Some((words, _, sign, exponent, _)) = self.value.as_raw_parts() else {
            return match (self.is_nan(), self.is_negative()) {
                (true, _) => f64::NAN,
                (false, true) => f64::NEG_INFINITY,
                (false, false) => f64::INFINITY,
            };
        };
        let fraction = words.last().map_or(0.0, |&word| word as f64 * 2f64.powi(-64));
        // In two steps, so that the power of two is a number where the result is one.
        let exponent = exponent.clamp(-2200, 2200);
        let size = fraction * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        if sign == Sign::Neg { -size } else { size }
    }

    /// The e with 2^e ≤ |x| < 2^(e + 1); far below all others for 0 and what is no number.
    pub(super) fn exponent(&self) -> i64 {
        match self.value.exponent() {
            Some(exponent) if !self.is_zero() => i64::from(exponent) - 1,
            _ => i64::MIN / 2,
        }
    }

    /// x·2ⁿ.
    pub(super) fn scaled(&self, n: i64) -> Real {
        let mut value = self.value.clone();
        if let (false, Some(exponent)) = (self.is_zero(), self.value.exponent()) {
            value.set_exponent(i32::try_from(i64::from(exponent) + n).unwrap_or(i32::MIN));
        }
        Real { value, bits: self.bits }
    }

    pub(super) fn is_nan(&self) -> bool {
        self.value.is_nan()
    }

    pub(super) fn is_infinite(&self) -> bool {
        self.value.is_inf()
    }

    pub(super) fn is_finite(&self) -> bool {
        !self.is_nan() && !self.is_infinite()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.value.is_zero()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.value.is_negative() && !self.is_zero()
    }

    /// The sign also of 0.
    pub(super) fn is_sign_negative(&self) -> bool {
        self.value.is_negative()
    }

    pub(super) fn is_integer(&self) -> bool {
        self.is_zero() || self.value.is_int()
    }

    /// Whether x < y.
    pub(super) fn less(&self, other: &Real) -> bool {
        self.value.cmp(&other.value).is_some_and(|order| order < 0)
    }

    /// Whether x < y for a number y.
    pub(super) fn below(&self, other: f64) -> bool {
        self.less(&Real::of(other))
    }

    fn map(&self, f: impl FnOnce(&BigFloat, usize) -> BigFloat) -> Real {
        Real { value: f(&self.value, self.bits), bits: self.bits }
    }

    pub(super) fn abs(&self) -> Real {
        self.map(|x, _| x.abs())
    }

    pub(super) fn floor(&self) -> Real {
        self.map(|x, _| x.floor())
    }

    pub(super) fn trunc(&self) -> Real {
        let floor = self.abs().floor();
        if self.is_negative() { -floor } else { floor }
    }

    /// To the nearest integer, ties to even.
    pub(super) fn round_ties_even(&self) -> Real {
        let floor = self.floor();
        let rest = self - &floor - 0.5;
        let is_odd = !(&floor * 0.5).is_integer();
        if rest.is_negative() || rest.is_zero() && !is_odd { floor } else { floor + 1.0 }
    }

    pub(super) fn sqrt(&self) -> Real {
        self.map(|x, bits| x.sqrt(bits, ROUNDING))
    }

    /// x modulo y, with the sign of x.
    pub(super) fn rem(&self, other: &Real) -> Real {
        let bits = self.bits.max(other.bits);
        Real { value: self.value.rem(&other.value), bits }
    }

    /// A sum of terms, each made of the one before by `next`, until they no longer count.
    fn series(first: Real, mut next: impl FnMut(&Real, f64) -> Real) -> Real {
        let last = i64::try_from(first.bits).unwrap_or(i64::MAX) + 8;
        let mut sum = first.clone();
        let mut term = first;
        let mut k = 1.0;
        loop {
            term = next(&term, k);
            sum = &sum + &term;
            if term.is_zero() || !term.is_finite() || sum.exponent() - term.exponent() > last {
                return sum;
            }
            k += 1.0;
        }
    }
}

impl Neg for &Real {
    type Output = Real;
    fn neg(self) -> Real {
        self.map(|x, _| x.neg())
    }
}

impl Neg for Real {
    type Output = Real;
    fn neg(self) -> Real {
        -&self
    }
}

/// What operators take: numbers, references to them, and floats.
trait Operand {
    fn number(&self) -> Cow<'_, Real>;
}

impl Operand for Real {
    fn number(&self) -> Cow<'_, Real> {
        Cow::Borrowed(self)
    }
}

impl Operand for &Real {
    fn number(&self) -> Cow<'_, Real> {
        Cow::Borrowed(self)
    }
}

impl Operand for f64 {
    fn number(&self) -> Cow<'_, Real> {
        Cow::Owned(Real::of(*self))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident: $($left:ty, $right:ty;)*) => {$(
        impl $trait<$right> for $left {
            type Output = Real;
            fn $method(self, other: $right) -> Real {
                let (x, y) = (self.number(), other.number());
                let bits = x.bits.max(y.bits);
                Real { value: x.value.$method(&y.value, bits, ROUNDING), bits }
            }
        }
    )*};
    ($($trait:ident, $method:ident)*) => {$(
        operator! { $trait, $method:
            Real, Real; Real, &Real; Real, f64; &Real, Real; &Real, &Real; &Real, f64; f64, Real; f64, &Real;
        }
    )*};
}

operator! { Add, add  Sub, sub  Mul, mul  Div, div }
