//! Adam and AdamW, with AMSGrad and loss scaling.

use super::{Scaling, descent_of, moments_of, rates};
use crate::prelude::*;
use gems_runtime::op::Operand;

/// Options of Adam and its relatives, with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Step size.
    pub lr: f64,
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Decay of the weights.
    pub weight_decay: f64,
    /// Ascend instead.
    pub maximize: bool,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, maximize: false }
    }
}

/// The state of Adam, each buffer shaped like the parameter.
#[derive(Debug)]
pub struct Moments<'a, B> {
    /// Mean of the gradients.
    pub exp_avg: &'a mut B,
    /// Mean of their squares.
    pub exp_avg_sq: &'a mut B,
    /// The greatest of these means so far, for AMSGrad.
    pub max_exp_avg_sq: Option<&'a mut B>,
}

/// lr/(1−β₁ᵗ) and √(1−β₂ᵗ), in f64: what [`fused_adam_`] passes as `rate` and `root`.
///
/// Own addition; PyTorch's kernels compute it where `step` is on the device.
///
/// Special values: IEEE 754's, step by step. Accuracy: powers have 2 ulp, every other step is rounded correctly.
/// Derivative: none.
#[pointwise_dynamic(outputs(rate, root))]
pub fn fused_adam_rates(step: f64, #[param] lr: f64, #[param] beta1: f64, #[param] beta2: f64) -> (f64, f64) {
    (lr / (1.0 - beta1.pow(step)), (1.0 - beta2.pow(step)).sqrt())
}

/// The parameter behind the step.
#[device_fn]
fn adam_move<T: Float>(start: T, mean: T, square: T, rate: T, root: T, eps: T) -> T {
    start - rate * mean / (square.sqrt() / root + eps)
}

/// A step of Adam or AdamW: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; p −= rate·m/(√v/root + eps).
///
/// [`fused_adam_`] and [`fused_adamw_`] pass rate = lr/(1−β₁ᵗ) and root = √(1−β₂ᵗ), and store the results. Before all,
/// p −= decay·p if `decoupled`, where decay = lr·weight_decay, else g += decay·p.
///
/// Matches `torch._fused_adam_` and `torch._fused_adamw_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq),
    outputs(param_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_adam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    rate: T,
    root: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] decoupled: bool,
    #[param] maximize: bool,
) -> (T, T, T) {
    let start = if decoupled { param - decay * param } else { param };
    let descent = descent_of(grad, param, if decoupled { 0 } else { decay }, maximize);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let moved = adam_move(start, mean, square, rate, root, eps);
    (moved, mean, square)
}

/// [`fused_adam`](fn@fused_adam) with the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_adam_(grad_scale, found_inf)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq),
    outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_adam_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    rate: T,
    root: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] decoupled: bool,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let unscaled = grad / grad_scale;
    let start = if decoupled { param - decay * param } else { param };
    let descent = descent_of(unscaled, param, if decoupled { 0 } else { decay }, maximize);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let moved = adam_move(start, mean, square, rate, root, eps);
    if found_inf == 1 { (param, grad, exp_avg, exp_avg_sq) } else { (moved, unscaled, mean, square) }
}

/// [`fused_adam`](fn@fused_adam) with √max v in place of √v.
///
/// Matches `torch._fused_adam_(amsgrad=True)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq),
    outputs(param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq)
)]
pub fn fused_adam_amsgrad<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    rate: T,
    root: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] decoupled: bool,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let start = if decoupled { param - decay * param } else { param };
    let descent = descent_of(grad, param, if decoupled { 0 } else { decay }, maximize);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = adam_move(start, mean, greatest, rate, root, eps);
    (moved, mean, square, greatest)
}

/// [`fused_adam_amsgrad`](fn@fused_adam_amsgrad) with the gradient unscaled first and nothing changed where `found_inf`
/// is 1.
///
/// Matches `torch._fused_adam_(amsgrad=True, grad_scale, found_inf)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq),
    outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out),
    like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq)
)]
pub fn fused_adam_amsgrad_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    rate: T,
    root: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] decoupled: bool,
    #[param] maximize: bool,
) -> (T, T, T, T, T) {
    let unscaled = grad / grad_scale;
    let start = if decoupled { param - decay * param } else { param };
    let descent = descent_of(unscaled, param, if decoupled { 0 } else { decay }, maximize);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = adam_move(start, mean, greatest, rate, root, eps);
    if found_inf == 1 {
        (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)
    } else {
        (moved, unscaled, mean, square, greatest)
    }
}

