//! Sums, products, quotients, signs and steps.
//!
//! Every written operation is rounded on its own, in the computation dtype; only `mul_add` is fused. Integers wrap.

use crate::check::{bool_factor_for_bool, no_bool, no_bool_at_all};
use crate::prelude::*;
use gems_runtime::op::Seen;

/// x + y. Integers wrap; bool: or.
///
/// Matches `torch.add` without `alpha`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for both.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn add<T: Number>(input: T, other: T) -> T {
    input + other
}

/// x + alpha·y, the product rounded before the sum.
///
/// `alpha` takes no part in promotion; it must be an integer where the result is one.
///
/// Matches `torch.add(…, alpha=…)`, which fuses the product on some machines.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x, alpha for y.
#[pointwise_dynamic(
    promote = default(input, other), dtypes(bool, int, float, complex), check = bool_factor_for_bool,
    grad(order = 2)
)]
pub fn add_scaled<T: Number>(input: T, other: T, #[param] alpha: T) -> T {
    input + alpha * other
}

/// x − y. Integers wrap, unsigned ones too; bool buffers are refused.
///
/// Matches `torch.sub` without `alpha`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x, −1 for y.
#[doc(alias = "subtract")]
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float, complex), check = no_bool, grad(order = 2))]
pub fn sub<T: Number>(input: T, other: T) -> T {
    input - other
}

/// x − alpha·y, the product rounded before the difference.
///
/// Matches `torch.sub(…, alpha=…)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x, −alpha for y.
#[pointwise_dynamic(
    promote = default(input, other), dtypes(int, float, complex), check = no_bool_at_all, grad(order = 2)
)]
pub fn sub_scaled<T: Number>(input: T, other: T, #[param] alpha: T) -> T {
    input - alpha * other
}

/// y − x. Integers wrap, unsigned ones too; bool buffers are refused.
///
/// Matches `torch.rsub` without `alpha`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: −1 for x, 1 for y.
#[doc(alias = "__rsub__")]
#[pointwise_dynamic(
    promote = default(input, other), dtypes(int, float, complex), vote(other, input), check = no_bool, grad(order = 2)
)]
pub fn rsub<T: Number>(input: T, other: T) -> T {
    other - input
}

/// y − alpha·x, the product rounded before the difference.
///
/// Matches `torch.rsub(…, alpha=…)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: −alpha for x, 1 for y.
#[pointwise_dynamic(
    promote = default(input, other), dtypes(int, float, complex), vote(other, input), check = no_bool_at_all, grad(order = 2)
)]
pub fn rsub_scaled<T: Number>(input: T, other: T, #[param] alpha: T) -> T {
    other - alpha * input
}

/// x · y. Integers wrap; bool: and; complex products are not repaired at infinities.
///
/// Matches `torch.mul`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: y for x, x for y.
#[doc(alias = "multiply")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn mul<T: Number>(input: T, other: T) -> T {
    input * other
}

/// x / y, correctly rounded; integers become floats first. x/±0 = ±∞, 0/0 = NaN.
///
/// Matches `torch.div`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1/y for x, −(x/y)/y for y.
#[doc(alias = "divide")]
#[doc(alias = "true_divide")]
#[pointwise_dynamic(
    promote = int_to_float(input, other), dtypes(bool, int, float, complex),
    grad(order = 2)
)]
pub fn div<T: Analytic>(input: T, other: T) -> T {
    input / other
}

/// The quotient rounded toward zero. Integers: x/0 = 0, MIN/−1 = MIN.
///
/// Matches `torch.div(…, rounding_mode="trunc")`, which traps at an integer zero.
///
/// Special values: x/±0 = ±∞, 0/0 = NaN. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 0.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float), grad)]
pub fn div_trunc<T: Real>(input: T, other: T) -> T {
    input.div_trunc(other)
}

/// The quotient rounded toward −∞. Integers: x/0 = 0, MIN/−1 = MIN.
///
/// Matches `torch.div(…, rounding_mode="floor")` and `torch.floor_divide`, which trap at an integer zero.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 0.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float), grad)]
pub fn div_floor<T: Real>(input: T, other: T) -> T {
    input.div_floor(other)
}

pub use self::div_floor as floor_divide;

/// The remainder with the sign of x, exact. Integers: x mod 0 = 0. Floats: NaN if y is 0 or x infinite.
///
/// Matches `torch.fmod`, which traps at an integer zero.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1 for x, −trunc(x/y) for y.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float), grad(order = 2))]
pub fn fmod<T: Real>(input: T, other: T) -> T {
    input % other
}

