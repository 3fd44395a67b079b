//! Rules about arguments that several ops share: each refuses arguments before anything is planned.
//!
//! The first parameter has one entry an argument; the second is the common dtype. Does not see the values of buffers.

use crate::prelude::*;
use gems_runtime::op::Seen;

/// An error about a number.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::Value, message))
}

/// The number of a parameter as f64, if it is one.
pub(crate) fn number(arguments: &[Seen], position: usize) -> Option<f64> {
    match arguments.get(position)? {
        Seen::Number(number) => Some(number.to_f64()),
        Seen::Buffer { .. } => None,
    }
}

/// No buffer is bool.
pub(crate) fn no_bool(arguments: &[Seen], _: DType) -> Result<()> {
    if arguments.iter().any(|argument| matches!(argument, Seen::Buffer { dtype: DType::Bool, .. })) {
        let message =
            "a bool buffer cannot be subtracted or subtracted from; use `bitwise_xor` or `logical_not`";
        return Err(Error::new(ErrorKind::DType, message));
    }
    Ok(())
}

/// [`no_bool`] and [`bool_factor_for_bool`].
pub(crate) fn no_bool_at_all(arguments: &[Seen], common: DType) -> Result<()> {
    no_bool(arguments, common)?;
    bool_factor_for_bool(arguments, common)
}

/// A truth value as the last number needs a result of bool.
pub(crate) fn bool_factor_for_bool(arguments: &[Seen], common: DType) -> Result<()> {
    match arguments.last() {
        Some(Seen::Number(factor @ Scalar::Bool(_))) if common != DType::Bool => {
            refuse(format!("{factor} cannot scale {common}; pass 1 or 0"))
        }
        _ => Ok(()),
    }
}

/// The second and third parameter are a lower and an upper bound.
pub(crate) fn bounds_in_order(arguments: &[Seen], _: DType) -> Result<()> {
    match (number(arguments, 1), number(arguments, 2)) {
        (Some(lower), Some(upper)) if lower > upper => {
            refuse(format!("the lower bound {lower} is above the upper bound {upper}; exchange them"))
        }
        _ => Ok(()),
    }
}

/// The last number is not negative; NaN is refused too.
pub(crate) fn last_is_not_negative(arguments: &[Seen], _: DType) -> Result<()> {
    let last = arguments.len().wrapping_sub(1);
    match number(arguments, last) {
        Some(value) if value.is_nan() || value < 0.0 => {
            refuse(format!("{value} is negative or NaN; pass a number of 0 or more"))
        }
        _ => Ok(()),
    }
}

/// The last number is a probability.
pub(crate) fn last_is_a_probability(arguments: &[Seen], _: DType) -> Result<()> {
    let last = arguments.len().wrapping_sub(1);
    match number(arguments, last) {
        Some(p) if !(0.0..=1.0).contains(&p) => {
            refuse(format!("{p} is not a probability; pass a number from 0 to 1"))
        }
        _ => Ok(()),
    }
}

/// The last number, a factor of results or a value to store, can be had in the common dtype without loss of its kind.
///
/// Integers: within the range, negative ones allowed for unsigned dtypes as far as they wrap; a fraction is cut.
/// Floats: what is finite stays finite.
pub(crate) fn last_fits(arguments: &[Seen], common: DType) -> Result<()> {
    let Some(Seen::Number(value)) = arguments.last().copied() else { return Ok(()) };
    if fits(value, common) {
        return Ok(());
    }
    refuse(format!("{value} does not fit {common}; convert the buffer first"))
}

