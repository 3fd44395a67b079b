//! Derivatives: conventions at kinks, dead branches, broadcasting, the derived text. Slopes have a file of their own.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::REGISTRY;
use gems_ops::prelude::*;
use gems_runtime::emit;
use gems_runtime::op::{self, OpDef, Operand, Role, VjpSource};
use gems_runtime::plan;
use gems_tests::random::Random;
use num_complex::Complex;

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

fn buffer(values: &[f64]) -> StridedBuffer {
    StridedBuffer::from_slice(values, &[values.len()]).unwrap()
}

/// The gradients of one element for a gradient 1 of the result.
#[track_caller]
fn at<const N: usize>(op: &'static OpDef, values: [f64; N]) -> Vec<f64> {
    let tensors = values.map(|value| buffer(&[value]));
    let operands: Vec<_> = tensors.iter().map(Operand::Buffer).collect();
    let gradients = op::vjp(op, &[&buffer(&[1.0])], &operands, None).unwrap();
    gradients.into_iter().flatten().map(|gradient| gradient.item::<f64>().unwrap()).collect()
}

/// The gradients where operands behind the first are numbers.
fn at_numbers(op: &'static OpDef, x: f64, numbers: &[f64]) -> f64 {
    let x = buffer(&[x]);
    let mut operands = vec![Operand::Buffer(&x)];
    operands.extend(numbers.iter().map(|&number| Operand::Scalar(Scalar::F64(number))));
    let gradients = op::vjp(op, &[&buffer(&[1.0])], &operands, None).unwrap();
    gradients[0].as_ref().unwrap().item::<f64>().unwrap()
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Equal, NaN too.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

#[test]
fn kinks_have_the_gradients_of_the_convention() {
    for (op, values, expected) in [
        (relu::DEF, &[0.0][..], &[0.0][..]),
        (relu::DEF, &[NAN], &[1.0]),
        (abs::DEF, &[0.0], &[0.0]),
        (abs::DEF, &[NAN], &[0.0]),
        (abs::DEF, &[-INF], &[-1.0]),
        (sigmoid::DEF, &[0.0], &[0.25]),
        (sigmoid::DEF, &[-700.0], &[(-700.0f64).exp()]),
        (sqrt::DEF, &[0.0], &[INF]),
        (log::DEF, &[-1.0], &[-1.0]),
        (special_entr::DEF, &[0.0], &[INF]),
        (logit::DEF, &[2.0], &[NAN]),
        (sinc::DEF, &[0.0], &[0.0]),
        (hardsigmoid::DEF, &[3.0], &[0.0]),
        (hardswish::DEF, &[3.0], &[1.0]),
        (hardswish::DEF, &[-3.0], &[0.0]),
        (silu::DEF, &[-INF], &[0.0]),
        (silu::DEF, &[INF], &[1.0]),
        (gelu::DEF, &[-INF], &[0.0]),
        (gelu_tanh::DEF, &[INF], &[1.0]),
        (mish::DEF, &[INF], &[1.0]),
        (tanhshrink::DEF, &[1e-9], &[1e-18]),
        (maximum::DEF, &[2.0, 2.0], &[0.5, 0.5]),
        (maximum::DEF, &[NAN, 2.0], &[1.0, 1.0]),
        (fmax::DEF, &[NAN, 2.0], &[0.0, 1.0]),
        (fmax::DEF, &[NAN, NAN], &[1.0, 0.0]),
        (fmin::DEF, &[1.0, 2.0], &[1.0, 0.0]),
        (hypot::DEF, &[0.0, 0.0], &[0.0, 0.0]),
        (atan2::DEF, &[0.0, 0.0], &[0.0, 0.0]),
        (atan2::DEF, &[INF, 2.0], &[0.0, NAN]),
        (copysign::DEF, &[-INF, 1.0], &[-1.0, 0.0]),
        (copysign::DEF, &[0.0, 1.0], &[0.0, 0.0]),
        (logaddexp::DEF, &[INF, INF], &[0.5, 0.5]),
        (logaddexp2::DEF, &[3.0, 3.0], &[0.5, 0.5]),
        (xlogy::DEF, &[0.0, 0.0], &[0.0, NAN]),
        (xlogy::DEF, &[0.0, 2.0], &[2f64.ln(), 0.0]),
        (pow::DEF, &[0.0, 0.0], &[0.0, 0.0]),
        (pow::DEF, &[0.0, 2.0], &[0.0, 0.0]),
        (pow::DEF, &[-2.0, 3.0], &[12.0, NAN]),
        (heaviside::DEF, &[0.0, 5.0], &[0.0, 1.0]),
        (nextafter::DEF, &[1.0, 2.0], &[1.0, 0.0]),
        (kl_div::DEF, &[1.0, 0.0], &[0.0, -INF]),
        (clamp::DEF, &[1.0, 1.0, 3.0], &[0.5, 0.5, 0.0]),
        (clamp::DEF, &[5.0, 1.0, 3.0], &[0.0, 0.0, 1.0]),
        (clamp::DEF, &[NAN, 1.0, 3.0], &[1.0, 0.0, 0.0]),
        (clamp_min::DEF, &[NAN, 1.0], &[1.0, 1.0]),
        (special_legendre_polynomial_p::DEF, &[1.0, 4.0], &[10.0]),
        (special_laguerre_polynomial_l::DEF, &[0.0, 4.0], &[-4.0]),
    ] {
        let tensors: Vec<StridedBuffer> = values.iter().map(|&value| buffer(&[value])).collect();
        let operands: Vec<_> = tensors.iter().map(Operand::Buffer).collect();
        let gradients = op::vjp(op, &[&buffer(&[1.0])], &operands, None).unwrap();
        let got: Vec<f64> =
            gradients.into_iter().flatten().map(|gradient| gradient.item::<f64>().unwrap()).collect();
        let close = got.len() == expected.len()
            && got.iter().zip(expected).all(|(a, b)| same(&[*a], &[*b]) || (a / b - 1.0).abs() < 1e-14);
        assert!(close, "{} at {values:?}: {got:?}, expected {expected:?}", op.name);
    }
}

#[test]
fn the_slope_of_complex_sinc_keeps_its_digits() {
    let gradient = |g: Complex<f64>, z: Complex<f64>| {
        let [g, z] = [g, z].map(|value| StridedBuffer::from_slice(&[value], &[1]).unwrap());
        let gradients = op::vjp(sinc::DEF.complex.unwrap(), &[&g], &[Operand::Buffer(&z)], None).unwrap();
        gradients[0].as_ref().unwrap().item::<Complex<f64>>().unwrap()
    };
    let close = |z: [f64; 2], slope: [f64; 2]| {
        let [z, slope] = [z, slope].map(|[re, im]| Complex::new(re, im));
        let weight = Complex::new(0.5, -1.5);
        let (got, want) = (gradient(weight, z), weight * slope.conj());
        assert!((got - want).norm() <= 2e-15 * (4.0 + z.im.abs()) * want.norm(), "{z}: {got}, {want}");
    };
    assert_eq!(gradient(Complex::new(1.0, 1.0), Complex::new(0.0, 0.0)), Complex::new(0.0, 0.0));
    // By 50 digits.
    close([1e-10, 1e-10], [-3.289868133696453e-10, -3.289868133696453e-10]);
    close([0.001, -0.002], [-0.0032899038504100903, 0.006579742761288816]);
    close([0.17, 0.17], [-0.5905254681077204, -0.5267297528760372]);
    close([0.2, -0.16], [-0.6806436207994103, 0.4770615891273665]);
    close([-0.5, 0.75], [4.023792010519996, -1.292345745763505]);
    close([3.0, 1e-09], [-0.3333333333333333, 2.2222222222222224e-10]);
    close([1000000.25, 0.5], [1.7742552955064053e-06, -1.6272650576438554e-06]);
    close([1.25, -150.0], [1.0573960634275077e+202, -1.0751293167489756e+202]);
    close([2.5, 227.0], [-1.1368797454909018e+307, -1.2503120288088669e+305]);
}

#[test]
fn bounds_that_are_numbers_have_no_gradient_on_them() {
    for (x, expected) in [(0.5, 1.0), (0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (NAN, 0.0)] {
        assert_eq!(at_numbers(clamp::DEF, x, &[0.0, 1.0]), expected, "{x}");
    }
    assert_eq!(at_numbers(clamp_min::DEF, 1.0, &[1.0]), 0.0);
    assert_eq!(at_numbers(clamp_max::DEF, 0.5, &[1.0]), 1.0);
}

#[test]
fn nan_has_slope_0_where_a_test_decides() {
    assert_eq!(at(relu6::DEF, [NAN]), [0.0]);
    assert_eq!(at_numbers(hardtanh::DEF, NAN, &[-1.0, 1.0]), 0.0);
    assert_eq!(at_numbers(hardshrink::DEF, NAN, &[0.5]), 0.0);
    assert_eq!(at_numbers(softshrink::DEF, NAN, &[0.5]), 0.0);
}

#[test]
fn operands_that_do_not_count_leak_nothing() {
    let (g, zero) = (buffer(&[2.0]), buffer(&[0.0]));
    for worst in [NAN, INF, -INF] {
        let worst = buffer(&[worst]);
        let cond = StridedBuffer::full(DType::Bool, &[1], true, Device::Cpu).unwrap();
        let item = |buffer: StridedBuffer| buffer.item::<f64>().unwrap();
        let (taken, other) = where_::vjp(&g, &cond, &zero, &worst).unwrap();
        assert_eq!((item(taken), item(other)), (2.0, 0.0));
        let filled = [Operand::Buffer(&worst), Operand::Buffer(&cond), Operand::from(0.0)];
        let gradients = op::vjp(masked_fill::DEF, &[&g], &filled, None).unwrap();
        assert_eq!(item(gradients[0].clone().unwrap()), 0.0);
        let never = StridedBuffer::full(DType::Bool, &[1], false, Device::Cpu).unwrap();
        assert_eq!(item(masked_scale::vjp(&g, &worst, &never, 3.0).unwrap()), 0.0);
    }
    // Constant powers at 0: the factor 0 of a slope that is infinite or undefined.
    for (exponent, slope) in [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (0.5, INF)] {
        assert_eq!(at_numbers(pow::DEF, 0.0, &[exponent]), slope, "0^{exponent}");
    }
    for (x, y, slopes) in [(0.0, 0.0, [0.0, NAN]), (0.0, -1.0, [0.0, 0.0]), (0.0, INF, [INF, 0.0])] {
        assert!(same(&at(xlogy::DEF, [x, y]), &slopes), "{x} log {y}: {:?}", at(xlogy::DEF, [x, y]));
    }
    for (x, expected) in [(INF, 0.0), (-INF, 0.0), (0.5, 1.0)] {
        assert_eq!(at_numbers(clamp::DEF, x, &[0.0, 1.0]), expected);
        assert_eq!(at_numbers(hardtanh::DEF, x, &[0.0, 1.0]), expected);
    }
}

#[test]
fn second_gradients_at_kinks_are_those_of_the_side_that_was_taken() {
    let second = |op: &'static OpDef, x: f64| -> f64 {
        let x = buffer(&[x]);
        let one = buffer(&[1.0]);
        let first = op.vjp.as_ref().unwrap();
        let output = StridedBuffer::run(op, &[Operand::Buffer(&x)], None).unwrap();
        let operands: Vec<_> = first
            .sources
            .iter()
            .map(|source| match source {
                VjpSource::Cotangent(_) => Operand::Buffer(&one),
                VjpSource::Input(_) => Operand::Buffer(&x),
                VjpSource::Output(_) => Operand::Buffer(&output[0]),
            })
            .collect();
        let gradients = op::vjp(first.backward.unwrap(), &[&one], &operands, None).unwrap();
        let at = first.sources.iter().position(|source| matches!(source, VjpSource::Input(0)));
        at.and_then(|at| gradients[at].as_ref()).map_or(0.0, |gradient| gradient.item().unwrap())
    };
    for op in [relu::DEF, abs::DEF, relu6::DEF, hardsigmoid::DEF] {
        for x in [-1.0, 0.0, 1.0] {
            assert_eq!(second(op, x), 0.0, "{} at {x}", op.name);
        }
    }
    assert_eq!(second(sigmoid::DEF, 0.0), 0.0);
    assert_eq!(second(hardswish::DEF, 1.0), 1.0 / 3.0);
    assert_eq!(second(hardswish::DEF, 3.0), 0.0);
    assert_eq!(second(softsign::DEF, 1.0), -0.25);
    for op in [silu::DEF, gelu::DEF, mish::DEF, exp::DEF] {
        assert_eq!(second(op, -800.0), 0.0, "{}: a tail is no NaN", op.name);
    }
}

// Formulas whose dead branch has an infinite or undefined slope.

#[pointwise_dynamic(grad)]
fn root_where_positive<T: Float>(x: T) -> T {
    if x > 0 { x.sqrt() } else { x }
}

#[pointwise_dynamic(grad)]
fn root_computed_before<T: Float>(x: T) -> T {
    let root = x.sqrt();
    if x > 0 { root } else { x }
}

#[pointwise_dynamic(grad)]
fn logarithm_of_the_larger<T: Float>(x: T, y: T) -> T {
    let log = x.ln();
    let both = log * 2.0 + 1.0;
    if x > y { both } else { y }
}

#[pointwise_dynamic(grad)]
fn two_pieces_of_one_value<T: Float>(x: T) -> T {
    let inverse = 1.0 / x;
    let left = if x > 1 { inverse } else { 0 };
    let right = if x < -1 { inverse * inverse } else { 0 };
    left + right + x
}

#[pointwise_dynamic(grad)]
fn size_of_a_root<T: Float>(x: T) -> T {
    x.sqrt().abs()
}

#[device_fn(grad)]
fn root_and_logarithm<T: Float>(x: T) -> (T, T) {
    (x.sqrt(), x.ln())
}

#[pointwise_dynamic(grad)]
fn both_members_where_positive<T: Float>(x: T) -> T {
    let (root, log) = root_and_logarithm(x);
    if x > 0 { root + log } else { x }
}

#[pointwise_dynamic(grad)]
fn one_member_where_positive<T: Float>(x: T) -> T {
    let (root, _) = root_and_logarithm(x);
    if x > 0 { root } else { x }
}

#[pointwise_dynamic(grad)]
fn converted_before<T: Float>(x: T) -> T {
    let root = (x as f64).sqrt() as T;
    if x > 0 { root } else { x }
}

#[pointwise_dynamic(grad)]
fn three_pieces_of_one_value<T: Float>(x: T) -> T {
    let log = x.ln();
    let first = if x > 0 { log } else { 0 };
    let second = if x > 1 { log } else { 0 };
    let third = if x > 2 { log } else { 0 };
    first + second - third
}

#[test]
fn what_was_not_taken_contributes_nothing() {
    assert_eq!(at(both_members_where_positive::DEF, [0.0]), [1.0]);
    assert_eq!(at(both_members_where_positive::DEF, [4.0]), [0.5]);
    assert_eq!(at(one_member_where_positive::DEF, [-4.0]), [1.0]);
    assert_eq!(at(one_member_where_positive::DEF, [4.0]), [0.25]);
    assert_eq!(at(converted_before::DEF, [-4.0]), [1.0]);
    assert_eq!(at(converted_before::DEF, [4.0]), [0.25]);
    assert_eq!(at(three_pieces_of_one_value::DEF, [0.0]), [0.0]);
    assert_eq!(at(three_pieces_of_one_value::DEF, [0.5]), [2.0]);
    assert_eq!(at(three_pieces_of_one_value::DEF, [4.0]), [0.25]);
    assert_eq!(at(root_where_positive::DEF, [-4.0]), [1.0]);
    assert_eq!(at(root_where_positive::DEF, [4.0]), [0.25]);
    assert_eq!(at(root_computed_before::DEF, [0.0]), [1.0]);
    assert_eq!(at(root_computed_before::DEF, [-4.0]), [1.0]);
    assert_eq!(at(root_computed_before::DEF, [4.0]), [0.25]);
    assert_eq!(at(logarithm_of_the_larger::DEF, [0.0, 3.0]), [0.0, 1.0]);
    assert_eq!(at(logarithm_of_the_larger::DEF, [4.0, 3.0]), [0.5, 0.0]);
    assert_eq!(at(two_pieces_of_one_value::DEF, [0.0]), [1.0]);
    assert_eq!(at(two_pieces_of_one_value::DEF, [2.0]), [0.75]);
    assert_eq!(at(two_pieces_of_one_value::DEF, [-2.0]), [1.25]);
    assert_eq!(at(size_of_a_root::DEF, [0.0]), [0.0]);
}

// Constructs.

#[device_fn(grad)]
fn halves<T: Float>(x: T) -> (T, T) {
    (0.5 * x, x.exp())
}

#[device_fn(grad(backward = of_cube))]
fn cube_by_loop<T: Float>(x: T) -> T {
    let mut product = 1 as T;
    for _ in 0..3 {
        product *= x;
    }
    product
}

#[device_fn]
fn of_cube<T: Float>(g: T, x: T) -> T {
    3 * g * x * x
}

#[pointwise_dynamic(grad)]
fn through_functions<T: Float>(x: T, y: T, n: i32, #[param] scale: T) -> T {
    let (half, growth) = halves(x * y);
    let wide = growth as f64 * 2.0;
    half * cube_by_loop(y) + (wide as T) * scale + n as T
}

#[pointwise_dynamic(grad, outputs(sum, product, above))]
fn two_results<T: Float>(x: T, y: T) -> (T, T, bool) {
    (x + y, x * y, x > y)
}

#[test]
fn gradients_go_through_functions_casts_and_tuples() {
    let (x, y) = (0.7f64, 1.3f64);
    let (dx, dy) = through_functions::vjp(&buffer(&[1.0]), &buffer(&[x]), &buffer(&[y]), 3, 0.25).unwrap();
    let growth = 0.5 * (x * y).exp();
    let expected = (0.5 * y * y.powi(3) + growth * y, 0.5 * x * 4.0 * y.powi(3) + growth * x);
    assert!((dx.item::<f64>().unwrap() - expected.0).abs() < 1e-14);
    assert!((dy.item::<f64>().unwrap() - expected.1).abs() < 1e-14);
    // The full form has a gradient for the number, too.
    let (_, _, of_scale) = through_functions::backward(1.0, x, y, 3, 0.25);
    assert!((of_scale - 2.0 * (x * y).exp()).abs() < 1e-14);
}

#[test]
fn every_result_has_a_gradient_of_its_own() {
    let flags = StridedBuffer::full(DType::Bool, &[1], false, Device::Cpu).unwrap();
    let (dx, dy) =
        two_results::vjp(&buffer(&[10.0]), &buffer(&[1.0]), &flags, &buffer(&[2.0]), &buffer(&[3.0]))
            .unwrap();
    assert_eq!((dx.item::<f64>().unwrap(), dy.item::<f64>().unwrap()), (13.0, 12.0));
    assert_eq!(two_results::BACKWARD.params.len(), 4);
}

// Shapes and dtypes.

#[test]
fn broadcast_operands_get_sums() {
    let x = StridedBuffer::from_vec((0..6).map(f64::from).collect(), &[2, 3]).unwrap();
    let y = StridedBuffer::from_vec(vec![10.0, 20.0, 30.0], &[3]).unwrap();
    let z = StridedBuffer::from_vec(vec![1.0], &[1, 1]).unwrap();
    let ones = StridedBuffer::full(DType::F64, &[2, 3], 1, Device::Cpu).unwrap();
    let (dx, dy) = mul::vjp(&ones, &x, &y).unwrap();
    assert_eq!((dx.shape(), dy.shape()), (&[2, 3][..], &[3][..]));
    assert_eq!(dx.to_vec::<f64>().unwrap(), [10.0, 20.0, 30.0, 10.0, 20.0, 30.0]);
    assert_eq!(dy.to_vec::<f64>().unwrap(), [3.0, 5.0, 7.0]);
    let (_, dz) = mul::vjp(&ones.t().unwrap(), &x.t().unwrap(), &z).unwrap();
    assert_eq!((dz.shape(), dz.to_vec::<f64>().unwrap()), (&[1, 1][..], vec![15.0]));
    let scalar = StridedBuffer::from_element(2.0f64).unwrap();
    let empty = StridedBuffer::zeros(DType::F64, &[0, 3], Device::Cpu).unwrap();
    let (d, nothing) = mul::vjp(&empty, &scalar, &empty).unwrap();
    assert_eq!((d.item::<f64>().unwrap(), nothing.shape()), (0.0, &[0, 3][..]));
}

#[test]
fn a_value_for_all_elements_gets_the_sum() {
    let x = buffer(&[1.0, 2.0, 3.0]);
    let value = StridedBuffer::from_element(7.0f64).unwrap();
    let mask = StridedBuffer::from_vec(vec![true, false, true], &[3]).unwrap();
    let (dx, dvalue) = fill::vjp(&x, &x, &value).unwrap();
    assert_eq!((dx.to_vec::<f64>().unwrap(), dvalue.item::<f64>().unwrap()), (vec![0.0; 3], 6.0));
    let (dx, dvalue) = masked_fill::vjp(&x, &x, &mask, &value).unwrap();
    assert_eq!((dx.to_vec::<f64>().unwrap(), dvalue.item::<f64>().unwrap()), (vec![0.0, 2.0, 0.0], 4.0));
}

#[test]
fn gradients_have_the_dtypes_of_their_operands() {
    let half = StridedBuffer::from_vec(vec![half::f16::from_f32(1.5); 4], &[4]).unwrap();
    let wide = StridedBuffer::from_vec(vec![2.0f32; 4], &[4]).unwrap();
    let ones = StridedBuffer::full(DType::F32, &[4], 1, Device::Cpu).unwrap();
    for (a, b) in [mul::vjp(&ones, &half, &wide).unwrap(), sub::vjp(&ones, &half, &wide).unwrap()] {
        assert_eq!((a.dtype(), b.dtype()), (DType::F16, DType::F32));
    }
    let integer = StridedBuffer::from_vec(vec![2i32; 4], &[4]).unwrap();
    let error = div::vjp(&ones, &wide, &integer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "div: `other` is i32, which has no gradient; use `op::vjp`, which leaves it out"
    );
    let operands = [Operand::Buffer(&wide), Operand::Buffer(&integer)];
    let gradients = op::vjp(div::DEF, &[&ones], &operands, None).unwrap();
    assert_eq!(gradients[0].as_ref().unwrap().to_vec::<f32>().unwrap(), [0.5; 4]);
    assert!(gradients[1].is_none());
}

#[test]
fn what_is_summed_was_not_rounded_before() {
    let x = StridedBuffer::from_vec(vec![1.0045f32, -1.0], &[2]).unwrap();
    let y = StridedBuffer::from_vec(vec![half::bf16::ONE], &[1]).unwrap();
    let ones = StridedBuffer::full(DType::F32, &[2], 1, Device::Cpu).unwrap();
    let (_, dy) = mul::vjp(&ones, &x, &y).unwrap();
    assert_eq!(dy.item::<half::bf16>().unwrap(), half::bf16::from_f32(1.0045f32 - 1.0));
    // The same where another gradient is not stored.
    let zero = StridedBuffer::zeros(DType::I32, &[2], Device::Cpu).unwrap();
    let operands = [(&zero).into(), (&x).into(), (&y).into(), Operand::Scalar(Scalar::F64(1.0))];
    let gradients = op::vjp(addcmul::DEF, &[&ones], &operands, None).unwrap();
    assert_eq!(
        gradients[2].as_ref().unwrap().item::<half::bf16>().unwrap(),
        dy.item::<half::bf16>().unwrap()
    );
}

#[pointwise_dynamic(dtypes(float, complex), grad)]
fn square_of_the_imaginary_part<T: Analytic>(x: T) -> T {
    let part = x.im() as T;
    part * part + x
}

#[pointwise_dynamic(dtypes(complex), grad)]
fn parts_exchanged<T: Analytic>(x: T) -> T {
    (x.im() as T).with_im(x.re())
}

#[test]
fn parts_have_gradients_of_their_own() {
    use num_complex::Complex;
    let complex = |re, im| StridedBuffer::from_vec(vec![Complex::new(re, im)], &[1]).unwrap();
    let (z, infinite) = (complex(1.0f64, 2.0), buffer(&[INF]));
    assert_eq!(imag::vjp(&infinite, &z).unwrap().item::<Complex<f64>>().unwrap(), Complex::new(0.0, INF));
    assert_eq!(real::vjp(&infinite, &z).unwrap().item::<Complex<f64>>().unwrap(), Complex::new(INF, 0.0));
    let exchanged = parts_exchanged::vjp(&complex(3.0, INF), &z).unwrap();
    assert_eq!(exchanged.item::<Complex<f64>>().unwrap(), Complex::new(INF, 3.0));
    // A real number has no imaginary part.
    assert_eq!(at(square_of_the_imaginary_part::DEF, [3.0]), [1.0]);
    let squared = square_of_the_imaginary_part::vjp(&complex(1.0, 0.0), &z).unwrap();
    assert_eq!(squared.item::<Complex<f64>>().unwrap(), Complex::new(1.0, 4.0));
}

#[test]
fn complex_gradients_are_conjugate() {
    use num_complex::Complex;
    let (a, b) = (Complex::new(1.0f64, 2.0), Complex::new(-0.5, 3.0));
    let one = StridedBuffer::from_vec(vec![Complex::new(1.0f64, 0.0)], &[1]).unwrap();
    let [x, y] = [a, b].map(|z| StridedBuffer::from_vec(vec![z], &[1]).unwrap());
    let (dx, dy) = mul::vjp(&one, &x, &y).unwrap();
    assert_eq!(
        (dx.item::<Complex<f64>>().unwrap(), dy.item::<Complex<f64>>().unwrap()),
        (b.conj(), a.conj())
    );
    // A real operand gets the real part: d Im(x·z)/dx = Im z.
    let real = buffer(&[2.0]);
    let i = StridedBuffer::from_vec(vec![Complex::new(0.0f64, 1.0)], &[1]).unwrap();
    let (dreal, _) = mul::vjp(&i, &real, &y).unwrap();
    assert_eq!(dreal.item::<f64>().unwrap(), b.im);
    let g = buffer(&[1.0]);
    let size = abs::vjp(&g, &x).unwrap().item::<Complex<f64>>().unwrap();
    assert!((size - a / a.norm()).norm() < 1e-15);
    let turn = angle::vjp(&g, &x).unwrap().item::<Complex<f64>>().unwrap();
    assert!((turn - Complex::new(-a.im, a.re) / a.norm_sqr()).norm() < 1e-15);
    assert_eq!(angle::vjp(&g, &real).unwrap().item::<f64>().unwrap(), 0.0);
    assert_eq!(imag::vjp(&g, &x).unwrap().item::<Complex<f64>>().unwrap(), Complex::new(0.0, 1.0));
}

#[test]
fn saved_results_need_not_be_computed_again() {
    let def = tanh::DEF.vjp.as_ref().unwrap();
    assert!(def.uses_outputs());
    assert_eq!(
        tanh::BACKWARD.params.iter().map(|param| param.name).collect::<Vec<_>>(),
        ["grad_output", "output"]
    );
    let (x, g) = (buffer(&[0.3]), buffer(&[2.0]));
    let fresh = tanh::vjp(&g, &x).unwrap().item::<f64>().unwrap();
    let saved = op::vjp(tanh::DEF, &[&g], &[Operand::Buffer(&x)], Some(&[&buffer(&[0.5])])).unwrap();
    assert_eq!(
        (fresh, saved[0].as_ref().unwrap().item::<f64>().unwrap()),
        (2.0 * (1.0 - 0.3f64.tanh().powi(2)), 1.5)
    );
}

#[test]
fn gradients_of_constants_need_no_kernel() {
    assert!(sign::DEF.vjp.as_ref().unwrap().backward.is_none());
    let x = StridedBuffer::from_vec(vec![1.5f32, -2.0], &[2]).unwrap();
    let zero = sign::vjp(&x, &x).unwrap();
    assert_eq!((zero.dtype(), zero.to_vec::<f32>().unwrap()), (DType::F32, vec![0.0, 0.0]));
}

#[test]
fn wrong_gradients_are_refused() {
    let x = buffer(&[1.0, 2.0]);
    let error = exp::vjp(&buffer(&[1.0]), &x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "exp: the gradient of `out` is [1] and the result [2]; give them one shape"
    );
    let error = op::vjp(eq::DEF, &[&x], &[Operand::Buffer(&x), Operand::Buffer(&x)], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "eq: has no derivative; annotate its function with `grad`, or `grad(order = 2)` for a second one"
    );
}

#[test]
fn symbolic_gradients_have_the_shape_of_their_operands() {
    let x = SymbolicBuffer::new(DType::BF16, &[4, 1], Device::Cpu).unwrap();
    let y = SymbolicBuffer::new(DType::F32, &[3], Device::Cpu).unwrap();
    let z = mul(&x, &y).unwrap();
    let (dx, dy) = mul::vjp(&z, &x, &y).unwrap();
    assert_eq!(
        (dx.dtype(), dx.shape(), dy.dtype(), dy.shape()),
        (DType::BF16, &[4, 1][..], DType::F32, &[3][..])
    );
}

/// Ops that PyTorch names, and the derived ones.
#[test]
fn derived_gradients_are_those_of_the_ops_that_pytorch_names() {
    let pairs: [(&'static OpDef, &'static OpDef); 6] = [
        (tanh_backward::DEF, tanh::BACKWARD),
        (gelu_and_mul_backward::DEF, gelu_and_mul::BACKWARD),
        (gelu_tanh_and_mul_backward::DEF, gelu_tanh_and_mul::BACKWARD),
        (silu_and_mul_backward::DEF, silu_and_mul::BACKWARD),
        (leaky_relu_backward::DEF, leaky_relu::BACKWARD),
        (elu_backward::DEF, elu::BACKWARD),
    ];
    let mut random = Random::new(3);
    for (named, derived) in pairs {
        let names: Vec<&str> = named.params.iter().map(|param| param.name).collect();
        assert_eq!(
            names,
            derived.params.iter().map(|param| param.name).collect::<Vec<_>>(),
            "{}",
            named.name
        );
        let tensors: Vec<StridedBuffer> = named
            .params
            .iter()
            .map(|_| buffer(&(0..64).map(|_| 6.0 * unit(&mut random) - 3.0).collect::<Vec<_>>()))
            .collect();
        let operands = || -> Vec<Operand<'_, StridedBuffer>> {
            named
                .params
                .iter()
                .zip(&tensors)
                .map(|(param, tensor)| match param.role {
                    Role::Tensor => Operand::Buffer(tensor),
                    Role::Number => Operand::Scalar(Scalar::F64(0.3)),
                })
                .collect()
        };
        let want = StridedBuffer::run(named, &operands(), None).unwrap();
        let got = StridedBuffer::run(derived, &operands(), None).unwrap();
        assert_eq!(want.len(), got.len());
        for (want, got) in want.iter().zip(&got) {
            for (want, got) in want.to_vec::<f64>().unwrap().into_iter().zip(got.to_vec::<f64>().unwrap()) {
                assert!((want - got).abs() < 1e-14 * (1.0 + want.abs()), "{}: {want} and {got}", named.name);
            }
        }
    }
}

