//! Steps divided by the size of past gradients: Adagrad, RMSprop, Adadelta.

use super::{descent_of, rates};
use crate::prelude::*;
use gems_runtime::op::Operand;

/// lr/(1 + (t−1)·lr_decay), in f64: what [`fused_adagrad_`] passes as `rate`.
///
/// Own addition; PyTorch's kernel computes it where `step` is on the device.
///
/// Special values: IEEE 754's, step by step. Accuracy: powers have 2 ulp, every other step is rounded correctly.
/// Derivative: none.
#[pointwise_dynamic(outputs(rate))]
pub fn fused_adagrad_rate(step: f64, #[param] lr: f64, #[param] lr_decay: f64) -> f64 {
    lr / (1.0 + (step - 1.0) * lr_decay)
}

/// A step of Adagrad: s += g²; p −= rate·g/(√s + eps), with rate = lr/(1 + (t−1)·lr_decay).
///
/// Before all, g += weight_decay·p. Matches `torch._fused_adagrad_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, state_sum), vote(param, grad, state_sum), outputs(param_out, state_sum_out),
    like(param_out = param, state_sum_out = state_sum)
)]
pub fn fused_adagrad<T: Float>(
    param: T,
    grad: T,
    state_sum: T,
    rate: T,
    #[param] weight_decay: T,
    #[param] eps: T,
    #[param] maximize: bool,
) -> (T, T) {
    let descent = descent_of(grad, param, weight_decay, maximize);
    let sum = state_sum + descent * descent;
    (param - rate * descent / (sum.sqrt() + eps), sum)
}

/// Options of Adagrad, with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adagrad {
    /// Step size.
    pub lr: f64,
    /// How it shrinks with the step.
    pub lr_decay: f64,
    /// Decay of the weights.
    pub weight_decay: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Ascend instead.
    pub maximize: bool,
}

impl Default for Adagrad {
    fn default() -> Adagrad {
        Adagrad { lr: 1e-2, lr_decay: 0.0, weight_decay: 0.0, eps: 1e-10, maximize: false }
    }
}

/// A step of Adagrad in place; `step` counts from 1, as a number or a buffer.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adagrad_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &B,
    state_sum: &mut B,
    step: impl Into<Operand<'a, B>>,
    options: &Adagrad,
) -> Result<()> {
    let Adagrad { lr, lr_decay, .. } = *options;
    let [rate] = rates(fused_adagrad_rate::DEF, step.into(), &[lr, lr_decay], |step| {
        [fused_adagrad_rate::scalar(step, lr, lr_decay)]
    })?;
    let (old, sum) = (param.clone(), state_sum.clone());
    fused_adagrad::out(
        &old,
        grad,
        &sum,
        rate.operand(),
        options.weight_decay,
        options.eps,
        options.maximize,
        param,
        state_sum,
    )
}

/// A step of RMSprop: s = α·s + (1−α)·g²; p −= lr·g/(√s + eps).
///
/// Before all, g += weight_decay·p. Matches `torch.optim.RMSprop`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, square_avg), outputs(param_out, square_avg_out),
    like(param_out = param, square_avg_out = square_avg)
)]
pub fn fused_rmsprop<T: Float>(
    param: T,
    grad: T,
    square_avg: T,
    #[param] lr: T,
    #[param] alpha: T,
    #[param] weight: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let square = alpha * square_avg + weight * descent * descent;
    (param - lr * (descent / (square.sqrt() + eps)), square)
}

/// [`fused_rmsprop`](fn@fused_rmsprop) with momentum: b = momentum·b + g/(√s + eps); p −= lr·b.
///
/// Matches `torch.optim.RMSprop(momentum)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, square_avg, momentum_buffer),
    outputs(param_out, square_avg_out, momentum_buffer_out),
    like(param_out = param, square_avg_out = square_avg, momentum_buffer_out = momentum_buffer)
)]
pub fn fused_rmsprop_momentum<T: Float>(
    param: T,
    grad: T,
    square_avg: T,
    momentum_buffer: T,
    #[param] lr: T,
    #[param] alpha: T,
    #[param] weight: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] momentum: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let square = alpha * square_avg + weight * descent * descent;
    let mean = momentum * momentum_buffer + descent / (square.sqrt() + eps);
    (param - lr * mean, square, mean)
}

