//! `gems show`: what an op became for some operands. Needs no GPU.

use crate::failure::{Failure, Outcome, find_op};
use crate::list::{dtypes, signature};
use crate::notation::{self, Written};
use crate::{Emit, ShowArgs, cache};
use gems_ops::emit;
use gems_ops::op::OpDef;
use gems_ops::plan::{self, Argument, Inference, Plan};
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn show(args: &ShowArgs, out: &mut impl Write) -> Outcome {
    let op = if args.grad { derivative(find_op(&args.op)?)? } else { find_op(&args.op)? };
    let operands: Vec<Written> =
        args.operands.iter().map(|text| notation::parse(text)).collect::<Outcome<_>>()?;
    let (inference, plan) = plan_for(op, &operands)?;
    match args.emit {
        Some(Emit::Cuda) => write!(out, "{}", emit::source(&plan.spec)?)?,
        Some(Emit::Ptx) => write!(out, "{}", cache::ptx(&emit::source(&plan.spec)?, &args.arch)?)?,
        Some(Emit::Spec) => writeln!(out, "{:#?}", Spec { inference: &inference, plan: &plan })?,
        Some(Emit::Plan) => write!(out, "{}", plan::explain(&plan))?,
        None => everything(op, &inference, &plan, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The op that computes the gradients of another one.
fn derivative(op: &'static OpDef) -> Outcome<&'static OpDef> {
    let Some(vjp) = &op.vjp else { return Err(Failure::new(format!("{} has no derivative", op.name))) };
    vjp.backward.ok_or_else(|| Failure::new(format!("the derivative of {} is zero", op.name)))
}

/// The plan for these operands, or for contiguous ones of the op's most usual dtype.
fn plan_for(op: &'static OpDef, operands: &[Written]) -> Outcome<(Inference, Plan)> {
    if operands.is_empty() {
        return Ok(plan::representative(op)?);
    }
    if operands.len() != op.params.len() {
        let message = format!("{} takes {} operands, got {}", signature(op), op.params.len(), operands.len());
        return Err(Failure::new(message));
    }
    let arguments: Vec<_> = operands
        .iter()
        .map(|operand| match operand {
            Written::Buffer(meta) => Argument::Buffer(meta),
            Written::Number(number) => Argument::Number(*number),
        })
        .collect();
    Ok(plan::preview(op, &arguments)?)
}

fn everything(op: &OpDef, inference: &Inference, plan: &Plan, out: &mut impl Write) -> Outcome<()> {
    writeln!(out, "{}", signature(op))?;
    writeln!(out, "kind {:?}, dtypes {}\n", op.promote.kind, dtypes(op.dtypes))?;
    for line in op.doc.lines() {
        writeln!(out, "    {}", line.trim())?;
    }
    writeln!(out, "\nRust\n\n{}\n", op.rust_source)?;
    for (output, meta) in op.outputs.iter().zip(&inference.outputs) {
        writeln!(out, "result   {}: {meta}", output.name)?;
    }
    writeln!(out, "compute  {}", inference.compute)?;
    writeln!(out, "{}\nCUDA\n", plan::explain(plan))?;
    write!(out, "{}", emit::source(&plan.spec)?)?;
    Ok(())
}

/// A spec without the op's static parts, which `show` prints by themselves.
struct Spec<'a> {
    inference: &'a Inference,
    plan: &'a Plan,
}

impl std::fmt::Debug for Spec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = &self.plan.spec;
        f.debug_struct("KernelSpec")
            .field("op", &spec.body.name())
            .field("compute", &self.inference.compute)
            .field("inputs", &spec.inputs)
            .field("outputs", &spec.outputs)
            .field("class", &spec.class)
            .field("disjoint", &spec.disjoint)
            .finish()
    }
}
