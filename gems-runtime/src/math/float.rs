//! f32 and f64.
//!
//! Arithmetic, rounding and the functions on bits are exact or correctly rounded, the same on every machine.
//! The elementary functions are those of the platform's math library, the special ones those of the `libm`
//! crate; both keep C99's special values.

use super::vector;
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
    ($ty:ident, $bits:ident, mantissa $mantissa:literal, bias $bias:literal, $ldexp:ident, $hypot:path,
     $exp:path, $tanh:path, $erfc:path, $normal_cdf:path) => {
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
                if remainder != 0.0 && (other < 0.0) != (remainder < 0.0) {
                    remainder + other
                } else {
                    remainder
                }
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
                let value = match quarters as i32 & 3 {
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
                match quarters as i32 & 3 {
                    0 => angle.cos(),
                    1 => 0.0 - angle.sin(),
                    2 => 0.0 - angle.cos(),
                    _ => angle.sin(),
                }
            }

            #[inline(always)]
            fn erfc(self) -> $ty {
                $erfc(self)
            }

            #[inline(always)]
            fn normal_cdf(self) -> $ty {
                $normal_cdf(self)
            }

            special! { $ty erf = libm::erf, lgamma = libm::lgamma, tgamma = libm::tgamma }
            special! { $ty bessel_j0 = libm::j0, bessel_j1 = libm::j1 }
            special! { $ty bessel_y0 = libm::y0, bessel_y1 = libm::y1 }
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

            #[inline(always)]
            fn exp(self) -> $ty {
                $exp(self)
            }

            #[inline(always)]
            fn tanh(self) -> $ty {
                $tanh(self)
            }

            std_functions! { $ty exp2 exp_m1 ln log2 ln_1p sin cos tan asin acos atan sinh cosh }
            special! { $ty log10 = f64::log10, asinh = libm::asinh, acosh = acosh, atanh = libm::atanh }
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

/// Functions whose f32 form is computed in f64.
macro_rules! special {
    ($ty:ident $($name:ident = $libm:path),*) => {$(
        #[inline]
        #[expect(clippy::allow_attributes, reason = "the lint depends on the type")]
        #[allow(clippy::cast_possible_truncation, reason = "rounds once")]
        fn $name(self) -> $ty {
            $libm(f64::from(self)) as $ty
        }
    )*};
}

float!(f32, u32, mantissa 23, bias 127, ldexp_f32, hypot_f32, vector::exp, vector::tanh, vector::erfc, vector::normal_cdf);
float!(f64, u64, mantissa 52, bias 1023, ldexp_f64, f64::hypot, f64::exp, tanh_f64, libm::erfc, normal_cdf_f64);

/// Φ(x), with the rounding of the argument of erfc taken back: erfc(t + δ) ≈ erfc(t)·(1 − 2tδ).
fn normal_cdf_f64(x: f64) -> f64 {
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let t = -x * root;
    let tail = libm::erfc(t);
    let rest = (-root).mul_add(root, 0.5) * root;
    let delta = (-x).mul_add(root, -t) - x * rest;
    0.5 * if t > 1.0 && tail > 0.0 { tail * (1.0 - 2.0 * t * delta) } else { tail }
}

/// 1 − 2/(e^2x + 1), and Cephes' rational function of x² near 0: 1.3 ulps, where the C library has more than 2.
#[inline]
fn tanh_f64(x: f64) -> f64 {
    let size = x.abs();
    if size >= 0.625 {
        return (1.0 - 2.0 / ((2.0 * size).exp() + 1.0)).copysign(x);
    }
    let s = x * x;
    let top = (-0.964_399_179_425_052_2 * s - 99.287_723_100_191_86) * s - 1_614.687_684_417_084_5;
    let bottom = ((s + 112.811_678_491_632_93) * s + 2_235.488_390_601_004_5) * s + 4_844.063_053_251_255;
    // The sign also of −0.
    (x + x * s * (top / bottom)).copysign(x)
}

/// The crate's function gives numbers for large negative x.
#[inline]
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

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
    // A step down stops short of the subnormals by 53 bits: below that, the result is zero however it was
    // rounded.
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

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! both {
        ($name:ident, $check:ident) => {
            #[test]
            fn $name() {
                $check!(f32);
                $check!(f64);
            }
        };
    }

    macro_rules! minima {
        ($ty:ident) => {
            let nan = $ty::NAN;
            for (x, y) in [(-0.0, 0.0), (0.0, -0.0)] {
                let (least, greatest): ($ty, $ty) = (Real::minimum(x, y), Real::maximum(x, y));
                assert!(least.is_sign_negative() && greatest.is_sign_positive());
                let (least, greatest): ($ty, $ty) = (Real::min(x, y), Real::max(x, y));
                assert!(least.is_sign_negative() && greatest.is_sign_positive());
            }
            for (x, y) in [(nan, 1.0), (1.0, nan)] {
                assert!(Real::minimum(x, y).is_nan() && Real::maximum(x, y).is_nan());
                assert_eq!((Real::min(x, y), Real::max(x, y)), (1.0, 1.0));
            }
            assert!(Real::min(nan, nan).is_nan() && Real::max(nan, nan).is_nan());
            assert_eq!(
                (Real::min(2.0, $ty::NEG_INFINITY), Real::maximum(2.0, -3.0 as $ty)),
                ($ty::NEG_INFINITY, 2.0)
            );
        };
    }
    both!(minima_order_zeros_and_treat_nan_as_named, minima);

    macro_rules! pi {
        ($ty:ident) => {
            let bits = |x: $ty| x.to_bits();
            for n in 0..40_u8 {
                let x = $ty::from(n);
                let sign = if n & 1 == 0 { 1.0 } else { -1.0 };
                assert_eq!(bits(Float::sin_pi(x)), bits(0.0), "{n}");
                assert_eq!(bits(Float::sin_pi(-x)), bits(-0.0), "-{n}");
                assert_eq!(bits(Float::cos_pi(x)), bits(sign), "{n}");
                assert_eq!(bits(Float::sin_pi(x + 0.5)), bits(sign), "{n}.5");
                assert_eq!(bits(Float::cos_pi(-x - 0.5)), bits(0.0), "-{n}.5");
                let near = (Float::sin_pi(x + 0.125) - sign * ($ty::PI / 8.0).sin()).abs();
                assert!(near <= 2.0 * $ty::EPSILON, "{n}.125: {near}");
            }
            assert_eq!((Float::sin_pi($ty::MAX), Float::cos_pi($ty::MAX)), (0.0, 1.0));
            assert!(Float::sin_pi($ty::INFINITY).is_nan() && Float::cos_pi($ty::NAN).is_nan());
        };
    }
    both!(circle_functions_of_pi_are_exact_at_halves, pi);

    macro_rules! specials {
        ($ty:ident) => {
            assert_eq!(Analytic::rsqrt(0.0 as $ty), $ty::INFINITY);
            assert_eq!(Analytic::rsqrt(-0.0 as $ty), $ty::NEG_INFINITY);
            assert!(Analytic::acosh(-8192.0 as $ty).is_nan() && Analytic::acosh(1.0 as $ty) == 0.0);
            assert_eq!(Float::hypot($ty::NAN, $ty::NEG_INFINITY), $ty::INFINITY);
            assert_eq!(Float::hypot($ty::MAX * 0.5, 0.0), $ty::MAX * 0.5);
            assert_eq!(Real::rem(-0.0 as $ty, 3.0).to_bits(), (-0.0 as $ty).to_bits());
            assert_eq!((Real::rem(5.5 as $ty, $ty::INFINITY), Real::rem(-7.5 as $ty, 2.0)), (5.5, -1.5));
            assert_eq!(Float::round_ties_even(2.5 as $ty), 2.0);
            assert_eq!(Float::atan2(0.0 as $ty, -0.0), $ty::PI);
            assert!((Float::lgamma(3.0 as $ty) - $ty::LN_2).abs() <= $ty::EPSILON);
            assert_eq!((Float::tgamma(5.0 as $ty), Float::lgamma(-2.0 as $ty)), (24.0, $ty::INFINITY));
            assert_eq!(
                (Float::bessel_j0(0.0 as $ty), Float::bessel_y1(0.0 as $ty)),
                (1.0, $ty::NEG_INFINITY)
            );
            let asinh: $ty = Analytic::asinh(1e20);
            assert!((asinh - 46.744849).abs() < 1e-5);
            // C99 Annex F.
            let pow = |x: $ty, y: $ty| Number::pow(x, y);
            assert_eq!([pow(1.0, $ty::NAN), pow($ty::NAN, 0.0), pow(-1.0, $ty::INFINITY)], [1.0; 3]);
            assert_eq!((pow(-0.0, -1.0), pow($ty::NEG_INFINITY, 0.5)), ($ty::NEG_INFINITY, $ty::INFINITY));
            assert_eq!((pow(2.0, 13.0), pow(10.0, 7.0)), (8192.0, 1e7));
            assert!(pow(-8.0, 1.0 / 3.0).is_nan());
        };
    }
    both!(special_values_are_those_of_c99, specials);

    #[test]
    fn powers_and_logarithms_are_exact_where_they_can_be() {
        for n in -149..=127_i16 {
            let x = Float::ldexp(1_f32, n.into());
            assert_eq!((Analytic::exp2(f32::from(n)), Analytic::log2(x)), (x, n.into()));
        }
        for n in -1074..=1023_i16 {
            let x = Float::ldexp(1_f64, n.into());
            assert_eq!((Analytic::exp2(f64::from(n)), Analytic::log2(x)), (x, n.into()));
        }
        // Below, the nearest f32 is subnormal and not near enough.
        for n in -38..=38_i16 {
            let x: f32 = format!("1e{n}").parse().unwrap();
            assert_eq!(Analytic::log10(x), f32::from(n), "1e{n}");
        }
        for n in -307..=308_i16 {
            let x: f64 = format!("1e{n}").parse().unwrap();
            assert_eq!(Analytic::log10(x), f64::from(n), "1e{n}");
        }
    }

    /// m · 2^−shift to nearest even, as an integer.
    fn rounded(m: u64, shift: u32) -> u64 {
        let (whole, rest, half) = (m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1));
        whole + u64::from(rest > half || rest == half && whole & 1 == 1)
    }

    #[test]
    fn scaling_into_the_subnormals_rounds_once() {
        for m in [1, 2, 3, 5, (1 << 53) - 1, (1 << 52) + 1, 0x15_5555_5555_5555, 0x18_0000_0000_0001] {
            for shift in 1..=60 {
                let got = Float::ldexp(m as f64, -1074 - shift as i32);
                assert_eq!(got.to_bits(), rounded(m, shift), "{m:#x} >> {shift}");
            }
        }
        for m in [1, 2, 3, 5, (1 << 24) - 1, (1 << 23) + 1, 0xaa_aaab, 0xc0_0001] {
            for shift in 1..=30 {
                let got = Float::ldexp(m as f32, -149 - shift as i32);
                assert_eq!(u64::from(got.to_bits()), rounded(m, shift), "{m:#x} >> {shift}");
            }
        }
    }

    #[test]
    fn scaling_reaches_both_ends() {
        assert_eq!(Float::ldexp(f64::from_bits(1), 2097), 2_f64.powi(1023));
        assert_eq!(Float::ldexp(f32::from_bits(1), 276), 2_f32.powi(127));
        assert_eq!((Float::ldexp(1_f64, i32::MAX), Float::ldexp(-1_f32, i32::MIN)), (f64::INFINITY, 0.0));
        assert_eq!(Float::ldexp(f64::MAX, -2097), f64::from_bits(2));
    }

    #[test]
    fn a_number_is_its_fraction_scaled() {
        for bits in (0..=u32::MAX).step_by(0x1_0001) {
            let x = f32::from_bits(bits);
            let (fraction, exponent) = Float::frexp(x);
            if x.is_finite() && x != 0.0 {
                assert!((0.5..1.0).contains(&fraction.abs()), "{x:e}");
                assert_eq!(Float::ldexp(fraction, exponent), x);
            } else {
                assert_eq!((fraction.to_bits(), exponent), (bits, 0));
            }
        }
        assert_eq!(Float::frexp(f64::from_bits(1)), (0.5, -1073));
    }
}
