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

/// [`fused_adam`](fn@fused_adam) with the gradient unscaled first and nothing changed where `found_inf` is 1.
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

/// [`fused_adam`](fn@fused_adam) with √max v in place of √v.
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

/// [`fused_adam`](fn@fused_adam) with √max v in place of √v, the gradient unscaled first and nothing changed where `found_inf` is 1.
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

/// [`fused_adamw`](fn@fused_adamw) with the gradient unscaled first and nothing changed where `found_inf` is 1.
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

/// [`fused_adamw`](fn@fused_adamw) with √max v in place of √v.
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

/// [`fused_adamw`](fn@fused_adamw) with √max v in place of √v, the gradient unscaled first and nothing changed where `found_inf` is 1.
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
#[expect(clippy::too_many_arguments, reason = "buffers and options of the step")]
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
        let fresh = fused_adamax(&param, &grad, &mean, &square, 0.1, 0.1, 0.9, 0.0, 0.0).unwrap();
        assert_eq!((fresh.0.dtype(), fresh.1.dtype()), (DType::BF16, DType::F32));
    }

    #[test]
    fn relatives_agree_with_their_formulas_after_one_step() {
        let options = Adam { lr: 0.1, eps: 0.0, ..Adam::default() };
        let grad = buffer(&[2.0]);
        let (mut param, mut mean, mut norm) = (buffer(&[1.0]), buffer(&[0.0]), buffer(&[0.0]));
        fused_adamax_(&mut param, &grad, &mut mean, &mut norm, 1.0, &options).unwrap();
        check(&param, &[0.9]);
        check(&norm, &[2.0]);
        // Far from rectified, RAdam is the plain mean.
        let (mut param, mut mean, mut square) = (buffer(&[1.0]), buffer(&[0.0]), buffer(&[0.0]));
        fused_radam_(&mut param, &grad, &mut mean, &mut square, 1.0, &options).unwrap();
        check(&param, &[1.0 - 0.1 * 2.0]);
        let (mut param, mut product) = (buffer(&[1.0]), 1.0);
        let (mut mean, mut square) = (buffer(&[0.0]), buffer(&[0.0]));
        fused_nadam_(&mut param, &grad, &mut mean, &mut square, 1.0, &mut product, 0.0, &options).unwrap();
        // Without decay of the momentum, μ is β₁/2 in every step.
        let mu = 0.45;
        check(&param, &[1.0 - 0.1 * (1.0 - mu) / (1.0 - mu) - 0.1 * mu / (1.0 - mu * mu) * 0.1]);
        assert_eq!(product, mu);
    }

    #[test]
    fn radam_is_rectified_after_some_steps() {
        let options = Adam { lr: 0.1, eps: 0.0, ..Adam::default() };
        let (mut param, mut mean, mut square) = (buffer(&[1.0]), buffer(&[2.0]), buffer(&[4.0]));
        fused_radam_(&mut param, &buffer(&[2.0]), &mut mean, &mut square, 10.0, &options).unwrap();
        let (first, second): (f64, f64) = (1.0 - 0.9f64.powi(10), 1.0 - 0.999f64.powi(10));
        let longest = 1999.0;
        let length = longest - 20.0 * (1.0 - second) / second;
        let rectification =
            (length - 4.0) * (length - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * length);
        assert!(length > 5.0);
        let expected = 1.0 - 0.1 * 2.0 / first * second.sqrt() / 2.0 * rectification.sqrt();
        assert!((param.item::<f64>().unwrap() - expected).abs() < 1e-12);
    }
}
