//! Derivatives against differences: of every op, first and second order; and rules by hand against derived ones.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

use gems_ops::REGISTRY;
use gems_ops::prelude::*;
use gems_runtime::op::{self, Gradient, OpDef, Operand, Role, TypeRef, VjpDef, VjpSource};
use gems_tests::compare::{Bound, compare};
use gems_tests::random::Random;
use num_complex::Complex;

/// Where an op is smooth, for ops that are not smooth near 0.3 to 0.9: lowest and highest operand.
const DOMAINS: &[(&str, f64, f64)] = &[
    ("acosh", 1.2, 3.0),
    ("atanh", 0.1, 0.7),
    ("hardsigmoid", -2.5, 2.5),
    ("hardswish", -2.5, 2.5),
    ("relu6", 1.0, 5.0),
    ("hardshrink", 1.2, 3.0),
    ("softshrink", 1.2, 3.0),
    ("fmod", 1.1, 1.4),
    ("remainder", 1.1, 1.4),
    ("special_modified_bessel_k0", 0.5, 4.0),
    ("special_modified_bessel_k1", 0.5, 4.0),
    ("lgamma", 1.5, 5.0),
    ("mvlgamma", 1.5, 5.0),
    ("special_zeta", 1.5, 4.0),
    ("ldexp", 0.3, 0.9),
];

/// Numbers of ops for which 0.5 makes no sense or no slope.
const NUMBERS: &[(&str, &[f64])] = &[
    ("softplus", &[1.5, 20.0]),
    ("threshold", &[0.1, 7.0]),
    ("hardshrink", &[1.0]),
    ("softshrink", &[1.0]),
    ("hardshrink_backward", &[0.1]),
    ("softshrink_backward", &[0.1]),
    ("hardtanh_backward", &[0.1, 2.0]),
    ("threshold_backward", &[0.1]),
    ("softplus_backward", &[1.5, 20.0]),
    ("logit_eps", &[0.1]),
    ("polygamma", &[2.0]),
    ("mvlgamma", &[2.0]),
    ("smooth_l1_loss", &[0.05]),
    ("silu_and_mul_with_clamp", &[2.0]),
    ("hinge_embedding_loss", &[2.0]),
    ("margin_ranking_loss", &[3.0]),
    ("uniform_from", &[0.0, 2.0]),
    ("nan_to_num_kernel", &[0.0, 1.0, -1.0]),
    ("fake_quantize_learnable_per_tensor_affine_backward", &[-8.0, 7.0, 0.75]),
    ("poisson_nll_loss", &[1.0, 0.0, 1e-3]),
    ("gaussian_nll_loss", &[0.0, 1e-6]),
];

/// Ops whose gradient is a convention and not the slope.
const CONVENTIONS: &[&str] = &[
    // A straight line through the steps.
    "fake_quantize_per_tensor_affine",
    "fake_quantize_learnable_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    // One value for all elements, which has a test of its own.
    "fill",
    "masked_fill",
];

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

fn buffer(values: &[f64]) -> StridedBuffer {
    StridedBuffer::from_slice(values, &[values.len()]).unwrap()
}

/// Operands of an op: f64 tensors inside its domain, and numbers.
struct Sample {
    tensors: Vec<Option<StridedBuffer>>,
    numbers: Vec<Scalar>,
}

impl Sample {
    /// Operands where the op is smooth.
    fn new(op: &OpDef, count: usize, random: &mut Random) -> Sample {
        let domain = DOMAINS.iter().find(|row| row.0 == op.name).map_or((0.3, 0.9), |row| (row.1, row.2));
        Sample::within(op, domain, count, random)
    }

