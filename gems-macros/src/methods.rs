//! The operations of the scalar language: one row for each method, operator and associated constant.
//!
//! A row says which trait of the runtime's `math` has the operation, its name in the C++ prelude, and the types of
//! its operands and result. Everything that reads or writes an operation looks here, so adding one is adding a row.

use crate::dtype::DType;
use crate::types::Trait::{self, Analytic, Bits, Float, Int, Number, Real};
use crate::types::{BOOL, Generic, Type};

/// An operation on values, written as a method call or as an operator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method {
    /// Name in the Rust trait.
    pub(crate) name: &'static str,
    /// The trait that has it.
    pub(crate) owner: Trait,
    /// Name in the C++ prelude.
    pub(crate) cuda: &'static str,
    /// The C++ operator that does the same on f32 and f64.
    pub(crate) operator: Option<&'static str>,
    /// Arguments behind the receiver.
    pub(crate) args: &'static [Arg],
    pub(crate) result: Res,
}

/// Type of an argument behind the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// The receiver's type.
    Same,
    /// i32.
    I32,
}

/// Type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Res {
    /// The receiver's type.
    Same,
    /// The type of the receiver's parts.
    Real,
    /// The complex type whose parts have the receiver's type.
    Complex,
    Bool,
    U32,
    /// The receiver's type and i32.
    SameAndI32,
}

/// An associated constant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    /// Name in the Rust trait, and of the function of the prelude's `limits`.
    pub(crate) name: &'static str,
    /// The trait that has it.
    pub(crate) owner: Trait,
    pub(crate) result: Res,
}

const fn method(
    owner: Trait,
    name: &'static str,
    cuda: &'static str,
    args: &'static [Arg],
    result: Res,
) -> Method {
    Method { name, owner, cuda, operator: None, args, result }
}

/// A function of the receiver alone that keeps its type and its name.
const fn unary(owner: Trait, name: &'static str) -> Method {
    method(owner, name, name, &[], Res::Same)
}

/// A function of two values of one type that keeps the type and its name.
const fn binary(owner: Trait, name: &'static str) -> Method {
    method(owner, name, name, &[Arg::Same], Res::Same)
}

/// A question about the receiver.
const fn predicate(owner: Trait, name: &'static str) -> Method {
    method(owner, name, name, &[], Res::Bool)
}

/// As [`binary`], with an operator in C++ for f32 and f64.
const fn arithmetic(name: &'static str, operator: &'static str) -> Method {
    Method {
        name,
        owner: Number,
        cuda: name,
        operator: Some(operator),
        args: &[Arg::Same],
        result: Res::Same,
    }
}

