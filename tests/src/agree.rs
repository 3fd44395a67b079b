//! One call on two back ends.

use crate::compare::{Bound, compare};
use crate::random::{Random, Range};
use gems_ops::prelude::*;
use gems_runtime::dtype::join;
use gems_runtime::layout::{Layout, broadcast_shapes};
use gems_runtime::op::{DeviceFn, LIBRARY, OpDef, Operand, Piece, Role};

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
    if library_calls(op.device) == 0 { Bound::Exact } else { Bound::Ulps(8) }
}

/// [`bound`] on special values, where errors of each factor show: 4 ulps a side for each library call in the formula.
#[must_use]
pub fn bound_of_each_call(op: &OpDef) -> Bound {
    match library_calls(op.device) {
        0 => Bound::Exact,
        calls => Bound::Ulps(8 * u64::from(calls)),
    }
}

/// Calls of a mathematical library in a formula and in the functions that it calls.
fn library_calls(function: &DeviceFn) -> u32 {
    let in_text = |text: &str| {
        let names = LIBRARY.iter().chain(&["rsqrt"]);
        let count = names.map(|name| text.matches(&format!("math::{name}(")).count()).sum::<usize>();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let in_piece = |piece: &Piece| match piece {
        Piece::Text(text) => in_text(text),
        Piece::Call(callee) => library_calls(function.calls[*callee]),
        Piece::Name | Piece::Line(_) => 0,
    };
    function.pieces.iter().map(in_piece).sum()
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
    let shape = random.shape(rank, largest);
    let form = random.bits();
    let call = RandomCall::new(form, &shape, random);
    (call.op, call.buffers)
}

/// A random call of an op of [`EXACT_OPS`].
#[derive(Debug)]
pub struct RandomCall {
    /// The op.
    pub op: &'static OpDef,
    /// Its tensors, which broadcast to one shape.
    pub buffers: Vec<StridedBuffer>,
    /// Which of them is a number instead.
    pub number: Option<usize>,
    /// The layout of a given output, without overlap, whose shape is that of the result.
    pub out: Option<Layout>,
}

impl RandomCall {
    /// The call of a form on a shape: calls of one form have the same op, dtypes and kind of layouts, and mostly share a
    /// kernel, whatever their shapes of one rank; values come from `random`.
    ///
    /// # Panics
    /// The shape is too large for memory.
    #[must_use]
    pub fn new(form: u64, shape: &[usize], random: &mut Random) -> RandomCall {
        let mut form = Random::new(form);
        let (op, dtypes) = EXACT_OPS[form.below(EXACT_OPS.len())];
        let dtype = dtypes[form.below(dtypes.len())];
        let other = dtypes[form.below(dtypes.len())];
        let other = if form.chance(15) && join(dtype, other).is_ok() { other } else { dtype };
        let buffers: Vec<StridedBuffer> = op
            .tensors()
            .map(|(_, param)| {
                let own = match (param.promotes, form.chance(50)) {
                    (false, _) => DType::Bool,
                    (true, true) => other,
                    (true, false) => dtype,
                };
                let layout = form.layout(shape);
                random.buffer(own, &layout, Range::All)
            })
            .collect();
        let number = (buffers.len() > 1 && form.chance(15)).then(|| form.below(buffers.len()));
        let number = number.filter(|&at| op.tensors().nth(at).is_some_and(|(_, param)| param.promotes));
        let tensors = buffers.iter().enumerate().filter(|(at, _)| Some(*at) != number);
        let result = broadcast_shapes(tensors.map(|(_, buffer)| buffer.shape())).expect("they fit one shape");
        let out = form.chance(30).then(|| form.dense_layout(&result));
        RandomCall { op, buffers, number, out }
    }

    /// The operands in order; all numbers are 3.
    #[must_use]
    pub fn operands<'a>(&self, buffers: &'a [StridedBuffer]) -> Vec<Operand<'a, StridedBuffer>> {
        let mut operands = operands(self.op, buffers, Scalar::I64(3));
        if let Some(at) = self.number {
            let tensors = self.op.params.iter().enumerate().filter(|(_, param)| param.role == Role::Tensor);
            let positions: Vec<usize> = tensors.map(|(position, _)| position).collect();
            operands[positions[at]] = Operand::Scalar(Scalar::I64(3));
        }
        operands
    }
}
