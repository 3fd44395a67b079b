//! The traits that scalar functions are written against, and their meaning on the CPU.
//!
//! One implementation of every operation of the scalar language in Rust; `emit/prelude/*.cuh` holds the same
//! operations in C++. Both sides agree bit for bit wherever no library function is called.
//! The macro turns operators and methods of annotated functions into calls of these traits.

mod bits;
mod cast;
mod complex;
mod float;
mod int;
mod round;
mod vector;

pub use crate::dtype::Element;
pub use bits::Bits;
pub use cast::Cast;
pub(crate) use round::{Odd, Small};

/// Bool, integer, float and complex numbers: a ring with division and a magnitude.
///
/// bool computes as PyTorch's does: `add` is or, `mul` is and.
pub trait Number: Element {
    /// The type of magnitudes: the parts of a complex type, else the type itself.
    type Real: Real;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The number nearest to an integer literal; integers wrap.
    fn from_int(value: i64) -> Self;
    /// x + y; integers wrap.
    fn add(self, other: Self) -> Self;
    /// x − y; integers wrap.
    fn sub(self, other: Self) -> Self;
    /// x · y; integers wrap; complex without recovery of infinities.
    fn mul(self, other: Self) -> Self;
    /// x / y: IEEE for floats, toward zero for integers with x/0 = 0 and MIN/−1 = MIN, scaled for complex.
    fn div(self, other: Self) -> Self;
    /// −x: flips the sign bit of floats (NaN too); integers wrap.
    fn neg(self) -> Self;
    /// x^y. Integers: modulo 2^width by squaring; a negative y gives 1 for x = 1, ±1 for x = −1, else 0. Floats and
    /// complex numbers: C99 Annex F and G at the special values.
    fn pow(self, exponent: Self) -> Self;
    /// |x|: clears the sign bit of floats; MIN stays MIN for integers; hypot of the parts for complex.
    fn abs(self) -> Self::Real;
    /// The real part; a real number itself.
    fn re(self) -> Self::Real;
    /// The imaginary part; 0 of a real number.
    fn im(self) -> Self::Real;
    /// The complex number with the same real part and this imaginary part; a real number itself.
    #[must_use]
    #[inline(always)]
    fn with_im(self, im: Self::Real) -> Self {
        let _ = im;
        self
    }
    /// The complex conjugate; a real number itself.
    #[must_use]
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
}

/// Bool, integers and real floats: ordered numbers.
pub trait Real: Number<Real = Self> + PartialOrd {
    /// Largest finite value.
    const MAX: Self;
    /// Lowest finite value.
    const MIN: Self;

    /// The remainder with the sign of x, exact: C's fmod for floats; integers: x % 0 = 0, MIN % −1 = 0.
    fn rem(self, other: Self) -> Self;
    /// The quotient rounded toward zero; integers: x/0 = 0, MIN/−1 = MIN.
    fn div_trunc(self, other: Self) -> Self;
    /// The quotient rounded toward −∞; integers: x/0 = 0, MIN/−1 = MIN; floats: exact where the quotient is near an
    /// integer, as C's fmod has it.
    fn div_floor(self, other: Self) -> Self;
    /// The remainder with the sign of y, exact; integers: 0 if y is 0.
    fn rem_floor(self, other: Self) -> Self;
    /// The lesser value; NaN if either is NaN; −0 is less than +0.
    fn minimum(self, other: Self) -> Self;
    /// The greater value; NaN if either is NaN; −0 is less than +0.
    fn maximum(self, other: Self) -> Self;
    /// The lesser value; the other one if one is NaN; −0 is less than +0.
    fn min(self, other: Self) -> Self;
    /// The greater value; the other one if one is NaN; −0 is less than +0.
    fn max(self, other: Self) -> Self;
    /// x is NaN; false for integers.
    fn is_nan(self) -> bool;
}

/// Bool and integers: bit operations.
pub trait Int: Real {
    /// Width in bits (8 for bool).
    const BITS: u32;

    /// Bitwise and.
    fn bitand(self, other: Self) -> Self;
    /// Bitwise or.
    fn bitor(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn bitxor(self, other: Self) -> Self;
    /// Complement; logical not for bool.
    fn not(self) -> Self;
    /// Left shift; 0 if the count is negative or not less than the width.
    fn shl(self, count: Self) -> Self;
    /// Right shift, arithmetic for signed types; sign fill if the count is negative or not less than the
    /// width.
    fn shr(self, count: Self) -> Self;
    /// Number of one bits.
    fn count_ones(self) -> u32;
    /// Number of zero bits above the highest one.
    fn leading_zeros(self) -> u32;
    /// Number of zero bits below the lowest one.
    fn trailing_zeros(self) -> u32;
}

/// Floats and complex numbers: the elementary functions.
#[expect(missing_docs, reason = "each method is the function of its name in `std` or C99")]
pub trait Analytic: Number {
    /// The value nearest to a float literal.
    fn from_float(value: f64) -> Self;
    /// The angle of the complex plane, in (−π, π]; of a real number π below 0, else 0, or NaN.
    fn arg(self) -> Self::Real;
    fn recip(self) -> Self;
    fn sqrt(self) -> Self;
    /// 1/√x.
    fn rsqrt(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
}

/// Real floats.
#[expect(missing_docs, reason = "each method is the function of its name in `std` or C99")]
pub trait Float: Real + Analytic {
    /// The complex type with parts of this type.
    type Complex: Analytic<Real = Self>;
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    const NAN: Self;
    const EPSILON: Self;
    const MIN_POSITIVE: Self;
    const PI: Self;
    const E: Self;
    const LN_2: Self;
    const LN_10: Self;
    const SQRT_2: Self;
    const FRAC_1_SQRT_2: Self;
    const FRAC_2_SQRT_PI: Self;
    const FRAC_PI_2: Self;

    /// The complex number with this real part.
    fn to_complex(self, im: Self) -> Self::Complex;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// Half to even.
    fn round_ties_even(self) -> Self;
    /// x·a + b with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn hypot(self, other: Self) -> Self;
    /// The angle of (other, self).
    fn atan2(self, other: Self) -> Self;
    /// |x| with the sign bit of y.
    fn copysign(self, sign: Self) -> Self;
    fn is_infinite(self) -> bool;
    fn is_finite(self) -> bool;
    /// The sign bit, of NaN and −0 too.
    fn is_sign_negative(self) -> bool;
    /// One step toward `other` in this type.
    fn next_after(self, other: Self) -> Self;
    /// x·2^n in one rounding.
    fn ldexp(self, n: i32) -> Self;
    /// (mantissa in [½, 1), exponent); (x, 0) for 0, ∞ and NaN.
    fn frexp(self) -> (Self, i32);
    fn cbrt(self) -> Self;
    /// sin(πx), exact at multiples of ½.
    fn sin_pi(self) -> Self;
    /// cos(πx), exact at multiples of ½.
    fn cos_pi(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    /// The normal distribution Φ(x) = erfc(−x/√2)/2, relative to the result in the tail.
    fn normal_cdf(self) -> Self;
    /// ln |Γ(x)|.
    fn lgamma(self) -> Self;
    /// Γ(x).
    fn tgamma(self) -> Self;
    fn bessel_j0(self) -> Self;
    fn bessel_j1(self) -> Self;
    fn bessel_y0(self) -> Self;
    fn bessel_y1(self) -> Self;
}
