//! f32 and f64.
//!
//! Arithmetic, rounding and the functions on bits are exact or correctly rounded, the same on every machine.
//! The elementary functions are those of the platform's math library, the special ones those of the `libm` crate;
//! both keep C99's special values.

use super::{Analytic, Bits, Float, Number, Real};
use num_complex::Complex;

/// The lesser of two numbers, none NaN, with −0 < +0.
macro_rules! lesser {
    ($x:expr, $y:expr) => {
        if $x < $y || ($x == $y && $x.is_sign_negative()) { $x } else { $y }
    };
}

/// The greater of two numbers, none NaN, with −0 < +0.
macro_rules! greater {
    ($x:expr, $y:expr) => {
        if $x > $y || ($x == $y && !$x.is_sign_negative()) { $x } else { $y }
    };
}

macro_rules! float {
    ($ty:ident, $bits:ident, mantissa $mantissa:literal, bias $bias:literal, $ldexp:ident, $hypot:path) => {
        impl Number for $ty {
            type Real = $ty;
            const ZERO: $ty = 0.0;
            const ONE: $ty = 1.0;

            #[inline(always)]
            #[expect(clippy::cast_precision_loss, reason = "rounds once")]
            fn from_int(value: i64) -> $ty {
                value as $ty
            }

            #[inline(always)]
            fn add(self, other: $ty) -> $ty {
                self + other
            }

            #[inline(always)]
            fn sub(self, other: $ty) -> $ty {
                self - other
            }

            #[inline(always)]
            fn mul(self, other: $ty) -> $ty {
                self * other
            }

            #[inline(always)]
            fn div(self, other: $ty) -> $ty {
                self / other
            }

            #[inline(always)]
            fn neg(self) -> $ty {
                -self
            }

            #[inline(always)]
            fn pow(self, exponent: $ty) -> $ty {
                self.powf(exponent)
            }

            #[inline(always)]
            fn abs(self) -> $ty {
                self.abs()
            }

            #[inline(always)]
            fn re(self) -> $ty {
                self
            }

            #[inline(always)]
            fn im(self) -> $ty {
                0.0
            }
        }

        impl Real for $ty {
            const MAX: $ty = $ty::MAX;
            const MIN: $ty = $ty::MIN;

            #[inline(always)]
            fn rem(self, other: $ty) -> $ty {
                self % other
            }

            #[inline(always)]
            fn div_trunc(self, other: $ty) -> $ty {
                (self / other).trunc()
            }

            #[inline]
            fn div_floor(self, other: $ty) -> $ty {
                let quotient = self / other;
                if other == 0.0 {
                    return quotient;
                }
                let remainder = self % other;
                let exact = (self - remainder) / other;
                let down = remainder != 0.0 && (other < 0.0) != (remainder < 0.0);
                let exact = if down { exact - 1.0 } else { exact };
                if exact == 0.0 {
                    return (0.0 as $ty).copysign(quotient);
                }
                let floor = exact.floor();
                if exact - floor > 0.5 { floor + 1.0 } else { floor }
            }

            #[inline(always)]
            fn rem_floor(self, other: $ty) -> $ty {
                let remainder = self % other;
                if remainder != 0.0 && (other < 0.0) != (remainder < 0.0) { remainder + other } else { remainder }
            }

            #[inline(always)]
            fn minimum(self, other: $ty) -> $ty {
                if self.is_nan() || other.is_nan() { self + other } else { lesser!(self, other) }
            }

            #[inline(always)]
            fn maximum(self, other: $ty) -> $ty {
                if self.is_nan() || other.is_nan() { self + other } else { greater!(self, other) }
            }

            #[inline(always)]
            fn min(self, other: $ty) -> $ty {
                if other.is_nan() { self } else { lesser!(self, other) }
            }

            #[inline(always)]
            fn max(self, other: $ty) -> $ty {
                if other.is_nan() { self } else { greater!(self, other) }
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }

        impl Float for $ty {
            type Complex = Complex<$ty>;
            const INFINITY: $ty = $ty::INFINITY;
            const NEG_INFINITY: $ty = $ty::NEG_INFINITY;
            const NAN: $ty = $ty::NAN;
            const EPSILON: $ty = $ty::EPSILON;
            const MIN_POSITIVE: $ty = $ty::MIN_POSITIVE;
            const PI: $ty = std::$ty::consts::PI;
            const E: $ty = std::$ty::consts::E;
            const LN_2: $ty = std::$ty::consts::LN_2;
            const LN_10: $ty = std::$ty::consts::LN_10;
            const SQRT_2: $ty = std::$ty::consts::SQRT_2;
            const FRAC_1_SQRT_2: $ty = std::$ty::consts::FRAC_1_SQRT_2;
            const FRAC_2_SQRT_PI: $ty = std::$ty::consts::FRAC_2_SQRT_PI;
            const FRAC_PI_2: $ty = std::$ty::consts::FRAC_PI_2;

            #[inline(always)]
            fn to_complex(self, im: $ty) -> Complex<$ty> {
                Complex::new(self, im)
            }

            #[inline(always)]
            fn floor(self) -> $ty {
                self.floor()
            }

            #[inline(always)]
            fn ceil(self) -> $ty {
                self.ceil()
            }

            #[inline(always)]
            fn trunc(self) -> $ty {
                self.trunc()
            }

            #[inline(always)]
            fn round_ties_even(self) -> $ty {
                self.round_ties_even()
            }

            #[inline(always)]
            fn mul_add(self, a: $ty, b: $ty) -> $ty {
                self.mul_add(a, b)
            }

            #[inline(always)]
            fn hypot(self, other: $ty) -> $ty {
                $hypot(self, other)
            }

            #[inline(always)]
            fn atan2(self, other: $ty) -> $ty {
                self.atan2(other)
            }

            #[inline(always)]
            fn copysign(self, sign: $ty) -> $ty {
                self.copysign(sign)
            }

            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }

            #[inline(always)]
            fn is_sign_negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn next_after(self, other: $ty) -> $ty {
                Bits::next_after(self, other)
            }

            #[inline]
            fn ldexp(self, n: i32) -> $ty {
                $ldexp(self, n)
            }

            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "an exponent has 11 bits at most")]
            fn frexp(self) -> ($ty, i32) {
                const MASK: $bits = 2 * $bias + 1;
                const HALF: $bits = $bias - 1;
                if self == 0.0 || !self.is_finite() {
                    return (self, 0);
                }
                // Subnormal numbers are made normal first.
                let lift = if self.abs() < $ty::MIN_POSITIVE { $mantissa } else { 0 };
                let bits = $ldexp(self, lift).to_bits();
                let exponent = i32::from((bits >> $mantissa & MASK) as u16);
                let fraction = bits & !(MASK << $mantissa) | HALF << $mantissa;
                ($ty::from_bits(fraction), exponent - ($bias - 1) - lift)
            }

            #[inline]
            fn cbrt(self) -> $ty {
                self.cbrt()
            }

            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "4 at most")]
            fn sin_pi(self) -> $ty {
                let turn = self.abs() % 2.0;
                let quarters = (turn + turn).round_ties_even();
                let angle = $ty::PI * (turn - 0.5 * quarters);
                // Subtracting from zero makes the zeros positive before they take the sign of x.
                let value = match quarters as u32 & 3 {
                    0 => angle.sin(),
                    1 => angle.cos(),
                    2 => 0.0 - angle.sin(),
                    _ => 0.0 - angle.cos(),
                };
                if self.is_sign_negative() { -value } else { value }
            }

            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "4 at most")]
            fn cos_pi(self) -> $ty {
                let turn = self.abs() % 2.0;
                let quarters = (turn + turn).round_ties_even();
                let angle = $ty::PI * (turn - 0.5 * quarters);
                match quarters as u32 & 3 {
                    0 => angle.cos(),
                    1 => 0.0 - angle.sin(),
                    2 => 0.0 - angle.cos(),
                    _ => angle.sin(),
                }
            }

            special! { $ty erf = erf, erfc = erfc, lgamma = lgamma, tgamma = tgamma }
            special! { $ty bessel_j0 = j0, bessel_j1 = j1, bessel_y0 = y0, bessel_y1 = y1 }
        }

        impl Analytic for $ty {
            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the lint depends on the type")]
            #[allow(clippy::cast_possible_truncation, reason = "rounds once")]
            fn from_float(value: f64) -> $ty {
                value as $ty
            }

            #[inline(always)]
            fn recip(self) -> $ty {
                1.0 / self
            }

            #[inline(always)]
            fn arg(self) -> $ty {
                if self.is_nan() {
                    self
                } else if self < 0.0 {
                    $ty::PI
                } else {
                    0.0
                }
            }

            #[inline(always)]
            fn sqrt(self) -> $ty {
                self.sqrt()
            }

            #[inline(always)]
            fn rsqrt(self) -> $ty {
                1.0 / self.sqrt()
            }

            std_functions! { $ty exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh }
            special! { $ty asinh = asinh, acosh = acosh, atanh = atanh }
        }
    };
}