// Text.

#[test]
fn derived_functions_are_the_reviewed_text() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("gradients");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for op in [
            add::BACKWARD,
            mul::BACKWARD,
            mul::BACKWARD2,
            div::BACKWARD,
            abs::BACKWARD,
            lerp::BACKWARD,
            tanh::BACKWARD,
            tanh::BACKWARD2,
            relu::BACKWARD,
            elu::BACKWARD,
            maximum::BACKWARD,
            pow::BACKWARD,
            atan2::BACKWARD,
            gelu_and_mul::BACKWARD,
            poisson_nll_loss::BACKWARD,
            two_results::BACKWARD,
            root_computed_before::BACKWARD,
            through_functions::BACKWARD,
        ] {
            let (_, plan) = plan::representative(op).unwrap();
            let kernel = emit::source(&plan.spec).unwrap().text;
            let functions = kernel.split("namespace op {").nth(1).unwrap_or_default();
            let functions = functions.split("}  // namespace op").next().unwrap_or_default();
            insta::assert_snapshot!(op.name, format!("{}\n\n{}", op.rust_source, functions.trim()));
        }
    });
}

/// The derivatives of all orders of all ops, those for numbers too.
fn derivatives() -> Vec<&'static OpDef> {
    let mut found: Vec<&'static OpDef> = Vec::new();
    let forms = REGISTRY.iter().flat_map(|op| [Some(op), op.complex]).flatten();
    for def in forms.filter_map(|op| op.vjp.as_ref()) {
        for first in [Some(def), def.with_numbers].into_iter().flatten() {
            let mut next = Some(first);
            while let Some(backward) = next.and_then(|def| def.backward) {
                // What follows one that was met before was met then.
                if found.iter().any(|known| std::ptr::eq(*known, backward)) {
                    break;
                }
                found.push(backward);
                next = backward.vjp.as_ref();
            }
        }
    }
    found
}