    fn within(op: &OpDef, (low, high): (f64, f64), count: usize, random: &mut Random) -> Sample {
        let given = NUMBERS.iter().find(|row| row.0 == op.name).map_or(&[][..], |row| row.1);
        let mut given = given.iter();
        let mut sample = Sample { tensors: Vec::new(), numbers: Vec::new() };
        for (i, param) in op.params.iter().enumerate() {
            // Operands differ from each other, so that no two are equal.
            let spread = (high - low) / op.params.len() as f64;
            let start = low + spread * i as f64;
            let values: Vec<f64> = (0..count).map(|_| start + spread * unit(random)).collect();
            let number = match param.ty {
                TypeRef::Fixed(DType::Bool) => Scalar::Bool(given.next().is_none_or(|&number| number != 0.0)),
                TypeRef::Fixed(_) => Scalar::I64(given.next().map_or(2, |&number| number as i64)),
                _ if param.role == Role::Number => Scalar::F64(given.next().copied().unwrap_or(0.5)),
                _ => Scalar::F64(0.0),
            };
            let is_float = matches!(param.ty, TypeRef::Generic | TypeRef::Real | TypeRef::Fixed(DType::F64));
            sample.tensors.push(match (param.role, param.ty) {
                (Role::Tensor, TypeRef::Fixed(DType::Bool)) => {
                    Some(StridedBuffer::full(DType::Bool, &[count], true, Device::Cpu).unwrap())
                }
                (Role::Tensor, _) if is_float => Some(buffer(&values)),
                _ => None,
            });
            sample.numbers.push(number);
        }
        // A degree or an order is a whole number.
        if let (Some(at), true) = (op.param("n"), op.name.contains("polynomial")) {
            sample.tensors[at] = Some(buffer(&vec![3.0; count]));
        }
        sample
    }

    fn operands(&self) -> Vec<Operand<'_, StridedBuffer>> {
        let operands = self.tensors.iter().zip(&self.numbers);
        operands
            .map(|(tensor, number)| match tensor {
                Some(tensor) => Operand::Buffer(tensor),
                None => Operand::Scalar(*number),
            })
            .collect()
    }

    /// One element of each tensor of floats.
    fn element(&self, k: usize) -> Vec<f64> {
        self.tensors
            .iter()
            .flatten()
            .filter_map(|tensor| tensor.to_vec::<f64>().ok())
            .map(|all| all[k])
            .collect()
    }

    /// The same with one tensor moved.
    fn moved(&self, index: usize, step: f64) -> Sample {
        let mut tensors = self.tensors.clone();
        let values = tensors[index].as_ref().unwrap().to_vec::<f64>().unwrap();
        tensors[index] = Some(buffer(&values.iter().map(|value| value + step).collect::<Vec<_>>()));
        Sample { tensors, numbers: self.numbers.clone() }
    }
}

/// The float results of an op, times weights and added up, element by element.
fn weighted(op: &'static OpDef, sample: &Sample, weights: &[StridedBuffer]) -> Vec<f64> {
    let results = StridedBuffer::run(op, &sample.operands(), None).unwrap();
    let mut sum = vec![0.0; results[0].numel()];
    for (result, weight) in results.iter().zip(weights).filter(|(result, _)| result.dtype() == DType::F64) {
        for ((sum, value), weight) in
            sum.iter_mut().zip(result.to_vec::<f64>().unwrap()).zip(weight.to_vec::<f64>().unwrap())
        {
            *sum += value * weight;
        }
    }
    sum
}

/// Where differences of several steps disagree there is a kink, a pole or the end of the domain nearby.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinks {
    /// There are none.
    None,
    /// Elements at one are left out.
    LeftOut,
}

