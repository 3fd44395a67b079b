//! Gradients of a call for PyTorch's arguments.
//!
//! The library differentiates for the op's operands; the table's views of arguments are undone here.

use super::call::{Call, Given};
use super::case::{TorchCase, Window};
use super::compare::{self, Form, Rule, Tolerance};
use super::known::Known;
use super::report::Verdict;
use super::subject::{Stop, Subject};
use super::{call_of, run};
use crate::elements::Elements;
use gems_ops::buffer::{Buffer, StridedBuffer, Views};
use gems_ops::device::Device;
use gems_ops::dtype::DType;
use gems_ops::error::{Error, ErrorKind, Result};
use gems_ops::op::{self, Operand, VjpSource};
use gems_ops::{add, copy};

/// Of which order gradients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    First,
    /// Of the sum of all first ones.
    Second,
}

/// The verdict on the gradients of a case, by buffers of one kind; `None` if it has none.
pub(super) fn torch_case<B: Subject>(case: &TorchCase, device: Device, known: &Known) -> Option<Verdict> {
    let recorded = case.grad.as_ref()?;
    let judge = || -> Result<Verdict, Stop> {
        let call = call_of::<StridedBuffer>(case, device)?;
        let damaged = |what: String| Stop::Verdict(Verdict::Failed(format!("damaged case: {what}")));
        let window = |tensor: &super::case::Tensor| -> Result<Window, Stop> {
            let window = tensor.window().map_err(damaged)?;
            window.ok_or_else(|| Verdict::Unsupported(format!("no dtype {}", tensor.dtype)).into())
        };
        let cotangent = StridedBuffer::place(&window(&recorded.grad_out)?, device).map_err(Stop::of)?;
        let gradients = B::gradients(&call, &cotangent, Order::First)?;
        let mut verdict = Verdict::Passed;
        for (i, (&argument, want)) in recorded.wrt.iter().zip(&recorded.grads).enumerate() {
            let Some(want) = want else { continue };
            let next = match gradients.get(argument).and_then(Option::as_ref) {
                Some(got) => compare_one(case, i, got, &window(want)?, known)?,
                None => Verdict::Failed(format!("argument {argument} has no gradient")),
            };
            verdict = compare::worse(verdict, next);
        }
        Ok(verdict)
    };
    Some(judge().unwrap_or_else(Stop::verdict))
}

fn compare_one(
    case: &TorchCase,
    index: usize,
    got: &StridedBuffer,
    want: &Window,
    known: &Known,
) -> Result<Verdict, Stop> {
    let shape = want.layout.shape();
    let form = Form { dtype: want.dtype.name(), shape, strides: None };
    if let Some(difference) = form.difference(got.meta()) {
        return Ok(Verdict::Failed(format!("gradient {index}: {difference}")));
    }
    let dtype = want.dtype;
    let got = Elements::of(got).map_err(Stop::of)?;
    let want = Elements::new(want.bytes.clone(), dtype, want.layout.clone());
    let rule = Rule { tolerance: Tolerance::of_gradient(dtype), signed_zero: false };
    let differing = compare::differences(&got, |i, value| rule.agrees(value, want.value(i), dtype));
    let known = known.entry(&format!("{}.grad", case.id), index);
    Ok(match compare::judge(&got, |i| want.value(i), &differing, shape, known) {
        Verdict::Failed(what) => Verdict::Failed(format!("gradient {index}: {what}")),
        verdict => verdict,
    })
}

/// The gradients of PyTorch's positional arguments, by eager calls.
pub(super) fn eager(
    call: &Call<StridedBuffer>,
    cotangent: &StridedBuffer,
    order: Order,
) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    match order {
        Order::First => first(call, cotangent),
        Order::Second => second(call, cotangent),
    }
}

/// The gradients of all results: the one that is given, and zeros.
pub(super) fn cotangents(
    call: &Call<StridedBuffer>,
    given: &StridedBuffer,
) -> Result<Vec<StridedBuffer>, Stop> {
    let results = run(call)?;
    let others = results.iter().skip(1).map(|result| zeros(result.dtype(), result).map_err(Stop::of));
    [Ok(given.clone())].into_iter().chain(others).collect()
}

fn first(call: &Call<StridedBuffer>, cotangent: &StridedBuffer) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    let cotangents = cotangents(call, cotangent)?;
    let cotangents: Vec<&StridedBuffer> = cotangents.iter().collect();
    let gradients =
        op::vjp(call.op, &cotangents, &call.operands(), None).map_err(|error| Stop::of_call(error, call))?;
    of_arguments(call, &gradients)
}