/// A step of Adam in place; `step` counts from 1.
///
/// `step` is a number, or a buffer of one element on the device, so that a step can be captured in a graph. The
/// gradient changes only with `scaling`, which stores the unscaled one. Matches `torch._fused_adam_`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adam_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &mut B,
    state: Moments<'_, B>,
    step: impl Into<Operand<'a, B>>,
    options: &Adam,
    scaling: Option<Scaling<'_, B>>,
) -> Result<()> {
    run(param, grad, state, step.into(), options, scaling, None)
}

/// A step of AdamW in place; `step` counts from 1.
///
/// As [`fused_adam_`], but the weights decay by lr·weight_decay instead of the gradient. Matches `torch._fused_adamw_`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adamw_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &mut B,
    state: Moments<'_, B>,
    step: impl Into<Operand<'a, B>>,
    options: &Adam,
    scaling: Option<Scaling<'_, B>>,
) -> Result<()> {
    run(param, grad, state, step.into(), options, scaling, Some(options.lr * options.weight_decay))
}

/// A step by the kernel for this state and scaling; `decay` is that of the weights, if they decay apart.
fn run<B: Buffer>(
    param: &mut B,
    grad: &mut B,
    state: Moments<'_, B>,
    step: Operand<'_, B>,
    options: &Adam,
    scaling: Option<Scaling<'_, B>>,
    decay: Option<f64>,
) -> Result<()> {
    let Adam { lr, beta1, beta2, eps, weight_decay, maximize } = *options;
    let [rate, root] = rates(fused_adam_rates::DEF, step, &[lr, beta1, beta2], |step| {
        fused_adam_rates::scalar(step, lr, beta1, beta2).into()
    })?;
    let before = [&*param, &*grad, &*state.exp_avg, &*state.exp_avg_sq].map(B::clone);
    let greatest = state.max_exp_avg_sq.as_deref().cloned();
    let op = match (&greatest, &scaling) {
        (None, None) => fused_adam::DEF,
        (None, Some(_)) => fused_adam_scaled::DEF,
        (Some(_), None) => fused_adam_amsgrad::DEF,
        (Some(_), Some(_)) => fused_adam_amsgrad_scaled::DEF,
    };
    let loss = scaling.iter().flat_map(|scaling| [scaling.grad_scale, scaling.found_inf]);
    let buffers = before.iter().chain(&greatest).chain(loss).map(Operand::Buffer);
    let numbers = [1.0 - beta1, beta2, 1.0 - beta2, eps, decay.unwrap_or(weight_decay)].map(Operand::from);
    let choices = [decay.is_some(), maximize].map(Operand::from);
    let operands: Vec<_> =
        buffers.chain([rate.operand(), root.operand()]).chain(numbers).chain(choices).collect();
    let unscaled = scaling.is_some().then_some(grad);
    let moments = [state.exp_avg, state.exp_avg_sq].into_iter().chain(state.max_exp_avg_sq);
    let mut outputs: Vec<_> = [param].into_iter().chain(unscaled).chain(moments).collect();
    B::call_out(op, &operands, &mut outputs)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffer, check};
    use super::*;

    fn moments<'a>(mean: &'a mut StridedBuffer, square: &'a mut StridedBuffer) -> Moments<'a, StridedBuffer> {
        Moments { exp_avg: mean, exp_avg_sq: square, max_exp_avg_sq: None }
    }

    #[test]
    fn the_first_step_has_the_size_of_the_rate() {
        let options = Adam { lr: 0.1, eps: 0.0, ..Adam::default() };
        let (mut param, mut grad) = (buffer(&[1.0, 1.0]), buffer(&[0.02, -5.0]));
        let (mut mean, mut square) = (buffer(&[0.0; 2]), buffer(&[0.0; 2]));
        fused_adam_(&mut param, &mut grad, moments(&mut mean, &mut square), 1.0, &options, None).unwrap();
        check(&param, &[0.9, 1.1]);
        check(&mean, &[0.002, -0.5]);
        check(&square, &[0.02 * 0.02 * 0.001, 0.025]);
        let upward = Adam { maximize: true, ..options };
        let (mut mean, mut square) = (buffer(&[0.0; 2]), buffer(&[0.0; 2]));
        fused_adam_(&mut param, &mut grad, moments(&mut mean, &mut square), 1.0, &upward, None).unwrap();
        check(&param, &[1.0, 1.0]);
    }

    #[test]
    fn decay_is_of_the_gradient_in_adam_and_of_the_weights_in_adamw() {
        let options = Adam { lr: 0.1, eps: 0.0, weight_decay: 0.5, ..Adam::default() };
        let (mut coupled, mut decoupled, mut grad) = (buffer(&[2.0]), buffer(&[2.0]), buffer(&[-0.25]));
        let (mut mean, mut square) = (buffer(&[0.0]), buffer(&[0.0]));
        fused_adam_(&mut coupled, &mut grad, moments(&mut mean, &mut square), 1.0, &options, None).unwrap();
        check(&mean, &[0.1 * 0.75]);
        check(&coupled, &[1.9]);
        let (mut mean, mut square) = (buffer(&[0.0]), buffer(&[0.0]));
        fused_adamw_(&mut decoupled, &mut grad, moments(&mut mean, &mut square), 1.0, &options, None)
            .unwrap();
        check(&mean, &[-0.025]);
        check(&decoupled, &[2.0 - 0.05 * 2.0 + 0.1]);
    }

    #[test]
    fn amsgrad_keeps_the_greatest_mean_of_squares() {
        let options = Adam { lr: 0.1, eps: 0.0, beta1: 0.0, beta2: 0.5, ..Adam::default() };
        let (mut param, mut grad) = (buffer(&[1.0]), buffer(&[1.0]));
        let (mut mean, mut square, mut most) = (buffer(&[0.0]), buffer(&[0.0]), buffer(&[8.0]));
        let state = Moments { exp_avg: &mut mean, exp_avg_sq: &mut square, max_exp_avg_sq: Some(&mut most) };
        fused_adam_(&mut param, &mut grad, state, 1.0, &options, None).unwrap();
        check(&param, &[1.0 - 0.1 / (8f64.sqrt() / 0.5f64.sqrt())]);
        check(&square, &[0.5]);
        check(&most, &[8.0]);
    }

    #[test]
    fn a_step_with_an_infinite_gradient_changes_nothing() {
        let options = Adam { lr: 0.1, ..Adam::default() };
        let (mut param, mut grad) = (buffer(&[1.0]), buffer(&[8.0]));
        let (mut mean, mut square) = (buffer(&[0.5]), buffer(&[0.25]));
        let grad_scale = buffer(&[4.0]);
        for (found, gradient) in [(1.0, 8.0), (0.0, 2.0)] {
            let scaling = Scaling { grad_scale: &grad_scale, found_inf: &buffer(&[found]) };
            let state = moments(&mut mean, &mut square);
            fused_adamw_(&mut param, &mut grad, state, 1.0, &options, Some(scaling)).unwrap();
            check(&grad, &[gradient]);
            if found == 1.0 {
                check(&param, &[1.0]);
                check(&mean, &[0.5]);
            }
        }
        check(&mean, &[0.5 + 0.1 * 1.5]);
    }

    #[test]
    fn buffers_keep_their_dtypes() {
        let mut param = StridedBuffer::full(DType::BF16, &[1], 1.0, Device::Cpu).unwrap();
        let mut grad = StridedBuffer::full(DType::BF16, &[1], 1.0, Device::Cpu).unwrap();
        let mut mean = StridedBuffer::full(DType::F32, &[1], 0.0, Device::Cpu).unwrap();
        let mut square = StridedBuffer::full(DType::F32, &[1], 0.0, Device::Cpu).unwrap();
        let state = moments(&mut mean, &mut square);
        fused_adam_(&mut param, &mut grad, state, 1.0, &Adam::default(), None).unwrap();
        assert_eq!((param.dtype(), mean.dtype()), (DType::BF16, DType::F32));
        assert_eq!(square.item::<f32>().unwrap(), 0.001);
    }

    #[test]
    fn a_step_counted_on_the_device_has_the_same_bits() {
        let options = Adam { lr: 0.1, weight_decay: 0.25, ..Adam::default() };
        let after = |step: Operand<'_, StridedBuffer>| {
            let (mut param, mut grad) = (buffer(&[1.0, -3.0]), buffer(&[0.5, 2.0]));
            let (mut mean, mut square, mut most) = (buffer(&[0.1; 2]), buffer(&[0.2; 2]), buffer(&[0.3; 2]));
            let state =
                Moments { exp_avg: &mut mean, exp_avg_sq: &mut square, max_exp_avg_sq: Some(&mut most) };
            fused_adamw_(&mut param, &mut grad, state, step, &options, None).unwrap();
            param.to_vec::<f64>().unwrap()
        };
        let counter = StridedBuffer::from_element(7.0f32).unwrap();
        assert_eq!(after(7.into()), after(Operand::Buffer(&counter)));
        assert_ne!(after(7.into()), after(8.into()));
    }
}
