//! Powers and roots.

use crate::prelude::*;

/// The square root, correctly rounded; negative → NaN; −0 → −0.
///
/// Integers become floats first. Matches `torch.sqrt`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn sqrt<T: Analytic>(input: T) -> T {
    input.sqrt()
}

/// 1/√x; ±0 → ±∞; ∞ → 0; negative → NaN.
///
/// Integers become floats first. Matches `torch.rsqrt`.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex))]
pub fn rsqrt<T: Analytic>(input: T) -> T {
    input.rsqrt()
}

/// Integers have no negative power, unless it comes element by element.
fn integer_exponent(numbers: &[Option<Scalar>], common: DType) -> Result<()> {
    match numbers {
        [_, Some(exponent @ Scalar::I64(..0))] if !common.is_float() && !common.is_complex() => {
            let message = format!("exponent {exponent} has no integer power; convert the base to a float");
            Err(Error::new(ErrorKind::Value, message))
        }
        _ => Ok(()),
    }
}

/// xʸ.
///
/// Integers: exact modulo 2^width; a negative exponent gives 1 for 1, ±1 for −1, else 0. Floats: C99 Annex F.
///
/// Matches `torch.pow`; a number ±½ has no special values of its own here.
#[pointwise_dynamic(promote = default(input, exponent), dtypes(bool, int, float, complex), vote(input),
    check = integer_exponent)]
pub fn pow<T: Number>(input: T, exponent: T) -> T {
    input.pow(exponent)
}
