//! Gradients of operands of any layout and dtype: sums of the derivative over operands that are whole.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::REGISTRY;
use gems_ops::prelude::*;
use gems_runtime::op::{self, Gradient, OpDef, Operand, Role, TypeRef, VjpSource};
use gems_runtime::trace::{Options, trace};
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};
use num_complex::Complex;

const OPS: [&OpDef; 16] = [
    add::DEF,
    sub::DEF,
    mul::DEF,
    div::DEF,
    where_::DEF,
    lerp::DEF,
    addcmul::DEF,
    addcdiv::DEF,
    maximum::DEF,
    atan2::DEF,
    hypot::DEF,
    clamp::DEF,
    xlogy::DEF,
    mse_loss::DEF,
    gelu_and_mul::DEF,
    rotary_embedding::DEF,
];

const REAL: [DType; 6] = [DType::F32, DType::BF16, DType::F16, DType::F64, DType::I8, DType::U8];
const COMPLEX: [DType; 3] = [DType::C64, DType::C128, DType::C32];

/// Operands of one call, with what has a gradient.
struct Call {
    op: &'static OpDef,
    operands: Vec<StridedBuffer>,
    results: Vec<StridedBuffer>,
    cotangents: Vec<StridedBuffer>,
}

impl Call {
    /// `None` if the dtypes do not promote.
    fn new(op: &'static OpDef, random: &mut Random) -> Option<Call> {
        let shape = random.shape(4, 4);
        let complex = op.dtypes.contains(DType::C64) && random.chance(30);
        let operands: Vec<StridedBuffer> = op
            .params
            .iter()
            .map(|param| {
                let dtype = match random.below(2) {
                    _ if !param.promotes => DType::Bool,
                    0 if complex => COMPLEX[random.below(COMPLEX.len())],
                    _ => REAL[random.below(REAL.len())],
                };
                let layout = random.layout(&shape);
                random.buffer(dtype, &layout, Range::Moderate)
            })
            .collect();
        let results = StridedBuffer::run(op, &given(&operands), None).ok()?;
        if !results[0].dtype().is_float() && !results[0].dtype().is_complex() {
            return None;
        }
        let mut cotangent = |result: &StridedBuffer| {
            let layout = random.dense_layout(result.shape());
            random.buffer(result.dtype(), &layout, Range::Moderate)
        };
        let cotangents = results.iter().map(&mut cotangent).collect();
        Some(Call { op, operands, results: results.into_vec(), cotangents })
    }

    /// The gradients recorded in a trace, fused and run.
    fn traced(&self) -> Vec<StridedBuffer> {
        let inputs: Vec<&StridedBuffer> = self.operands.iter().chain(&self.cotangents).collect();
        let form = trace(&inputs, Options::default(), |inputs| {
            let (operands, cotangents) = inputs.split_at(self.operands.len());
            let operands: Vec<_> = operands.iter().map(Operand::Buffer).collect();
            let cotangents: Vec<&SymbolicBuffer> = cotangents.iter().collect();
            let gradients = op::vjp(self.op, &cotangents, &operands, None)?;
            Ok(gradients.into_iter().flatten().collect::<Vec<SymbolicBuffer>>())
        });
        form.unwrap().run(&inputs).unwrap()
    }

    /// The derivative of operands that are converted and stretched before, then summed and rounded once.
    fn expected(&self) -> Vec<Option<StridedBuffer>> {
        let def = self.op.vjp.as_ref().unwrap();
        let (shape, common) = (self.results[0].shape(), self.results[0].dtype());
        let whole = |(buffer, promotes): (&StridedBuffer, bool)| {
            let dtype = if promotes { common } else { buffer.dtype() };
            cast(&buffer.broadcast_to(shape).unwrap(), dtype).unwrap()
        };
        let operands: Vec<StridedBuffer> = self
            .operands
            .iter()
            .zip(self.op.params)
            .map(|(buffer, param)| whole((buffer, param.promotes)))
            .collect();
        let results = StridedBuffer::run(self.op, &given(&operands), None).unwrap();
        let arguments: Vec<Operand<'_, StridedBuffer>> = def
            .sources
            .iter()
            .map(|source| match *source {
                VjpSource::Cotangent(i) => Operand::Buffer(&self.cotangents[i]),
                VjpSource::Input(i) => Operand::Buffer(&operands[i]),
                VjpSource::Output(i) => Operand::Buffer(&results[i]),
            })
            .collect();
        let whole = StridedBuffer::run(def.backward.unwrap(), &arguments, None).unwrap();
        let of = |(operand, gradient): (&StridedBuffer, &Gradient)| match gradient {
            Gradient::Output(i) if operand.dtype().is_float() || operand.dtype().is_complex() => {
                Some(summed(&whole[*i], operand))
            }
            _ => None,
        };
        self.operands.iter().zip(def.gradients).map(of).collect()
    }
}

fn given(operands: &[StridedBuffer]) -> Vec<Operand<'_, StridedBuffer>> {
    operands.iter().map(Operand::Buffer).collect()
}

