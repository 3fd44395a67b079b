//! Adam and its relatives.

use super::{Scaling, descent_of, downhill};
use crate::prelude::*;

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

impl Adam {
    /// 1 − β₁ᵗ and 1 − β₂ᵗ.
    fn corrections(&self, step: f64) -> (f64, f64) {
        (1.0 - self.beta1.powf(step), 1.0 - self.beta2.powf(step))
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

/// A step of Adam: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; p −= rate·m/(√v/root + eps).
///
/// rate = lr/(1−β₁ᵗ) and root = √(1−β₂ᵗ) come from the host; [`fused_adam_`] computes them and stores the results.
/// Before all, g += weight_decay·p.
///
/// Matches `torch._fused_adam_`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out), like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq))]
pub fn fused_adam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let moved = param - rate * mean / (square.sqrt() / root + eps);
    (moved, mean, square)
}

/// [`fused_adam`] with the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_adam_(grad_scale, found_inf)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out), like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq))]
pub fn fused_adam_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let unscaled = grad / grad_scale;
    let descent = descent_of(unscaled, param, weight_decay, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let moved = param - rate * mean / (square.sqrt() / root + eps);
    if found_inf == 1 { (param, grad, exp_avg, exp_avg_sq) } else { (moved, unscaled, mean, square) }
}

/// [`fused_adam`] with √max v in place of √v.
///
/// Matches `torch._fused_adam_(amsgrad=True)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out), like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq))]
pub fn fused_adam_amsgrad<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let descent = descent_of(grad, param, weight_decay, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = param - rate * mean / (greatest.sqrt() / root + eps);
    (moved, mean, square, greatest)
}

/// [`fused_adam`] with √max v in place of √v, the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_adam_(amsgrad=True, grad_scale, found_inf)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out), like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq))]
pub fn fused_adam_amsgrad_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] weight_decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T, T) {
    let unscaled = grad / grad_scale;
    let descent = descent_of(unscaled, param, weight_decay, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = param - rate * mean / (greatest.sqrt() / root + eps);
    if found_inf == 1 {
        (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)
    } else {
        (moved, unscaled, mean, square, greatest)
    }
}

/// A step of AdamW: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; p −= rate·m/(√v/root + eps).
///
/// rate = lr/(1−β₁ᵗ) and root = √(1−β₂ᵗ) come from the host; [`fused_adamw_`] computes them and stores the results.
/// The weights decay first: p −= decay·p with decay = lr·weight_decay.
///
/// Matches `torch._fused_adamw_`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out), like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq))]
pub fn fused_adamw<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] maximize: bool,
) -> (T, T, T) {
    let decayed = param - decay * param;
    let descent = downhill(grad, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let moved = decayed - rate * mean / (square.sqrt() / root + eps);
    (moved, mean, square)
}

/// [`fused_adamw`] with the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_adamw_(grad_scale, found_inf)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out), like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq))]
pub fn fused_adamw_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let unscaled = grad / grad_scale;
    let decayed = param - decay * param;
    let descent = downhill(unscaled, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let moved = decayed - rate * mean / (square.sqrt() / root + eps);
    if found_inf == 1 { (param, grad, exp_avg, exp_avg_sq) } else { (moved, unscaled, mean, square) }
}

/// [`fused_adamw`] with √max v in place of √v.
///
/// Matches `torch._fused_adamw_(amsgrad=True)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out), like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq))]
pub fn fused_adamw_amsgrad<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T) {
    let decayed = param - decay * param;
    let descent = downhill(grad, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = decayed - rate * mean / (greatest.sqrt() / root + eps);
    (moved, mean, square, greatest)
}

/// [`fused_adamw`] with √max v in place of √v, the gradient unscaled first and nothing changed where `found_inf` is 1.
///
/// Matches `torch._fused_adamw_(amsgrad=True, grad_scale, found_inf)`.
#[pointwise_dynamic(promote = default(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq), outputs(param_out, grad_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out), like(param_out = param, grad_out = grad, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq, max_exp_avg_sq_out = max_exp_avg_sq))]
pub fn fused_adamw_amsgrad_scaled<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    max_exp_avg_sq: T,
    grad_scale: T,
    found_inf: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] root: T,
    #[param] eps: T,
    #[param] decay: T,
    #[param] maximize: bool,
) -> (T, T, T, T, T) {
    let unscaled = grad / grad_scale;
    let decayed = param - decay * param;
    let descent = downhill(unscaled, maximize);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let greatest = max_exp_avg_sq.maximum(square);
    let moved = decayed - rate * mean / (greatest.sqrt() / root + eps);
    if found_inf == 1 {
        (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)
    } else {
        (moved, unscaled, mean, square, greatest)
    }
}