/// Compares all gradients of an op with central differences of fourth order; gives the number of comparisons.
#[track_caller]
fn check_slopes(
    op: &'static OpDef,
    def: &VjpDef,
    sample: &Sample,
    kinks: Kinks,
    random: &mut Random,
) -> usize {
    let count = sample.tensors.iter().flatten().next().unwrap().numel();
    let weights: Vec<StridedBuffer> = op
        .outputs
        .iter()
        .map(|_| buffer(&(0..count).map(|_| 0.5 + unit(random)).collect::<Vec<_>>()))
        .collect();
    let cotangents: Vec<&StridedBuffer> = weights.iter().collect();
    let gradients = op::vjp(op, &cotangents, &sample.operands(), None).unwrap();
    let mut compared = 0;
    for (i, gradient) in gradients.iter().enumerate() {
        let Some(gradient) = gradient else { continue };
        assert_ne!(def.gradients[i], Gradient::None);
        let slopes = |h: f64| -> Vec<f64> {
            let at = |step: f64| weighted(op, &sample.moved(i, step), &weights);
            let (far_low, low, high, far_high) = (at(-2.0 * h), at(-h), at(h), at(2.0 * h));
            (0..count)
                .map(|k| (far_low[k] - 8.0 * low[k] + 8.0 * high[k] - far_high[k]) / (12.0 * h))
                .collect()
        };
        let (slopes, nearer) = (slopes(1e-3), [slopes(3.7e-4), slopes(1.1e-4)]);
        for (k, got) in gradient.to_vec::<f64>().unwrap().into_iter().enumerate() {
            let (slope, scale) = (slopes[k], 1.0 + slopes[k].abs());
            let agree = nearer.iter().all(|nearer| (slope - nearer[k]).abs() < 1e-8 * scale);
            if kinks == Kinks::LeftOut && !agree {
                continue;
            }
            compared += 1;
            assert!(
                (got - slope).abs() < 2e-8 * scale,
                "{} by `{}`, element {k}: {got}, differences give {slope} at {:?}",
                op.name,
                op.params[i].name,
                sample.element(k)
            );
        }
    }
    compared
}

/// Whether an op can be computed in f64.
fn is_real(op: &OpDef) -> bool {
    let complex = op.outputs.iter().any(|output| output.ty == TypeRef::Complex);
    !complex && (op.dtypes.contains(DType::F64) || op.dtypes == gems_runtime::dtype::DTypeSet::EMPTY)
}

/// Ops that are differentiated by a kernel, with their derivatives.
fn differentiated() -> impl Iterator<Item = (&'static OpDef, &'static VjpDef)> {
    let is_checked = |op: &&OpDef| !CONVENTIONS.contains(&op.name) && is_real(op);
    let with_derivative = |op: &'static OpDef| op.vjp.as_ref().map(|def| (op, def));
    REGISTRY.iter().filter(is_checked).filter_map(with_derivative).filter(|(_, def)| def.backward.is_some())
}

/// Ops with floats in and out that are not differentiated: what is drawn in steps, and a scale that is undone. Steps of
/// optimizers are not either.
const WITHOUT: &[&str] = &["amp_unscale", "bernoulli_from", "geometric_from"];

#[test]
fn every_op_has_a_derivative_but_these() {
    let floats = |op: &&OpDef| {
        op.dtypes.contains(DType::F32)
            && op
                .outputs
                .iter()
                .any(|output| matches!(output.ty, TypeRef::Generic | TypeRef::Real | TypeRef::Complex))
    };
    let mut without: Vec<&str> =
        REGISTRY.iter().filter(floats).filter(|op| op.vjp.is_none()).map(|op| op.name).collect();
    without.retain(|name| !name.starts_with("fused_"));
    without.sort_unstable();
    assert_eq!(without, WITHOUT);
}

#[test]
fn every_gradient_is_the_slope() {
    let mut random = Random::new(7);
    let mut checked = 0;
    for (op, def) in differentiated() {
        let sample = Sample::new(op, 9, &mut random);
        check_slopes(op, def, &sample, Kinks::None, &mut random);
        checked += 1;
    }
    assert!(checked > 190, "{checked} ops were checked");
}

/// Ops that have a gradient beyond a bound where they are constant.
const STRAIGHT: &[&str] = &["gaussian_nll_loss"];