/// [`fused_rmsprop`](fn@fused_rmsprop) divided by the deviation: a += (1−α)(g−a); p −= lr·g/(√(s−a²) + eps).
///
/// Matches `torch.optim.RMSprop(centered=True)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, square_avg, grad_avg), outputs(param_out, square_avg_out, grad_avg_out),
    like(param_out = param, square_avg_out = square_avg, grad_avg_out = grad_avg)
)]
pub fn fused_rmsprop_centered<T: Float>(
    param: T,
    grad: T,
    square_avg: T,
    grad_avg: T,
    #[param] lr: T,
    #[param] alpha: T,
    #[param] weight: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let square = alpha * square_avg + weight * descent * descent;
    let center = grad_avg + weight * (descent - grad_avg);
    (param - lr * (descent / ((square - center * center).sqrt() + eps)), square, center)
}

/// [`fused_rmsprop_centered`](fn@fused_rmsprop_centered) with momentum: b = momentum·b + g/(√(s−a²) + eps); p −= lr·b.
///
/// Matches `torch.optim.RMSprop(momentum, centered=True)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, square_avg, grad_avg, momentum_buffer),
    outputs(param_out, square_avg_out, grad_avg_out, momentum_buffer_out),
    like(
        param_out = param, square_avg_out = square_avg, grad_avg_out = grad_avg,
        momentum_buffer_out = momentum_buffer
    )
)]
pub fn fused_rmsprop_centered_momentum<T: Float>(
    param: T,
    grad: T,
    square_avg: T,
    grad_avg: T,
    momentum_buffer: T,
    #[param] lr: T,
    #[param] alpha: T,
    #[param] weight: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] momentum: T,
) -> (T, T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let square = alpha * square_avg + weight * descent * descent;
    let center = grad_avg + weight * (descent - grad_avg);
    let mean = momentum * momentum_buffer + descent / ((square - center * center).sqrt() + eps);
    (param - lr * mean, square, center, mean)
}

/// Options of RMSprop, with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsProp {
    /// Step size.
    pub lr: f64,
    /// Decay of the mean of squares.
    pub alpha: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Decay of the weights.
    pub weight_decay: f64,
    /// How much of the last direction is kept.
    pub momentum: f64,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { lr: 1e-2, alpha: 0.99, eps: 1e-8, weight_decay: 0.0, momentum: 0.0 }
    }
}

/// A step of RMSprop in place; centered with `grad_avg`, with momentum if there is a `momentum_buffer`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_rmsprop_<B: Buffer>(
    param: &mut B,
    grad: &B,
    square_avg: &mut B,
    grad_avg: Option<&mut B>,
    momentum_buffer: Option<&mut B>,
    options: &RmsProp,
) -> Result<()> {
    let RmsProp { lr, alpha, eps, weight_decay, momentum } = *options;
    let weight = 1.0 - alpha;
    let (old, square) = (param.clone(), square_avg.clone());
    match (grad_avg, momentum_buffer) {
        (None, None) => {
            fused_rmsprop::out(&old, grad, &square, lr, alpha, weight, eps, weight_decay, param, square_avg)
        }
        (None, Some(buffer)) => {
            let mean = buffer.clone();
            fused_rmsprop_momentum::out(
                &old,
                grad,
                &square,
                &mean,
                lr,
                alpha,
                weight,
                eps,
                weight_decay,
                momentum,
                param,
                square_avg,
                buffer,
            )
        }
        (Some(average), None) => {
            let center = average.clone();
            fused_rmsprop_centered::out(
                &old,
                grad,
                &square,
                &center,
                lr,
                alpha,
                weight,
                eps,
                weight_decay,
                param,
                square_avg,
                average,
            )
        }
        (Some(average), Some(buffer)) => {
            let (center, mean) = (average.clone(), buffer.clone());
            fused_rmsprop_centered_momentum::out(
                &old,
                grad,
                &square,
                &center,
                &mean,
                lr,
                alpha,
                weight,
                eps,
                weight_decay,
                momentum,
                param,
                square_avg,
                average,
                buffer,
            )
        }
    }
}

