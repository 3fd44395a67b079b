//! Relatives of Adam: Adamax, NAdam, RAdam.

use super::{Adam, descent_of, mean_of, moments_of, rates};
use crate::prelude::*;
use gems_runtime::op::Operand;

/// lr/(1−β₁ᵗ), in f64: what [`fused_adamax_`] passes as `rate`.
///
/// Own addition; `torch.optim.Adamax(capturable=True)` computes it on the device.
///
/// Special values: IEEE 754's, step by step. Accuracy: powers have 2 ulp, every other step is rounded correctly.
/// Derivative: none.
#[pointwise_dynamic(outputs(rate))]
pub fn fused_adamax_rate(step: f64, #[param] lr: f64, #[param] beta1: f64) -> f64 {
    lr / (1.0 - beta1.pow(step))
}

/// A step of Adamax: m += (1−β₁)(g−m); u = max(β₂u, |g| + eps); p −= rate·m/u, with rate = lr/(1−β₁ᵗ).
///
/// Before all, g += weight_decay·p. Matches `torch.optim.Adamax`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_inf), vote(param, grad, exp_avg, exp_inf),
    outputs(param_out, exp_avg_out, exp_inf_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_inf_out = exp_inf)
)]
pub fn fused_adamax<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_inf: T,
    rate: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let mean = mean_of(descent, exp_avg, weight1);
    let norm = (beta2 * exp_inf).maximum(descent.abs() + eps);
    (param - rate * mean / norm, mean, norm)
}

/// A step of Adamax in place; `step` counts from 1, as a number or a buffer. PyTorch's default `lr` is 2e-3.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_adamax_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_inf: &mut B,
    step: impl Into<Operand<'a, B>>,
    options: &Adam,
) -> Result<()> {
    let Adam { lr, beta1, beta2, eps, weight_decay, .. } = *options;
    let [rate] = rates(fused_adamax_rate::DEF, step.into(), &[lr, beta1], |step| {
        [fused_adamax_rate::scalar(step, lr, beta1)]
    })?;
    let (old, mean, norm) = (param.clone(), exp_avg.clone(), exp_inf.clone());
    fused_adamax::out(
        &old,
        grad,
        &mean,
        &norm,
        rate.operand(),
        1.0 - beta1,
        beta2,
        eps,
        weight_decay,
        param,
        exp_avg,
        exp_inf,
    )
}

/// μ_t = β₁(1 − ½·0.96^(t·momentum_decay)).
#[device_fn]
fn nadam_momentum(step: f64, beta1: f64, momentum_decay: f64) -> f64 {
    beta1 * (1.0 - 0.5 * (0.96f64).pow(step * momentum_decay))
}

/// The numbers of a step of NAdam, in f64: lr(1−μ_t)/(1−Π), lr·μ_{t+1}/(1−Π·μ_{t+1}), 1−β₂ᵗ and Π, the product of all μ
/// up to this step.
///
/// Own addition; `torch.optim.NAdam(capturable=True)` computes them on the device.
///
/// Special values: IEEE 754's, step by step. Accuracy: powers have 2 ulp, every other step is rounded correctly.
/// Derivative: none.
#[pointwise_dynamic(
    outputs(slope_rate, mean_rate, correction, product), like(product = mu_product), vote(step, mu_product)
)]
pub fn fused_nadam_rates(
    step: f64,
    mu_product: f64,
    #[param] lr: f64,
    #[param] beta1: f64,
    #[param] beta2: f64,
    #[param] momentum_decay: f64,
) -> (f64, f64, f64, f64) {
    let now = nadam_momentum(step, beta1, momentum_decay);
    let next = nadam_momentum(step + 1.0, beta1, momentum_decay);
    let product = mu_product * now;
    (lr * (1.0 - now) / (1.0 - product), lr * next / (1.0 - product * next), 1.0 - beta2.pow(step), product)
}

/// A step of NAdam: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; d = √(v/correction) + eps; p −= slope_rate·g/d +
/// mean_rate·m/d.
///
/// Before all, g += weight_decay·p. Matches `torch.optim.NAdam`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq),
    outputs(param_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_nadam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    slope_rate: T,
    mean_rate: T,
    correction: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let norm = (square / correction).sqrt() + eps;
    let moved = param - slope_rate * descent / norm - mean_rate * mean / norm;
    (moved, mean, square)
}

/// A step of NAdam in place; `step` counts from 1, as a number or a buffer. `mu_product` is a buffer
/// without axes, on the host or the device, which begins with 1 and is kept for the next step.
///
/// PyTorch's default `lr` is 2e-3, its `momentum_decay` 4e-3.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
#[expect(clippy::too_many_arguments, reason = "buffers and options of the step")]
pub fn fused_nadam_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_avg_sq: &mut B,
    step: impl Into<Operand<'a, B>>,
    mu_product: &mut B,
    momentum_decay: f64,
    options: &Adam,
) -> Result<()> {
    let Adam { lr, beta1, beta2, eps, weight_decay, .. } = *options;
    let (slope_rate, mean_rate, correction, product) =
        fused_nadam_rates(step.into(), &mu_product.clone(), lr, beta1, beta2, momentum_decay)?;
    let (old, mean, square) = (param.clone(), exp_avg.clone(), exp_avg_sq.clone());
    fused_nadam::out(
        &old,
        grad,
        &mean,
        &square,
        &slope_rate,
        &mean_rate,
        &correction,
        1.0 - beta1,
        beta2,
        1.0 - beta2,
        eps,
        weight_decay,
        param,
        exp_avg,
        exp_avg_sq,
    )?;
    copy::out(&product, mu_product)
}

