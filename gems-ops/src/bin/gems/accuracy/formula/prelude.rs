//! The functions that formulas call, on tracked numbers.

use super::super::exact::{Real, ndtr};
use super::super::points::Format;
use super::tracked::{Decided, Tracked, Undecided};
use super::{Value, bounds};
use gems_ops::dtype::DType;

/// A function of one number.
type Unary = fn(&Real) -> Real;

/// A function of the library, the op whose bound it has, and its ulps where short forms stand in for results in bf16.
type Library = (&'static str, Unary, &'static str, f64);

const LIBRARY: &[Library] = &[
    ("exp", Real::exp, "exp", 3.0),
    ("exp2", Real::exp2, "exp2", 2.0),
    ("exp_m1", Real::exp_m1, "expm1", 2.0),
    ("ln", Real::ln, "log", 2.0),
    ("log2", Real::log2, "log2", 2.0),
    ("log10", Real::log10, "log10", 2.0),
    ("ln_1p", Real::ln_1p, "log1p", 2.0),
    ("sin", Real::sin, "sin", 2.0),
    ("cos", Real::cos, "cos", 2.0),
    ("tan", Real::tan, "tan", 4.0),
    ("atan", Real::atan, "atan", 2.0),
    ("sinh", Real::sinh, "sinh", 4.0),
    ("cosh", Real::cosh, "cosh", 4.0),
    ("tanh", Real::tanh, "tanh", 24.0),
    ("asinh", Real::asinh, "asinh", 4.0),
    ("atanh", Real::atanh, "atanh", 4.0),
    ("normal_cdf", ndtr, "special_ndtr", 128.0),
];

/// Functions without an error of their own that may jump.
const STEPS: &[(&str, Unary)] = &[
    ("floor", Real::floor),
    ("ceil", |x| -(-x).floor()),
    ("trunc", Real::trunc),
    ("round_ties_even", Real::round_ties_even),
];

/// The other functions that formulas may call, and what is no function in the text.
const OTHERS: &str = "add sub mul div neg abs re conj arg sqrt pow frexp is_nan is_infinite is_finite maximum minimum max \
                      min copysign bits_neg bits_abs bits_copysign div_trunc div_floor next_after limits cast real_t tuple2 tuple3 \
                      tuple4 tuple5 tuple6";

/// Whether formulas with this function have an exact value here.
pub(super) fn knows(name: &str) -> bool {
    let is_listed = LIBRARY.iter().any(|entry| entry.0 == name) || STEPS.iter().any(|entry| entry.0 == name);
    is_listed || OTHERS.split_whitespace().any(|other| other == name)
}

impl Value {
    pub(super) fn number(self) -> Decided<Tracked> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Bool(truth) => {
                Ok(Tracked::exact(Real::of(f64::from(u8::from(truth))), Format::of(DType::F64)))
            }
            Value::Tuple(_) => unreachable!("formulas are typed"),
        }
    }

    pub(super) fn truth(self) -> Decided<bool> {
        match self {
            Value::Bool(truth) => Ok(truth),
            number => {
                let number = number.number()?;
                Ok(!number.equals(&Tracked::exact(Real::of(0.0), number.format))?)
            }
        }
    }
}

pub(super) fn operator(word: &str, left: Value, right: Value) -> Decided<Value> {
    if let (Value::Bool(left), Value::Bool(right)) = (&left, &right) {
        return Ok(Value::Bool((left == right) == (word == "==")));
    }
    let (left, right) = (left.number()?, right.number()?);
    let is_number = !left.value.is_nan() && !right.value.is_nan();
    Ok(match word {
        "+" => Value::Number(left.add(&right)?),
        "-" => Value::Number(left.sub(&right)?),
        "*" => Value::Number(left.mul(&right)?),
        "/" => Value::Number(left.div(&right)?),
        "<" => Value::Bool(left.less(&right)?),
        ">" => Value::Bool(right.less(&left)?),
        "<=" => Value::Bool(is_number && !right.less(&left)?),
        ">=" => Value::Bool(is_number && !left.less(&right)?),
        "==" => Value::Bool(left.equals(&right)?),
        _ => Value::Bool(!left.equals(&right)?),
    })
}