#[test]
fn gradients_are_slopes_on_both_sides_of_kinks_and_of_zero() {
    const POINTS: usize = 128;
    let mut random = Random::new(8);
    for (op, def) in differentiated().filter(|(op, _)| !STRAIGHT.contains(&op.name)) {
        let sample = Sample::within(op, (-3.0, 3.0), POINTS, &mut random);
        // Operands of the same range, so that none is always the larger one.
        let tensors = sample.tensors.iter().enumerate().map(|(i, tensor)| {
            tensor
                .as_ref()
                .filter(|tensor| tensor.dtype() == DType::F64 && op.params[i].name != "n")
                .map_or_else(
                    || tensor.clone(),
                    |_| Some(buffer(&(0..POINTS).map(|_| 6.0 * unit(&mut random) - 3.0).collect::<Vec<_>>())),
                )
        });
        let sample = Sample { tensors: tensors.collect(), numbers: sample.numbers };
        let compared = check_slopes(op, def, &sample, Kinks::LeftOut, &mut random);
        assert!(compared >= 5, "{}: {compared} points", op.name);
    }
}

/// Ops of which an operand of the sample lies next to a bound, where the first gradient jumps.
const NEAR_KINKS: &[&str] = &["silu_and_mul_with_clamp"];

#[test]
fn every_second_gradient_is_the_slope_of_the_first() {
    let mut random = Random::new(11);
    let mut checked = 0;
    for (op, first) in differentiated() {
        let Some(backward) = first.backward.filter(|backward| is_real(backward)) else { continue };
        let Some(def) = backward.vjp.as_ref().filter(|def| def.backward.is_some()) else { continue };
        let mut sample = Sample::new(backward, 9, &mut random);
        if let Some(domain) = DOMAINS.iter().find(|row| row.0 == op.name) {
            for (tensor, source) in sample.tensors.iter_mut().zip(first.sources) {
                if matches!(source, VjpSource::Input(_)) && tensor.is_some() {
                    let values: Vec<f64> =
                        (0..9).map(|_| domain.1 + (domain.2 - domain.1) * unit(&mut random)).collect();
                    *tensor = Some(buffer(&values));
                }
            }
        }
        let kinks = if NEAR_KINKS.contains(&op.name) { Kinks::LeftOut } else { Kinks::None };
        let compared = check_slopes(backward, def, &sample, kinks, &mut random);
        assert!(compared >= 5, "{}: {compared} elements", op.name);
        checked += 1;
    }
    assert!(checked > 145, "{checked} derivatives were checked");
}

/// The gradients of an op of `N` tensors, all of them floats, as those of a traced function.
fn traced<const N: usize>(
    op: &'static OpDef,
    sample: &Sample,
    cotangents: &[&StridedBuffer],
) -> Vec<StridedBuffer> {
    let numbers = sample.numbers.clone();
    let is_tensor: Vec<bool> = sample.tensors.iter().map(Option::is_some).collect();
    let f = vjp(move |inputs: [SymbolicBuffer; N]| {
        let mut inputs = inputs.iter();
        let operand = |(is_tensor, number): (&bool, &Scalar)| match is_tensor.then(|| inputs.next()).flatten()
        {
            Some(input) => Operand::Buffer(input),
            None => Operand::Scalar(*number),
        };
        let operands: Vec<_> = is_tensor.iter().zip(&numbers).map(operand).collect();
        SymbolicBuffer::run(op, &operands, None).map(|results| results.into_vec())
    });
    let inputs: Vec<&StridedBuffer> = sample.tensors.iter().flatten().collect();
    f.gradients(cotangents, inputs.try_into().unwrap()).unwrap_or_else(|error| panic!("{error}")).into()
}