/// A step of Adam in place; `step` counts from 1.
///
/// The gradient changes only with `scaling`, which stores the unscaled one. Matches `torch._fused_adam_`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adam_<B: Buffer>(
    param: &mut B,
    grad: &mut B,
    state: Moments<'_, B>,
    step: f64,
    options: &Adam,
    scaling: Option<Scaling<'_, B>>,
) -> Result<()> {
    let (first, second) = options.corrections(step);
    let (rate, root, decay) = (options.lr / first, second.sqrt(), options.weight_decay);
    let (old, slope) = (param.clone(), grad.clone());
    let (mean, square) = (state.exp_avg.clone(), state.exp_avg_sq.clone());
    match (state.max_exp_avg_sq, scaling) {
        (None, None) => fused_adam::out(
            &old,
            &slope,
            &mean,
            &square,
            rate,
            1.0 - options.beta1,
            options.beta2,
            1.0 - options.beta2,
            root,
            options.eps,
            decay,
            options.maximize,
            param,
            state.exp_avg,
            state.exp_avg_sq,
        ),
        (None, Some(scaling)) => fused_adam_scaled::out(
            &old,
            &slope,
            &mean,
            &square,
            scaling.grad_scale,
            scaling.found_inf,
            rate,
            1.0 - options.beta1,
            options.beta2,
            1.0 - options.beta2,
            root,
            options.eps,
            decay,
            options.maximize,
            param,
            grad,
            state.exp_avg,
            state.exp_avg_sq,
        ),
        (Some(most), scaling) => {
            let greatest = most.clone();
            match scaling {
                None => fused_adam_amsgrad::out(
                    &old,
                    &slope,
                    &mean,
                    &square,
                    &greatest,
                    rate,
                    1.0 - options.beta1,
                    options.beta2,
                    1.0 - options.beta2,
                    root,
                    options.eps,
                    decay,
                    options.maximize,
                    param,
                    state.exp_avg,
                    state.exp_avg_sq,
                    most,
                ),
                Some(scaling) => fused_adam_amsgrad_scaled::out(
                    &old,
                    &slope,
                    &mean,
                    &square,
                    &greatest,
                    scaling.grad_scale,
                    scaling.found_inf,
                    rate,
                    1.0 - options.beta1,
                    options.beta2,
                    1.0 - options.beta2,
                    root,
                    options.eps,
                    decay,
                    options.maximize,
                    param,
                    grad,
                    state.exp_avg,
                    state.exp_avg_sq,
                    most,
                ),
            }
        }
    }
}

/// A step of AdamW in place; `step` counts from 1.
///
/// The gradient changes only with `scaling`, which stores the unscaled one. Matches `torch._fused_adamw_`.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adamw_<B: Buffer>(
    param: &mut B,
    grad: &mut B,
    state: Moments<'_, B>,
    step: f64,
    options: &Adam,
    scaling: Option<Scaling<'_, B>>,
) -> Result<()> {
    let (first, second) = options.corrections(step);
    let (rate, root, decay) = (options.lr / first, second.sqrt(), options.lr * options.weight_decay);
    let (old, slope) = (param.clone(), grad.clone());
    let (mean, square) = (state.exp_avg.clone(), state.exp_avg_sq.clone());
    match (state.max_exp_avg_sq, scaling) {
        (None, None) => fused_adamw::out(
            &old,
            &slope,
            &mean,
            &square,
            rate,
            1.0 - options.beta1,
            options.beta2,
            1.0 - options.beta2,
            root,
            options.eps,
            decay,
            options.maximize,
            param,
            state.exp_avg,
            state.exp_avg_sq,
        ),
        (None, Some(scaling)) => fused_adamw_scaled::out(
            &old,
            &slope,
            &mean,
            &square,
            scaling.grad_scale,
            scaling.found_inf,
            rate,
            1.0 - options.beta1,
            options.beta2,
            1.0 - options.beta2,
            root,
            options.eps,
            decay,
            options.maximize,
            param,
            grad,
            state.exp_avg,
            state.exp_avg_sq,
        ),
        (Some(most), scaling) => {
            let greatest = most.clone();
            match scaling {
                None => fused_adamw_amsgrad::out(
                    &old,
                    &slope,
                    &mean,
                    &square,
                    &greatest,
                    rate,
                    1.0 - options.beta1,
                    options.beta2,
                    1.0 - options.beta2,
                    root,
                    options.eps,
                    decay,
                    options.maximize,
                    param,
                    state.exp_avg,
                    state.exp_avg_sq,
                    most,
                ),
                Some(scaling) => fused_adamw_amsgrad_scaled::out(
                    &old,
                    &slope,
                    &mean,
                    &square,
                    &greatest,
                    scaling.grad_scale,
                    scaling.found_inf,
                    rate,
                    1.0 - options.beta1,
                    options.beta2,
                    1.0 - options.beta2,
                    root,
                    options.eps,
                    decay,
                    options.maximize,
                    param,
                    grad,
                    state.exp_avg,
                    state.exp_avg_sq,
                    most,
                ),
            }
        }
    }
}

