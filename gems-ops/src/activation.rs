//! Activation functions.
//!
//! NaN stays NaN, and limits at −∞ are the functions' limits, also where PyTorch gives NaN.

use crate::check::{self, bounds_in_order, last_is_a_probability, last_is_not_negative};
use crate::prelude::*;
use crate::vectors::along;
use gems_runtime::layout::Quantity;
use gems_runtime::op::Seen;

/// x where it is positive, else +0; NaN stays NaN.
///
/// Matches `torch.nn.functional.relu`.
///
/// Accuracy: exact. Derivative: 1 where the result is positive or NaN, else 0.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(order = 2))]
pub fn relu<T: Real>(input: T) -> T {
    if input <= 0 { 0 } else { input }
}

/// x moved into [0, 6]; NaN stays NaN.
///
/// Matches `torch.nn.functional.relu6`.
///
/// Accuracy: exact. Derivative: 1 inside (0, 6) and at NaN, else 0.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(backward = crate::slope::of_relu6, order = 2))]
pub fn relu6<T: Real>(input: T) -> T {
    clamp::scalar(input, 0 as T, 6 as T)
}

/// x moved into [min_val, max_val], numbers that are cut to integers for integers; NaN stays NaN.
///
/// Matches `torch.nn.functional.hardtanh`.
///
/// Accuracy: exact. Derivative: 1 inside the bounds and at NaN, else 0.
#[pointwise_dynamic(
    promote = default(input), dtypes(int, float), numbers = saturate, vote(input), check = bounds_in_order,
    grad(wrt(input), backward = crate::slope::of_number_clamp, order = 2)
)]
pub fn hardtanh<T: Real>(input: T, min_val: T, max_val: T) -> T {
    clamp::scalar(input, min_val, max_val)
}

/// x above the threshold, else `value`; NaN stays NaN.
///
/// Matches `torch.nn.functional.threshold`.
///
/// Accuracy: exact. Derivative: 0 up to the threshold, else 1.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(order = 2))]
pub fn threshold<T: Real>(input: T, #[param] threshold: T, #[param] value: T) -> T {
    if input <= threshold { value } else { input }
}

/// x where it is positive, else x·negative_slope.
///
/// Matches `torch.nn.functional.leaky_relu`.
///
/// Special values: NaN stays, ±∞ as the formula. Accuracy: every written step is rounded correctly, alike on all
/// devices. Derivative: 1 where x is positive, else the slope.
#[pointwise_dynamic(promote = default(input), grad(order = 2))]
pub fn leaky_relu<T: Float>(input: T, #[param] negative_slope: T) -> T {
    if input > 0 { input } else { input * negative_slope }
}

/// x where it is positive, else weight·x.
///
/// The formula of [`prelu`], for operands that broadcast already. Matches `aten::_prelu_kernel`.
///
/// Special values: NaN stays, ±∞ as the formula. Accuracy: every written step is rounded correctly, alike on all
/// devices. Derivative: 1 or weight for x; x for weight where x is not positive.
#[doc(alias = "_prelu_kernel")]
#[pointwise_dynamic(promote = default(input, weight), grad(order = 2))]
pub fn prelu_kernel<T: Float>(input: T, weight: T) -> T {
    if input > 0 { input } else { weight * input }
}

/// x where it is positive, else weight·x, with one weight for all or one for each index of axis 1.
///
/// Matches `torch.nn.functional.prelu`; dtypes promote here.
///
/// # Errors
/// `Shape` if the weight has another number of elements; else as [`prelu_kernel()`].
pub fn prelu<B: Buffer>(input: &B, weight: &B) -> Result<B> {
    if weight.dims().iter().all(|extent| extent.is(1)) {
        return prelu_kernel(input, &weight.squeeze_all()?);
    }
    let weight = along(weight, input, 1).map_err(|error| error.in_op("prelu"))?;
    prelu_kernel(input, &weight)
}

/// x where it is positive, else x times the mean of the slopes.
///
/// Matches `torch.nn.functional.rrelu` in evaluation.
///
/// Special values: NaN stays, ±∞ as the formula. Accuracy: every written step is rounded correctly, alike on all
/// devices. Derivative: 1 where x is positive, else the mean of the slopes.
#[pointwise_dynamic(promote = default(input), check = bounds_in_order, grad(order = 2))]
pub fn rrelu<T: Float>(input: T, #[param] lower: T, #[param] upper: T) -> T {
    leaky_relu::scalar(input, (lower + upper) / 2)
}