/// The sum over the axes along which an operand is broadcast, element by element.
fn summed(gradient: &StridedBuffer, operand: &StridedBuffer) -> StridedBuffer {
    let values = cast(gradient, DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
    let places =
        StridedBuffer::from_vec((0..).take(operand.numel()).collect::<Vec<i64>>(), operand.shape()).unwrap();
    let places = places.broadcast_to(gradient.shape()).unwrap().to_vec::<i64>().unwrap();
    let mut sums = vec![Complex::new(0.0, 0.0); operand.numel()];
    let mut filled = vec![false; operand.numel()];
    for (place, value) in places.into_iter().zip(values) {
        let place = usize::try_from(place).unwrap();
        // The first one as it is: 0 + −0 is 0.
        sums[place] = if filled[place] { sums[place] + value } else { value };
        filled[place] = true;
    }
    cast(&StridedBuffer::from_vec(sums, operand.shape()).unwrap(), operand.dtype()).unwrap()
}

/// Sums in another order, each rounded once: one step apart at most.
fn nearly(want: &StridedBuffer, got: &StridedBuffer) -> std::result::Result<(), String> {
    let step = match want.dtype().real() {
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        DType::F32 => 2f64.powi(-23),
        _ => 1e-12,
    };
    let values = |x: &StridedBuffer| cast(x, DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
    let apart = |(want, got): (&f64, &f64)| (want - got).abs() > step * want.abs() + 1e-10;
    let parts = |x| values(x).into_iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f64>>();
    let (want, got) = (parts(want), parts(got));
    match want.iter().zip(&got).position(apart) {
        Some(i) => Err(format!("part {i}: expected {}, got {}", want[i], got[i])),
        None => Ok(()),
    }
}

#[test]
fn gradients_of_any_operands_are_sums_of_the_derivative() {
    let turns = if cfg!(debug_assertions) { 1500 } else { 20_000 };
    let mut random = Random::new(31);
    let (mut compared, mut broadcast) = (0, 0);
    for turn in 0..turns {
        let Some(call) = Call::new(OPS[turn % OPS.len()], &mut random) else { continue };
        let cotangents: Vec<&StridedBuffer> = call.cotangents.iter().collect();
        let got = op::vjp(call.op, &cotangents, &given(&call.operands), None).unwrap();
        if turn % 3 == 0 {
            let traced = call.traced();
            assert_eq!(traced.len(), got.iter().flatten().count());
            for (got, traced) in got.iter().flatten().zip(&traced) {
                let difference = compare(got, traced, Bound::Exact);
                difference.unwrap_or_else(|difference| {
                    panic!("turn {turn}, {} traced: {difference}", call.op.name)
                });
            }
        }
        for (i, (got, want)) in got.iter().zip(call.expected()).enumerate() {
            let operand = &call.operands[i];
            let context = || {
                let metas: Vec<String> =
                    call.operands.iter().map(|operand| operand.meta().to_string()).collect();
                format!("turn {turn}, {} by operand {i} of {}", call.op.name, metas.join("; "))
            };
            let (Some(got), Some(want)) = (got, &want) else {
                assert_eq!(got.is_some(), want.is_some(), "{}", context());
                continue;
            };
            assert_eq!((got.dtype(), got.shape()), (operand.dtype(), operand.shape()), "{}", context());
            let is_summed = operand.shape() != call.results[0].shape();
            let result = if is_summed { nearly(want, got) } else { compare(want, got, Bound::Exact) };
            result.unwrap_or_else(|difference| panic!("{}: {difference}", context()));
            compared += 1;
            broadcast += usize::from(is_summed);
        }
    }
    assert!(compared > turns && broadcast > turns / 4, "{compared} gradients, {broadcast} of them sums");
}

/// A tensor of ones for each parameter that takes one.
fn ones(op: &OpDef, dtype: DType) -> Vec<Option<StridedBuffer>> {
    let of = |param: &op::ParamDef| {
        // What is one value for all elements is given as a number.
        let is_number = param.role == Role::Number
            || (matches!(op.name, "fill" | "masked_fill") && param.name == "value");
        let dtype = if let TypeRef::Fixed(dtype) = param.ty { dtype } else { dtype };
        (!is_number).then(|| StridedBuffer::full(dtype, &[2], 1, Device::Cpu).unwrap())
    };
    op.params.iter().map(of).collect()
}

#[test]
fn every_dtype_that_an_op_takes_has_gradients() {
    let mut checked = 0;
    for op in REGISTRY.iter().filter(|op| op.vjp.is_some()) {
        let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float() || dtype.is_complex());
        let takes = |dtype: &DType| {
            op.dtypes.contains(*dtype) || op.complex.is_some_and(|complex| complex.dtypes.contains(*dtype))
        };
        for dtype in floats.filter(takes) {
            let tensors = ones(op, dtype);
            let operands: Vec<_> = tensors
                .iter()
                .zip(op.params)
                .map(|(tensor, param)| match (tensor, param.ty) {
                    (Some(tensor), _) => Operand::Buffer(tensor),
                    (None, TypeRef::Fixed(DType::Bool)) => Operand::Scalar(Scalar::Bool(true)),
                    (None, TypeRef::Fixed(_)) => Operand::Scalar(Scalar::I64(1)),
                    (None, _) => Operand::Scalar(Scalar::F64(1.0)),
                })
                .collect();
            let results = StridedBuffer::run(op, &operands, None).unwrap();
            let cotangents: Vec<&StridedBuffer> = results.iter().collect();
            let gradients = op::vjp(op, &cotangents, &operands, None);
            let gradients = gradients.unwrap_or_else(|error| panic!("{dtype}: {error}"));
            for (gradient, operand) in gradients.iter().zip(&operands) {
                if let (Some(gradient), Operand::Buffer(operand)) = (gradient, operand) {
                    assert_eq!(gradient.dtype(), operand.dtype(), "{}", op.name);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1500, "{checked} gradients");
}
