//! Steps along the gradient or its sign: SGD, ASGD, Rprop, Lion.

use super::{Scaling, descent_of, rates};
use crate::prelude::*;
use gems_runtime::op::Operand;

/// A step of gradient descent: g += weight_decay·p; p −= lr·g.
///
/// Matches `torch._fused_sgd_` without momentum.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(promote = default(param, grad), outputs(param_out), like(param_out = param))]
pub fn fused_sgd<T: Float>(
    param: T,
    grad: T,
    #[param] lr: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> T {
    param - lr * descent_of(grad, param, weight_decay, maximize)
}

/// [`fused_sgd`](fn@fused_sgd) with the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_sgd_(grad_scale, found_inf)` without momentum.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad), outputs(param_out, grad_out), like(param_out = param, grad_out = grad)
)]
pub fn fused_sgd_scaled<T: Float>(
    param: T,
    grad: T,
    grad_scale: T,
    found_inf: T,
    #[param] lr: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> (T, T) {
    let unscaled = grad / grad_scale;
    let moved = param - lr * descent_of(unscaled, param, weight_decay, maximize);
    if found_inf == 1 { (param, grad) } else { (moved, unscaled) }
}

/// The new momentum and the direction of the step.
#[device_fn]
fn momentum_of<T: Float>(
    descent: T,
    momentum_buffer: T,
    momentum: T,
    dampening: T,
    nesterov: bool,
    is_first_step: bool,
) -> (T, T) {
    let mean = if is_first_step { descent } else { momentum * momentum_buffer + (1 - dampening) * descent };
    (mean, if nesterov { descent + momentum * mean } else { mean })
}

/// A step of gradient descent with momentum: b = momentum·b + (1−dampening)·g, in the first step g; p −= lr·b, with
/// `nesterov` lr·(g + momentum·b).
///
/// Before all, g += weight_decay·p. Matches `torch._fused_sgd_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, momentum_buffer), outputs(param_out, momentum_buffer_out),
    like(param_out = param, momentum_buffer_out = momentum_buffer)
)]
pub fn fused_sgd_momentum<T: Float>(
    param: T,
    grad: T,
    momentum_buffer: T,
    #[param] lr: T,
    #[param] weight_decay: T,
    #[param] momentum: T,
    #[param] dampening: T,
    #[param] nesterov: bool,
    #[param] maximize: bool,
    #[param] is_first_step: bool,
) -> (T, T) {
    let descent = descent_of(grad, param, weight_decay, maximize);
    let (mean, direction) =
        momentum_of(descent, momentum_buffer, momentum, dampening, nesterov, is_first_step);
    (param - lr * direction, mean)
}

/// [`fused_sgd_momentum`](fn@fused_sgd_momentum) with the gradient unscaled first and nothing changed where
/// `found_inf` is 1.
///
/// Matches `torch._fused_sgd_(grad_scale, found_inf)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, momentum_buffer), outputs(param_out, grad_out, momentum_buffer_out),
    like(param_out = param, grad_out = grad, momentum_buffer_out = momentum_buffer)
)]
pub fn fused_sgd_momentum_scaled<T: Float>(
    param: T,
    grad: T,
    momentum_buffer: T,
    grad_scale: T,
    found_inf: T,
    #[param] lr: T,
    #[param] weight_decay: T,
    #[param] momentum: T,
    #[param] dampening: T,
    #[param] nesterov: bool,
    #[param] maximize: bool,
    #[param] is_first_step: bool,
) -> (T, T, T) {
    let unscaled = grad / grad_scale;
    let descent = descent_of(unscaled, param, weight_decay, maximize);
    let (mean, direction) =
        momentum_of(descent, momentum_buffer, momentum, dampening, nesterov, is_first_step);
    if found_inf == 1 { (param, grad, momentum_buffer) } else { (param - lr * direction, unscaled, mean) }
}

/// Options of SGD, with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step size.
    pub lr: f64,
    /// Decay of the weights.
    pub weight_decay: f64,
    /// How much of the last direction is kept.
    pub momentum: f64,
    /// How much of the gradient is left out of the momentum.
    pub dampening: f64,
    /// Looks ahead along the momentum.
    pub nesterov: bool,
    /// Ascend instead.
    pub maximize: bool,
}

