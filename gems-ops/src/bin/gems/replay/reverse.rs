//! Gradients of a call that is traced: forward and backward in one graph, fused and run.
//!
//! Guarantees the bits of eager calls. PyTorch's views of arguments are part of the trace, so their transposes are too.

use super::call::{Call, Given};
use super::gradient::{self, Order};
use super::report::Verdict;
use super::subject::{Stop, same};
use gems_ops::buffer::{Buffer, StridedBuffer, SymbolicBuffer};
use gems_ops::error::{Error, ErrorKind, Result};
use gems_ops::trace::{Options, grad, trace, vjp};

/// The gradients of positional arguments; those of eager calls must be the same.
pub(super) fn gradients(
    call: &Call<StridedBuffer>,
    cotangent: &StridedBuffer,
    order: Order,
) -> Result<Vec<Option<StridedBuffer>>, Stop> {
    let eager = gradient::eager(call, cotangent, order)?;
    let wanted: Vec<&'static str> = call
        .positional
        .iter()
        .zip(&eager)
        .filter_map(|(param, gradient)| gradient.as_ref().map(|_| *param))
        .collect();
    let cotangents = gradient::cotangents(call, cotangent)?;
    let recorded = Recorded { call, cotangents: &cotangents, wanted: &wanted, order };
    let mut traced = match wanted.len() {
        0 => Vec::new(),
        1 => recorded.gradients::<1>().map_err(Stop::of)?,
        2 => recorded.gradients::<2>().map_err(Stop::of)?,
        3 => recorded.gradients::<3>().map_err(Stop::of)?,
        4 => recorded.gradients::<4>().map_err(Stop::of)?,
        n => return Err(Verdict::Unsupported(format!("gradients of {n} arguments in a trace")).into()),
    }
    .into_iter();
    let compared = eager.into_iter().map(|eager| {
        let Some(eager) = eager else { return Ok(None) };
        let traced = traced.next().ok_or_else(|| Error::new(ErrorKind::Value, "a gradient is missing"))?;
        same(call.op, ["traced", "eager"], &traced, &eager)?;
        Ok(Some(traced))
    });
    compared.collect::<Result<_>>().map_err(|error| Verdict::Failed(error.to_string()).into())
}

/// A call that is to be differentiated in a trace, by the parameters `wanted`.
struct Recorded<'a> {
    call: &'a Call<StridedBuffer>,
    cotangents: &'a [StridedBuffer],
    wanted: &'a [&'static str],
    order: Order,
}

impl Recorded<'_> {
    fn gradients<const N: usize>(&self) -> Result<Vec<StridedBuffer>> {
        let given = self.call.arguments.iter().filter_map(|(param, given)| match given {
            Given::Buffer(buffer) => Some((*param, buffer)),
            _ => None,
        });
        let (params, mut inputs): (Vec<&'static str>, Vec<&StridedBuffer>) = given.unzip();
        inputs.extend(self.cotangents);
        let form = trace(&inputs, Options::default(), |traced| {
            let (arguments, cotangents) = traced.split_at(params.len());
            let of = |wanted: &&'static str| {
                let at = params.iter().position(|param| param == wanted);
                at.map(|at| &arguments[at]).ok_or_else(|| missing(wanted))
            };
            let by: Vec<&SymbolicBuffer> = self.wanted.iter().map(of).collect::<Result<_>>()?;
            let by: [&SymbolicBuffer; N] = by.try_into().map_err(|_| missing("an argument"))?;
            // What is not differentiated by belongs to the trace around.
            let function = |changed: [SymbolicBuffer; N]| {
                let call = self.call.with_buffers(|param, _| {
                    let changed =
                        self.wanted.iter().position(|wanted| *wanted == param).map(|at| &changed[at]);
                    let at = params.iter().position(|known| *known == param).unwrap_or_default();
                    changed.unwrap_or(&arguments[at]).clone()
                });
                let call = call.map_err(|_| missing("an operand"))?;
                Ok(SymbolicBuffer::run(call.op, &call.operands(), None)?.into_vec())
            };
            let cotangents: Vec<&SymbolicBuffer> = cotangents.iter().collect();
            let gradients = match self.order {
                Order::First => vjp(function).traced(&cotangents, by)?,
                Order::Second => {
                    let first = vjp(function);
                    grad(|changed: [SymbolicBuffer; N]| first.traced(&cotangents, changed.each_ref()))
                        .traced(by)?
                }
            };
            Ok(gradients.to_vec())
        })?;
        form.run(&inputs)
    }
}

fn missing(what: &str) -> Error {
    Error::new(ErrorKind::Value, format!("{what} is missing in the trace"))
}
