//! One call on two back ends.

use crate::compare::{Bound, compare};
use crate::random::{Random, Range};
use gems_ops::prelude::*;
use gems_runtime::dtype::join;
use gems_runtime::op::{DeviceFn, OpDef, Operand, Role};

/// The operands of a call: buffers for tensors in order, one number for all numbers.
#[must_use]
pub fn operands<'a>(
    op: &OpDef,
    buffers: &'a [StridedBuffer],
    number: Scalar,
) -> Vec<Operand<'a, StridedBuffer>> {
    let mut buffers = buffers.iter();
    op.params
        .iter()
        .filter_map(|param| match param.role {
            Role::Tensor => buffers.next().map(Operand::Buffer),
            Role::Number => Some(Operand::Scalar(number)),
        })
        .collect()
}

/// Compares the results of two back ends.
///
/// # Panics
/// They differ by more than the op allows.
#[track_caller]
pub fn same(op: &OpDef, expected: &[StridedBuffer], got: &[StridedBuffer], context: &str) {
    assert_eq!(expected.len(), got.len(), "{context}");
    for (expected, got) in expected.iter().zip(got) {
        assert_eq!(expected.dtype(), got.dtype(), "{context}");
        assert_eq!(expected.shape(), got.shape(), "{context}");
        assert_eq!(expected.strides(), got.strides(), "{context}");
        compare(expected, got, bound(op)).unwrap_or_else(|difference| panic!("{context}: {difference}"));
    }
}

/// Bit for bit, unless the function calls a mathematical library.
#[must_use]
pub fn bound(op: &OpDef) -> Bound {
    const LIBRARY: [&str; 30] = [
        "exp", "exp2", "exp_m1", "ln", "log2", "log10", "ln_1p", "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow", "hypot", "atan2", "cbrt", "erf", "erfc",
        "lgamma", "tgamma", "sin_pi", "cos_pi", "rsqrt",
    ];
    fn calls(function: &DeviceFn) -> bool {
        function.uses.iter().any(|used| LIBRARY.contains(&used.name))
            || function.calls.iter().any(|f| calls(f))
    }
    if calls(op.device) { Bound::Ulps(8) } else { Bound::Exact }
}

/// The values to draw for an op.
#[must_use]
pub fn range(op: &OpDef) -> Range {
    if bound(op) == Bound::Exact { Range::All } else { Range::Moderate }
}

/// Ops without library functions, with the dtypes to try: one kind of each rule.
pub const EXACT_OPS: [(&OpDef, &[DType]); 16] = [
    (add::DEF, &[DType::F32, DType::I16, DType::BF16, DType::U8, DType::Bool, DType::F64, DType::I64]),
    (sub::DEF, &[DType::F16, DType::U32, DType::I8]),
    (mul::DEF, &[DType::F16, DType::U8, DType::I64, DType::F32]),
    (div::DEF, &[DType::F32, DType::F64, DType::BF16, DType::I32]),
    (div_floor::DEF, &[DType::I32, DType::I8, DType::F32, DType::U64]),
    (remainder::DEF, &[DType::I64, DType::F64, DType::I16]),
    (where_::DEF, &[DType::F32, DType::I64, DType::BF16, DType::U8]),
    (lt::DEF, &[DType::F32, DType::I8, DType::BF16]),
    (eq::DEF, &[DType::F16, DType::I32, DType::Bool]),
    (addcmul::DEF, &[DType::F32, DType::I32, DType::BF16]),
    (maximum::DEF, &[DType::F32, DType::F16, DType::I8]),
    (clamp::DEF, &[DType::F32, DType::I32, DType::U8]),
    (copy::DEF, &[DType::F32, DType::BF16, DType::I8, DType::F64, DType::Bool]),
    (sqrt::DEF, &[DType::F32, DType::F64, DType::F16, DType::I32]),
    (bitwise_left_shift::DEF, &[DType::I32, DType::I8, DType::U16]),
    (lerp::DEF, &[DType::F32, DType::F64, DType::BF16]),
];

/// A random call: an op of [`EXACT_OPS`], a shape, and buffers that broadcast to it, sometimes of mixed dtypes.
pub fn random_call(random: &mut Random, rank: usize, largest: usize) -> (&'static OpDef, Vec<StridedBuffer>) {
    let (op, dtypes) = EXACT_OPS[random.below(EXACT_OPS.len())];
    let dtype = dtypes[random.below(dtypes.len())];
    let mixed = random.chance(15);
    let other = dtypes[random.below(dtypes.len())];
    let other = if mixed && join(dtype, other).is_ok() { other } else { dtype };
    let shape = random.shape(rank, largest);
    let buffers = op
        .tensors()
        .map(|(_, param)| {
            let second = random.chance(50);
            let own = match (param.promotes, second) {
                (false, _) => DType::Bool,
                (true, true) => other,
                (true, false) => dtype,
            };
            let layout = random.layout(&shape);
            random.buffer(own, &layout, Range::All)
        })
        .collect();
    (op, buffers)
}