/// A function of the prelude; `result` is what the op's results are rounded to.
pub(super) fn call(name: &str, dtype: DType, result: DType, arguments: Vec<Value>) -> Decided<Value> {
    let numbers = arguments.into_iter().map(Value::number).collect::<Decided<Vec<_>>>()?;
    if let ("frexp", [x]) = (name, numbers.as_slice()) {
        let exponent = if x.value.is_zero() || !x.value.is_finite() { 0 } else { x.value.exponent() + 1 };
        let fraction = Tracked::exact(x.value.scaled(-exponent), x.format);
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let exponent = Tracked::exact(Real::of(exponent as f64), x.format);
        return Ok(Value::Tuple(vec![Value::Number(fraction), Value::Number(exponent)]));
    }
    if let Some(constant) = name.strip_prefix("limits::") {
        return Ok(Value::Number(limit(constant, dtype)?));
    }
    Ok(match (name, numbers.as_slice()) {
        ("is_nan", [x]) => Value::Bool(x.value.is_nan()),
        ("is_infinite", [x]) => Value::Bool(x.value.is_infinite()),
        ("is_finite", [x]) => Value::Bool(x.value.is_finite()),
        (_, [x]) => Value::Number(of_one(name, dtype, result, x)?),
        (_, [x, y]) => match name {
            "add" => operator("+", Value::Number(x.clone()), Value::Number(y.clone()))?,
            "sub" => operator("-", Value::Number(x.clone()), Value::Number(y.clone()))?,
            "mul" => operator("*", Value::Number(x.clone()), Value::Number(y.clone()))?,
            "div" => operator("/", Value::Number(x.clone()), Value::Number(y.clone()))?,
            _ => Value::Number(of_two(name, dtype, x, y)?),
        },
        _ => unreachable!("`knows` has none of {} operands", numbers.len()),
    })
}

fn of_one(name: &str, dtype: DType, result: DType, x: &Tracked) -> Decided<Tracked> {
    if let Some((_, function)) = STEPS.iter().find(|step| step.0 == name) {
        return x.stepped(function);
    }
    if let Some((_, function, op, short)) = LIBRARY.iter().find(|entry| entry.0 == name) {
        let allowed = bounds::bound(op, dtype).ok_or(Undecided)?;
        let relative = allowed.eps * 2f64.powi(x.format.mantissa);
        let ulps = allowed.ulps.max(relative).max(if result == DType::BF16 { *short } else { 0.0 });
        return x.apply(ulps, function);
    }
    match name {
        "neg" | "bits_neg" => Ok(x.negated()),
        "abs" | "bits_abs" => Ok(x.abs()),
        "re" | "conj" => Ok(x.clone()),
        "sqrt" => x.apply(0.5, Real::sqrt),
        "arg" if x.value.is_nan() => Ok(x.clone()),
        "arg" if x.less(&Tracked::exact(Real::of(0.0), x.format))? => limit("PI", dtype),
        "arg" => Ok(Tracked::exact(Real::of(0.0), x.format)),
        _ => unreachable!("`knows` does not have {name}"),
    }
}

fn of_two(name: &str, dtype: DType, x: &Tracked, y: &Tracked) -> Decided<Tracked> {
    let has_nan = x.value.is_nan() || y.value.is_nan();
    match name {
        "maximum" | "minimum" if has_nan => Ok(if x.value.is_nan() { x.clone() } else { y.clone() }),
        "max" | "min" if has_nan => Ok(if x.value.is_nan() { y.clone() } else { x.clone() }),
        "maximum" | "max" => Ok(x.either(y, y.value.less(&x.value))),
        "minimum" | "min" => Ok(x.either(y, x.value.less(&y.value))),
        "copysign" | "bits_copysign" => {
            if !y.is_certain() && !y.error.less(&y.value.abs()) {
                return Err(Undecided);
            }
            Ok(if y.value.is_sign_negative() == x.value.is_sign_negative() { x.clone() } else { x.negated() })
        }
        "pow" => {
            let allowed = bounds::bound("pow", dtype).ok_or(Undecided)?;
            x.apply_both(y, allowed.ulps, Real::pow)
        }
        "next_after" if x.is_certain() && x.value.is_finite() && !x.value.is_zero() => {
            let (is_up, is_inward) = (x.less(y)?, x.less(y)? == x.value.is_negative());
            // Toward 0, the neighbor of a power of two is half as far.
            let is_power = x.value.scaled(-x.value.exponent()).abs().to_f64() == 1.0;
            let ulp = x.format.ulp(&x.value) - i64::from(is_power && is_inward);
            let step = Real::of(if is_up { 1.0 } else { -1.0 }).scaled(ulp);
            Ok(Tracked::exact(&x.value + step, x.format))
        }
        "next_after" => Err(Undecided),
        "div_trunc" => x.div(y)?.stepped(Real::trunc),
        "div_floor" => x.div(y)?.stepped(Real::floor),
        _ => unreachable!("`knows` does not have {name}"),
    }
}

fn limit(name: &str, dtype: DType) -> Decided<Tracked> {
    let is_single = dtype != DType::F64;
    let of = |single: f32, double: f64| Real::of(if is_single { f64::from(single) } else { double });
    let value = match name {
        "PI" => Real::pi(),
        "NAN" => Real::of(f64::NAN),
        "INFINITY" => Real::of(f64::INFINITY),
        "NEG_INFINITY" => Real::of(f64::NEG_INFINITY),
        "MAX" => of(f32::MAX, f64::MAX),
        "MIN" => of(f32::MIN, f64::MIN),
        "EPSILON" => of(f32::EPSILON, f64::EPSILON),
        "LN_2" => Real::of(2.0).ln(),
        "SQRT_2" => Real::of(2.0).sqrt(),
        "FRAC_1_SQRT_2" => Real::of(0.5).sqrt(),
        _ => return Err(Undecided),
    };
    Tracked::exact(value, Format::of(DType::F64)).rounded(Format::of(dtype))
}