impl Default for Sgd {
    fn default() -> Sgd {
        let (weight_decay, momentum, dampening) = (0.0, 0.0, 0.0);
        Sgd { lr: 1e-3, weight_decay, momentum, dampening, nesterov: false, maximize: false }
    }
}

/// A step of gradient descent in place; without `momentum_buffer`, without momentum.
///
/// The gradient changes only with `scaling`, which stores the unscaled one. Matches `torch._fused_sgd_`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_sgd_<B: Buffer>(
    param: &mut B,
    grad: &mut B,
    momentum_buffer: Option<&mut B>,
    is_first_step: bool,
    options: &Sgd,
    scaling: Option<Scaling<'_, B>>,
) -> Result<()> {
    let Sgd { lr, weight_decay, momentum, dampening, nesterov, maximize } = *options;
    let (old, slope) = (param.clone(), grad.clone());
    match (momentum_buffer, scaling) {
        (None, None) => fused_sgd::out(&old, &slope, lr, weight_decay, maximize, param),
        (None, Some(scaling)) => fused_sgd_scaled::out(
            &old,
            &slope,
            scaling.grad_scale,
            scaling.found_inf,
            lr,
            weight_decay,
            maximize,
            param,
            grad,
        ),
        (Some(buffer), scaling) => {
            let mean = buffer.clone();
            match scaling {
                None => fused_sgd_momentum::out(
                    &old,
                    &slope,
                    &mean,
                    lr,
                    weight_decay,
                    momentum,
                    dampening,
                    nesterov,
                    maximize,
                    is_first_step,
                    param,
                    buffer,
                ),
                Some(scaling) => fused_sgd_momentum_scaled::out(
                    &old,
                    &slope,
                    &mean,
                    scaling.grad_scale,
                    scaling.found_inf,
                    lr,
                    weight_decay,
                    momentum,
                    dampening,
                    nesterov,
                    maximize,
                    is_first_step,
                    param,
                    grad,
                    buffer,
                ),
            }
        }
    }
}

/// The step size and the weight of the mean behind a step of averaged descent, in f64: eta = lr/(1 + lambd·lr·t)^alpha and
/// mu = 1/max(1, t − t0), for the next step.
///
/// Own addition; `torch.optim.ASGD(capturable=True)` computes them on the device. PyTorch's default `alpha` is 0.75, its
/// `t0` 1e6.
///
/// Special values: IEEE 754's, step by step. Accuracy: powers have 2 ulp, every other step is rounded correctly.
/// Derivative: none.
#[pointwise_dynamic(outputs(eta, mu))]
pub fn fused_asgd_rates(
    step: f64,
    #[param] lr: f64,
    #[param] lambd: f64,
    #[param] alpha: f64,
    #[param] t0: f64,
) -> (f64, f64) {
    (lr / (1.0 + lambd * lr * step).pow(alpha), 1.0 / (step - t0).maximum(1.0))
}

/// 1 − lambd·eta, in f64: what [`fused_asgd_`] passes as `shrink`.
///
/// Own addition; `torch.optim.ASGD` computes it on the host.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(outputs(shrink))]
pub fn fused_asgd_shrink(eta: f64, #[param] lambd: f64) -> f64 {
    1.0 - lambd * eta
}

/// A step of averaged gradient descent: p = p·shrink − eta·g; ax = p if mu is 1, else ax + (p − ax)·mu.
///
/// Before all, g += weight_decay·p; [`fused_asgd_`] passes shrink = 1 − lambd·eta. Matches `torch.optim.ASGD`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, ax), vote(param, grad, ax), outputs(param_out, ax_out),
    like(param_out = param, ax_out = ax)
)]
pub fn fused_asgd<T: Float>(
    param: T,
    grad: T,
    ax: T,
    eta: T,
    mu: T,
    shrink: T,
    #[param] weight_decay: T,
) -> (T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let moved = param * shrink - eta * descent;
    (moved, if mu == 1 { moved } else { ax + (moved - ax) * mu })
}

