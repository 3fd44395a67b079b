//! Calls of any op of the library on operands of one dtype, which need not exist.

use crate::cases::View;
use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::op::{OpDef, ParamDef, Role, TypeRef};
use gems_runtime::plan::{Argument, Plan, preview};

/// One buffer a parameter of `op`, of this dtype where the parameter takes it, the first of them under this view.
///
/// # Errors
/// The view does not fit the rank.
pub fn metas(op: &OpDef, dtype: DType, view: View) -> Result<Vec<Meta>> {
    let placed = |(position, param): (usize, &ParamDef)| {
        let view = if position == 0 { view } else { View::Contiguous };
        let shape: &[usize] = if op.is_one_value(position) { &[] } else { &[24, 36] };
        Ok(meta(param, dtype, view.layout(shape)?))
    };
    op.params.iter().enumerate().map(placed).collect()
}

/// The operands of a call: 1 for parameters that are always numbers.
#[must_use]
pub fn arguments<'a>(op: &OpDef, metas: &'a [Meta]) -> Vec<Argument<'a>> {
    let argument = |(param, meta): (&ParamDef, &'a Meta)| match param.role {
        Role::Tensor => Argument::Buffer(meta),
        Role::Number => Argument::Number(Scalar::I64(1)),
    };
    op.params.iter().zip(metas).map(argument).collect()
}

/// The plan of `op` on operands of this dtype, the first of them under this view.
///
/// # Errors
/// The op does not take the dtype.
pub fn plan(op: &'static OpDef, dtype: DType, view: View) -> Result<Plan> {
    let metas = metas(op, dtype, view)?;
    Ok(preview(op, &arguments(op, &metas))?.1)
}

/// An operand of this dtype, or of one that the parameter accepts if it takes no part in promotion.
fn meta(param: &ParamDef, dtype: DType, layout: Layout) -> Meta {
    let dtype = match param.ty {
        TypeRef::Fixed(fixed) if param.accepts.contains(fixed) => fixed,
        _ if param.promotes || param.accepts.contains(dtype) => dtype,
        _ => param.accepts.iter().next().unwrap_or(dtype),
    };
    Meta { dtype, device: Device::Cpu, layout }
}