/// Every derivative, and the sum that follows it, is a whole kernel.
#[test]
fn every_derivative_has_a_kernel() {
    for backward in derivatives() {
        let text = backward.cuda_source().unwrap();
        assert!(text.contains("extern \"C\" __global__"), "{}", backward.name);
    }
}

/// Every derivative, and sums of every kind, pass NVRTC.
#[cfg(feature = "nvrtc")]
#[test]
fn every_derivative_compiles() {
    use gems_runtime::buffer::Meta;
    use gems_runtime::compile::{Arch, Nvrtc};
    use gems_runtime::layout::Layout;
    use rayon::prelude::*;
    let nvrtc = Nvrtc::get().expect("these tests need NVRTC");
    let compile = |source: &emit::Source| {
        nvrtc
            .compile(&source.text, &source.entry, Arch::from_number(90))
            .unwrap_or_else(|error| panic!("{error}"));
    };
    derivatives().par_iter().for_each(|backward| {
        compile(&emit::source(&plan::representative(backward).unwrap().1.spec).unwrap());
    });
    for (from, to) in [
        (DType::F32, DType::F32),
        (DType::BF16, DType::BF16),
        (DType::F16, DType::F64),
        (DType::F8E4M3FN, DType::F8E4M3FN),
        (DType::C64, DType::F32),
        (DType::C32, DType::C32),
        (DType::F64, DType::F32),
    ] {
        for shape in [&[40, 50][..], &[50], &[40, 1], &[]] {
            let layout = Layout::contiguous(&[40, 50]).unwrap().t().unwrap().t().unwrap();
            let meta = Meta { dtype: from, device: Device::Cpu, layout };
            let like = Meta { dtype: to, device: Device::Cpu, layout: Layout::contiguous(shape).unwrap() };
            let target = plan::infer_sum(&meta, &like).unwrap();
            compile(&emit::sum_source(&plan::reduce(&meta, &target).unwrap().spec).unwrap());
        }
    }
}