/// Every operation. Names that are C++ keywords have an underscore behind them in the prelude.
static METHODS: &[Method] = &[
    arithmetic("add", "+"),
    arithmetic("sub", "-"),
    arithmetic("mul", "*"),
    arithmetic("div", "/"),
    unary(Number, "neg"),
    method(Number, "abs", "abs", &[], Res::Real),
    method(Number, "re", "re", &[], Res::Real),
    method(Number, "im", "im", &[], Res::Real),
    unary(Number, "conj"),
    binary(Number, "pow"),
    binary(Real, "rem"),
    binary(Real, "div_trunc"),
    binary(Real, "div_floor"),
    binary(Real, "rem_floor"),
    binary(Real, "minimum"),
    binary(Real, "maximum"),
    binary(Real, "min"),
    binary(Real, "max"),
    predicate(Real, "is_nan"),
    method(Int, "bitand", "bitand_", &[Arg::Same], Res::Same),
    method(Int, "bitor", "bitor_", &[Arg::Same], Res::Same),
    binary(Int, "bitxor"),
    method(Int, "not", "not_", &[], Res::Same),
    binary(Int, "shl"),
    binary(Int, "shr"),
    method(Int, "count_ones", "count_ones", &[], Res::U32),
    method(Int, "leading_zeros", "leading_zeros", &[], Res::U32),
    method(Int, "trailing_zeros", "trailing_zeros", &[], Res::U32),
    method(Analytic, "arg", "arg", &[], Res::Real),
    unary(Analytic, "recip"),
    unary(Analytic, "sqrt"),
    unary(Analytic, "rsqrt"),
    unary(Analytic, "exp"),
    unary(Analytic, "exp2"),
    unary(Analytic, "exp_m1"),
    unary(Analytic, "ln"),
    unary(Analytic, "log2"),
    unary(Analytic, "log10"),
    unary(Analytic, "ln_1p"),
    unary(Analytic, "sin"),
    unary(Analytic, "cos"),
    unary(Analytic, "tan"),
    unary(Analytic, "asin"),
    unary(Analytic, "acos"),
    unary(Analytic, "atan"),
    unary(Analytic, "sinh"),
    unary(Analytic, "cosh"),
    unary(Analytic, "tanh"),
    unary(Analytic, "asinh"),
    unary(Analytic, "acosh"),
    unary(Analytic, "atanh"),
    method(Float, "to_complex", "to_complex", &[Arg::Same], Res::Complex),
    unary(Float, "floor"),
    unary(Float, "ceil"),
    unary(Float, "trunc"),
    unary(Float, "round_ties_even"),
    method(Float, "mul_add", "mul_add", &[Arg::Same, Arg::Same], Res::Same),
    binary(Float, "hypot"),
    binary(Float, "atan2"),
    binary(Float, "copysign"),
    predicate(Float, "is_infinite"),
    predicate(Float, "is_finite"),
    predicate(Float, "is_sign_negative"),
    binary(Float, "next_after"),
    method(Float, "ldexp", "ldexp", &[Arg::I32], Res::Same),
    method(Float, "frexp", "frexp", &[], Res::SameAndI32),
    unary(Float, "cbrt"),
    unary(Float, "sin_pi"),
    unary(Float, "cos_pi"),
    unary(Float, "erf"),
    unary(Float, "erfc"),
    unary(Float, "lgamma"),
    unary(Float, "tgamma"),
    unary(Float, "bessel_j0"),
    unary(Float, "bessel_j1"),
    unary(Float, "bessel_y0"),
    unary(Float, "bessel_y1"),
    method(Bits, "neg", "bits_neg", &[], Res::Same),
    method(Bits, "abs", "bits_abs", &[], Res::Same),
    method(Bits, "copysign", "bits_copysign", &[Arg::Same], Res::Same),
    method(Bits, "is_sign_negative", "bits_is_sign_negative", &[], Res::Bool),
    method(Bits, "next_after", "bits_next_after", &[Arg::Same], Res::Same),
];

const fn constant(owner: Trait, name: &'static str) -> Constant {
    Constant { name, owner, result: Res::Same }
}

/// Every associated constant.
static CONSTANTS: &[Constant] = &[
    constant(Number, "ZERO"),
    constant(Number, "ONE"),
    constant(Real, "MAX"),
    constant(Real, "MIN"),
    Constant { name: "BITS", owner: Int, result: Res::U32 },
    constant(Float, "INFINITY"),
    constant(Float, "NEG_INFINITY"),
    constant(Float, "NAN"),
    constant(Float, "EPSILON"),
    constant(Float, "MIN_POSITIVE"),
    constant(Float, "PI"),
    constant(Float, "E"),
    constant(Float, "LN_2"),
    constant(Float, "LN_10"),
    constant(Float, "SQRT_2"),
    constant(Float, "FRAC_1_SQRT_2"),
    constant(Float, "FRAC_2_SQRT_PI"),
    constant(Float, "FRAC_PI_2"),
];