/// A step of Adamax: m += (1−β₁)(g−m); u = max(β₂u, |g| + eps); p −= rate·m/u, with rate = lr/(1−β₁ᵗ).
///
/// Before all, g += weight_decay·p. Matches `torch.optim.Adamax`.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_inf), outputs(param_out, exp_avg_out, exp_inf_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_inf_out = exp_inf)
)]
pub fn fused_adamax<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_inf: T,
    #[param] rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let norm = (beta2 * exp_inf).maximum(descent.abs() + eps);
    (param - rate * mean / norm, mean, norm)
}

/// A step of Adamax in place; `step` counts from 1. PyTorch's default `lr` is 2e-3.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adamax_<B: Buffer>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_inf: &mut B,
    step: f64,
    options: &Adam,
) -> Result<()> {
    let (first, _) = options.corrections(step);
    let (old, mean, norm) = (param.clone(), exp_avg.clone(), exp_inf.clone());
    fused_adamax::out(
        &old,
        grad,
        &mean,
        &norm,
        options.lr / first,
        1.0 - options.beta1,
        options.beta2,
        options.eps,
        options.weight_decay,
        param,
        exp_avg,
        exp_inf,
    )
}

/// A step of NAdam: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; d = √(v/correction) + eps; p −= slope_rate·g/d + mean_rate·m/d.
///
/// Before all, g += weight_decay·p. Matches `torch.optim.NAdam`.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_nadam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    #[param] slope_rate: T,
    #[param] mean_rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] correction: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let norm = (square / correction).sqrt() + eps;
    let moved = param - slope_rate * descent / norm - mean_rate * mean / norm;
    (moved, mean, square)
}

/// A step of NAdam in place; `step` counts from 1, `mu_product` begins with 1 and is kept for the next step.
///
/// PyTorch's default `lr` is 2e-3, its `momentum_decay` 4e-3.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
#[expect(clippy::too_many_arguments, reason = "the state and the settings of the optimizer")]
pub fn fused_nadam_<B: Buffer>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_avg_sq: &mut B,
    step: f64,
    mu_product: &mut f64,
    momentum_decay: f64,
    options: &Adam,
) -> Result<()> {
    let (_, second) = options.corrections(step);
    let momentum = |step: f64| options.beta1 * (1.0 - 0.5 * 0.96f64.powf(step * momentum_decay));
    let (now, next) = (momentum(step), momentum(step + 1.0));
    let product = *mu_product * now;
    let slope_rate = options.lr * (1.0 - now) / (1.0 - product);
    let mean_rate = options.lr * next / (1.0 - product * next);
    let (old, mean, square) = (param.clone(), exp_avg.clone(), exp_avg_sq.clone());
    fused_nadam::out(
        &old,
        grad,
        &mean,
        &square,
        slope_rate,
        mean_rate,
        1.0 - options.beta1,
        options.beta2,
        1.0 - options.beta2,
        second,
        options.eps,
        options.weight_decay,
        param,
        exp_avg,
        exp_avg_sq,
    )?;
    *mu_product = product;
    Ok(())
}

/// A step of RAdam: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; p −= rate·m, over √v + eps where rectified.
///
/// Before all, g += weight_decay·p. Matches `torch.optim.RAdam`.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), outputs(param_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_radam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    #[param] rate: T,
    #[param] rectified: bool,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let mean = exp_avg + weight1 * (descent - exp_avg);
    let square = beta2 * exp_avg_sq + weight2 * descent * descent;
    let norm = if rectified { square.sqrt() + eps } else { 1 };
    (param - rate * mean / norm, mean, square)
}

/// A step of RAdam in place; `step` counts from 1.
///
/// rate = lr/(1−β₁ᵗ); where ρ = ρ∞ − 2tβ₂ᵗ/(1−β₂ᵗ) with ρ∞ = 2/(1−β₂) − 1 is above 5, it is multiplied by
/// √((1−β₂ᵗ)·(ρ−4)(ρ−2)ρ∞/((ρ∞−4)(ρ∞−2)ρ)), and the step is rectified.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_radam_<B: Buffer>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_avg_sq: &mut B,
    step: f64,
    options: &Adam,
) -> Result<()> {
    let (first, second) = options.corrections(step);
    let longest = 2.0 / (1.0 - options.beta2) - 1.0;
    let length = longest - 2.0 * step * (1.0 - second) / second;
    let rectified = length > 5.0;
    let rectification =
        (length - 4.0) * (length - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * length);
    let rate = options.lr / first * if rectified { (second * rectification).sqrt() } else { 1.0 };
    let (old, mean, square) = (param.clone(), exp_avg.clone(), exp_avg_sq.clone());
    fused_radam::out(
        &old,
        grad,
        &mean,
        &square,
        rate,
        rectified,
        1.0 - options.beta1,
        options.beta2,
        1.0 - options.beta2,
        options.eps,
        options.weight_decay,
        param,
        exp_avg,
        exp_avg_sq,
    )
}
