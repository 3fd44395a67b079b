//! The plan of a call whose operands need not exist.
//!
//! Every buffer is taken to be aligned to 256 bytes and to share memory with no other, as fresh allocations are.

use crate::buffer::Meta;
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::op::{OpDef, ParamDef, Role, TypeRef};
use crate::plan::policy::Machine;
use crate::plan::{Argument, Inference, Outputs, Placement, Plan, Source, infer, schedule};
use smallvec::SmallVec;

/// Alignment of memory that an allocator gives, in bytes.
const ALIGNED: u64 = 256;
/// Elements of the operands of [`representative`].
const ELEMENTS: usize = 1024;

/// The plan of `op` on these operands.
///
/// # Errors
/// As [`infer`] and [`schedule`].
pub fn preview(op: &'static OpDef, arguments: &[Argument<'_>]) -> Result<(Inference, Plan)> {
    let op = op.form(arguments);
    let inference = infer(op, arguments, Outputs::New { dtype: None })?;
    let inputs: SmallVec<[Option<Placement<'_>>; 8]> = arguments
        .iter()
        .zip(&inference.inputs)
        .map(|(argument, input)| match (argument, input.source) {
            (Argument::Buffer(meta), Source::Buffer { .. }) => Some(place(meta)),
            _ => None,
        })
        .collect();
    let plan = {
        let outputs: SmallVec<[Placement<'_>; 2]> = inference.outputs.iter().map(place).collect();
        schedule(&Machine::default(), op, &inference, &inputs, &outputs, true)?
    };
    Ok((inference, plan))
}

fn place(meta: &Meta) -> Placement<'_> {
    Placement { layout: &meta.layout, address: ALIGNED.wrapping_add_signed(meta.offset_bytes() as i64) }
}

/// The plan of `op` on contiguous operands of its most usual dtype: f32 where it takes that.
///
/// # Errors
/// As [`preview`].
pub fn representative(op: &'static OpDef) -> Result<(Inference, Plan)> {
    let metas = (0..)
        .zip(op.params)
        .map(|(i, param)| representative_meta(op, i, param))
        .collect::<Result<Vec<_>>>()?;
    let arguments: SmallVec<[Argument<'_>; 8]> = op
        .params
        .iter()
        .zip(&metas)
        .map(|(param, meta)| match param.role {
            Role::Tensor => Argument::Buffer(meta),
            Role::Number => Argument::Number(Scalar::I64(1)),
        })
        .collect();
    preview(op, &arguments)
}

fn representative_meta(op: &OpDef, position: usize, param: &ParamDef) -> Result<Meta> {
    let accepted = if param.promotes { op.dtypes } else { param.accepts };
    let dtype = match param.ty {
        TypeRef::Fixed(dtype) if accepted.contains(dtype) => dtype,
        _ if accepted.contains(DType::F32) => DType::F32,
        _ => accepted
            .iter()
            .find(|&dtype| dtype == DType::I32)
            .or(accepted.iter().next())
            .unwrap_or(DType::F32),
    };
    let shape: &[usize] = if op.is_one_value(position) { &[] } else { &[ELEMENTS] };
    Ok(Meta { dtype, device: Device::Cpu, layout: Layout::contiguous(shape)? })
}