fn second(call: &Call<StridedBuffer>, cotangent: &StridedBuffer) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    let missing = |what: &str| Stop::Verdict(Verdict::Unsupported(format!("{} has no {what}", call.op.name)));
    let def = call.op.vjp.as_ref().ok_or_else(|| missing("derivative"))?;
    let backward = def.backward.ok_or_else(|| missing("second derivative"))?;
    let results = run(call)?;
    let operands = call.operands();
    let arguments: Vec<Operand<'_, StridedBuffer>> = def
        .sources
        .iter()
        .map(|source| match *source {
            VjpSource::Cotangent(_) => Operand::Buffer(cotangent),
            VjpSource::Input(i) => match &operands[i] {
                Operand::Buffer(buffer) => Operand::Buffer(*buffer),
                Operand::Scalar(number) => Operand::Scalar(*number),
            },
            VjpSource::Output(i) => Operand::Buffer(&results[i]),
        })
        .collect();
    let first = StridedBuffer::run(backward, &arguments, None).map_err(Stop::of)?;
    let ones = first
        .iter()
        .map(|gradient| StridedBuffer::full(gradient.dtype(), gradient.shape(), 1, gradient.device()))
        .collect::<Result<Vec<_>>>()
        .map_err(Stop::of)?;
    let ones: Vec<&StridedBuffer> = ones.iter().collect();
    let second = op::vjp(backward, &ones, &arguments, None).map_err(|error| Stop::of_call(error, call))?;
    let mut gradients = vec![None; operands.len()];
    for (source, gradient) in def.sources.iter().zip(second) {
        if let VjpSource::Input(i) = source {
            gradients[*i] = gradient;
        }
    }
    of_arguments(call, &gradients)
}

/// From gradients of operands to gradients of positional arguments.
fn of_arguments(
    call: &Call<StridedBuffer>,
    gradients: &[Option<StridedBuffer>],
) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    let of = |param: &&str| -> Result<Option<StridedBuffer>> {
        let mut total: Option<StridedBuffer> = None;
        for (word, gradient) in call.words.iter().zip(gradients) {
            let Some(gradient) = gradient else { continue };
            let Some(part) = undo(word, param, gradient, call)? else { continue };
            total = Some(match total {
                Some(before) => add(&before, &part)?,
                None => part,
            });
        }
        Ok(total)
    };
    call.positional.iter().map(of).collect::<Result<_>>().map_err(Stop::of)
}

/// The gradient of a parameter from that of an operand, if the operand is the parameter or a view of it.
fn undo(
    word: &str,
    param: &str,
    gradient: &StridedBuffer,
    call: &Call<StridedBuffer>,
) -> Result<Option<StridedBuffer>> {
    let given =
        |name: &str| call.arguments.iter().find(|argument| argument.0 == name).map(|argument| &argument.1);
    let Some((view, names)) = word.strip_suffix(')').and_then(|word| word.split_once('(')) else {
        return Ok((word == param).then(|| gradient.clone()));
    };
    let (first, second) = names.split_once(',').unwrap_or((names, ""));
    if first != param {
        return Ok(None);
    }
    let (Some(Given::Buffer(whole)), Some(other)) = (given(first), given(second)) else { return Ok(None) };
    match (view, other) {
        ("channels" | "rows", _) => {
            let extents: Vec<isize> = whole.shape().iter().map(|extent| extent.cast_signed()).collect();
            gradient.reshape(&extents).map(Some)
        }
        (half, Given::Number(axis)) => {
            let axis = axis.to_f64();
            #[expect(clippy::cast_possible_truncation, reason = "an axis that the call has taken")]
            let axis = axis as isize;
            let result = whole.zeros_like()?;
            let position = if axis < 0 { axis + whole.shape().len().cast_signed() } else { axis };
            let extent = gradient.shape()[position.unsigned_abs()];
            let start = if half == "upper" { extent.cast_signed() } else { 0 };
            copy::out(gradient, &mut result.narrow(axis, start, extent)?)?;
            Ok(Some(result))
        }
        _ => Err(Error::new(ErrorKind::Unsupported, format!("`{word}` has no inverse"))),
    }
}

fn zeros(dtype: DType, like: &StridedBuffer) -> Result<StridedBuffer> {
    StridedBuffer::zeros(dtype, like.shape(), like.device())
}
