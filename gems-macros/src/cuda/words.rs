//! Spelling of types and literals in C++.
//!
//! Guarantees that a literal has exactly the value that it has in Rust.

use crate::dtype::DType;
use crate::model::{Literal, LiteralValue};
use crate::types::Type;

/// The spelling of a type of one value.
pub(super) fn scalar_type(ty: &Type) -> &'static str {
    match ty {
        Type::Real => "math::real_t<T>",
        Type::Complex => "math::complex_t<T>",
        Type::Fixed(dtype) => dtype.name(),
        Type::Index => "u64",
        _ => "T",
    }
}

/// A literal of this type.
pub(super) fn literal(literal: &Literal, ty: &Type) -> String {
    let sign = if literal.negative { "-" } else { "" };
    match (&literal.value, ty) {
        (LiteralValue::Bool(value), _) => value.to_string(),
        (LiteralValue::Float(digits), Type::Fixed(DType::F32)) => {
            format!("{sign}{:?}f", digits.parse::<f32>().unwrap_or(f32::NAN))
        }
        (LiteralValue::Float(digits), ty) => {
            let value = format!("{sign}{:?}", digits.parse::<f64>().unwrap_or(f64::NAN));
            if *ty == Type::Fixed(DType::F64) { value } else { format!("{}({value})", scalar_type(ty)) }
        }
        (LiteralValue::Int(value), Type::Fixed(DType::I32)) if *value <= i32::MAX as u64 => {
            format!("{sign}{value}")
        }
        (LiteralValue::Int(value), Type::Fixed(DType::U32)) => format!("{sign}{value}u"),
        // −2^63 has no literal in C++: the minus would stand before a number that is too large, and so unsigned.
        (LiteralValue::Int(LEAST), ty) if literal.negative => {
            format!("{}(-{}ll - 1)", scalar_type(ty), i64::MAX)
        }
        (LiteralValue::Int(value), ty) => format!("{}({sign}{value}{})", scalar_type(ty), int_suffix(*value)),
    }
}

/// The least i64 without its sign.
const LEAST: u64 = i64::MIN.unsigned_abs();

/// The suffix that makes an integer wide enough.
fn int_suffix(value: u64) -> &'static str {
    if i32::try_from(value).is_ok() {
        ""
    } else if i64::try_from(value).is_ok() {
        "ll"
    } else {
        "ull"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: LiteralValue, negative: bool, ty: &Type, expected: &str) {
        let text = String::new();
        assert_eq!(literal(&Literal { value, negative, text }, ty), expected);
    }

    #[test]
    fn floats_round_trip() {
        let float = |digits: &str| LiteralValue::Float(digits.to_owned());
        check(float("0.1"), false, &Type::Generic, "T(0.1)");
        check(float("0.1"), true, &Type::Fixed(DType::F32), "-0.1f");
        check(float("1"), false, &Type::Fixed(DType::F32), "1.0f");
        check(float("1e-30"), false, &Type::Fixed(DType::F64), "1e-30");
    }

    #[test]
    fn integers_are_wide_enough() {
        check(LiteralValue::Int(5), true, &Type::Fixed(DType::I32), "-5");
        check(LiteralValue::Int(1 << 31), true, &Type::Fixed(DType::I32), "i32(-2147483648ll)");
        check(LiteralValue::Int(1 << 63), true, &Type::Fixed(DType::I64), "i64(-9223372036854775807ll - 1)");
        check(LiteralValue::Int(1 << 63), true, &Type::Generic, "T(-9223372036854775807ll - 1)");
        check(LiteralValue::Int(1 << 63), false, &Type::Fixed(DType::U64), "u64(9223372036854775808ull)");
        check(LiteralValue::Int(7), false, &Type::Fixed(DType::U8), "u8(7)");
        check(LiteralValue::Int(7), false, &Type::Generic, "T(7)");
        check(LiteralValue::Int(3), false, &Type::Index, "u64(3)");
    }
}
