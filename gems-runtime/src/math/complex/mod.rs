//! Complex numbers with parts of f32 or f64.
//!
//! Guarantees C99's Annex G at zeros, infinities and NaN for the functions, no spurious overflow in
//! magnitude, division and square root, and plain multiplication without recovery of infinities. Division and
//! the functions of the narrow type are computed in the wide one and rounded once, but for the general power.

mod functions;
mod single;
#[cfg(test)]
mod tests;

use super::{Analytic, Cast, Float, Number};
use num_complex::Complex;

type C64 = Complex<f32>;
type C128 = Complex<f64>;

macro_rules! number {
    ($ty:ident, $part:ident, |$z:ident| abs $abs:expr, |$x:ident, $y:ident| div $div:expr, pow $pow:expr) => {
        impl Number for $ty {
            type Real = $part;
            const ZERO: $ty = $ty::new(0.0, 0.0);
            const ONE: $ty = $ty::new(1.0, 0.0);

            #[inline(always)]
            fn from_int(value: i64) -> $ty {
                $ty::new($part::from_int(value), 0.0)
            }

            #[inline(always)]
            fn add(self, other: $ty) -> $ty {
                $ty::new(self.re + other.re, self.im + other.im)
            }

            #[inline(always)]
            fn sub(self, other: $ty) -> $ty {
                $ty::new(self.re - other.re, self.im - other.im)
            }

            #[inline(always)]
            fn mul(self, other: $ty) -> $ty {
                let re = self.re * other.re - self.im * other.im;
                let im = self.re * other.im + self.im * other.re;
                $ty::new(re, im)
            }

            #[inline]
            fn div(self, other: $ty) -> $ty {
                let ($x, $y) = (self, other);
                $div
            }

            #[inline(always)]
            fn neg(self) -> $ty {
                $ty::new(-self.re, -self.im)
            }

            #[inline]
            fn pow(self, exponent: $ty) -> $ty {
                let ($x, $y) = (self, exponent);
                $pow
            }

            #[inline(always)]
            fn abs(self) -> $part {
                let $z = self;
                $abs
            }

            #[inline(always)]
            fn re(self) -> $part {
                self.re
            }

            #[inline(always)]
            fn im(self) -> $part {
                self.im
            }

            #[inline(always)]
            fn with_im(self, im: $part) -> $ty {
                $ty::new(self.re, im)
            }

            #[inline(always)]
            fn conj(self) -> $ty {
                $ty::new(self.re, -self.im)
            }
        }
    };
}

number!(C128, f64, |z| abs z.re.hypot(z.im), |x, y| div functions::div(x, y), pow functions::pow(x, y));
number!(
    C64, f32,
    |z| abs Float::hypot(z.re, z.im),
    |x, y| div narrow(functions::smith(wide(x), wide(y))), pow pow_narrow(x, y)
);

#[inline(always)]
fn wide(z: C64) -> C128 {
    z.cast()
}

#[inline(always)]
fn narrow(z: C128) -> C64 {
    z.cast()
}

/// z^w = exp(w · ln z) with the logarithm and the product rounded to f32, as PyTorch has them.
fn pow_narrow(z: C64, w: C64) -> C64 {
    if functions::is_plain_power(wide(z), wide(w)) {
        return narrow(functions::pow(wide(z), wide(w)));
    }
    let exponent = Number::mul(w, single::ln(z));
    narrow(functions::exp(wide(exponent)))
}

/// Writes `Analytic` for both types.
macro_rules! analytic {
    ($($name:ident)*) => {
        impl Analytic for C128 {
            #[inline(always)]
            fn from_float(value: f64) -> C128 {
                C128::new(value, 0.0)
            }

            #[inline(always)]
            fn arg(self) -> f64 {
                self.im.atan2(self.re)
            }

            $(
                #[inline]
                fn $name(self) -> C128 {
                    functions::$name(self)
                }
            )*
        }

        impl Analytic for C64 {
            #[inline(always)]
            fn from_float(value: f64) -> C64 {
                C64::new(f32::from_float(value), 0.0)
            }

            #[inline(always)]
            fn arg(self) -> f32 {
                self.im.atan2(self.re)
            }

            $(
                #[inline]
                fn $name(self) -> C64 {
                    narrow(functions::$name(wide(self)))
                }
            )*
        }
    };
}

analytic! {
    recip sqrt rsqrt exp exp2 exp_m1 ln log2 log10 ln_1p
    sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
}
