//! Derivatives given by hand: where the derived one would miss the convention at a kink, or lose a tail or a limit.
//!
//! Each takes the gradient of the result first and gives the gradients of the operands. Where an op of PyTorch's is the
//! derivative, as [`gelu_backward`](fn@crate::gelu_backward), that one is used instead.

use crate::prelude::*;
use crate::quantization::nearest_step;

/// σ′ = σ(x)·σ(−x), in which no tail is lost.
#[device_fn(grad)]
pub(crate) fn of_sigmoid<T: Float>(g: T, x: T) -> T {
    g * (sigmoid::scalar(x) * sigmoid::scalar(-x))
}

/// x·2^y, which is smooth in y though whole powers are computed apart.
#[device_fn(grad)]
pub(crate) fn of_ldexp<T: Float>(g: T, x: T, y: T) -> (T, T) {
    (ldexp::scalar(g, y), g * ldexp::scalar(x, y) * T::LN_2)
}

/// Shares that sum to 1, halves where the operands are equal, infinities too.
#[device_fn(grad)]
pub(crate) fn of_logaddexp<T: Float>(g: T, x: T, y: T) -> (T, T) {
    if x == y { (0.5 * g, 0.5 * g) } else { (g * sigmoid::scalar(x - y), g * sigmoid::scalar(y - x)) }
}

/// As [`of_logaddexp`], to base 2.
#[device_fn(grad)]
pub(crate) fn of_logaddexp2<T: Float>(g: T, x: T, y: T) -> (T, T) {
    if x == y { (0.5 * g, 0.5 * g) } else { (g / (1 + (y - x).exp2()), g / (1 + (x - y).exp2())) }
}

/// (ln y, x/y), 0 for x where 0·ln y is 0 however small y is.
#[device_fn(grad)]
pub(crate) fn of_xlogy<T: Float>(g: T, x: T, y: T) -> (T, T) {
    (if x == 0 && y <= 0 { 0 } else { g * y.ln() }, g * (x / y))
}

/// (ln(1 + y), x/(1 + y)), as [`of_xlogy`].
#[device_fn(grad)]
pub(crate) fn of_xlog1py<T: Float>(g: T, x: T, y: T) -> (T, T) {
    (if x == 0 && y <= -1 { 0 } else { g * y.ln_1p() }, g * (x / (1 + y)))
}

/// −ln x − 1: ∞ at 0, NaN below.
#[device_fn(grad)]
pub(crate) fn of_entr<T: Float>(g: T, x: T) -> T {
    g * (-x.ln() - 1)
}

/// tanh² x: nothing cancels near 0.
#[device_fn(grad)]
pub(crate) fn of_tanhshrink<T: Float>(g: T, x: T) -> T {
    let t = x.tanh();
    g * (t * t)
}

/// 1/(1 + |x|)².
#[device_fn(grad)]
pub(crate) fn of_softsign<T: Float>(g: T, x: T) -> T {
    let d = 1 + x.abs();
    g / d / d
}

/// 1 strictly between the bounds, not for NaN.
#[device_fn(grad)]
pub(crate) fn of_relu6<T: Float>(g: T, x: T) -> T {
    if x > 0 && x < 6 { g } else { 0 }
}

/// 1 beyond ±λ, not for NaN.
#[device_fn(grad)]
pub(crate) fn of_shrink<T: Float>(g: T, x: T, lambd: T) -> T {
    if x < -lambd || x > lambd { g } else { 0 }
}

/// Both bounds are tensors: a tie with one of them is shared, one with equal bounds is the operand's alone, and so is a
/// NaN.
#[device_fn(grad)]
pub(crate) fn of_clamp<T: Float>(g: T, x: T, min: T, max: T) -> (T, T, T) {
    let unordered = x.is_nan() || min.is_nan() || max.is_nan();
    if unordered {
        (g, 0, 0)
    } else if min > max {
        // The upper bound decides alone.
        (0, 0, g)
    } else if x < min {
        (0, g, 0)
    } else if x > max {
        (0, 0, g)
    } else if min == max {
        (g, 0, 0)
    } else {
        let low = if x == min { 0.5 * g } else { 0 };
        let high = if x == max { 0.5 * g } else { 0 };
        (g - low - high, low, high)
    }
}

/// One bound is a tensor: as the maximum.
#[device_fn(grad)]
pub(crate) fn of_clamp_min<T: Float>(g: T, x: T, min: T) -> (T, T) {
    maximum::backward(g, x, min)
}

/// As [`of_clamp_min`], for the minimum.
#[device_fn(grad)]
pub(crate) fn of_clamp_max<T: Float>(g: T, x: T, max: T) -> (T, T) {
    minimum::backward(g, x, max)
}

/// 1 strictly inside bounds that are numbers, 0 elsewhere and for NaN.
#[device_fn(grad)]
pub(crate) fn of_number_clamp<T: Float>(g: T, x: T, min: T, max: T) -> T {
    if x > min && x < max { g } else { 0 }
}

/// As [`of_number_clamp`], without an upper bound.
#[device_fn(grad)]
pub(crate) fn of_number_clamp_min<T: Float>(g: T, x: T, min: T) -> T {
    if x > min { g } else { 0 }
}

/// As [`of_number_clamp`], without a lower bound.
#[device_fn(grad)]
pub(crate) fn of_number_clamp_max<T: Float>(g: T, x: T, max: T) -> T {
    if x < max { g } else { 0 }
}