#[test]
fn every_gradient_is_traced_with_the_bits_of_the_eager_one() {
    let mut random = Random::new(14);
    let mut checked = 0;
    for (op, def) in differentiated() {
        let sample = Sample::new(op, 9, &mut random);
        let tensors: Vec<&StridedBuffer> = sample.tensors.iter().flatten().collect();
        let has_all = |(tensor, gradient): (&Option<StridedBuffer>, &Gradient)| {
            tensor.is_none() || *gradient != Gradient::None
        };
        // A mask, or an operand without gradient, is no input to differentiate by.
        if tensors.iter().any(|tensor| tensor.dtype() != DType::F64)
            || !sample.tensors.iter().zip(def.gradients).all(has_all)
        {
            continue;
        }
        let results = StridedBuffer::run(op, &sample.operands(), None).unwrap();
        let cotangents: Vec<StridedBuffer> = results
            .iter()
            .map(|result| StridedBuffer::full(result.dtype(), result.shape(), 0.75, Device::Cpu).unwrap())
            .collect();
        let cotangents: Vec<&StridedBuffer> = cotangents.iter().collect();
        let want = op::vjp(op, &cotangents, &sample.operands(), None).unwrap();
        macro_rules! by_count {
            ($($n:literal)*) => {
                match tensors.len() {
                    $($n => traced::<$n>(op, &sample, &cotangents),)*
                    n => panic!("{} has {n} tensors", op.name),
                }
            };
        }
        let got = by_count!(1 2 3 4 5 6 7 8 9 10 11 12 13 17);
        for (want, got) in want.iter().flatten().zip(&got) {
            compare(want, got, Bound::Exact).unwrap_or_else(|difference| panic!("{}: {difference}", op.name));
        }
        checked += 1;
    }
    assert!(checked > 170, "{checked} ops were checked");
}

/// The real and the imaginary part of a gradient are the slopes of Re(ḡ·f) along the two parts of the operand.
#[test]
fn complex_gradients_are_slopes_along_both_parts() {
    let mut random = Random::new(13);
    let ops = [
        neg::DEF,
        square::DEF,
        reciprocal::DEF,
        sqrt::DEF,
        rsqrt::DEF,
        exp::DEF,
        exp2::DEF,
        expm1::DEF,
        log::DEF,
        log2::DEF,
        log10::DEF,
        log1p::DEF,
        sin::DEF,
        cos::DEF,
        tan::DEF,
        asin::DEF,
        acos::DEF,
        atan::DEF,
        sinh::DEF,
        cosh::DEF,
        tanh::DEF,
        asinh::DEF,
        acosh::DEF,
        atanh::DEF,
        sigmoid::DEF,
        silu::DEF,
        tanhshrink::DEF,
        sinc::DEF,
        softsign::DEF,
        sgn::DEF,
        abs::DEF,
        angle::DEF,
        real::DEF,
        imag::DEF,
        conj_physical::DEF,
        add::DEF,
        sub::DEF,
        mul::DEF,
        div::DEF,
        pow::DEF,
        ldexp::DEF,
        logaddexp::DEF,
        lerp::DEF,
    ];
    let mut second = 0;
    for op in ops {
        let op = op.complex.unwrap_or(op);
        check_complex_slopes(op, &mut random);
        let backward = op.vjp.as_ref().and_then(|def| def.backward).unwrap();
        if backward.vjp.as_ref().is_some_and(|def| def.backward.is_some()) {
            check_complex_slopes(backward, &mut random);
            second += 1;
        }
    }
    assert!(second > 25, "{second} second derivatives were checked");
}