/// The noise's slopes are in order.
fn slopes_in_order(arguments: &[Seen], common: DType) -> Result<()> {
    arguments.get(1..).map_or(Ok(()), |arguments| bounds_in_order(arguments, common))
}

/// In training: x where it is positive, else x·noise; the noise is uniform in [lower, upper). Else as [`rrelu`].
///
/// Matches `torch.nn.functional.rrelu` with the noise drawn by the caller.
///
/// Special values: NaN stays, ±∞ as the formula. Accuracy: every written step is rounded correctly, alike on all
/// devices. Derivative: 1 or the noise, by branch.
#[doc(alias = "rrelu_with_noise_functional")]
#[pointwise_dynamic(promote = default(input, noise), check = slopes_in_order, grad(order = 2))]
pub fn rrelu_with_noise<T: Float>(
    input: T,
    noise: T,
    #[param] lower: T,
    #[param] upper: T,
    #[param] training: bool,
) -> T {
    leaky_relu::scalar(input, if training { noise } else { (lower + upper) / 2 })
}

/// scale·x where x is positive, else scale·alpha·(exp(input_scale·x) − 1).
///
/// Matches `torch.nn.functional.elu`, whose scales are 1.
///
/// Special values: ∞ → ∞, −∞ → −scale·alpha, NaN stays. Accuracy: 4 ulp of each factor, relative in the tails.
/// Derivative: scale where x is positive, else scale·alpha·input_scale·exp(input_scale·x).
#[pointwise_dynamic(promote = default(input), grad(order = 2))]
pub fn elu<T: Float>(input: T, #[param] alpha: T, #[param] scale: T, #[param] input_scale: T) -> T {
    if input > 0 { scale * input } else { scale * alpha * (input_scale * input).exp_m1() }
}

/// The last number is a divisor.
fn alpha_is_not_zero(arguments: &[Seen], _: DType) -> Result<()> {
    match check::number(arguments, 1) {
        Some(0.0) => check::refuse("`alpha` = 0 divides x; pass another number"),
        _ => Ok(()),
    }
}

/// x where it is positive, else alpha·(exp(x/alpha) − 1).
///
/// Matches `torch.nn.functional.celu`.
///
/// Special values: ∞ → ∞, −∞ → −alpha, NaN stays. Accuracy: 4 ulp of each factor, relative in the tails. Derivative:
/// 1 where x is positive, else exp(x/alpha).
#[pointwise_dynamic(promote = default(input), check = alpha_is_not_zero, grad(order = 2))]
pub fn celu<T: Float>(input: T, #[param] alpha: T) -> T {
    if input > 0 { input } else { alpha * (input / alpha).exp_m1() }
}

/// [`elu`] with the scales that keep mean 0 and variance 1.
///
/// Matches `torch.nn.functional.selu`.
///
/// Special values: ∞ → ∞, −∞ → −scale·alpha, NaN stays. Accuracy: 4 ulp of each factor, relative in the tails.
/// Derivative: as `elu`.
#[pointwise_dynamic(promote = default(input), grad(order = 2))]
pub fn selu<T: Float>(input: T) -> T {
    elu::scalar(input, 1.6732632423543772, 1.0507009873554805, 1.0)
}

/// x·Φ(x) with the normal distribution Φ; −∞ → −0.
///
/// Φ is computed as ½erfc(−x/√2), which keeps the negative tail. Matches `torch.nn.functional.gelu`, but for −∞ (NaN
/// there) and the tail (0 there).
///
/// Accuracy: 4 ulp of each factor, relative in the tails. Derivative: Φ(x) + x·φ(x); 0 and 1 at ∓∞.
#[pointwise_dynamic(promote = default(input), grad(backward = gelu_backward::scalar, order = 2))]
pub fn gelu<T: Float>(input: T) -> T {
    let cdf = input.normal_cdf();
    if cdf == 0 { -0.0 } else { input * cdf }
}

/// x·σ(2u) with u = √(2/π)·(x + 0.044715·x³); −∞ → −0.
///
/// Matches `torch.nn.functional.gelu(…, approximate="tanh")`, but for −∞ (NaN there).
///
/// Accuracy: 4 ulp of each factor, relative in the tails. Derivative: σ(2u) + 2x·σ(2u)(1 − σ(2u))·u′; 0 and 1 at ∓∞.
#[pointwise_dynamic(promote = default(input), grad(backward = gelu_tanh_backward::scalar, order = 2))]
pub fn gelu_tanh<T: Float>(input: T) -> T {
    let u = 0.7978845608028654 * (input + 0.044715 * input * input * input);
    let gate = sigmoid::scalar(2 * u);
    if gate == 0 { -0.0 } else { input * gate }
}