/// The remainder with the sign of y, exact. Integers: x mod 0 = 0. Floats: NaN if y is 0 or x infinite.
///
/// Matches `torch.remainder`, which traps at an integer zero.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1 for x, −⌊x/y⌋ for y.
#[doc(alias = "__rmod__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float), grad(order = 2))]
pub fn remainder<T: Real>(input: T, other: T) -> T {
    input.rem_floor(other)
}

/// −x: flips the sign bit of floats (NaN too); integers wrap.
///
/// Matches `torch.neg`.
///
/// Accuracy: exact. Derivative: −1.
#[doc(alias = "negative")]
#[pointwise_dynamic(promote = default(input), compute = storage, dtypes(int, float), complex = neg_complex, grad(order = 2))]
pub fn neg<T: Bits>(input: T) -> T {
    input.neg()
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "neg", grad)]
fn neg_complex<T: Number>(input: T) -> T {
    -input
}

/// A copy of x.
///
/// Matches `torch.positive`, which returns x itself; bool is refused as there.
///
/// Special values: kept, bit by bit. Accuracy: exact. Derivative: 1.
#[pointwise_dynamic(promote = default(input), compute = storage, dtypes(int, float, complex), grad(order = 2))]
pub fn positive<T: Element>(input: T) -> T {
    input
}

/// |x|.
///
/// Clears the sign bit of floats (−0 → +0, NaN too); the lowest integer stays itself; complex gives the magnitude.
///
/// Matches `torch.abs`.
///
/// Accuracy: exact; of complex numbers 4 ulp. Derivative: the sign of x, 0 at 0 and NaN; z/|z| of complex numbers.
#[doc(alias = "absolute")]
#[pointwise_dynamic(promote = complex_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn abs<T: Number>(input: T) -> T::Real {
    input.abs()
}

/// 1/x, correctly rounded; integers become floats first. ±0 → ±∞.
///
/// Matches `torch.reciprocal`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: −r².
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn reciprocal<T: Analytic>(input: T) -> T {
    input.recip()
}

/// −1, 0 or 1 by the sign of x; 0 for NaN.
///
/// Matches `torch.sign`.
///
/// Accuracy: exact. Derivative: 0.
#[pointwise_dynamic(promote = default(input), dtypes(bool, int, float), grad(zero))]
pub fn sign<T: Real>(input: T) -> T {
    if input > 0 {
        1
    } else if input < 0 {
        -1
    } else {
        0
    }
}

/// The sign of a real number, as [`sign`]; the number of magnitude 1 with the angle of a complex one, 0 for 0.
///
/// Matches `torch.sgn`.
///
/// Special values: NaN gives 0. Accuracy: every written step is rounded correctly, alike on all devices. Derivative:
/// 0; of complex numbers the part across z, over |z|.
#[pointwise_dynamic(promote = default(input), dtypes(bool, int, float), complex = sgn_complex, grad(zero))]
pub fn sgn<T: Real>(input: T) -> T {
    sign::scalar(input)
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "sgn", grad(backward = of_complex_sgn))]
fn sgn_complex<T: Number>(input: T) -> T {
    let greatest = input.re().abs().max(input.im().abs());
    if greatest == 0 {
        0
    } else {
        let scaled = input / greatest as T;
        scaled / scaled.abs() as T
    }
}

/// What of g turns z, over |z|; 0 at 0.
#[device_fn]
fn of_complex_sgn<T: Analytic>(g: T, z: T) -> T {
    let size = z.abs();
    let direction = sgn_complex::scalar(z);
    let along = (direction.conj() * g).re();
    if size == 0 { 0 } else { (g - direction * (along as T)) / size as T }
}

/// x·x. Integers wrap; bool gives i64.
///
/// Matches `torch.square`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 2x.
#[pointwise_dynamic(promote = bool_to_long(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn square<T: Number>(input: T) -> T {
    input * input
}

/// x + (value·a)·b, every step rounded.
///
/// Matches `torch.addcmul`; a fractional `value` with an integer result is an error here.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x, value·b for a, value·a for b.
#[pointwise_dynamic(
    promote = default(input, tensor1, tensor2), dtypes(int, float, complex),
    grad(order = 2)
)]
pub fn addcmul<T: Number>(input: T, tensor1: T, tensor2: T, #[param] value: T) -> T {
    input + value * tensor1 * tensor2
}

/// The dividend or the divisor is a float or complex.
fn no_integer_quotient(arguments: &[Seen], _: DType) -> Result<()> {
    let is_whole = |argument: &Seen| argument.dtype() == DType::Bool || argument.dtype().is_int();
    if arguments.iter().skip(1).take(2).all(is_whole) {
        let message = "`tensor1` and `tensor2` are integers, whose quotient is none; convert one to a float";
        return Err(Error::new(ErrorKind::DType, message));
    }
    Ok(())
}