/// Compares the gradients of an op of complex operands, in all quadrants, with differences along both parts.
#[track_caller]
fn check_complex_slopes(op: &'static OpDef, random: &mut Random) {
    // A number without imaginary part is real where the op has real numbers.
    let one = |value: Complex<f64>, ty: TypeRef| match ty {
        TypeRef::Real => StridedBuffer::from_slice(&[value.re], &[1]).unwrap(),
        _ => StridedBuffer::from_slice(&[value], &[1]).unwrap(),
    };
    let item = |buffer: &StridedBuffer| cast(buffer, DType::C128).unwrap().item::<Complex<f64>>().unwrap();
    let buffers = |values: &[Complex<f64>]| -> Vec<StridedBuffer> {
        values.iter().zip(op.params).map(|(&value, param)| one(value, param.ty)).collect()
    };
    for _ in 0..10 {
        let mut part = || (0.2 + 0.6 * unit(random)) * if random.chance(50) { 1.0 } else { -1.0 };
        let values: Vec<Complex<f64>> = op.params.iter().map(|_| Complex::new(part(), part())).collect();
        let weights = [Complex::new(0.5, -1.5), Complex::new(-0.25, 0.75), Complex::new(1.25, 0.5)];
        let weights: Vec<StridedBuffer> =
            op.outputs.iter().zip(weights).map(|(output, weight)| one(weight, output.ty)).collect();
        let at = |values: &[Complex<f64>]| -> f64 {
            let buffers = buffers(values);
            let operands: Vec<_> = buffers.iter().map(Operand::Buffer).collect();
            let results = StridedBuffer::run(op, &operands, None).unwrap();
            results.iter().zip(&weights).map(|(result, weight)| (item(weight).conj() * item(result)).re).sum()
        };
        let buffers = buffers(&values);
        let operands: Vec<_> = buffers.iter().map(Operand::Buffer).collect();
        let weights: Vec<&StridedBuffer> = weights.iter().collect();
        let gradients = op::vjp(op, &weights, &operands, None).unwrap();
        for (i, gradient) in gradients.iter().enumerate() {
            let slope = |direction: Complex<f64>| {
                let moved = |step: f64| {
                    let mut values = values.clone();
                    values[i] += direction * step;
                    at(&values)
                };
                let h = 1e-3;
                (moved(-2.0 * h) - 8.0 * moved(-h) + 8.0 * moved(h) - moved(2.0 * h)) / (12.0 * h)
            };
            let want = Complex::new(slope(Complex::new(1.0, 0.0)), slope(Complex::new(0.0, 1.0)));
            let got = item(gradient.as_ref().unwrap());
            assert!(
                (got - want).norm() < 3e-8 * (1.0 + want.norm()),
                "{} by `{}` at {values:?}: {got}, {want}",
                op.name,
                op.params[i].name
            );
        }
    }
}

// Rules by hand and derived ones.

/// Textbook formulas of ops whose rules are given by hand, each derived by the macro.
#[expect(dead_code, reason = "only the derivatives are called")]
mod textbook {
    use gems_ops::prelude::*;

