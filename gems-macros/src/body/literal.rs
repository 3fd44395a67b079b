//! Literals: value, sign, suffix.

use crate::dtype::DType;
use crate::model::{Literal, LiteralValue};
use crate::types::{BOOL, Type};

/// What the suffix of a literal says of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    None,
    Type(Type),
}

impl Literal {
    /// Reads a number or a truth value; `None` for what the language does not have.
    pub(super) fn read(lit: &syn::Lit, negative: bool) -> Option<(Literal, Suffix)> {
        let (value, text, suffix) = match lit {
            syn::Lit::Bool(lit) if !negative => {
                let literal = Literal { value: LiteralValue::Bool(lit.value), negative, text: String::new() };
                return Some((literal, Suffix::Type(BOOL)));
            }
            syn::Lit::Int(lit) => {
                // `1f32` is an integer to syn and a float to Rust.
                let value = if matches!(lit.suffix(), "f32" | "f64") {
                    LiteralValue::Float(lit.base10_digits().to_owned())
                } else {
                    LiteralValue::Int(lit.base10_parse().ok()?)
                };
                (value, lit.to_string(), lit.suffix().to_owned())
            }
            syn::Lit::Float(lit) => (
                LiteralValue::Float(lit.base10_digits().to_owned()),
                lit.to_string(),
                lit.suffix().to_owned(),
            ),
            _ => return None,
        };
        let ty = match suffix.as_str() {
            "" => Suffix::None,
            "usize" => Suffix::Type(Type::Index),
            name => Suffix::Type(Type::Fixed(DType::from_name(name).filter(|dtype| dtype.is_scalar_type())?)),
        };
        let text = text.strip_suffix(suffix.as_str()).unwrap_or(&text).trim_end_matches('_').to_owned();
        Some((Literal { value, negative, text }, ty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str, suffix: &Suffix) {
        let lit = syn::parse_str(source).unwrap();
        let (literal, found) = Literal::read(&lit, false).unwrap();
        assert_eq!((literal.text.as_str(), &found), (text, suffix));
    }

    #[test]
    fn suffixes_are_taken_off() {
        check("0.5", "0.5", &Suffix::None);
        check("1_000", "1_000", &Suffix::None);
        check("0.5_f32", "0.5", &Suffix::Type(Type::Fixed(DType::F32)));
        check("3usize", "3", &Suffix::Type(Type::Index));
        check("1e-3", "1e-3", &Suffix::None);
    }

    #[test]
    fn strings_and_unknown_suffixes_are_no_literals_here() {
        for source in ["\"x\"", "'c'", "1isize", "1i128"] {
            assert!(Literal::read(&syn::parse_str(source).unwrap(), false).is_none(), "{source}");
        }
    }
}