/// A step of Adadelta: s = ρs + (1−ρ)g²; δ = √(a+eps)/√(s+eps)·g; a = ρa + (1−ρ)δ²; p −= lr·δ.
///
/// Before all, g += weight_decay·p. Matches `torch.optim.Adadelta`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, square_avg, acc_delta), outputs(param_out, square_avg_out, acc_delta_out),
    like(param_out = param, square_avg_out = square_avg, acc_delta_out = acc_delta)
)]
pub fn fused_adadelta<T: Float>(
    param: T,
    grad: T,
    square_avg: T,
    acc_delta: T,
    #[param] lr: T,
    #[param] rho: T,
    #[param] weight: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let square = rho * square_avg + weight * descent * descent;
    let delta = (acc_delta + eps).sqrt() / (square + eps).sqrt() * descent;
    (param - lr * delta, square, rho * acc_delta + weight * delta * delta)
}

/// A step of Adadelta in place. PyTorch's defaults are `lr` 1, `rho` 0.9, `eps` 1e-6.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
#[expect(clippy::too_many_arguments, reason = "buffers and options of the step")]
pub fn fused_adadelta_<B: Buffer>(
    param: &mut B,
    grad: &B,
    square_avg: &mut B,
    acc_delta: &mut B,
    lr: f64,
    rho: f64,
    eps: f64,
    weight_decay: f64,
) -> Result<()> {
    let (old, square, delta) = (param.clone(), square_avg.clone(), acc_delta.clone());
    fused_adadelta::out(
        &old,
        grad,
        &square,
        &delta,
        lr,
        rho,
        1.0 - rho,
        eps,
        weight_decay,
        param,
        square_avg,
        acc_delta,
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffer, check};
    use super::*;

    #[test]
    fn adagrad_shrinks_its_rate() {
        let options = Adagrad { lr: 0.5, lr_decay: 1.0, eps: 1.0, ..Adagrad::default() };
        let (mut param, mut sum) = (buffer(&[1.0]), buffer(&[5.0]));
        fused_adagrad_(&mut param, &buffer(&[2.0]), &mut sum, 2.0, &options).unwrap();
        check(&sum, &[9.0]);
        check(&param, &[1.0 - 0.25 * 2.0 / 4.0]);
    }

    #[test]
    fn rmsprop_has_four_forms() {
        let options = RmsProp { lr: 0.5, alpha: 0.75, eps: 1.0, momentum: 0.5, ..RmsProp::default() };
        let grad = buffer(&[4.0]);
        let square = 0.25 * 16.0 + 0.75 * 4.0;
        for (is_centered, has_momentum) in [(false, false), (false, true), (true, false), (true, true)] {
            let (mut param, mut mean_square) = (buffer(&[1.0]), buffer(&[4.0]));
            let (mut center, mut mean) = (buffer(&[0.0]), buffer(&[2.0]));
            let centered = is_centered.then_some(&mut center);
            let momentum = has_momentum.then_some(&mut mean);
            fused_rmsprop_(&mut param, &grad, &mut mean_square, centered, momentum, &options).unwrap();
            let spread: f64 = if is_centered { square - 1.0 } else { square };
            let step = 4.0 / (spread.sqrt() + 1.0) + if has_momentum { 1.0 } else { 0.0 };
            check(&param, &[1.0 - 0.5 * step]);
            check(&mean_square, &[square]);
            check(&center, &[if is_centered { 1.0 } else { 0.0 }]);
            check(&mean, &[if has_momentum { step } else { 2.0 }]);
        }
    }

    #[test]
    fn adadelta_steps_by_past_steps() {
        let (mut param, mut square, mut delta) = (buffer(&[1.0]), buffer(&[0.0]), buffer(&[8.0]));
        fused_adadelta_(&mut param, &buffer(&[4.0]), &mut square, &mut delta, 0.5, 0.5, 1.0, 0.0).unwrap();
        check(&square, &[8.0]);
        check(&param, &[1.0 - 0.5 * 4.0]);
        check(&delta, &[0.5 * 8.0 + 0.5 * 16.0]);
    }
}
