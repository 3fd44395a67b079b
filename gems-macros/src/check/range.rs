//! Whether a literal lies in the range of its type; rustc does not look at tokens that the macro has made.

use crate::dtype::DType;
use crate::model::{Literal, LiteralValue};
use crate::types::Type;

/// The range of the type, if the literal lies outside.
pub(super) fn excess(literal: &Literal, ty: &Type) -> Option<String> {
    match &literal.value {
        LiteralValue::Bool(_) => None,
        LiteralValue::Int(value) => {
            let (least, most) = integers(ty)?;
            let value = i128::from(*value) * if literal.negative { -1 } else { 1 };
            // A type without sign has no minus, not even before 0.
            let fits = (least..=most).contains(&value) && !(literal.negative && least == 0);
            (!fits).then(|| format!("{least} to {most}"))
        }
        LiteralValue::Float(digits) => {
            let (is_finite, most) = match ty {
                Type::Fixed(DType::F32 | DType::C64) => {
                    (digits.parse::<f32>().map(f32::is_finite), format!("{:e}", f32::MAX))
                }
                _ => (digits.parse::<f64>().map(f64::is_finite), format!("{:e}", f64::MAX)),
            };
            (is_finite == Ok(false)).then(|| format!("numbers up to {most}"))
        }
    }
}

/// The least and the greatest integer that a literal of this type can say.
fn integers(ty: &Type) -> Option<(i128, i128)> {
    let dtype = match ty {
        Type::Index => DType::U64,
        // Literals of a type parameter are given as i64.
        Type::Generic | Type::Real | Type::Complex => DType::I64,
        Type::Fixed(dtype) => *dtype,
        _ => return None,
    };
    let (signed, bits) = dtype.integer()?;
    let most = (1 << (bits - u32::from(signed))) - 1;
    Some((if signed { -most - 1 } else { 0 }, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: LiteralValue, negative: bool, ty: DType, fits: bool) {
        let literal = Literal { value, negative, text: String::new() };
        assert_eq!(excess(&literal, &Type::Fixed(ty)).is_none(), fits, "{literal:?}");
    }

    #[test]
    fn integers_end_where_their_type_does() {
        for (ty, least, most) in [
            (DType::I8, Some(128), 127),
            (DType::U8, None, 255),
            (DType::I64, Some(1 << 63), i64::MAX.unsigned_abs()),
            (DType::U64, None, u64::MAX),
        ] {
            check(LiteralValue::Int(most), false, ty, true);
            check(LiteralValue::Int(least.unwrap_or(0)), true, ty, least.is_some());
            if let Some(above) = most.checked_add(1) {
                check(LiteralValue::Int(above), false, ty, false);
            }
        }
    }

    #[test]
    fn floats_end_where_they_would_be_infinite() {
        let float = |digits: &str| LiteralValue::Float(digits.to_owned());
        check(float("1e40"), false, DType::F32, false);
        check(float("1e40"), true, DType::F64, true);
        check(float("1e400"), false, DType::F64, false);
        check(float("1e-400"), false, DType::F64, true);
    }
}