/// x·σ(x); −∞ → −0.
///
/// Matches `torch.nn.functional.silu`, but for −∞ (NaN there).
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: σ(1 + x(1 − σ)); 0 and 1 at ∓∞.
#[pointwise_dynamic(promote = default(input), complex = silu_complex, grad(backward = silu_backward::scalar, order = 2))]
pub fn silu<T: Float>(input: T) -> T {
    let decay = (-input.abs()).exp();
    if input < 0 { if decay == 0 { -0.0 } else { input * decay / (1 + decay) } } else { input / (1 + decay) }
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "silu", grad)]
fn silu_complex<T: Analytic>(input: T) -> T {
    input * sigmoid_complex::scalar(input)
}

/// x·tanh(softplus(x)); −∞ → −0.
///
/// Computed as x·n/(n + 2) with n = eˣ(eˣ + 2), which keeps the negative tail. Matches `torch.nn.functional.mish`, but
/// for −∞ (NaN there).
///
/// Accuracy: 4 ulp of each factor, relative in the tails. Derivative: t + x·σ(x)(1 − t²) with t = tanh(softplus x); 0
/// and 1 at ∓∞.
#[pointwise_dynamic(promote = default(input), grad(backward = mish_backward::scalar, order = 2))]
pub fn mish<T: Float>(input: T) -> T {
    let growth = input.exp();
    let n = growth * (growth + 2);
    if input > 20 {
        input
    } else if n == 0 {
        -0.0
    } else {
        input * n / (n + 2)
    }
}

/// ln(1 + exp(beta·x))/beta without overflow; x where beta·x is above the threshold.
///
/// Matches `torch.nn.functional.softplus`.
///
/// Special values: −∞ → 0, ∞ → ∞, NaN stays. Accuracy: 4 ulp. Derivative: σ(beta·x), 1 above the threshold.
#[pointwise_dynamic(promote = default(input), grad(backward = softplus_backward::scalar, order = 2))]
pub fn softplus<T: Float>(input: T, #[param] beta: T, #[param] threshold: T) -> T {
    let scaled = beta * input;
    if scaled > threshold { input } else { (scaled.maximum(0) + (-scaled.abs()).exp().ln_1p()) / beta }
}

/// x/(1 + |x|); ±∞ → ±1. Of integers 1 + |x| wraps, and the quotient is f32.
///
/// Matches `torch.nn.functional.softsign`, but for ±∞ (NaN there).
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1/(1 + |x|)².
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(int, float), complex = softsign_complex, integers = softsign_integers,
    grad(backward = crate::slope::of_softsign, order = 2)
)]
pub fn softsign<T: Float>(input: T) -> T {
    if input.is_infinite() { (1.0).copysign(input) } else { input / (1 + input.abs()) }
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "softsign", grad)]
fn softsign_complex<T: Analytic>(input: T) -> T {
    input / (1 + input.abs() as T)
}

#[pointwise_dynamic(promote = default(input), dtypes(int), name = "softsign")]
fn softsign_integers<T: Int>(input: T) -> f32 {
    input as f32 / (1 + input.abs()) as f32
}

/// x − tanh x for |x| < 1, where it cancels: x³ times a polynomial in x², minimax with relative error 1.5e−17.
#[device_fn]
fn tanh_gap<T: Float>(x: T) -> T {
    const TERMS: [f64; 16] = [
        -2.516044111686636e-8,
        2.6334848125504445e-7,
        -1.379319478010967e-6,
        4.988038240591263e-6,
        -1.4606501923747837e-5,
        3.838995147853161e-5,
        -9.646300517211585e-5,
        2.3895716105748322e-4,
        -5.899793319214535e-4,
        1.4558247011305005e-3,
        -3.592126680867374e-3,
        8.86323540474114e-3,
        -2.186948852913974e-2,
        5.396825396804674e-2,
        -0.1333333333333309,
        0.3333333333333333,
    ];
    let square = x * x;
    let mut sum = 0.0 as T;
    for k in 0..16 {
        sum = sum * square + TERMS[k] as T;
    }
    sum * (square * x)
}

