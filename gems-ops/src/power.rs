//! Powers and roots.

use crate::prelude::*;
use gems_runtime::op::Seen;

/// The square root, correctly rounded; negative → NaN; −0 → −0.
///
/// Integers become floats first. Matches `torch.sqrt`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1/(2r).
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn sqrt<T: Analytic>(input: T) -> T {
    input.sqrt()
}

/// 1/√x; ±0 → ±∞; ∞ → 0; negative → NaN.
///
/// Integers become floats first. Matches `torch.rsqrt`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: −½r³.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn rsqrt<T: Analytic>(input: T) -> T {
    input.rsqrt()
}

/// Integers have no negative power, unless it comes element by element.
fn integer_exponent(arguments: &[Seen], common: DType) -> Result<()> {
    match arguments {
        [_, Seen::Number(exponent @ Scalar::I64(..0))] if !common.is_float() && !common.is_complex() => {
            let message = format!("exponent {exponent} has no integer power; convert the base to a float");
            Err(Error::new(ErrorKind::Value, message))
        }
        _ => Ok(()),
    }
}

/// xʸ.
///
/// Integers: exact modulo 2^width; a negative exponent gives 1 for 1, ±1 for −1, else 0. Bool to a
/// bool: x or not y. Floats: C99 Annex F.
///
/// Matches `torch.pow`; a number ±½ has no special values of its own here.
///
/// Special values: 1^NaN = 1, x^0 = 1, (−1)^±∞ = 1. Accuracy: 4 ulp in f32, 2 in f64, exact where the result is; c64
/// rounds the logarithm and its product with y, as PyTorch does. Derivative: y·x^(y−1) for x, 0 where y = 0; r·ln x
/// for y, 0 where x = 0 ≤ y.
#[pointwise_dynamic(promote = default(input, exponent), dtypes(bool, int, float, complex), vote(input),
    check = integer_exponent,
    grad(order = 2)
)]
pub fn pow<T: Number>(input: T, exponent: T) -> T {
    input.pow(exponent)
}

/// xʸ computed in f64, in c128 if either is complex; a negative real x with a fractional y gives NaN.
///
/// Matches `torch.float_power`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: as `pow`.
#[pointwise_dynamic(
    promote = to_double(input, exponent), dtypes(bool, int, float, complex), vote(input),
    grad(order = 2)
)]
pub fn float_power<T: Analytic>(input: T, exponent: T) -> T {
    input.pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn special_values_of_powers_are_those_of_c99() {
        assert_eq!((pow::scalar(1.0, f64::NAN), pow::scalar(f64::NAN, 0.0)), (1.0, 1.0));
        assert_eq!((pow::scalar(-1.0, f64::INFINITY), pow::scalar(-0.0, -1.0)), (1.0, f64::NEG_INFINITY));
        assert_eq!((pow::scalar(10.0f32, 7.0), pow::scalar(3u8, 7)), (1e7, 139));
        assert_eq!((pow::scalar(0, -1), pow::scalar(1, -5), pow::scalar(-1, -5)), (0, 1, -1));
    }

    #[test]
    fn float_power_computes_in_f64() {
        let x = StridedBuffer::from_vec(vec![2i32, -2], &[2]).unwrap();
        assert_eq!(float_power(&x, -1).unwrap().to_vec::<f64>().unwrap(), [0.5, -0.5]);
        assert!(float_power(&x, 0.5).unwrap().to_vec::<f64>().unwrap()[1].is_nan());
        let z = StridedBuffer::from_vec(vec![Complex::new(0.0f32, 2.0)], &[1]).unwrap();
        let power = float_power(&z, &x).unwrap();
        assert_eq!(
            power.to_vec::<Complex<f64>>().unwrap(),
            [Complex::new(-4.0, 0.0), Complex::new(-0.25, 0.0)]
        );
        let negative = pow(&x, -1).unwrap_err();
        assert_eq!(negative.kind(), ErrorKind::Value);
    }

    #[test]
    fn float_power_in_place_takes_f64_alone() {
        let mut x = StridedBuffer::from_vec(vec![2.0f32], &[1]).unwrap();
        assert_eq!(float_power::inplace(&mut x, 2).unwrap_err().kind(), ErrorKind::DType);
        let mut x = StridedBuffer::from_vec(vec![2.0f64], &[1]).unwrap();
        float_power::inplace(&mut x, 2).unwrap();
        assert_eq!(x.to_vec::<f64>().unwrap(), [4.0]);
    }

    #[test]
    fn roots_keep_the_sign_of_zero() {
        assert!(sqrt::scalar(-0.0f32).is_sign_negative() && sqrt::scalar(-1.0f32).is_nan());
        assert_eq!((rsqrt::scalar(-0.0), rsqrt::scalar(f64::INFINITY)), (f64::NEG_INFINITY, 0.0));
    }
}
