//! Vector-Jacobian products: the gradients of an op's operands from those of its results.
//!
//! Guarantees that a gradient has the dtype and the shape of its operand: the op's derivative runs once, over the common
//! shape, and what was broadcast is summed. Numbers, bools and integers have no gradient.
//! Keeps no record of calls; who differentiates a program says what was called with which operands.

use crate::buffer::{Buffer, Meta};
use crate::dtype::{Category, DType};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Extent, Place, Quantity};
use crate::op::builtin::gradient_copy;
use crate::op::{OpDef, Operand};
use crate::plan::{self, Outputs};
use smallvec::SmallVec;

/// The derivative of an op.
#[derive(Debug)]
pub struct VjpDef {
    /// The op that computes all gradients that are not zero, each over the common shape; `None` if all are zero.
    pub backward: Option<&'static OpDef>,
    /// What `backward` takes, one a parameter of it.
    pub sources: &'static [VjpSource],
    /// What the gradients are, one a parameter of the differentiated op.
    pub gradients: &'static [Gradient],
    /// Another derivative for calls in which all tensors but the first are numbers.
    pub with_numbers: Option<&'static VjpDef>,
}

/// Where a parameter of the derivative comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VjpSource {
    /// The gradient of the n-th result.
    Cotangent(usize),
    /// The n-th operand.
    Input(usize),
    /// The n-th result.
    Output(usize),
}

/// What the gradient of a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// Not defined.
    None,
    /// Zero everywhere.
    Zero,
    /// The n-th result of the derivative.
    Output(usize),
}

impl VjpDef {
    /// The derivative for these operands.
    fn for_operands<B>(&self, op: &OpDef, operands: &[Operand<'_, B>]) -> &VjpDef {
        let mut others = op.tensors().skip(1).filter_map(|(i, _)| operands.get(i));
        match self.with_numbers {
            Some(def) if others.all(|operand| matches!(operand, Operand::Scalar(_))) => def,
            _ => self,
        }
    }

    /// Whether the derivative reads results of the op, so that it is worth keeping them.
    #[must_use]
    pub fn uses_outputs(&self) -> bool {
        self.sources.iter().any(|source| matches!(source, VjpSource::Output(_)))
    }
}

/// The gradients of the operands of `op`, one a parameter, `None` where there is none.
///
/// `cotangents` are the gradients of the results, of the results' shape; that of a result without gradient is not
/// looked at. `outputs` are the results, which are computed again if they are needed and not given.
///
/// # Errors
/// `Unsupported` if the op has no derivative; `Shape` if a cotangent has another shape than the result; else as the op.
pub fn vjp<B: Buffer>(
    op: &'static OpDef,
    cotangents: &[&B],
    operands: &[Operand<'_, B>],
    outputs: Option<&[&B]>,
) -> Result<Vec<Option<B>>> {
    let run = || unnamed(op, cotangents, operands, outputs);
    B::within(op, operands, cotangents, run).map_err(|error| error.in_op(op.name))
}

fn unnamed<B: Buffer>(
    op: &'static OpDef,
    cotangents: &[&B],
    operands: &[Operand<'_, B>],
    outputs: Option<&[&B]>,
) -> Result<Vec<Option<B>>> {
    let op = op.form(&plan::arguments(operands));
    let Some(def) = &op.vjp else {
        let message =
            "has no derivative; annotate its function with `grad`, or `grad(order = 2)` for a second one";
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    let def = def.for_operands(op, operands);
    let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype: None })?;
    if cotangents.len() != op.outputs.len() {
        let message =
            format!("has {} results, got gradients of {}; give one each", op.outputs.len(), cotangents.len());
        return Err(Error::new(ErrorKind::Value, message));
    }
    for ((cotangent, result), output) in cotangents.iter().zip(&inference.outputs).zip(op.outputs) {
        let (got, want) = (cotangent.dims(), result.layout.shape());
        let place = Place::new("comparing a gradient with its result");
        let same = |(axis, (got, want)): (usize, (&B::Size, &B::Size))| got.equals(want, place.axis(axis));
        if got.len() != want.len() || !got.iter().zip(want).enumerate().all(same) {
            let message = format!(
                "the gradient of `{}` is {got:?} and the result {want:?}; give them one shape",
                output.name
            );
            return Err(Error::new(ErrorKind::Shape, message));
        }
    }
    let computed;
    let outputs: &[&B] = match outputs {
        Some(outputs) => outputs,
        None if def.uses_outputs() => {
            computed = B::run(op, operands, None)?;
            &computed.iter().collect::<SmallVec<[&B; 2]>>()
        }
        None => &[],
    };
    let with_gradient = |operand: &Operand<'_, B>| match operand {
        Operand::Buffer(buffer) if buffer.meta().dtype.category() >= Category::Float => true,
        Operand::Buffer(_) | Operand::Scalar(_) => false,
    };
    let results = match def.backward {
        Some(backward) => {
            let is_wanted = |output: usize| {
                let mut gradients = operands.iter().zip(def.gradients);
                gradients.any(|(operand, gradient)| {
                    *gradient == Gradient::Output(output) && with_gradient(operand)
                })
            };
            let wanted: SmallVec<[bool; 8]> = (0..backward.outputs.len()).map(is_wanted).collect();
            let dtype = unrounded(&inference.outputs, operands);
            let missing = || Error::new(ErrorKind::Value, "a result is missing; give all of them, or none");
            let arguments = def
                .sources
                .iter()
                .map(|source| match *source {
                    VjpSource::Cotangent(i) => Ok(Operand::Buffer(cotangents[i])),
                    VjpSource::Input(i) => Ok(match &operands[i] {
                        Operand::Buffer(buffer) => Operand::Buffer(*buffer),
                        Operand::Scalar(number) => Operand::Scalar(*number),
                    }),
                    VjpSource::Output(i) => {
                        outputs.get(i).map(|output| Operand::Buffer(*output)).ok_or_else(missing)
                    }
                })
                .collect::<Result<SmallVec<[_; 8]>>>()?;
            B::run_some(backward, &arguments, dtype, &wanted)?
        }
        None => SmallVec::new(),
    };
    let mut given: SmallVec<[usize; 4]> = SmallVec::new();
    let gradient = |(operand, gradient): (&Operand<'_, B>, &Gradient)| {
        let Operand::Buffer(buffer) = operand else { return Ok(None) };
        match gradient {
            _ if !with_gradient(operand) => Ok(None),
            Gradient::None => Ok(None),
            Gradient::Zero => buffer.zeros_like().map(Some),
            Gradient::Output(i) => {
                let Some(result) = results.get(*i).and_then(Option::as_ref) else { return Ok(None) };
                let as_it_is = is_like(result.meta(), buffer.meta());
                if as_it_is && !given.contains(i) {
                    given.push(*i);
                    return Ok(Some(result.clone()));
                }
                // Two operands never get the same memory.
                like_operand(result, buffer).map(Some)
            }
        }
    };
    operands.iter().zip(def.gradients).map(gradient).collect()
}

/// The dtype that gradients are computed in where one is to be summed and its operand has another precision: what is
/// summed must not be rounded before.
fn unrounded<B: Buffer>(results: &[Meta<B::Size>], operands: &[Operand<'_, B>]) -> Option<DType> {
    let result = results.iter().find(|result| result.dtype.category() >= Category::Float)?;
    let loses = |operand: &Operand<'_, B>| match operand {
        Operand::Buffer(buffer) => {
            let operand = buffer.meta();
            operand.dtype.category() >= Category::Float
                && operand.dtype.real() != result.dtype.real()
                && plan::needs_sum(result, operand)
        }
        Operand::Scalar(_) => false,
    };
    operands.iter().any(loses).then_some(result.dtype)
}

/// Whether a gradient has the shape and the dtype of its operand.
fn is_like<D: Extent>(gradient: &Meta<D>, operand: &Meta<D>) -> bool {
    gradient.dtype == operand.dtype && !plan::needs_sum(gradient, operand)
}

/// A gradient over the common shape as a new one of the operand's shape and dtype.
fn like_operand<B: Buffer>(gradient: &B, operand: &B) -> Result<B> {
    if plan::needs_sum(gradient.meta(), operand.meta()) {
        return gradient.sum_like(operand);
    }
    let dtype = operand.meta().dtype;
    let converted = B::run(gradient_copy::DEF, &[Operand::Buffer(gradient)], Some(dtype))?;
    converted.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Value, "a conversion has one result"))
}

