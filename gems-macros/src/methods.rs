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
    /// The gradient of each operand, in the scalar language; see [`crate::grad::rules`]. Without one, the operation
    /// has no derivative.
    pub(crate) gradients: &'static [&'static str],
}

/// Type of an argument behind the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// The receiver's type.
    Same,
    /// The type of the receiver's parts.
    Real,
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
    Method { name, owner, cuda, operator: None, args, result, gradients: &[] }
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
const fn arithmetic(
    name: &'static str,
    operator: &'static str,
    gradients: &'static [&'static str],
) -> Method {
    Method {
        name,
        owner: Number,
        cuda: name,
        operator: Some(operator),
        args: &[Arg::Same],
        result: Res::Same,
        gradients,
    }
}

impl Method {
    /// The same with the gradients of its operands.
    const fn gradients(self, gradients: &'static [&'static str]) -> Method {
        Method { gradients, ..self }
    }
}

/// The gradient of a piecewise constant function.
const ZERO: &[&str] = &["0"];
/// Gradients of two operands of which the result is one; halves where they are equal. A NaN that the result shows is
/// everybody's, one that it hides is nobody's.
const MINIMUM: &[&str] = &[
    "if x == y { 0.5 * g } else if x > y { 0 } else { g }",
    "if x == y { 0.5 * g } else if y > x { 0 } else { g }",
];
const MAXIMUM: &[&str] = &[
    "if x == y { 0.5 * g } else if x < y { 0 } else { g }",
    "if x == y { 0.5 * g } else if y < x { 0 } else { g }",
];
const MIN: &[&str] = &[
    "if x == y { 0.5 * g } else if x < y || y.is_nan() { g } else { 0 }",
    "if x == y { 0.5 * g } else if y < x || x.is_nan() && y == y { g } else { 0 }",
];
const MAX: &[&str] = &[
    "if x == y { 0.5 * g } else if x > y || y.is_nan() { g } else { 0 }",
    "if x == y { 0.5 * g } else if y > x || x.is_nan() && y == y { g } else { 0 }",
];
/// The sign for what lies on the real line, else z/|z|; 0 at 0.
const ABS: &[&str] = &["if x.im() == 0 {
        (if x.re() > 0 { g } else if x.re() < 0 { -g } else { 0 }).widen()
    } else {
        x * (g / r).widen()
    }"];
const POW: &[&str] = &[
    "if y == 0 { 0 } else { g * (y * x.pow(y - 1)).conj() }",
    "if x == 0 && y.re() >= 0 { 0 } else { g * (r * x.ln()).conj() }",
];
/// i·z/|z|², 0 at 0; real numbers have none.
const ARG: &[&str] = &["if x.is_complex() {
        let m = x.abs();
        let u = if m == 0 { 0 } else { g / m };
        let v = if m == 0 { 1 } else { m };
        (0).with_im(u) * (x / v.widen())
    } else {
        (0).widen()
    }"];
/// Two roots keep to the branch of complex numbers; one root is real wherever its square is positive.
const ACOSH: &[&str] = &["if x.is_complex() {
        g / ((x - 1).sqrt() * (x + 1).sqrt()).conj()
    } else {
        g / ((x - 1) * (x + 1)).sqrt().abs().widen()
    }"];
/// Scaled by the larger operand, so that nothing overflows.
const ATAN2: &[&str] = &[
    "{
        let m = x.abs().maximum(y.abs());
        let (u, v) = (x / m, y / m);
        if m == 0 { 0 } else if m > T::MAX { g * (y / m) } else { g * v / (m * (u * u + v * v)) }
    }",
    "{
        let m = x.abs().maximum(y.abs());
        let (u, v) = (x / m, y / m);
        if m == 0 { 0 } else if m > T::MAX { -(g * (x / m)) } else { -(g * u / (m * (u * u + v * v))) }
    }",
];
/// ∞ at 0, where two infinities would meet.
const BESSEL_Y1: &[&str] = &["if x == 0 { g * T::INFINITY } else { g * (x.bessel_y0() - r / x) }"];
const COPYSIGN: &[&str] = &[
    "if x == 0 {
        0
    } else if x.is_nan() {
        x
    } else if x.is_sign_negative() == y.is_sign_negative() {
        g
    } else {
        -g
    }",
    "0",
];

