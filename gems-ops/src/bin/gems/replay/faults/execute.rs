//! Running the call, or the program, that a case of a fault report describes.

use super::super::call::{Call, Given};
use super::super::case::{self, Window};
use super::super::gradient::Order;
use super::super::program::{in_place, interpret, write_into};
use super::super::report::Verdict;
use super::super::run;
use super::super::subject::{Stop, Subject};
use super::format::{FaultCase, Input, damaged, encode, number};
use gems_ops::buffer::{StridedBuffer, Views};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::layout::{Layout, broadcast_shapes};
use serde_json::Value as Json;

/// The results of a case.
pub(super) fn execute<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let inputs = place::<B>(case, device)?;
    let positional = || inputs.iter().cloned().map(Given::Buffer).collect::<Vec<_>>();
    let first = || inputs.first().cloned().ok_or_else(|| damaged("there is no input"));
    match case.op.as_str() {
        "graph" => {
            let program =
                case.args.get("program").and_then(Json::as_array).ok_or_else(|| damaged("no program"))?;
            let statements: Option<Vec<String>> =
                program.iter().map(|line| line.as_str().map(str::to_owned)).collect();
            interpret(&statements.ok_or_else(|| damaged("the program is no list of lines"))?, &inputs)
        }
        "graph_nary_add" => many_sums(case, device),
        "add_transposed_self" => {
            let x = first()?;
            let other = x.t().map_err(Stop::of)?;
            in_place("add", vec![Given::Buffer(x), Given::Buffer(other)], Vec::new()).map(Vec::from_iter)
        }
        "add_flip_self" => {
            let x = first()?;
            let axes: Vec<isize> = (0..x.meta().layout.rank().cast_signed()).collect();
            let other = x.flip(&axes).map_err(Stop::of)?;
            in_place("add", vec![Given::Buffer(x), Given::Buffer(other)], Vec::new()).map(Vec::from_iter)
        }
        "broadcast_copy" => {
            let shape = case.expected.shape.as_deref().ok_or_else(|| damaged("no shape is expected"))?;
            let source = first()?.broadcast_to(shape).map_err(Stop::of)?;
            run(&Call::bind("copy", vec![Given::Buffer(source)], Vec::new())?)
        }
        op => match (op.strip_suffix('_'), case.args.get("out").and_then(Json::as_str)) {
            (Some(op), _) => in_place(op, positional(), keywords(case)?).map(Vec::from_iter),
            (None, Some(out)) => {
                let dtype =
                    DType::from_name(out).ok_or_else(|| Verdict::Unsupported(format!("no dtype {out}")))?;
                let call = Call::bind(op, positional(), keywords(case)?)?;
                let shapes = inputs.iter().map(|input| input.shape());
                let shape = broadcast_shapes(shapes).map_err(Stop::of)?;
                let target = B::zeros(dtype, &shape, device).map_err(Stop::of)?;
                write_into(&call, target).map(|result| vec![result])
            }
            (None, None) => run(&Call::bind(op, positional(), keywords(case)?)?),
        },
    }
}

/// The gradients of all inputs, of first or second order.
pub(super) fn execute_gradients<B: Subject>(
    case: &FaultCase,
    device: Device,
) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    let inputs = place::<StridedBuffer>(case, device)?;
    let positional = inputs.iter().cloned().map(Given::Buffer).collect();
    let call = Call::bind(&case.op, positional, keywords(case)?)?;
    let results = run(&call)?;
    let result = results.first().ok_or_else(|| damaged("there is no result"))?;
    let cotangent = match case.args.get("grad_out").and_then(Json::as_array) {
        Some(values) => {
            let bytes = encode(values, result.dtype())?;
            let layout = Layout::contiguous(result.shape()).map_err(Stop::of)?;
            StridedBuffer::place(&Window { dtype: result.dtype(), layout, bytes }, device)
                .map_err(Stop::of)?
        }
        None => StridedBuffer::full(result.dtype(), result.shape(), 1, device).map_err(Stop::of)?,
    };
    B::gradients(&call, &cotangent, if case.check == "grad2" { Order::Second } else { Order::First })
}

/// The sum of many inputs, each full of its number.
fn many_sums<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let count = case.args.get("n_inputs").and_then(Json::as_u64).ok_or_else(|| damaged("no `n_inputs`"))?;
    let shape = case.expected.shape.as_deref().ok_or_else(|| damaged("no shape is expected"))?;
    let zeros = || B::zeros(DType::F32, shape, device).map_err(Stop::of);
    let mut sum = zeros()?;
    for k in 0..count {
        let number = Given::Number(Scalar::from(k));
        let input = run(&Call::bind("add", vec![Given::Buffer(zeros()?), number], Vec::new())?)?;
        let operands = [sum].into_iter().chain(input).map(Given::Buffer).collect();
        let mut results = run(&Call::bind("add", operands, Vec::new())?)?;
        sum = results.pop().ok_or_else(|| damaged("`add` has no result"))?;
    }
    Ok(vec![sum])
}

/// The inputs on the device; with `same_storage`, as views of the first one's memory.
fn place<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let windows: Vec<Window> = case.inputs.iter().map(Input::window).collect::<Result<_, Stop>>()?;
    let place = |window: &Window| B::place(window, device).map_err(Stop::of);
    match windows.split_first() {
        Some((first, rest)) if case.args.get("same_storage") == Some(&Json::Bool(true)) => {
            if rest.iter().any(|window| window.bytes != first.bytes) {
                return Err(damaged("inputs of the same storage differ"));
            }
            let buffer = place(first)?;
            let views = rest.iter().map(|window| buffer.viewed(&window.layout).map_err(Stop::of));
            [Ok(buffer.clone())].into_iter().chain(views).collect()
        }
        _ => windows.iter().map(place).collect(),
    }
}

/// The options and scalar operands.
fn keywords<B>(case: &FaultCase) -> Result<Vec<(&str, Given<B>)>, Stop> {
    const NOT_OF_THE_OP: [&str; 3] = ["out", "grad_out", "same_storage"];
    let of_the_op = case.args.iter().filter(|(name, _)| !NOT_OF_THE_OP.contains(&name.as_str()));
    of_the_op
        .map(|(name, value)| {
            let given = match value {
                Json::Null => Given::None,
                Json::String(text) if case::float(value).is_none() => Given::Word(text.clone()),
                value => {
                    Given::Number(number(value).ok_or_else(|| damaged(format_args!("`{name}` is {value}")))?)
                }
            };
            Ok((name.as_str(), given))
        })
        .collect()
}
