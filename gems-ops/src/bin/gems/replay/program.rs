//! Small programs of recorded cases, run op by op.
//!
//! One statement a line: `y=op(x0,2.0)`, `op_(x0,7.0)` in place, `return y`. Names are `x0`, `x1`, … for the inputs and
//! whatever was assigned. `cast(x,f16)` converts. The last assigned name is the result unless a `return` names others.

use super::call::{Call, Given};
use super::report::Verdict;
use super::run;
use super::subject::{Stop, Subject};
use crate::notation;
use gems_ops::buffer::Views;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::op::Operand;

/// The results of a program on these inputs.
pub(super) fn interpret<B: Subject>(statements: &[String], inputs: &[B]) -> Result<Vec<B>, Stop> {
    let mut names: Vec<(String, B)> =
        inputs.iter().enumerate().map(|(i, input)| (format!("x{i}"), input.clone())).collect();
    for statement in statements {
        let statement = statement.trim();
        if let Some(returned) = statement.strip_prefix("return ") {
            return returned.split(',').map(|name| lookup(&names, name.trim()).cloned()).collect();
        }
        let (target, call) = match statement.split_once('=') {
            Some((target, call)) => (Some(target.trim()), call.trim()),
            None => (None, statement),
        };
        let value = evaluate(call, &names)?;
        if let Some(target) = target {
            names.push((target.to_owned(), value));
        }
    }
    let (_, last) = names.pop().ok_or_else(|| malformed("the program gives nothing"))?;
    Ok(vec![last])
}

fn malformed(what: impl std::fmt::Display) -> Stop {
    Stop::Verdict(Verdict::Failed(format!("damaged case: {what}")))
}

/// The latest value of a name.
fn lookup<'a, B>(names: &'a [(String, B)], name: &str) -> Result<&'a B, Stop> {
    let found = names.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value).ok_or_else(|| malformed(format_args!("nothing is named `{name}`")))
}

fn evaluate<B: Subject>(call: &str, names: &[(String, B)]) -> Result<B, Stop> {
    let parts = call.strip_suffix(')').and_then(|call| call.split_once('('));
    let (op, arguments) = parts.ok_or_else(|| malformed(format_args!("`{call}` is no call")))?;
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    if let ("cast", [name, dtype]) = (op, arguments.as_slice()) {
        let dtype =
            DType::from_name(dtype).ok_or_else(|| Verdict::Unsupported(format!("no dtype {dtype}")))?;
        return cast(lookup(names, name)?, dtype);
    }
    let given = |text: &&str| match notation::number(text) {
        Some(number) => Ok(Given::Number(number)),
        None => lookup(names, text).cloned().map(Given::Buffer),
    };
    let given: Vec<Given<B>> = arguments.iter().map(given).collect::<Result<_, Stop>>()?;
    let result = match op.strip_suffix('_') {
        Some(op) => in_place(op, given, Vec::new())?,
        None => run(&Call::bind(op, given, Vec::new())?)?.into_iter().next(),
    };
    result.ok_or_else(|| malformed(format_args!("`{op}` has no result")))
}

/// The same values in another dtype.
fn cast<B: Subject>(x: &B, dtype: DType) -> Result<B, Stop> {
    let copy = Call::bind("copy", vec![Given::Buffer(x.clone())], Vec::new())?;
    let results =
        B::run(copy.op, &[Operand::Buffer(x)], Some(dtype)).map_err(|error| Stop::of_call(error, &copy))?;
    results.into_iter().next().ok_or_else(|| malformed("`cast` has no result"))
}

/// Writes a call's result over its first argument.
pub(super) fn in_place<B: Subject>(
    op: &str,
    positional: Vec<Given<B>>,
    keywords: Vec<(&str, Given<B>)>,
) -> Result<Option<B>, Stop> {
    let Some(Given::Buffer(target)) = positional.first().cloned() else {
        return Err(malformed(format_args!("`{op}_` has no buffer to write to")));
    };
    let call = match (op, positional.as_slice()) {
        // Fills whatever the target's shape is: the target is an operand, but no value of it is used.
        ("fill", [target, value]) => {
            let always = Given::Number(Scalar::Bool(true));
            Call::bind("where", vec![always, value.clone(), target.clone()], keywords)?
        }
        ("copy", [_, Given::Buffer(source)]) => {
            let source = source.broadcast_to(target.shape()).map_err(Stop::of)?;
            Call::bind("copy", vec![Given::Buffer(source)], keywords)?
        }
        _ => Call::bind(op, positional, keywords)?,
    };
    call.op.check_in_place(target.meta().dtype).map_err(|error| Stop::of_call(error, &call))?;
    write_into(&call, target).map(Some)
}

/// Writes a call's result to `target`.
pub(super) fn write_into<B: Subject>(call: &Call<B>, mut target: B) -> Result<B, Stop> {
    match B::call_out(call.op, &call.operands(), &mut [&mut target]) {
        Ok(()) => Ok(target),
        Err(error) => Err(Stop::of_call(error, call)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gems_ops::buffer::StridedBuffer;

    #[track_caller]
    fn check(statements: &[&str], inputs: &[&[f32]], want: &[f32]) {
        let statements: Vec<String> = statements.iter().map(|text| (*text).to_owned()).collect();
        let inputs: Vec<_> =
            inputs.iter().map(|values| StridedBuffer::from_slice(values, &[values.len()]).unwrap()).collect();
        let results = interpret(&statements, &inputs).unwrap();
        assert_eq!(results[0].to_vec::<f32>().unwrap(), want);
    }

    #[test]
    fn the_last_name_is_the_result_unless_another_is_returned() {
        check(&["s=mul(x0,x0)", "y=add(s,x1)"], &[&[3.0], &[1.0, 2.0]], &[10.0, 11.0]);
        check(&["s=mul(x0,x0)", "y=add(s,1.0)", "return s"], &[&[3.0]], &[9.0]);
        check(&["x0=add(x0,1)", "x0=mul(x0,2)"], &[&[3.0]], &[8.0]);
    }

    #[test]
    fn filling_an_input_later_does_not_change_what_was_computed() {
        check(&["y=mul(x0,2.0)", "fill_(x0,7.0)", "return y"], &[&[1.0, 2.0]], &[2.0, 4.0]);
        check(&["fill_(x0,7.0)", "return x0"], &[&[1.0, 2.0]], &[7.0, 7.0]);
    }

    #[test]
    fn damaged_programs_are_failures() {
        let x = [StridedBuffer::from_slice(&[1.0f32], &[1]).unwrap()];
        for statement in ["y=mul(x0,z)", "y=mul", "return q", "y=mul(x0,x0"] {
            let result = interpret(&[statement.to_owned()], &x);
            assert!(matches!(result, Err(Stop::Verdict(Verdict::Failed(_)))), "{statement}");
        }
        assert!(matches!(interpret::<StridedBuffer>(&[], &[]), Err(Stop::Verdict(Verdict::Failed(_)))));
    }
}