/// A step of averaged gradient descent in place; `eta` and `mu` are numbers or buffers of one element, those of
/// [`fused_asgd_rates`](fn@fused_asgd_rates) for the step before (in the first one, lr and 1).
///
/// PyTorch's default `lambd` is 1e-4.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_asgd_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &B,
    ax: &mut B,
    eta: impl Into<Operand<'a, B>>,
    mu: impl Into<Operand<'a, B>>,
    lambd: f64,
    weight_decay: f64,
) -> Result<()> {
    let (eta, mu) = (eta.into(), mu.into());
    let [shrink] =
        rates(fused_asgd_shrink::DEF, eta.clone(), &[lambd], |eta| [fused_asgd_shrink::scalar(eta, lambd)])?;
    let (old, mean) = (param.clone(), ax.clone());
    fused_asgd::out(&old, grad, &mean, eta, mu, shrink.operand(), weight_decay, param, ax)
}

/// A step of Rprop: the step grows by `eta_plus` where the gradient keeps its sign, and shrinks by `eta_minus` where it
/// turns, where the gradient then counts as 0; p −= sign(g)·step; prev = g.
///
/// Matches `torch.optim.Rprop`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, prev, step_size), outputs(param_out, prev_out, step_size_out),
    like(param_out = param, prev_out = prev, step_size_out = step_size)
)]
pub fn fused_rprop<T: Float>(
    param: T,
    grad: T,
    prev: T,
    step_size: T,
    #[param] eta_minus: T,
    #[param] eta_plus: T,
    #[param] least: T,
    #[param] greatest: T,
) -> (T, T, T) {
    let turn = grad * prev;
    let factor = if turn > 0 {
        eta_plus
    } else if turn < 0 {
        eta_minus
    } else {
        1
    };
    let step = clamp::scalar(step_size * factor, least, greatest);
    let slope: T = if turn < 0 { 0 } else { grad };
    (param - sign::scalar(slope) * step, slope, step)
}

/// A step of Rprop in place. PyTorch's default `etas` are (0.5, 1.2), its `step_sizes` (1e-6, 50).
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_rprop_<B: Buffer>(
    param: &mut B,
    grad: &B,
    prev: &mut B,
    step_size: &mut B,
    etas: (f64, f64),
    step_sizes: (f64, f64),
) -> Result<()> {
    let (old, last, step) = (param.clone(), prev.clone(), step_size.clone());
    fused_rprop::out(
        &old,
        grad,
        &last,
        &step,
        etas.0,
        etas.1,
        step_sizes.0,
        step_sizes.1,
        param,
        prev,
        step_size,
    )
}

/// A step of Lion: p −= lr·(sign(β₁m + (1−β₁)g) + weight_decay·p); m = β₂m + (1−β₂)g.
///
/// Own addition; the step of the paper on Lion.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg), outputs(param_out, exp_avg_out),
    like(param_out = param, exp_avg_out = exp_avg)
)]
pub fn fused_lion<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    #[param] lr: T,
    #[param] beta1: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] weight_decay: T,
) -> (T, T) {
    let direction = sign::scalar(beta1 * exp_avg + weight1 * grad);
    (param - lr * (direction + weight_decay * param), beta2 * exp_avg + weight2 * grad)
}

