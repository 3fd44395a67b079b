//! Every op of two buffers on every pair of special values.

use crate::cases::View;
use crate::compare::{Bound, compare};
use crate::sweep;
use gems_ops::REGISTRY;
use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::dtype::DTypeSet;
use gems_runtime::op::{OpDef, ParamDef, Role};

/// What the parameters that are always numbers get.
pub const NUMBER: Scalar = Scalar::I64(1);

/// Ops of two buffers of any shape, with every float dtype that they take.
pub fn calls() -> impl Iterator<Item = (&'static OpDef, DType)> {
    let binary = |op: &&OpDef| op.tensors().count() == 2 && !op.tensors().any(|(i, _)| op.is_one_value(i));
    REGISTRY
        .iter()
        .filter(binary)
        .flat_map(|op| op.dtypes.intersection(DTypeSet::FLOAT).iter().map(move |dtype| (op, dtype)))
}

/// NaN, infinities, zeros, subnormal and extreme values, and numbers around 1.
fn values(dtype: DType) -> Vec<f64> {
    // Exponents of the least subnormal and the least normal value.
    let (subnormal, normal) = match dtype {
        DType::F64 => (-1074, -1022),
        DType::F16 => (-24, -14),
        DType::BF16 => (-133, -126),
        DType::F8E4M3FN => (-9, -6),
        DType::F8E5M2 => (-16, -14),
        _ => (-149, -126),
    };
    let [least, normal] =
        [subnormal, normal].map(|exponent| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2));
    let greatest = Scalar::limit(dtype, 1).to_f64();
    let positive =
        [0.0, least, normal - least, normal, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, greatest, f64::INFINITY];
    positive.into_iter().chain(positive.map(|x| -x)).chain([f64::NAN]).collect()
}

/// The first differences between the results of two back ends, op by op, beyond the bound of each op.
///
/// # Errors
/// As the calls.
pub fn differences(
    bound: impl Fn(&OpDef) -> Bound,
    run: impl Fn(&'static OpDef, &[StridedBuffer]) -> Result<[Vec<StridedBuffer>; 2]>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (op, dtype) in calls() {
        let buffers = operands(op, dtype)?;
        let [expected, got] = run(op, &buffers)?;
        for (expected, got) in expected.iter().zip(&got) {
            if let Err(difference) = compare(expected, got, bound(op)) {
                found.push(format!("{} of {dtype}: {difference}", op.name));
            }
        }
    }
    Ok(found)
}

/// The operands of a call: all pairs of special values, side by side.
///
/// # Errors
/// `Memory`.
pub fn operands(op: &OpDef, dtype: DType) -> Result<Vec<StridedBuffer>> {
    let values = values(dtype);
    let square = [values.len().cast_signed(); 2];
    let column = StridedBuffer::from_slice(&values, &[values.len(), 1])?.expand(&square)?;
    let row = StridedBuffer::from_slice(&values, &[values.len()])?.expand(&square)?;
    let metas = sweep::metas(op, dtype, View::Contiguous)?;
    let tensors = op.params.iter().zip(metas).filter(|(param, _)| param.role == Role::Tensor);
    let operand = |((param, meta), pairs): ((&ParamDef, Meta), StridedBuffer)| {
        let dtype = if param.promotes || param.accepts.contains(dtype) { dtype } else { meta.dtype };
        cast(&pairs, dtype)?.reshape(&[-1])
    };
    tensors.zip([column, row]).map(operand).collect()
}