    macro_rules! formulas {
        ($($(#[$attribute:meta])* $name:ident($($param:ident),* $(; $($number:ident),*)?) = $formula:expr;)*) => {$(
            #[pointwise_dynamic(grad)]
            pub(super) fn $name<T: Float>($($param: T,)* $($(#[param] $number: T),*)?) -> T {
                $formula
            }
        )*};
    }

    formulas! {
        sigmoid(x) = 1 / (1 + (-x).exp());
        silu(x) = x / (1 + (-x).exp());
        mish(x) = x * (1 + x.exp()).ln().tanh();
        gelu(x) = 0.5 * x * (1 + (x * T::FRAC_1_SQRT_2).erf());
        gelu_tanh(x) = 0.5 * x * (1 + (0.7978845608028654 * (x + 0.044715 * x * x * x)).tanh());
        softsign(x) = if x < 0 { x / (1 - x) } else { x / (1 + x) };
        tanhshrink(x) = x - x.tanh();
        log_sigmoid(x) = -(1 + (-x).exp()).ln();
        hardsigmoid(x) = if x < -3 { 0 } else if x > 3 { 1 } else { x / 6 + 0.5 };
        hardswish(x) = if x < -3 { 0 } else if x > 3 { x } else { x * (x + 3) / 6 };
        relu6(x) = if x < 0 { 0 } else if x > 6 { 6 } else { x };
        logaddexp(x, y) = (x.exp() + y.exp()).ln();
        logaddexp2(x, y) = (x.exp2() + y.exp2()).log2();
        xlogy(x, y) = x * y.ln();
        special_xlog1py(x, y) = x * (1 + y).ln();
        special_entr(x) = -x * x.ln();
        logit(x) = (x / (1 - x)).ln();
        sinc(x) = (T::PI * x).sin() / (T::PI * x);
        binary_cross_entropy(x, t) = -(t * x.ln() + (1 - t) * (1 - x).ln());
        kl_div(x, t) = t * (t.ln() - x);
        multilabel_soft_margin_loss(x, t) = -(t * (1 / (1 + (-x).exp())).ln() + (1 - t) * (1 - 1 / (1 + (-x).exp())).ln());
        huber_loss(x, t; delta) = if x - t > delta {
            delta * (x - t - 0.5 * delta)
        } else if t - x > delta {
            delta * (t - x - 0.5 * delta)
        } else {
            0.5 * (x - t) * (x - t)
        };
        softplus(x; beta, threshold) = if beta * x > threshold { x } else { (1 + (beta * x).exp()).ln() / beta };
        softshrink(x; lambd) = if x > lambd { x - lambd } else if x < -lambd { x + lambd } else { 0 };
        hardshrink(x; lambd) = if x > lambd || x < -lambd { x } else { 0 };
        silu_and_mul_with_clamp(x, y; limit) = if x > limit {
            limit / (1 + (-limit).exp())
        } else {
            x / (1 + (-x).exp())
        } * if y > limit { limit } else if y < -limit { -limit } else { y };
        clamp(x, low, high) = if x > high || low > high { high } else if x < low { low } else { x };
        clamp_min(x, low) = if x < low { low } else { x };
        clamp_max(x, high) = if x > high { high } else { x };
    }
}

#[test]
fn rules_by_hand_are_the_derived_ones() {
    let mut random = Random::new(12);
    macro_rules! check {
        ($($name:ident $numbers:expr, $from:literal to $to:literal;)*) => {$({
            let numbers: &[f64] = &$numbers;
            let (by_hand, derived) = ($name::DEF, textbook::$name::DEF);
            let mut tensors = Vec::new();
            for _ in derived.tensors() {
                let value = |_| $from + ($to - $from) * unit(&mut random);
                tensors.push(buffer(&(0..200).map(value).collect::<Vec<f64>>()));
            }
            let numbers = || numbers.iter().map(|&number| Operand::Scalar(Scalar::F64(number)));
            let operands: Vec<_> = tensors.iter().map(Operand::Buffer).chain(numbers()).collect();
            let cotangent = buffer(&(0..200).map(|_| unit(&mut random) - 0.5).collect::<Vec<f64>>());
            let gradients = |op| op::vjp(op, &[&cotangent], &operands, None).unwrap();
            let (want, got) = (gradients(derived), gradients(by_hand));
            for (want, got) in want.iter().zip(&got).filter_map(|pair| pair.0.as_ref().zip(pair.1.as_ref())) {
                for (want, got) in want.to_vec::<f64>().unwrap().into_iter().zip(got.to_vec::<f64>().unwrap()) {
                    let close = (want - got).abs() <= 1e-12 * (1.0 + want.abs());
                    assert!(close, "{}: {got} by hand, {want} derived", stringify!($name));
                }
            }
            assert!(got.iter().flatten().count() > 0, stringify!($name));
        })*};
    }
    check! {
        sigmoid [], -8.0 to 8.0;
        silu [], -8.0 to 8.0;
        mish [], -8.0 to 8.0;
        gelu [], -5.0 to 5.0;
        gelu_tanh [], -5.0 to 5.0;
        softsign [], -8.0 to 8.0;
        tanhshrink [], -4.0 to 4.0;
        log_sigmoid [], -8.0 to 8.0;
        hardsigmoid [], -5.0 to 5.0;
        hardswish [], -5.0 to 5.0;
        relu6 [], -4.0 to 10.0;
        logaddexp [], -5.0 to 5.0;
        logaddexp2 [], -5.0 to 5.0;
        xlogy [], 0.1 to 5.0;
        special_xlog1py [], -0.8 to 5.0;
        special_entr [], 0.1 to 5.0;
        logit [], 0.05 to 0.95;
        sinc [], 0.3 to 4.0;
        binary_cross_entropy [], 0.05 to 0.95;
        kl_div [], 0.1 to 5.0;
        multilabel_soft_margin_loss [], -5.0 to 5.0;
        huber_loss [0.7], -3.0 to 3.0;
        softplus [1.5, 6.0], -8.0 to 8.0;
        softshrink [0.5], -3.0 to 3.0;
        hardshrink [0.5], -3.0 to 3.0;
        silu_and_mul_with_clamp [1.5], -4.0 to 4.0;
        clamp [], -3.0 to 3.0;
        clamp_min [], -3.0 to 3.0;
        clamp_max [], -3.0 to 3.0;
    }
}