/// What PyTorch gives at (x, lower bound, upper bound).
#[test]
fn a_clamp_shares_ties_with_its_bounds_unless_they_are_equal() {
    for (point, slopes) in [
        ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 1.0], [0.5, 0.5, 0.0]),
        ([1.0, 0.0, 1.0], [0.5, 0.0, 0.5]),
        ([0.5, 1.0, 0.0], [0.0, 0.0, 1.0]),
    ] {
        assert_eq!(at(clamp::DEF, point), slopes, "{point:?}");
    }
}

#[test]
fn losses_have_slopes_where_their_terms_do_not() {
    let [g, x, zero, t] = [1.0, NAN, 0.0, 1.0].map(|value| buffer(&[value]));
    let (x, zero, t) = margin_ranking_loss::vjp(&g, &x, &zero, &t, 0.0).unwrap();
    let [x, zero, t] = [x, zero, t].map(|slope| slope.item::<f64>().unwrap());
    assert_eq!((x, zero), (0.0, 0.0), "what is not known is not above the margin");
    assert!(t.is_nan());
    for pos_weight in [1.0, 2.0] {
        let slopes = at(binary_cross_entropy_with_logits_weighted::DEF, [-INF, 1.0, 2.0, pos_weight]);
        assert_eq!(slopes[..2], [-2.0 * pos_weight, INF]);
    }
}
