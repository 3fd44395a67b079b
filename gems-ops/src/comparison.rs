//! Comparisons and tests; the results are bool.
//!
//! Operands are joined first, so that u8 meets i8 in i16. A number meets an integer buffer with its exact value,
//! a float buffer in the computation dtype.

use crate::check;
use crate::prelude::*;
use gems_runtime::op::Seen;

/// x = y; false for NaN; −0 = 0.
///
/// Matches `torch.eq`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float, complex), numbers = exact)]
pub fn eq<T: Number>(input: T, other: T) -> bool {
    input == other
}

/// x ≠ y; true for NaN.
///
/// Matches `torch.ne`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "not_equal")]
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float, complex), numbers = exact)]
pub fn ne<T: Number>(input: T, other: T) -> bool {
    input != other
}

/// x < y; false for NaN.
///
/// Matches `torch.lt`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "less")]
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn lt<T: Real>(input: T, other: T) -> bool {
    input < other
}

/// x ≤ y; false for NaN.
///
/// Matches `torch.le`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "less_equal")]
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn le<T: Real>(input: T, other: T) -> bool {
    input <= other
}

/// x > y; false for NaN.
///
/// Matches `torch.gt`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "greater")]
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn gt<T: Real>(input: T, other: T) -> bool {
    input > other
}

/// x ≥ y; false for NaN.
///
/// Matches `torch.ge`; an integer number outside the dtype's range keeps its value here.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "greater_equal")]
#[pointwise_dynamic(promote = always_bool(input, other), dtypes(bool, int, float), numbers = exact)]
pub fn ge<T: Real>(input: T, other: T) -> bool {
    input >= other
}

/// Tolerances are not negative.
fn tolerances(arguments: &[Seen], _: DType) -> Result<()> {
    for (position, name) in [(2, "rtol"), (3, "atol")] {
        if let Some(tolerance) = check::number(arguments, position)
            && (tolerance.is_nan() || tolerance < 0.0)
        {
            return check::refuse(format!("`{name}` = {tolerance} is negative or NaN; pass 0 or more"));
        }
    }
    Ok(())
}

/// x = y, or |x − y| finite and ≤ atol + |rtol·y|, or both NaN and `equal_nan`.
///
/// The difference of integers is exact; differences are compared in f64.
///
/// Matches `torch.isclose`; dtypes promote here.
///
/// Accuracy: differences of integers are exact, the rest is rounded as written. Derivative: none.
#[pointwise_dynamic(
    promote = always_bool(input, other), dtypes(bool, int, float), check = tolerances, complex = isclose_complex
)]
pub fn isclose<T: Real>(
    input: T,
    other: T,
    #[param] rtol: f64,
    #[param] atol: f64,
    #[param] equal_nan: bool,
) -> bool {
    let gap = if input < other { other - input } else { input - other };
    // A difference that is too great for a signed integer wrapped once.
    let wrapped = if gap < 0 { 2.0 * (T::MAX as f64 + 1.0) } else { 0.0 };
    let distance = gap as f64 + wrapped;
    let near = distance <= atol + (rtol * other as f64).abs() && gap <= T::MAX;
    input == other || near || equal_nan && input.is_nan() && other.is_nan()
}

#[pointwise_dynamic(
    promote = always_bool(input, other), dtypes(complex), check = tolerances, name = "isclose"
)]
fn isclose_complex<T: Number>(
    input: T,
    other: T,
    #[param] rtol: f64,
    #[param] atol: f64,
    #[param] equal_nan: bool,
) -> bool {
    let distance = (input - other).abs() as f64;
    let near = distance <= atol + (rtol * other.abs() as f64).abs() && distance < f64::INFINITY;
    input == other || near || equal_nan && input != input && other != other
}

/// x is NaN; complex: either part is.
///
/// Matches `torch.isnan`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float, complex))]
pub fn isnan<T: Number>(input: T) -> bool {
    input != input
}

/// x is ∞ or −∞; complex: either part is.
///
/// Matches `torch.isinf`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float), complex = isinf_complex)]
pub fn isinf<T: Real>(input: T) -> bool {
    input > T::MAX || input < T::MIN
}