/// A step of Lion in place. The usual `betas` are (0.9, 0.99).
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_lion_<B: Buffer>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    lr: f64,
    betas: (f64, f64),
    weight_decay: f64,
) -> Result<()> {
    let (old, mean) = (param.clone(), exp_avg.clone());
    fused_lion::out(
        &old,
        grad,
        &mean,
        lr,
        betas.0,
        1.0 - betas.0,
        betas.1,
        1.0 - betas.1,
        weight_decay,
        param,
        exp_avg,
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffer, check};
    use super::*;

    #[test]
    fn momentum_begins_with_the_gradient() {
        let options = Sgd { lr: 0.5, momentum: 0.75, dampening: 0.5, ..Sgd::default() };
        let (mut param, mut grad, mut mean) = (buffer(&[1.0]), buffer(&[4.0]), buffer(&[100.0]));
        fused_sgd_(&mut param, &mut grad, Some(&mut mean), true, &options, None).unwrap();
        check(&mean, &[4.0]);
        check(&param, &[-1.0]);
        fused_sgd_(&mut param, &mut grad, Some(&mut mean), false, &options, None).unwrap();
        check(&mean, &[5.0]);
        check(&param, &[-3.5]);
        let nesterov = Sgd { nesterov: true, ..options };
        fused_sgd_(&mut param, &mut grad, Some(&mut mean), false, &nesterov, None).unwrap();
        check(&mean, &[5.75]);
        check(&param, &[-3.5 - 0.5 * (4.0 + 0.75 * 5.75)]);
    }

    #[test]
    fn plain_descent_decays_weights_and_unscales() {
        let options = Sgd { lr: 0.5, weight_decay: 0.25, ..Sgd::default() };
        let (mut param, mut grad) = (buffer(&[2.0]), buffer(&[6.0]));
        let (grad_scale, finite, infinite) = (buffer(&[2.0]), buffer(&[0.0]), buffer(&[1.0]));
        let skipped = Scaling { grad_scale: &grad_scale, found_inf: &infinite };
        fused_sgd_(&mut param, &mut grad, None, false, &options, Some(skipped)).unwrap();
        check(&param, &[2.0]);
        check(&grad, &[6.0]);
        let scaling = Scaling { grad_scale: &grad_scale, found_inf: &finite };
        fused_sgd_(&mut param, &mut grad, None, false, &options, Some(scaling)).unwrap();
        check(&param, &[2.0 - 0.5 * 3.5]);
        check(&grad, &[3.0]);
    }

    #[test]
    fn averaged_descent_averages() {
        let (mut param, mut mean) = (buffer(&[2.0]), buffer(&[10.0]));
        fused_asgd_(&mut param, &buffer(&[1.0]), &mut mean, 0.5, 1.0, 0.1, 0.0).unwrap();
        check(&param, &[2.0 * 0.95 - 0.5]);
        check(&mean, &[1.4]);
        fused_asgd_(&mut param, &buffer(&[1.0]), &mut mean, 0.5, 0.25, 0.1, 0.0).unwrap();
        check(&mean, &[1.4 + 0.25 * (1.4 * 0.95 - 0.5 - 1.4)]);
    }

    #[test]
    fn averaged_descent_takes_its_rates_from_buffers() {
        let grad = buffer(&[1.0, -3.0]);
        let step = StridedBuffer::from_element(4.0f64).unwrap();
        let (eta, mu) = fused_asgd_rates(&step, 0.1, 0.01, 0.75, 2.0).unwrap();
        let numbers = fused_asgd_rates::scalar(4.0, 0.1, 0.01, 0.75, 2.0);
        assert_eq!((eta.item::<f64>().unwrap(), mu.item::<f64>().unwrap()), numbers);
        assert_eq!(numbers, (0.1 / 1.004f64.powf(0.75), 0.5));
        let (mut param, mut mean) = (buffer(&[2.0, 0.7]), buffer(&[1.0, 0.5]));
        let (mut other, mut other_mean) = (buffer(&[2.0, 0.7]), buffer(&[1.0, 0.5]));
        fused_asgd_(&mut param, &grad, &mut mean, &eta, &mu, 0.01, 0.1).unwrap();
        fused_asgd_(&mut other, &grad, &mut other_mean, numbers.0, numbers.1, 0.01, 0.1).unwrap();
        assert_eq!(param.to_vec::<f64>().unwrap(), other.to_vec::<f64>().unwrap());
        assert_eq!(mean.to_vec::<f64>().unwrap(), other_mean.to_vec::<f64>().unwrap());
    }

    #[test]
    fn rprop_stands_still_where_the_gradient_turns() {
        let (mut param, mut prev) = (buffer(&[1.0, 1.0, 1.0]), buffer(&[1.0, 1.0, 0.0]));
        let mut step = buffer(&[0.5, 0.5, 0.5]);
        let grad = buffer(&[2.0, -2.0, -3.0]);
        fused_rprop_(&mut param, &grad, &mut prev, &mut step, (0.5, 4.0), (1e-6, 1.5)).unwrap();
        check(&step, &[1.5, 0.25, 0.5]);
        check(&param, &[-0.5, 1.0, 1.5]);
        check(&prev, &[2.0, 0.0, -3.0]);
    }

    #[test]
    fn lion_steps_by_sign() {
        let (mut param, mut mean) = (buffer(&[1.0, 2.0]), buffer(&[1.0, 1.0]));
        fused_lion_(&mut param, &buffer(&[-10.0, 4.0]), &mut mean, 0.5, (0.9, 0.75), 0.1).unwrap();
        check(&param, &[1.0 - 0.5 * (-1.0 + 0.1), 2.0 - 0.5 * (1.0 + 0.2)]);
        check(&mean, &[0.75 - 2.5, 1.75]);
    }
}