/// x − tanh x, accurate near 0. Integers become floats first.
///
/// Matches `torch.nn.functional.tanhshrink`, which cancels near 0.
///
/// Special values: ±0 → ±0, ±∞ → ±∞, NaN stays. Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: tanh² x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(int, float), complex = tanhshrink_complex, grad(backward = crate::slope::of_tanhshrink, order = 2))]
pub fn tanhshrink<T: Float>(input: T) -> T {
    let size = input.abs();
    if size < 1 {
        tanh_gap(input)
    } else {
        // 1 − tanh has its own accuracy, and x − 1 is exact where it counts.
        (size - 1 + 2 / ((2 * size).exp() + 1)).copysign(input)
    }
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "tanhshrink", grad)]
fn tanhshrink_complex<T: Analytic>(input: T) -> T {
    input - input.tanh()
}

/// x moved toward 0 by λ, at most to 0.
///
/// Matches `torch.nn.functional.softshrink`.
///
/// Special values: NaN stays, ±∞ as the formula. Accuracy: every written step is rounded correctly, alike on all
/// devices. Derivative: 0 within ±λ, else 1.
#[pointwise_dynamic(
    promote = default(input), check = last_is_not_negative,
    grad(backward = crate::slope::of_shrink, order = 2)
)]
pub fn softshrink<T: Float>(input: T, #[param] lambd: T) -> T {
    if input > lambd {
        input - lambd
    } else if input < -lambd {
        input + lambd
    } else {
        // Keeps NaN and the sign of zero.
        input * 0
    }
}

/// 0 for −λ ≤ x ≤ λ, else x; NaN stays NaN.
///
/// Matches `torch.nn.functional.hardshrink`.
///
/// Accuracy: exact. Derivative: 0 within ±λ, else 1.
#[pointwise_dynamic(promote = default(input), grad(backward = crate::slope::of_shrink, order = 2))]
pub fn hardshrink<T: Float>(input: T, #[param] lambd: T) -> T {
    if -lambd <= input && input <= lambd { 0 } else { input }
}

/// x + 3 moved into [0, 6], by 6; NaN stays NaN.
///
/// Matches `torch.nn.functional.hardsigmoid`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1/6 inside ±3, else 0.
#[pointwise_dynamic(promote = default(input), grad(backward = hardsigmoid_backward::scalar, order = 2))]
pub fn hardsigmoid<T: Float>(input: T) -> T {
    relu6::scalar(input + 3) / 6
}

/// x times [`hardsigmoid`]; −0 for x ≤ −3, −∞ too.
///
/// Matches `torch.nn.functional.hardswish`, but for −∞ (NaN there).
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 0 up to −3, x/3 + ½ below 3,
/// else 1.
#[pointwise_dynamic(promote = default(input), grad(backward = hardswish_backward::scalar, order = 2))]
pub fn hardswish<T: Float>(input: T) -> T {
    if input <= -3 { -0.0 } else { input * relu6::scalar(input + 3) / 6 }
}

/// ln σ(x), accurate in both tails.
///
/// Matches `torch.nn.functional.logsigmoid`.
///
/// Special values: −∞ → −∞, ∞ → 0, NaN stays. Accuracy: 4 ulp. Derivative: σ(−x).
#[doc(alias = "logsigmoid")]
#[pointwise_dynamic(promote = default(input), grad(backward = log_sigmoid_backward::scalar, order = 2))]
pub fn log_sigmoid<T: Float>(input: T) -> T {
    input.minimum(0) - (-input.abs()).exp().ln_1p()
}

/// x/(1 − p) where the mask is true, else 0, also for NaN; p is the probability of false.
///
/// Matches `torch.nn.functional.dropout` with the mask drawn by the caller.
///
/// Special values: a select: NaN under a false mask gives 0. Accuracy: every written step is rounded correctly, alike
/// on all devices. Derivative: 1/(1 − p) under the mask, else 0.
#[doc(alias = "dropout")]
#[pointwise_dynamic(promote = default(input), accepts(mask = bool), check = last_is_a_probability, grad(order = 2))]
pub fn native_dropout<T: Float>(input: T, mask: bool, #[param] p: T) -> T {
    if mask && p < 1 { input / (1 - p) } else { 0 }
}