#[pointwise_dynamic(promote = always_bool(input), dtypes(complex), name = "isinf")]
fn isinf_complex<T: Number>(input: T) -> bool {
    let (re, im) = (input.re(), input.im());
    // ∞ − ∞ is NaN.
    re == re && re - re != 0 || im == im && im - im != 0
}

/// x is neither infinite nor NaN; complex: both parts are.
///
/// Matches `torch.isfinite`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float), complex = isfinite_complex)]
pub fn isfinite<T: Real>(input: T) -> bool {
    T::MIN <= input && input <= T::MAX
}

#[pointwise_dynamic(promote = always_bool(input), dtypes(complex), name = "isfinite")]
fn isfinite_complex<T: Number>(input: T) -> bool {
    let (re, im) = (input.re(), input.im());
    re - re == 0 && im - im == 0
}

/// x is ∞.
///
/// Matches `torch.isposinf`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float))]
pub fn isposinf<T: Real>(input: T) -> bool {
    input > T::MAX
}

/// x is −∞.
///
/// Matches `torch.isneginf`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float))]
pub fn isneginf<T: Real>(input: T) -> bool {
    input < T::MIN
}

/// The imaginary part is 0: true for every number of a real dtype, NaN too.
///
/// Matches `torch.isreal`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int, float, complex))]
pub fn isreal<T: Number>(input: T) -> bool {
    input.im() == 0
}

/// The sign bit of a float as stored, that of NaN and −0 too; x < 0 for an integer, false for bool.
///
/// Matches `torch.signbit`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(
    promote = always_bool(input), compute = storage, dtypes(bool, int, float), integers = signbit_integers
)]
pub fn signbit<T: Bits>(input: T) -> bool {
    input.is_sign_negative()
}

#[pointwise_dynamic(promote = always_bool(input), dtypes(bool, int), name = "signbit")]
fn signbit_integers<T: Int>(input: T) -> bool {
    input < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_are_close_to_themselves_only() {
        let close = |x: f32, y| isclose::scalar(x, y, 1e-5, f64::INFINITY, false);
        assert!(close(f32::INFINITY, f32::INFINITY) && !close(f32::INFINITY, 1.0) && close(0.0, 1.0));
        assert!(!close(f32::NAN, f32::NAN) && isclose::scalar(f32::NAN, f32::NAN, 0.0, 0.0, true));
    }

    #[test]
    fn distances_of_integers_do_not_wrap() {
        assert!(!isclose::scalar(i8::MIN, i8::MAX, 0.0, 254.5, false));
        assert!(isclose::scalar(i8::MIN, i8::MAX, 0.0, 255.0, false));
        assert!(!isclose::scalar(i64::MIN, i64::MAX, 0.0, 1e19, false));
        assert!(isclose::scalar(i64::MAX, i64::MAX - 1, 0.0, 1.0, false));
        assert!(!isclose::scalar(u64::MAX, u64::MAX - 2, 0.0, 1.0, false));
    }

    #[test]
    fn negative_tolerances_are_refused() {
        let x = StridedBuffer::from_vec(vec![1.0f32], &[1]).unwrap();
        for (rtol, atol) in [(-1.0, 0.0), (0.0, f64::NAN)] {
            assert_eq!(isclose(&x, &x, rtol, atol, false).unwrap_err().kind(), ErrorKind::Value);
        }
    }

    #[test]
    fn infinities_are_found_in_the_stored_dtype() {
        let tests =
            |x: f64| (isinf::scalar(x), isfinite::scalar(x), isposinf::scalar(x), isneginf::scalar(x));
        assert_eq!(tests(1e300), (false, true, false, false));
        assert_eq!(tests(f64::INFINITY), (true, false, true, false));
        assert_eq!(tests(f64::NEG_INFINITY), (true, false, false, true));
        assert_eq!(tests(f64::NAN), (false, false, false, false));
        assert!(isfinite::scalar(u8::MAX) && !isinf::scalar(true));
    }

    #[test]
    fn sign_bits_of_zero_and_nan_are_seen() {
        assert!(signbit::scalar(-0.0f64) && signbit::scalar(-f32::NAN) && !signbit::scalar(3u8));
    }
}