/// The inherent methods of the same names.
macro_rules! std_functions {
    ($ty:ident $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> $ty {
            $ty::$name(self)
        }
    )*};
}

/// Functions of the `libm` crate, those of f32 computed in f64.
macro_rules! special {
    ($ty:ident $($name:ident = $libm:ident),*) => {$(
        #[inline]
        #[expect(clippy::allow_attributes, reason = "the lint depends on the type")]
        #[allow(clippy::cast_possible_truncation, reason = "rounds once")]
        fn $name(self) -> $ty {
            libm::$libm(f64::from(self)) as $ty
        }
    )*};
}

float!(f32, u32, mantissa 23, bias 127, ldexp_f32, hypot_f32);
float!(f64, u64, mantissa 52, bias 1023, ldexp_f64, f64::hypot);

/// Exact in f64 but for the square root and the conversion.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "rounds once")]
fn hypot_f32(x: f32, y: f32) -> f32 {
    if x.is_infinite() || y.is_infinite() {
        return f32::INFINITY;
    }
    let (x, y) = (f64::from(x), f64::from(y));
    (x * x + y * y).sqrt() as f32
}

/// 2^n for −1022 ≤ n ≤ 1023.
#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "positive in the domain")]
const fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// Exact in f64, so that only the conversion rounds.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "rounds once")]
fn ldexp_f32(x: f32, n: i32) -> f32 {
    (f64::from(x) * power_of_two(n.clamp(-300, 300))) as f32
}

/// In steps that are exact, unless their rounding cannot show in the result.
#[inline]
fn ldexp_f64(x: f64, n: i32) -> f64 {
    // A step down stops short of the subnormals by 53 bits: below that, the result is zero however it was rounded.
    const UP: i32 = 1023;
    const DOWN: i32 = -969;
    let mut y = x;
    let mut left = n.clamp(-2200, 2200);
    while left > UP {
        y *= power_of_two(UP);
        left -= UP;
    }
    while left < -1022 {
        y *= power_of_two(DOWN);
        left -= DOWN;
    }
    y * power_of_two(left)
}