/// [`vjp`] for the operands that have gradients, which must be `N` floats.
///
/// # Errors
/// As `vjp`; `DType` if an operand is a number, a bool or an integer.
pub fn gradients<B: Buffer, const N: usize>(
    op: &'static OpDef,
    cotangents: &[&B],
    operands: &[Operand<'_, B>],
) -> Result<[B; N]> {
    let all = vjp(op, cotangents, operands, None)?;
    let differentiable = op
        .vjp
        .iter()
        .flat_map(|def| def.for_operands(op, operands).gradients)
        .map(|gradient| *gradient != Gradient::None);
    let mut found: SmallVec<[B; N]> = SmallVec::new();
    for ((gradient, _), (param, operand)) in all
        .into_iter()
        .zip(differentiable)
        .zip(op.params.iter().zip(operands))
        .filter(|((_, wanted), _)| *wanted)
    {
        match gradient {
            Some(gradient) => found.push(gradient),
            None => {
                let what = match operand {
                    Operand::Buffer(buffer) => buffer.meta().dtype.to_string(),
                    Operand::Scalar(number) => format!("the number {number}"),
                };
                let message = format!(
                    "`{}` is {what}, which has no gradient; use `op::vjp`, which leaves it out",
                    param.name
                );
                return Err(Error::new(ErrorKind::DType, message).in_op(op.name));
            }
        }
    }
    found.into_inner().map_err(|found| {
        let message = format!("has {} gradients, {N} were asked for", found.len());
        Error::new(ErrorKind::Value, message).in_op(op.name)
    })
}