/// a·x + b where the mask is true, else the value that selu tends to, scaled alike; mean and variance stay.
///
/// With q = 1.7580993408473766: a = 1/√((1 − p)(1 + p·q²)), b = a·p·q, and b − a·q where the mask is false.
///
/// Matches `torch.nn.functional.alpha_dropout` with the mask drawn by the caller.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: a under the mask, else 0.
#[doc(alias = "feature_alpha_dropout")]
#[pointwise_dynamic(promote = default(input), accepts(mask = bool), check = last_is_a_probability, grad(order = 2))]
pub fn alpha_dropout<T: Float>(input: T, mask: bool, #[param] p: T) -> T {
    let q = 1.7580993408473766;
    let a = 1 / ((1 - p) * (1 + p * q * q)).sqrt();
    if mask { a * input + a * p * q } else { a * p * q - a * q }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn limits_at_infinity_are_the_functions_own() {
        for f in [gelu::scalar, gelu_tanh::scalar, silu::scalar, mish::scalar, hardswish::scalar] {
            assert_eq!(f(-INF).to_bits(), (-0.0f64).to_bits());
            assert_eq!(f(INF), INF);
            assert!(f(f64::NAN).is_nan());
        }
        assert_eq!((softsign::scalar(-INF), tanhshrink::scalar(INF)), (-1.0, INF));
        // Where the square of x overflows, so does the correction of the tail.
        assert_eq!(gelu::scalar(f32::MIN).to_bits(), (-0.0f32).to_bits());
        assert_eq!(gelu::scalar(f64::MIN).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn softsign_of_integers_wraps_before_it_divides() {
        let x = StridedBuffer::from_vec(vec![i8::MIN, -3, 0, 127], &[4]).unwrap();
        let got = softsign(&x).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(got, [128.0 / 127.0, -0.75, 0.0, -127.0 / 128.0]);
        let mut wide = StridedBuffer::from_vec(vec![0.0f64; 4], &[4]).unwrap();
        softsign::out(&x, &mut wide).unwrap();
        assert_eq!(wide.to_vec::<f64>().unwrap()[1], -0.75);
    }

    #[test]
    fn negative_tails_are_kept() {
        for x in [-1.3f32, -2.9, -4.7, -6.0, -9.1, -11.3, -12.9] {
            let want = gelu::scalar(f64::from(x));
            assert!((f64::from(gelu::scalar(x)) / want - 1.0).abs() < 2.5e-7, "{x}");
        }
        assert!((gelu::scalar(-6.0f64) / -5.919_525_870_226_189e-9 - 1.0).abs() < 1e-15);
        assert!((gelu::scalar(-20.0f64) / -5.507_248_237_212_467e-88 - 1.0).abs() < 1e-15);
        assert!((mish::scalar(-40.0f64) / (-40.0 * (-40.0f64).exp()) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn tanhshrink_is_accurate_near_zero() {
        let x = 1e-4f64;
        assert!((tanhshrink::scalar(x) / (x * x * x / 3.0 * (1.0 - 0.4 * x * x)) - 1.0).abs() < 1e-15);
        assert!((tanhshrink::scalar(0.999_999) - (0.999_999f64 - 0.999_999f64.tanh())).abs() < 1e-15);
        assert_eq!(tanhshrink::scalar(-0.0f64).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let x = StridedBuffer::from_vec(vec![1.0f32], &[1]).unwrap();
        let mask = StridedBuffer::from_vec(vec![true], &[1]).unwrap();
        let refused = [
            hardtanh(&x, 1.0, 0.0),
            celu(&x, 0),
            softshrink(&x, -1.0),
            rrelu(&x, 0.5, 0.1),
            rrelu_with_noise(&x, &x, 0.5, 0.1, true),
            native_dropout(&x, &mask, 1.5),
            alpha_dropout(&x, &mask, f64::NAN),
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Value);
        }
    }

    #[test]
    fn weights_run_along_axis_1() {
        let x = StridedBuffer::from_vec(vec![-1.0f32, -1.0, -1.0, 5.0], &[1, 2, 2]).unwrap();
        let weight = StridedBuffer::from_vec(vec![2.0f32, 3.0], &[2]).unwrap();
        assert_eq!(prelu(&x, &weight).unwrap().to_vec::<f32>().unwrap(), [-2.0, -2.0, -3.0, 5.0]);
        let one = weight.narrow(0, 1, 1).unwrap();
        assert_eq!(prelu(&x, &one).unwrap().to_vec::<f32>().unwrap(), [-3.0, -3.0, -3.0, 5.0]);
        let long = StridedBuffer::from_vec(vec![2.0f32; 3], &[3]).unwrap();
        assert_eq!(prelu(&x, &long).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn dropped_elements_hide_nan() {
        assert_eq!(native_dropout::scalar(f64::NAN, false, 0.5), 0.0);
        assert_eq!(
            (native_dropout::scalar(3.0, true, 0.5), native_dropout::scalar(3.0, true, 1.0)),
            (6.0, 0.0)
        );
    }
}