fn fits(value: Scalar, dtype: DType) -> bool {
    match (value, dtype) {
        (_, DType::Bool) | (Scalar::Bool(_), _) => true,
        (Scalar::C128(_), dtype) => dtype.is_complex(),
        (Scalar::I64(_) | Scalar::U64(_), dtype) if dtype.is_int() => {
            let negated = match value {
                Scalar::I64(value) if value < 0 && !dtype.is_signed() => Scalar::from(value.unsigned_abs()),
                other => other,
            };
            negated.side_of(dtype) == 0
        }
        (Scalar::F64(value), dtype) if dtype.is_int() => {
            let (low, high) = (Scalar::limit(dtype, -1).to_f64(), Scalar::limit(dtype, 1).to_f64());
            let low = if dtype.is_signed() { low } else { -high };
            (low..=high).contains(&value.trunc())
        }
        (value, dtype) => value.to_f64().is_infinite() || !stored(value, dtype).is_infinite(),
    }
}

/// A number as a float or complex dtype holds its real part.
fn stored(value: Scalar, dtype: DType) -> f64 {
    let bytes = value.store(dtype.real());
    let bytes = gems_runtime::dtype::convert_value(dtype.real(), bytes, DType::F64);
    f64::from_le_bytes(bytes[..8].try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_within_their_range() {
        assert!(fits(Scalar::I64(255), DType::U8) && !fits(Scalar::I64(256), DType::U8));
        assert!(fits(Scalar::I64(-255), DType::U8) && !fits(Scalar::I64(-256), DType::U8));
        assert!(fits(Scalar::I64(-128), DType::I8) && !fits(Scalar::I64(128), DType::I8));
        assert!(fits(Scalar::F64(2.7), DType::I64) && !fits(Scalar::F64(f64::NAN), DType::I64));
        assert!(fits(Scalar::U64(u64::MAX), DType::U64) && !fits(Scalar::U64(u64::MAX), DType::I64));
    }

    #[test]
    fn a_finite_number_that_would_become_infinite_does_not_fit() {
        assert!(fits(Scalar::F64(65504.0), DType::F16) && !fits(Scalar::F64(65520.0), DType::F16));
        assert!(fits(Scalar::F64(f64::INFINITY), DType::F16) && fits(Scalar::F64(f64::NAN), DType::BF16));
        assert!(fits(Scalar::F64(1e300), DType::F64) && !fits(Scalar::F64(1e300), DType::C64));
        assert!(!fits(Scalar::I64(70000), DType::F16) && fits(Scalar::F64(f64::NAN), DType::Bool));
    }

    #[test]
    fn bool_buffers_and_integer_quotients_are_refused() {
        let truth = StridedBuffer::from_vec(vec![true], &[1]).unwrap();
        let whole = StridedBuffer::from_vec(vec![3i32], &[1]).unwrap();
        let x = StridedBuffer::from_vec(vec![1.0f32], &[1]).unwrap();
        let refused = [
            sub(&x, &truth),
            sub(&truth, 1),
            rsub(&truth, &x),
            sub_scaled(&x, &truth, 2),
            addcdiv(&x, &whole, &whole, 1.0),
            addcdiv(&x, &truth, &whole, 1.0),
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::DType);
        }
        assert_eq!(sub_scaled(&x, &x, true).unwrap_err().kind(), ErrorKind::Value);
        assert_eq!(sub(&whole, true).unwrap().to_vec::<i32>().unwrap(), [2]);
        assert_eq!(addcdiv(&x, &x, &whole, 3.0).unwrap().to_vec::<f32>().unwrap(), [2.0]);
    }

    #[test]
    fn a_value_has_no_axes() {
        let x = StridedBuffer::from_vec(vec![1i64, 2], &[2]).unwrap();
        let mask = StridedBuffer::from_vec(vec![true, false], &[2]).unwrap();
        let value = StridedBuffer::from_vec(vec![2.7f32], &[]).unwrap();
        assert_eq!(masked_fill(&x, &mask, &value).unwrap().to_vec::<i64>().unwrap(), [2, 2]);
        let axis = value.unsqueeze(0).unwrap();
        for result in [fill(&x, &axis), masked_fill(&x, &mask, &axis)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Shape);
        }
    }

    #[test]
    fn complex_numbers_need_a_complex_dtype() {
        let i = Scalar::from(crate::__private::Complex::new(0.0f64, 1.0));
        assert!(!fits(i, DType::F64) && fits(i, DType::C64));
    }
}
