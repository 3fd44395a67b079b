//! What a formula gives without roundings, and what its roundings may do.
//!
//! The formula is the text that the macro wrote for the GPU, read and evaluated in numbers of 192 bits: so every op
//! has an exact value, whether or not someone has written it down a second time. A running error analysis along the
//! same steps gives the bound. Functions of the library count with their own bounds.

mod parse;
mod prelude;
mod tracked;

use super::bounds;
use super::exact::Real;
use super::points::Format;
use gems_ops::dtype::DType;
use gems_ops::op::{DeviceFn, OpDef};
use parse::{Expr, Function, Stmt};
use prelude::operator;
use tracked::Decided;
pub(super) use tracked::{Tracked, Undecided};

/// An op's formula for one dtype of computation.
#[derive(Debug)]
pub(super) struct Formula {
    function: Function,
    /// Of the operands.
    formats: Vec<Format>,
    compute: DType,
    /// What the results are rounded to.
    result: DType,
}

#[derive(Clone, Debug)]
enum Value {
    Number(Tracked),
    Bool(bool),
    Tuple(Vec<Value>),
}

/// How a block ended.
enum Flow {
    On,
    Returned(Value),
}

/// A function without an exact form that this one calls.
fn unknown(device: &DeviceFn) -> Option<&'static str> {
    let name = device.uses.iter().map(|used| used.name).find(|name| !prelude::knows(name));
    name.or_else(|| device.calls.iter().find_map(|callee| unknown(callee)))
}

impl Formula {
    /// The text of an op, for a dtype that it computes in and one of its results.
    pub(super) fn of(op: &OpDef, compute: DType, result: DType) -> Result<Formula, String> {
        if let Some(name) = unknown(op.device) {
            return Err(name.to_owned());
        }
        let formats = op.params.iter().map(|param| Format::of(param.ty.resolve(compute))).collect();
        Ok(Formula { function: Function::parse(op.device)?, formats, compute, result })
    }

    /// The results for some operands, which are what they are in their dtypes.
    pub(super) fn results(&self, operands: &[f64]) -> Result<Vec<Tracked>, Undecided> {
        let tracked = |(&x, &format): (&f64, &Format)| Value::Number(Tracked::exact(Real::of(x), format));
        let arguments = operands.iter().zip(&self.formats).map(tracked).collect();
        match self.run(&self.function, arguments)? {
            Value::Tuple(members) => members.into_iter().map(Value::number).collect(),
            value => Ok(vec![value.number()?]),
        }
    }

    fn run(&self, function: &Function, arguments: Vec<Value>) -> Decided<Value> {
        let mut names: Vec<Option<Value>> = arguments.into_iter().map(Some).collect();
        names.resize(function.names, None);
        match self.block(function, &function.body, &mut names)? {
            Flow::Returned(value) => Ok(value),
            Flow::On => unreachable!("functions end with a return"),
        }
    }

    fn block(&self, function: &Function, block: &[Stmt], names: &mut [Option<Value>]) -> Decided<Flow> {
        for stmt in block {
            match stmt {
                Stmt::Return(value) => return Ok(Flow::Returned(self.value(function, value, names)?)),
                Stmt::Set(targets, value) => {
                    match (targets.as_slice(), self.value(function, value, names)?) {
                        ([_, _, ..], Value::Tuple(members)) => {
                            for (&target, member) in targets.iter().zip(members) {
                                names[target] = Some(member);
                            }
                        }
                        (targets, value) => names[targets[0]] = Some(value),
                    }
                }
                Stmt::If(condition, then, otherwise) => {
                    let branch =
                        if self.value(function, condition, names)?.truth()? { then } else { otherwise };
                    if let Flow::Returned(value) = self.block(function, branch, names)? {
                        return Ok(Flow::Returned(value));
                    }
                }
            }
        }
        Ok(Flow::On)
    }

    fn value(&self, function: &Function, expr: &Expr, names: &[Option<Value>]) -> Decided<Value> {
        let value = |expr: &Expr| self.value(function, expr, names);
        let all = |list: &[Expr]| list.iter().map(value).collect::<Decided<Vec<_>>>();
        Ok(match expr {
            // As precise as it stands in the text, until it meets a type.
            Expr::Literal(literal) => {
                Value::Number(Tracked::exact(Real::of(*literal), Format::of(DType::F64)))
            }
            Expr::Name(name) => names[*name].clone().expect("set before it is used"),
            Expr::Tuple(members) => Value::Tuple(all(members)?),
            Expr::Not(inner) => Value::Bool(!value(inner)?.truth()?),
            Expr::Choose(condition, then, otherwise) => {
                value(if value(condition)?.truth()? { then } else { otherwise })?
            }
            Expr::Cast(ty, inner) => match (ty.as_str(), value(inner)?) {
                ("bool", value) => Value::Bool(value.truth()?),
                (ty, value) => Value::Number(value.number()?.rounded(self.format(ty))?),
            },
            Expr::Call(index, arguments) => self.run(&function.calls[*index], all(arguments)?)?,
            Expr::Operator("&&", left, right) => Value::Bool(value(left)?.truth()? && value(right)?.truth()?),
            Expr::Operator("||", left, right) => Value::Bool(value(left)?.truth()? || value(right)?.truth()?),
            Expr::Operator(word, left, right) => operator(word, value(left)?, value(right)?)?,
            Expr::Prelude(name, arguments) => {
                prelude::call(name, self.compute, self.result, all(arguments)?)?
            }
        })
    }

    fn format(&self, ty: &str) -> Format {
        Format::of(DType::from_name(ty).unwrap_or(self.compute))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::composed;
    use super::*;

    fn results(op: &str, operands: &[f64]) -> Result<Vec<Tracked>, Undecided> {
        let op = gems_ops::REGISTRY.iter().find(|known| known.name == op).unwrap();
        Formula::of(op, DType::F32, DType::F32).unwrap().results(operands)
    }

    #[test]
    fn the_formula_of_every_measured_op_is_read() {
        for op in composed::ops() {
            let formula = Formula::of(op, DType::F32, DType::F32);
            assert!(formula.is_ok(), "{}: {}", op.name, formula.unwrap_err());
        }
    }

    #[test]
    fn roundings_are_carried_to_the_result() {
        let square = |x: f64, t: f64| {
            let [result] = &results("mse_loss", &[x, t]).unwrap()[..] else { panic!("one result") };
            (result.value.to_f64(), result.error.to_f64())
        };
        // 2 and 4 are exact.
        assert_eq!(square(3.0, 1.0), (4.0, 0.0));
        // 1 − 2^−30 is not: half an ulp of it counts twice in the square, which has half an ulp of its own.
        let (value, error) = square(1.0, 2f64.powi(-30));
        assert_eq!(value, (1.0 - 2f64.powi(-30)).powi(2));
        assert!(error > 2f64.powi(-24) && error < 4.01 * 2f64.powi(-24), "{error:e}");
    }

    #[test]
    fn where_a_rounding_decides_the_branch_nothing_is_said() {
        let near = 1.0 - 2f64.powi(-30);
        assert!(results("smooth_l1_loss", &[1.0, 2f64.powi(-30), near]).is_err());
        assert!(results("smooth_l1_loss", &[1.0, 2f64.powi(-30), 0.5]).is_ok());
    }

    #[test]
    fn infinities_and_nan_pass() {
        let value = |x: f64| results("hardswish", &[x]).unwrap()[0].value.to_f64();
        assert_eq!((value(f64::INFINITY), value(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
        assert!(value(f64::NAN).is_nan());
    }
}
