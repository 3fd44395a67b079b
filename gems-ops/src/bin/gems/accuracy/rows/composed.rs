//! The ops that have no row of their own.

#[cfg(test)]
use gems_ops::dtype::DType;
#[cfg(test)]
use gems_ops::op::{OpDef, TypeRef};

/// Selections, copies, sums of products and the like, gradients, losses, optimizers and cells: every rounding of theirs
/// is written in the formula, and the functions within have rows.
#[cfg(test)]
pub(super) const OPS: &str = "
    abs neg
";

/// Whether a result is a real float for float operands.
#[cfg(test)]
pub(super) fn has_float_result(op: &OpDef) -> bool {
    op.outputs.iter().any(|output| match output.ty {
        TypeRef::Generic | TypeRef::Real => true,
        TypeRef::Complex => false,
        TypeRef::Fixed(dtype) => matches!(dtype, DType::F32 | DType::F64),
    })
}