/// The gap between the operands moved into ±δ, and its negative.
#[device_fn(grad)]
pub(crate) fn of_huber_loss<T: Float>(g: T, x: T, target: T, delta: T) -> (T, T) {
    let slope = huber_loss_backward::scalar(g, x, target, delta);
    (slope, -slope)
}

/// (σ(x) − t, −x): the two logarithms differ by x.
#[device_fn(grad)]
pub(crate) fn of_multilabel_soft_margin_loss<T: Float>(g: T, x: T, target: T) -> (T, T) {
    (g * (sigmoid::scalar(x) - target), -(g * x))
}

/// The slope for x is bounded, that for the target is not.
#[device_fn(grad)]
pub(crate) fn of_binary_cross_entropy<T: Float>(g: T, x: T, target: T) -> (T, T) {
    (binary_cross_entropy_backward::scalar(g, x, target), g * ((-x).ln_1p() - x.ln()))
}

/// (−t, ln t + 1 − x): −∞ at t = 0.
#[device_fn(grad)]
pub(crate) fn of_kl_div<T: Float>(g: T, x: T, target: T) -> (T, T) {
    (-(g * target), g * (target.ln() + 1 - x))
}

/// The variance's slope passes through its bound.
#[device_fn(grad)]
pub(crate) fn of_gaussian_nll_loss<T: Float>(g: T, x: T, target: T, var: T, eps: T) -> (T, T, T) {
    let bounded = clamp_min::scalar(var, eps);
    let gap = x - target;
    let slope = g * (gap / bounded);
    (slope, -slope, 0.5 * g * (1 - gap * gap / bounded) / bounded)
}

/// (cos πx − sinc x)/x; near 0 its series, in which nothing cancels.
#[device_fn(grad)]
pub(crate) fn of_sinc<T: Float>(g: T, x: T) -> T {
    let z = T::PI * x;
    if x.abs() < 0.25 { g * (T::PI * sinc_slope(z)) } else { g * ((x.cos_pi() - sinc::scalar(x)) / x) }
}

/// The slope of sin z/z near 0: Σ (−1)ᵏ·2k·z^(2k−1)/(2k+1)!.
#[device_fn(grad(backward = of_sinc_slope))]
pub(crate) fn sinc_slope<T: Analytic>(z: T) -> T {
    // 2k/(2k+1)! with signs, for k = 8 to 1.
    const TERMS: [f64; 8] = [
        4.498331606952833e-14,
        -1.0706029224547743e-11,
        1.9270852604185937e-9,
        -2.505210838544172e-7,
        2.2045855379188714e-5,
        -0.0011904761904761906,
        0.03333333333333333,
        -0.3333333333333333,
    ];
    let square = z * z;
    let mut sum = 0.0 as T;
    for k in 0..8 {
        sum = sum * square + TERMS[k] as T;
    }
    sum * z
}

/// Its own slope: Σ (−1)ᵏ·2k(2k − 1)·z^(2k−2)/(2k+1)!.
#[device_fn]
fn of_sinc_slope<T: Analytic>(g: T, z: T) -> T {
    // 2k(2k − 1)/(2k+1)! with signs, for k = 8 to 1.
    const TERMS: [f64; 8] = [
        6.747497410429249e-13,
        -1.3917837991912066e-10,
        2.1197937864604532e-8,
        -2.2546897546897547e-6,
        0.000154320987654321,
        -0.005952380952380952,
        0.1,
        -0.3333333333333333,
    ];
    let square = z * z;
    let mut sum = 0.0 as T;
    for k in 0..8 {
        sum = sum * square + TERMS[k] as T;
    }
    g * sum.conj()
}

/// 1 for x where the step is in range; 0 elsewhere.
#[device_fn]
pub(crate) fn of_fake_quantize<T: Float>(
    g: T,
    x: T,
    scale: T,
    zero_point: T,
    quant_min: T,
    quant_max: T,
) -> (T, T, T) {
    let step = nearest_step(x, scale, zero_point);
    (if step >= quant_min && step <= quant_max { g } else { 0 }, 0, 0)
}

/// 0 for NaN: what is compared is not above the margin.
#[device_fn(grad)]
pub(crate) fn of_margin_ranking_loss<T: Float>(
    g: T,
    input1: T,
    input2: T,
    target: T,
    margin: T,
) -> (T, T, T) {
    let apart = input1 - input2;
    let slope = if margin - target * apart > 0 { g } else { 0 };
    (-target * slope, target * slope, -apart * slope)
}

/// The difference of the logarithms is −x where `pos_weight` is 1, without 0·∞ where x is −∞.
#[device_fn(grad)]
pub(crate) fn of_binary_cross_entropy_with_logits_weighted<T: Float>(
    g: T,
    input: T,
    target: T,
    weight: T,
    pos_weight: T,
) -> (T, T, T, T) {
    let inner = log_sigmoid::scalar(input);
    let log_weight = 1 + (pos_weight - 1) * target;
    let scaled = g * weight;
    (
        scaled * ((1 - target) - log_weight * sigmoid::scalar(-input)),
        scaled * (log_sigmoid::scalar(-input) - pos_weight * inner),
        g * ((1 - target) * input - log_weight * inner),
        -scaled * target * inner,
    )
}