/// The numbers of a step of RAdam, in f64: its rate, and 1 if it is rectified, else 0.
///
/// The rate is lr/(1−β₁ᵗ); where ρ = ρ∞ − 2tβ₂ᵗ/(1−β₂ᵗ) with ρ∞ = 2/(1−β₂) − 1 is above 5, it is multiplied by
/// √((1−β₂ᵗ)·(ρ−4)(ρ−2)ρ∞/((ρ∞−4)(ρ∞−2)ρ)), and the step is rectified.
///
/// Own addition; `torch.optim.RAdam(capturable=True)` computes them on the device.
///
/// Accuracy: powers have 2 ulp, every other step is rounded correctly. Derivative: none.
#[pointwise_dynamic(outputs(rate, rectified))]
pub fn fused_radam_rates(
    step: f64,
    #[param] lr: f64,
    #[param] beta1: f64,
    #[param] beta2: f64,
) -> (f64, f64) {
    let second = 1.0 - beta2.pow(step);
    let longest = 2.0 / (1.0 - beta2) - 1.0;
    let length = longest - 2.0 * step * (1.0 - second) / second;
    let rate = lr / (1.0 - beta1.pow(step));
    if length > 5.0 {
        let rectification =
            (length - 4.0) * (length - 2.0) * longest / ((longest - 4.0) * (longest - 2.0) * length);
        (rate * (second * rectification).sqrt(), 1.0)
    } else {
        (rate, 0.0)
    }
}

/// A step of RAdam: m += (1−β₁)(g−m); v = β₂v + (1−β₂)g²; p −= rate·m, over √v + eps where `rectified` is 1.
///
/// Before all, g += weight_decay·p. Matches `torch.optim.RAdam`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(param, grad, exp_avg, exp_avg_sq), vote(param, grad, exp_avg, exp_avg_sq),
    outputs(param_out, exp_avg_out, exp_avg_sq_out),
    like(param_out = param, exp_avg_out = exp_avg, exp_avg_sq_out = exp_avg_sq)
)]
pub fn fused_radam<T: Float>(
    param: T,
    grad: T,
    exp_avg: T,
    exp_avg_sq: T,
    rate: T,
    rectified: T,
    #[param] weight1: T,
    #[param] beta2: T,
    #[param] weight2: T,
    #[param] eps: T,
    #[param] weight_decay: T,
) -> (T, T, T) {
    let descent = descent_of(grad, param, weight_decay, false);
    let (mean, square) = moments_of(descent, exp_avg, exp_avg_sq, weight1, beta2, weight2);
    let norm = if rectified == 1 { square.sqrt() + eps } else { 1 };
    (param - rate * mean / norm, mean, square)
}

/// A step of RAdam in place; `step` counts from 1, as a number or a buffer.
///
/// # Errors
/// Buffers of different shapes or devices, or that overlap partly; a device that fails.
pub fn fused_radam_<'a, B: Buffer + 'a>(
    param: &mut B,
    grad: &B,
    exp_avg: &mut B,
    exp_avg_sq: &mut B,
    step: impl Into<Operand<'a, B>>,
    options: &Adam,
) -> Result<()> {
    let Adam { lr, beta1, beta2, eps, weight_decay, .. } = *options;
    let [rate, rectified] = rates(fused_radam_rates::DEF, step.into(), &[lr, beta1, beta2], |step| {
        fused_radam_rates::scalar(step, lr, beta1, beta2).into()
    })?;
    let (old, mean, square) = (param.clone(), exp_avg.clone(), exp_avg_sq.clone());
    fused_radam::out(
        &old,
        grad,
        &mean,
        &square,
        rate.operand(),
        rectified.operand(),
        1.0 - beta1,
        beta2,
        1.0 - beta2,
        eps,
        weight_decay,
        param,
        exp_avg,
        exp_avg_sq,
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffer, check};
    use super::*;

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
        let (mut param, mut product) = (buffer(&[1.0]), buffer(&[1.0]));
        let (mut mean, mut square) = (buffer(&[0.0]), buffer(&[0.0]));
        fused_nadam_(&mut param, &grad, &mut mean, &mut square, 1.0, &mut product, 0.0, &options).unwrap();
        // Without decay of the momentum, μ is β₁/2 in every step.
        let mu = 0.45;
        check(&param, &[1.0 - 0.1 * (1.0 - mu) / (1.0 - mu) - 0.1 * mu / (1.0 - mu * mu) * 0.1]);
        check(&product, &[mu]);
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

    #[test]
    fn steps_counted_on_the_device_have_the_same_bits() {
        let options = Adam { lr: 0.1, ..Adam::default() };
        let grad = buffer(&[0.5, 2.0]);
        let after = |which: usize, step: Operand<'_, StridedBuffer>| {
            let mut param = buffer(&[1.0, -3.0]);
            let (mut mean, mut other) = (buffer(&[0.1; 2]), buffer(&[0.2; 2]));
            let mut product = StridedBuffer::from_element(0.5f64).unwrap();
            match which {
                0 => fused_adamax_(&mut param, &grad, &mut mean, &mut other, step, &options),
                1 => fused_radam_(&mut param, &grad, &mut mean, &mut other, step, &options),
                2 => {
                    fused_nadam_(&mut param, &grad, &mut mean, &mut other, step, &mut product, 4e-3, &options)
                }
                _ => fused_adagrad_(
                    &mut param,
                    &grad,
                    &mut mean,
                    step,
                    &Adagrad { lr_decay: 0.5, ..Adagrad::default() },
                ),
            }
            .unwrap();
            param.to_vec::<f64>().unwrap()
        };
        let counter = StridedBuffer::from_element(9i64).unwrap();
        for which in 0..4 {
            assert_eq!(after(which, 9.into()), after(which, Operand::Buffer(&counter)), "{which}");
            assert_ne!(after(which, 9.into()), after(which, 3.into()), "{which}");
        }
    }
}