/// x + (value·a)/b, every step rounded; integers are not divided by integers.
///
/// Matches `torch.addcdiv`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x, value/b for a, −(value·a)/b² for b.
#[pointwise_dynamic(
    promote = default(input, tensor1, tensor2), dtypes(float, complex), check = no_integer_quotient, grad(order = 2))]
pub fn addcdiv<T: Analytic>(input: T, tensor1: T, tensor2: T, #[param] value: T) -> T {
    input + value * tensor1 / tensor2
}

/// x·a + b with one rounding; integers wrap, complex numbers round the product and the sum.
///
/// Own addition; C's `fma`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: a for x, x for a, 1 for b.
#[pointwise_dynamic(
    promote = default(input, a, b), dtypes(int, float), integers = mul_add_plain, complex = mul_add_plain, grad(order = 2)
)]
pub fn mul_add<T: Float>(input: T, a: T, b: T) -> T {
    input.mul_add(a, b)
}

#[pointwise_dynamic(promote = default(input, a, b), dtypes(int, complex), name = "mul_add", grad)]
fn mul_add_plain<T: Number>(input: T, a: T, b: T) -> T {
    input * a + b
}

/// x + alpha·y where that is positive, else +0; NaN stays NaN.
///
/// Matches `torch._add_relu`, which gives 0 for NaN on the CPU.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1 for x and alpha for y where
/// the result is positive or NaN, else 0.
#[doc(alias = "_add_relu")]
#[pointwise_dynamic(
    promote = default(input, other), dtypes(int, float), check = bool_factor_for_bool,
    grad(order = 2)
)]
pub fn add_relu<T: Real>(input: T, other: T, #[param] alpha: T) -> T {
    relu::scalar(input + alpha * other)
}

/// x + weight·(end − x), exact at weight 0 and 1: beyond ½ it is counted from the end.
///
/// Matches `torch.lerp`; dtypes promote here.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 − weight for x, weight for end, end − x for weight.
#[pointwise_dynamic(promote = default(input, end, weight), dtypes(float, complex), vote(input, end), grad(order = 2))]
pub fn lerp<T: Analytic>(input: T, end: T, weight: T) -> T {
    let span = end - input;
    if 2 * weight.abs() < 1 { input + weight * span } else { end - span * (1 - weight) }
}

/// √(x² + y²) without overflow or underflow; ∞ if either is infinite, whatever the other is.
///
/// Matches `torch.hypot`.
///
/// Accuracy: 4 ulp. Derivative: x/r and y/r, 0 at (0, 0).
#[pointwise_dynamic(promote = default(input, other), grad(order = 2))]
pub fn hypot<T: Float>(input: T, other: T) -> T {
    input.hypot(other)
}

/// Euclid's algorithm; the lowest integer stays itself.
#[device_fn]
fn euclid<T: Int>(a: T, b: T) -> T {
    let mut larger = a;
    let mut smaller = b;
    while smaller != 0 {
        let rest = larger % smaller;
        larger = smaller;
        smaller = rest;
    }
    larger.abs()
}

/// The greatest common divisor, not negative; gcd(0, 0) = 0. The lowest integer stays itself.
///
/// Matches `torch.gcd`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = default(input, other))]
pub fn gcd<T: Int>(input: T, other: T) -> T {
    euclid(input, other)
}

/// The least common multiple; 0 if either is 0. One that is too great wraps, and is made positive in 4 and 8 bytes.
///
/// Matches `torch.lcm`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = default(input, other))]
pub fn lcm<T: Int>(input: T, other: T) -> T {
    let multiple = (input / euclid(input, other)).abs() * other.abs();
    if T::BITS < 32 { multiple } else { multiple.abs() }
}

/// x·2^y. A whole y scales exactly, in one rounding; any other y multiplies by exp2(y).
///
/// Integers become floats first. Matches `torch.ldexp`, which overflows on the way.
///
/// Special values: ±0, ±∞ and NaN stay; 0·2^∞ = NaN. Accuracy: exact for a whole y, else 2 ulp; a complex power is
/// rounded in its own precision on the way. Derivative: 2^y for x, r·ln 2 for y.
#[pointwise_dynamic(
    promote = int_to_float(input, other), dtypes(bool, int, float), complex = ldexp_complex, grad(backward = crate::slope::of_ldexp, order = 2)
)]
pub fn ldexp<T: Float>(input: T, other: T) -> T {
    let whole = other.is_finite() && other == other.trunc();
    if whole { input.ldexp(other as i32) } else { input * other.exp2() }
}