/// Every operation. Names that are C++ keywords have an underscore behind them in the prelude.
static METHODS: &[Method] = &[
    arithmetic("add", "+", &["g", "g"]),
    arithmetic("sub", "-", &["g", "-g"]),
    arithmetic("mul", "*", &["g * y.conj()", "g * x.conj()"]),
    arithmetic("div", "/", &["g / y.conj()", "-(g * (r / y).conj())"]),
    unary(Number, "neg").gradients(&["-g"]),
    method(Number, "abs", "abs", &[], Res::Real).gradients(ABS),
    method(Number, "re", "re", &[], Res::Real).gradients(&["g.widen()"]),
    method(Number, "im", "im", &[], Res::Real).gradients(&["(0).with_im(g)"]),
    method(Number, "with_im", "with_im", &[Arg::Real], Res::Same).gradients(&["g.re().widen()", "g.im()"]),
    unary(Number, "conj").gradients(&["g.conj()"]),
    binary(Number, "pow").gradients(POW),
    binary(Real, "rem").gradients(&["g", "-(g * x.div_trunc(y))"]),
    binary(Real, "div_trunc").gradients(&["0", "0"]),
    binary(Real, "div_floor").gradients(&["0", "0"]),
    binary(Real, "rem_floor").gradients(&["g", "-(g * x.div_floor(y))"]),
    binary(Real, "minimum").gradients(MINIMUM),
    binary(Real, "maximum").gradients(MAXIMUM),
    binary(Real, "min").gradients(MIN),
    binary(Real, "max").gradients(MAX),
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
    method(Analytic, "arg", "arg", &[], Res::Real).gradients(ARG),
    unary(Analytic, "recip").gradients(&["-(g * (r * r).conj())"]),
    unary(Analytic, "sqrt").gradients(&["g / (2 * r).conj()"]),
    unary(Analytic, "rsqrt").gradients(&["-(0.5 * g * (r * r * r).conj())"]),
    unary(Analytic, "exp").gradients(&["g * r.conj()"]),
    unary(Analytic, "exp2").gradients(&["g * (r * 0.6931471805599453).conj()"]),
    unary(Analytic, "exp_m1").gradients(&["g * x.exp().conj()"]),
    unary(Analytic, "ln").gradients(&["g / x.conj()"]),
    unary(Analytic, "log2").gradients(&["g / (x * 0.6931471805599453).conj()"]),
    unary(Analytic, "log10").gradients(&["g / (x * 2.302585092994046).conj()"]),
    unary(Analytic, "ln_1p").gradients(&["g / (1 + x).conj()"]),
    unary(Analytic, "sin").gradients(&["g * x.cos().conj()"]),
    unary(Analytic, "cos").gradients(&["-(g * x.sin().conj())"]),
    unary(Analytic, "tan").gradients(&["g * (1 + r * r).conj()"]),
    unary(Analytic, "asin").gradients(&["g / ((1 - x) * (1 + x)).sqrt().conj()"]),
    unary(Analytic, "acos").gradients(&["-(g / ((1 - x) * (1 + x)).sqrt().conj())"]),
    unary(Analytic, "atan").gradients(&["g / (1 + x * x).conj()"]),
    unary(Analytic, "sinh").gradients(&["g * x.cosh().conj()"]),
    unary(Analytic, "cosh").gradients(&["g * x.sinh().conj()"]),
    unary(Analytic, "tanh").gradients(&["g * (1 - r * r).conj()"]),
    unary(Analytic, "asinh").gradients(&["g / (1 + x * x).sqrt().conj()"]),
    unary(Analytic, "acosh").gradients(ACOSH),
    unary(Analytic, "atanh").gradients(&["g / ((1 - x) * (1 + x)).conj()"]),
    method(Float, "to_complex", "to_complex", &[Arg::Same], Res::Complex).gradients(&["g.re()", "g.im()"]),
    unary(Float, "floor").gradients(ZERO),
    unary(Float, "ceil").gradients(ZERO),
    unary(Float, "trunc").gradients(ZERO),
    unary(Float, "round_ties_even").gradients(ZERO),
    method(Float, "mul_add", "mul_add", &[Arg::Same, Arg::Same], Res::Same)
        .gradients(&["g * y", "g * x", "g"]),
    binary(Float, "hypot")
        .gradients(&["if r == 0 { 0 } else { g * (x / r) }", "if r == 0 { 0 } else { g * (y / r) }"]),
    binary(Float, "atan2").gradients(ATAN2),
    binary(Float, "copysign").gradients(COPYSIGN),
    predicate(Float, "is_infinite"),
    predicate(Float, "is_finite"),
    predicate(Float, "is_sign_negative"),
    binary(Float, "next_after").gradients(&["if x == y { 0 } else { g }", "0"]),
    method(Float, "ldexp", "ldexp", &[Arg::I32], Res::Same).gradients(&["g.ldexp(y)"]),
    method(Float, "frexp", "frexp", &[], Res::SameAndI32).gradients(&["g.ldexp(-e)"]),
    unary(Float, "cbrt").gradients(&["g / (3 * r * r)"]),
    unary(Float, "sin_pi").gradients(&["g * T::PI * x.cos_pi()"]),
    unary(Float, "cos_pi").gradients(&["-(g * T::PI * x.sin_pi())"]),
    unary(Float, "erf").gradients(&["g * T::FRAC_2_SQRT_PI * (-(x * x)).exp()"]),
    unary(Float, "erfc").gradients(&["-(g * T::FRAC_2_SQRT_PI * (-(x * x)).exp())"]),
    unary(Float, "normal_cdf").gradients(&["g * 0.3989422804014327 * (-0.5 * x * x).exp()"]),
    unary(Float, "lgamma"),
    unary(Float, "tgamma"),
    unary(Float, "bessel_j0").gradients(&["-(g * x.bessel_j1())"]),
    unary(Float, "bessel_j1").gradients(&["if x == 0 { 0.5 * g } else { g * (x.bessel_j0() - r / x) }"]),
    unary(Float, "bessel_y0").gradients(&["-(g * x.bessel_y1())"]),
    unary(Float, "bessel_y1").gradients(BESSEL_Y1),
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

    /// Every operation.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = &'static Method> {
        METHODS.iter()
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
                Type::Fixed(dtype) => Type::Fixed(dtype.real()),
                other => other.clone(),
            },
            Res::Complex => match receiver {
                Type::Generic => Type::Complex,
                Type::Fixed(dtype) => dtype.complex().map_or(Type::Error, Type::Fixed),
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
    fn the_guide_lists_every_method() {
        let guide = include_str!("../../docs/guide.md");
        let operators = ["add", "sub", "mul", "div", "neg", "bitand", "bitor", "bitxor", "not", "shl", "shr"];
        for name in Method::names().filter(|name| !operators.contains(name)) {
            assert!(guide.contains(&format!("`{name}`")), "{name}");
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