/// Names that users of `std` or PyTorch may write, and what the operation is called here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("powi", "pow"),
    ("powf", "pow"),
    ("exp10", "pow"),
    ("log", "ln"),
    ("log1p", "ln_1p"),
    ("expm1", "exp_m1"),
    ("signum", "copysign"),
    ("round", "round_ties_even"),
    ("is_sign_positive", "is_sign_negative"),
    ("fract", "trunc"),
    ("gamma", "tgamma"),
    ("ln_gamma", "lgamma"),
    ("rem_euclid", "rem_floor"),
    ("div_euclid", "div_floor"),
    ("clamp", "max` and `min"),
    ("wrapping_add", "+"),
    ("wrapping_sub", "-"),
    ("wrapping_mul", "*"),
    ("wrapping_neg", "-"),
    ("wrapping_shl", "<<"),
    ("wrapping_shr", ">>"),
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
    ("into", "as"),
];

impl Method {
    /// The operation of this name on a type whose strongest trait is `traits`; of several, the one that it has.
    pub(crate) fn find(name: &str, traits: Option<Trait>) -> Option<&'static Method> {
        let mut rows = METHODS.iter().filter(|row| row.name == name);
        let first = rows.clone().next();
        rows.find(|row| traits.is_some_and(|traits| traits.implies(row.owner))).or(first)
    }

    /// Names of all methods.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        METHODS.iter().map(|row| row.name)
    }
}

impl Constant {
    /// The constant of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Constant> {
        CONSTANTS.iter().find(|row| row.name == name)
    }

    /// Names of all constants.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        CONSTANTS.iter().map(|row| row.name)
    }
}

impl Res {
    /// The type of the result for a receiver of this type.
    pub(crate) fn of(self, receiver: &Type, generic: Option<&Generic>) -> Type {
        match self {
            Res::Same => receiver.clone(),
            Res::Real => match receiver {
                Type::Generic if generic.is_some_and(|generic| generic.bound.may_be_complex()) => Type::Real,
                // `T: Float` has complex partners, whose parts are `T`.
                Type::Complex => Type::Generic,
                other => other.clone(),
            },
            Res::Complex => match receiver {
                Type::Generic => Type::Complex,
                Type::Fixed(DType::F32) => Type::Fixed(DType::C64),
                Type::Fixed(DType::F64) => Type::Fixed(DType::C128),
                _ => Type::Error,
            },
            Res::Bool => BOOL,
            Res::U32 => Type::Fixed(DType::U32),
            Res::SameAndI32 => Type::Tuple(vec![receiver.clone(), Type::Fixed(DType::I32)]),
        }
    }
}

/// What to write instead of a name that is not in the table: a known other name, or one that differs in a letter.
pub(crate) fn suggestion(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let other = OTHER_NAMES.iter().find(|row| row.0 == name).map(|row| row.1);
    other.or_else(|| known.into_iter().find(|known| is_near(name, known)))
}

/// Whether one insertion, deletion, replacement or swap of neighbors makes one name the other.
pub(crate) fn is_near(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&a[..a.len() - back], &b[..b.len() - back]) {
        ([] | [_], [] | [_]) => true,
        ([p, q], [r, s]) => p == s && q == r,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_for_each_trait() {
        for (i, row) in METHODS.iter().enumerate() {
            let twice =
                METHODS[i + 1..].iter().any(|other| (other.name, other.owner) == (row.name, row.owner));
            assert!(!twice, "{} stands twice", row.name);
        }
    }

    #[test]
    fn no_prelude_name_is_a_cpp_keyword() {
        for row in METHODS {
            assert!(!crate::names::is_reserved(row.cuda), "{}", row.cuda);
        }
    }

    #[test]
    fn a_name_in_two_traits_is_found_by_the_receiver() {
        assert_eq!(Method::find("neg", Some(Bits)).unwrap().cuda, "bits_neg");
        assert_eq!(Method::find("neg", Some(Float)).unwrap().cuda, "neg");
        assert_eq!(Method::find("neg", None).unwrap().cuda, "neg");
    }

    #[test]
    fn misspelt_names_have_a_suggestion() {
        assert_eq!(suggestion("flor", Method::names()), Some("floor"));
        assert_eq!(suggestion("log1p", Method::names()), Some("ln_1p"));
        assert_eq!(suggestion("frobnicate", Method::names()), None);
    }
}