#[pointwise_dynamic(promote = default(input, other), dtypes(complex), name = "ldexp", grad)]
fn ldexp_complex<T: Analytic>(input: T, other: T) -> T {
    if other.im() == 0 { input * other.exp2() } else { input * (2 as T).pow(other) }
}

/// |x| with the sign bit of y as stored, that of NaN and −0 too.
///
/// Integers become floats first. Matches `torch.copysign`.
///
/// Accuracy: exact. Derivative: ±1 by equal or unequal signs, 0 at 0; 0 for y.
#[pointwise_dynamic(
    promote = int_to_float(input, other), compute = storage, dtypes(bool, int, float),
    grad(order = 2)
)]
pub fn copysign<T: Bits>(input: T, other: T) -> T {
    input.copysign(other)
}

/// One step from x toward y in the stored dtype; y if they are equal, NaN if either is NaN.
///
/// Matches `torch.nextafter`.
///
/// Accuracy: exact. Derivative: 1 for x unless x = y; 0 for y.
#[pointwise_dynamic(promote = no_opmath(input, other), dtypes(float), grad)]
pub fn nextafter<T: Bits>(input: T, other: T) -> T {
    input.next_after(other)
}

/// 0 for x < 0 and NaN, 1 for x > 0, `values` for x = 0.
///
/// Matches `torch.heaviside`; dtypes promote here.
///
/// Accuracy: exact. Derivative: 0 for x; 1 for `values` where x = 0.
#[pointwise_dynamic(promote = default(input, values), dtypes(bool, int, float), grad)]
pub fn heaviside<T: Real>(input: T, values: T) -> T {
    if input == 0 {
        values
    } else if input > 0 {
        1
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn greatest_common_divisors_are_not_negative() {
        assert_eq!((gcd::scalar(-12i32, 18), gcd::scalar(0u8, 0)), (6, 0));
        assert_eq!((gcd::scalar(i8::MIN, 6), gcd::scalar(i8::MIN, 0)), (2, i8::MIN));
        assert_eq!((lcm::scalar(-4i64, 6), lcm::scalar(0i64, 0)), (12, 0));
    }

    #[test]
    fn scaling_by_a_power_of_two_does_not_overflow_on_the_way() {
        assert_eq!(ldexp::scalar(1e38f32, -160.0), (f64::from(1e38f32) / 2f64.powi(160)) as f32);
        assert_eq!(ldexp::scalar(3.0f32, 0.5), 3.0 * 2f32.sqrt());
        assert!(ldexp::scalar(0.0f32, f32::INFINITY).is_nan());
    }

    #[test]
    fn one_rounding_is_of_floats_alone() {
        let x = StridedBuffer::from_vec(vec![1.0f32 + f32::EPSILON], &[1]).unwrap();
        let difference = mul_add(&x, &x, -1).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(difference, [2.0 * f32::EPSILON + f32::EPSILON * f32::EPSILON]);
        let x = StridedBuffer::from_vec(vec![100u8], &[1]).unwrap();
        assert_eq!(mul_add(&x, 3, &x).unwrap().to_vec::<u8>().unwrap(), [144]);
        let z = StridedBuffer::from_vec(vec![Complex::new(0.0f32, 2.0)], &[1]).unwrap();
        let power = mul_add(&z, &z, 1).unwrap();
        assert_eq!(power.to_vec::<Complex<f32>>().unwrap(), [Complex::new(-3.0, 0.0)]);
    }

    #[test]
    fn signs_of_zero_and_nan_are_copied_as_stored() {
        assert!(copysign::scalar(1.0f32, -0.0) == -1.0 && copysign::scalar(1.0f32, -f32::NAN) == -1.0);
        assert!(nextafter::scalar(0.0f32, -0.0).is_sign_negative());
        let x = StridedBuffer::from_vec(vec![3u8], &[1]).unwrap();
        assert_eq!(copysign(&x, -1).unwrap().to_vec::<f32>().unwrap(), [-3.0]);
    }

    #[test]
    fn the_step_function_is_zero_for_nan() {
        let values = [-1.0, 0.0, 2.0, f64::NAN].map(|x| heaviside::scalar(x, 0.5));
        assert_eq!(values, [0.0, 0.5, 1.0, 0.0]);
    }

    #[test]
    fn a_bool_factor_is_for_bool_results() {
        let x = StridedBuffer::from_vec(vec![1i32], &[1]).unwrap();
        assert_eq!(add_scaled(&x, &x, true).unwrap_err().kind(), ErrorKind::Value);
        let x = StridedBuffer::from_vec(vec![true], &[1]).unwrap();
        assert_eq!(add_scaled(&x, &x, true).unwrap().to_vec::<bool>().unwrap(), [true]);
    }
}
