//! Losses, element by element; mean and sum are the caller's.

use crate::check;
use crate::prelude::*;
use gems_runtime::op::Seen;

/// (x − t)².
///
/// Matches `torch.nn.functional.mse_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 2(x − t) for x, −2(x − t) for t.
#[pointwise_dynamic(promote = default(input, target), grad(order = 2))]
pub fn mse_loss<T: Float>(input: T, target: T) -> T {
    let gap = input - target;
    gap * gap
}

/// w·(x − t)².
///
/// Matches `torch.nn.functional.mse_loss(…, weight=…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 2w(x − t) for x, minus that for t, (x − t)² for w.
#[pointwise_dynamic(promote = default(input, target, weight), grad(order = 2))]
pub fn mse_loss_weighted<T: Float>(input: T, target: T, weight: T) -> T {
    mse_loss::scalar(input, target) * weight
}

/// |x − t|.
///
/// Matches `torch.nn.functional.l1_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: the sign of x − t for x, minus that for t, 0 at a tie.
#[pointwise_dynamic(promote = complex_to_float(input, target), dtypes(int, float, complex), grad(order = 2))]
pub fn l1_loss<T: Number>(input: T, target: T) -> T::Real {
    (input - target).abs()
}

/// w·|x − t|.
///
/// Matches `torch.nn.functional.l1_loss(…, weight=…, reduction="none")` on real dtypes.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: w times that of `l1_loss`, |x − t| for w.
#[pointwise_dynamic(promote = default(input, target, weight), dtypes(int, float), grad(order = 2))]
pub fn l1_loss_weighted<T: Real>(input: T, target: T, weight: T) -> T {
    (input - target).abs() * weight
}

/// d²/(2β) for d = |x − t| below β, else d − β/2.
///
/// Matches `torch.nn.functional.smooth_l1_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: (x − t)/β within β, else the sign of x − t, for x; minus that for t.
#[pointwise_dynamic(promote = default(input, target), check = check::last_is_not_negative, grad(order = 2))]
pub fn smooth_l1_loss<T: Float>(input: T, target: T, #[param] beta: T) -> T {
    let distance = (input - target).abs();
    if distance < beta { 0.5 * distance * distance / beta } else { distance - 0.5 * beta }
}

/// `delta` is positive.
fn positive_delta(arguments: &[Seen], _: DType) -> Result<()> {
    match check::number(arguments, 2) {
        Some(delta) if delta.is_nan() || delta <= 0.0 => {
            check::refuse(format!("`delta` = {delta} is not positive; pass a number above 0"))
        }
        _ => Ok(()),
    }
}

/// d²/2 for d = |x − t| up to δ, else δ(d − δ/2).
///
/// Matches `torch.nn.functional.huber_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: x − t moved into ±δ for x; minus that for t.
#[pointwise_dynamic(
    promote = default(input, target), check = positive_delta,
    grad(backward = crate::slope::of_huber_loss, order = 2)
)]
pub fn huber_loss<T: Float>(input: T, target: T, #[param] delta: T) -> T {
    let distance = (input - target).abs();
    if distance <= delta { 0.5 * distance * distance } else { delta * (distance - 0.5 * delta) }
}

/// w times [`huber_loss`].
///
/// Matches `torch.nn.functional.huber_loss(…, weight=…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: w times that of `huber_loss`, which itself for w.
#[pointwise_dynamic(promote = default(input, target, weight), check = positive_delta, grad(order = 2))]
pub fn huber_loss_weighted<T: Float>(input: T, target: T, #[param] delta: T, weight: T) -> T {
    huber_loss::scalar(input, target, delta) * weight
}

/// ln(1 + e^(−t·x)) without overflow.
///
/// Matches `torch.nn.functional.soft_margin_loss(…, reduction="none")`, which overflows.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: −t·σ(−t·x) for x,
/// −x·σ(−t·x) for t.
#[pointwise_dynamic(promote = default(input, target), grad(order = 2))]
pub fn soft_margin_loss<T: Float>(input: T, target: T) -> T {
    -log_sigmoid::scalar(target * input)
}

/// −(t·ln σ(x) + (1 − t)·ln σ(−x)).
///
/// Matches the elements that `torch.nn.functional.multilabel_soft_margin_loss` averages.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: σ(x) − t for x, −x for
/// t.
#[pointwise_dynamic(
    promote = default(input, target),
    grad(backward = crate::slope::of_multilabel_soft_margin_loss, order = 2)
)]
pub fn multilabel_soft_margin_loss<T: Float>(input: T, target: T) -> T {
    -(target * log_sigmoid::scalar(input) + (1 - target) * log_sigmoid::scalar(-input))
}

/// w times [`multilabel_soft_margin_loss`].
///
/// Matches the elements that `torch.nn.functional.multilabel_soft_margin_loss(…, weight=…)` averages.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: w(σ(x) − t) for x, −w·x
/// for t.
#[pointwise_dynamic(promote = default(input, target, weight), grad(order = 2))]
pub fn multilabel_soft_margin_loss_weighted<T: Float>(input: T, target: T, weight: T) -> T {
    multilabel_soft_margin_loss::scalar(input, target) * weight
}

/// x for t = 1, max(0, margin − x) for t = −1; both together for another t.
///
/// Matches `torch.nn.functional.hinge_embedding_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: −1 inside the margin unless t = 1, plus 1 unless t = −1, for x.
#[pointwise_dynamic(promote = default(input, target), dtypes(int, float), grad(wrt(input), order = 2))]
pub fn hinge_embedding_loss<T: Real>(input: T, target: T, #[param] margin: T) -> T {
    let apart = if target != 1 { relu::scalar(margin - input) } else { 0 };
    let together = if target != -1 { input } else { 0 };
    apart + together
}

/// max(0, margin − t·(x₁ − x₂)).
///
/// Matches `torch.nn.functional.margin_ranking_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: ∓t for x₁ and x₂, −(x₁ − x₂) for t, where the result is positive.
#[pointwise_dynamic(
    promote = default(input1, input2, target), dtypes(int, float),
    grad(backward = crate::slope::of_margin_ranking_loss, order = 2)
)]
pub fn margin_ranking_loss<T: Real>(input1: T, input2: T, target: T, #[param] margin: T) -> T {
    relu::scalar(-target * (input1 - input2) + margin)
}

/// −(t·ln x + (1 − t)·ln(1 − x)), the logarithms not below −100; NaN for x outside [0, 1].
///
/// Matches `torch.nn.functional.binary_cross_entropy(…, reduction="none")`, which refuses x outside [0, 1].
///
/// Accuracy: 4 ulp of the larger term. Derivative: (x − t)/max(x(1 − x), 10⁻¹²) for x, ln(1 − x) − ln x for t.
#[pointwise_dynamic(
    promote = default(input, target),
    grad(backward = crate::slope::of_binary_cross_entropy, order = 2)
)]
pub fn binary_cross_entropy<T: Float>(input: T, target: T) -> T {
    (target - 1) * (-input).ln_1p().maximum(-100) - target * input.ln().maximum(-100)
}

/// w times [`binary_cross_entropy`].
///
/// Matches `torch.nn.functional.binary_cross_entropy(…, weight=…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: w times that of
/// `binary_cross_entropy`.
#[pointwise_dynamic(promote = default(input, target, weight), grad(order = 2))]
pub fn binary_cross_entropy_weighted<T: Float>(input: T, target: T, weight: T) -> T {
    binary_cross_entropy::scalar(input, target) * weight
}

/// [`binary_cross_entropy`] of σ(x), without overflow.
///
/// Matches `torch.nn.functional.binary_cross_entropy_with_logits(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: σ(x) − t for x, −x for
/// t.
#[pointwise_dynamic(promote = default(input, target), grad(order = 2))]
pub fn binary_cross_entropy_with_logits<T: Float>(input: T, target: T) -> T {
    (1 - target) * input - log_sigmoid::scalar(input)
}

/// w·((1 − t)·x − (1 + (pos_weight − 1)·t)·ln σ(x)); the number 1 stands for a weight that is not wanted.
///
/// Matches `torch.nn.functional.binary_cross_entropy_with_logits(…, weight=…, pos_weight=…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: w((1 − t) − l·σ(−x))
/// with l = 1 + (pos_weight − 1)t for x; that of the formula for t and the weights.
#[pointwise_dynamic(
    promote = default(input, target, weight, pos_weight), vote(input, target),
    grad(backward = crate::slope::of_binary_cross_entropy_with_logits_weighted, order = 2)
)]
pub fn binary_cross_entropy_with_logits_weighted<T: Float>(
    input: T,
    target: T,
    weight: T,
    pos_weight: T,
) -> T {
    let log_weight = 1 + (pos_weight - 1) * target;
    ((1 - target) * input - log_weight * log_sigmoid::scalar(input)) * weight
}

/// t·ln t − t·x, 0·ln 0 = 0.
///
/// Matches `torch.nn.functional.kl_div(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: −t for x, ln t + 1 − x
/// for t.
#[pointwise_dynamic(promote = default(input, target), grad(backward = crate::slope::of_kl_div, order = 2))]
pub fn kl_div<T: Float>(input: T, target: T) -> T {
    xlogy::scalar(target, target) - target * input
}

/// eᵗ·(t − x): [`kl_div`] of a target given by its logarithm.
///
/// Matches `torch.nn.functional.kl_div(…, log_target=True, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: −eᵗ for x, eᵗ(t − x + 1)
/// for t.
#[pointwise_dynamic(promote = default(input, target), grad(order = 2))]
pub fn kl_div_log_target<T: Float>(input: T, target: T) -> T {
    target.exp() * (target - input)
}

/// eˣ − t·x if x is a logarithm, else x − t·ln(x + eps); `full` adds Stirling's t·ln t − t + ½ln(2πt) for t > 1.
///
/// Matches `torch.nn.functional.poisson_nll_loss(…, reduction="none")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: eˣ − t or 1 − t/(x +
/// eps) for x; −x or −ln(x + eps), plus that of the full term, for t.
#[pointwise_dynamic(promote = int_to_float(input, target), dtypes(int, float), grad(order = 2))]
pub fn poisson_nll_loss<T: Float>(
    input: T,
    target: T,
    #[param] log_input: bool,
    #[param] full: bool,
    #[param] eps: T,
) -> T {
    let loss = if log_input { input.exp() - target * input } else { input - target * (input + eps).ln() };
    if full && target > 1 {
        loss + (target * target.ln() - target + 0.5 * (2 * T::PI * target).ln())
    } else {
        loss
    }
}

/// A variance is not negative.
fn variance_is_not_negative(arguments: &[Seen], _: DType) -> Result<()> {
    match check::number(arguments, 2) {
        Some(var) if var < 0.0 => check::refuse(format!("`var` = {var} is negative; pass 0 or more")),
        _ => Ok(()),
    }
}

/// ½(ln v + (x − t)²/v) with v = max(var, eps); `full` adds ½ln 2π.
///
/// Matches `torch.nn.functional.gaussian_nll_loss(…, reduction="none")`, which also takes a `var` of one element a row;
/// here that is `var.unsqueeze(-1)`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of the larger term. Derivative: (x − t)/v for x, minus
/// that for t, ½(1/v − (x − t)²/v²) for var.
#[pointwise_dynamic(
    promote = default(input, target, var), vote(input, target), check = variance_is_not_negative,
    grad(backward = crate::slope::of_gaussian_nll_loss(grad_output, input, target, var, eps), order = 2)
)]
pub fn gaussian_nll_loss<T: Float>(input: T, target: T, var: T, #[param] full: bool, #[param] eps: T) -> T {
    let bounded = clamp_min::scalar(var, eps);
    let gap = input - target;
    let loss = 0.5 * (bounded.ln() + gap * gap / bounded);
    if full { loss + 0.9189385332046728 } else { loss }
}

// Gradients for the input, under PyTorch's names.

/// The gradient of [`mse_loss`]: 2(x − t).
///
/// Matches `aten::mse_loss_backward` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target), grad)]
pub fn mse_loss_backward<T: Float>(grad_output: T, input: T, target: T) -> T {
    2 * (input - target) * grad_output
}

/// The gradient of [`smooth_l1_loss`]: (x − t)/β within β, else the sign of x − t.
///
/// Matches `aten::smooth_l1_loss_backward` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target), grad)]
pub fn smooth_l1_loss_backward<T: Float>(grad_output: T, input: T, target: T, #[param] beta: T) -> T {
    let gap = input - target;
    if gap.abs() < beta { gap / beta * grad_output } else { sign::scalar(gap) * grad_output }
}

/// The gradient of [`huber_loss`]: x − t moved into ±δ.
///
/// Matches `aten::huber_loss_backward` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target), grad)]
pub fn huber_loss_backward<T: Float>(grad_output: T, input: T, target: T, #[param] delta: T) -> T {
    clamp::scalar(input - target, -delta, delta) * grad_output
}

/// The gradient of [`soft_margin_loss`]: −t·σ(−t·x).
///
/// Matches `aten::soft_margin_loss_backward` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target), grad)]
pub fn soft_margin_loss_backward<T: Float>(grad_output: T, input: T, target: T) -> T {
    -target * sigmoid::scalar(-target * input) * grad_output
}

/// The gradient of [`binary_cross_entropy`]: (x − t)/max(x(1 − x), 10⁻¹²).
///
/// Matches `aten::binary_cross_entropy_backward` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target), grad)]
pub fn binary_cross_entropy_backward<T: Float>(grad_output: T, input: T, target: T) -> T {
    (input - target) / ((1 - input) * input).maximum(1e-12) * grad_output
}

/// w times [`binary_cross_entropy_backward`].
///
/// Matches `aten::binary_cross_entropy_backward(…, weight=…)` without reduction.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, input, target, weight), grad)]
pub fn binary_cross_entropy_weighted_backward<T: Float>(grad_output: T, input: T, target: T, weight: T) -> T {
    binary_cross_entropy_backward::scalar(grad_output, input, target) * weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_join_at_their_bound() {
        assert_eq!((smooth_l1_loss::scalar(3.0, 1.0, 2.0), huber_loss::scalar(3.0, 1.0, 2.0)), (1.0, 2.0));
        assert_eq!((smooth_l1_loss::scalar(3.0, 1.0, 0.0), huber_loss::scalar(5.0, 0.0, 2.0)), (2.0, 8.0));
    }

    #[test]
    fn margins_do_not_overflow() {
        assert_eq!(soft_margin_loss::scalar(-1000.0f32, 1.0), 1000.0);
        assert_eq!(binary_cross_entropy_with_logits::scalar(-1000.0f32, 1.0), 1000.0);
    }

    #[test]
    fn entropies_of_certainty_are_bounded() {
        assert_eq!(
            (binary_cross_entropy::scalar(0.0, 1.0), binary_cross_entropy::scalar(1.0, 1.0)),
            (100.0, 0.0)
        );
        assert!(binary_cross_entropy::scalar(1.5f32, 0.5).is_nan());
        assert_eq!((kl_div::scalar(-3.0, 0.0), kl_div_log_target::scalar(1.0, 0.0)), (0.0, -1.0));
    }

    #[test]
    fn weights_of_one_change_nothing() {
        for (x, t) in [(0.3f64, 0.7), (-2.0, 1.0), (5.0, 0.0)] {
            let weighted = binary_cross_entropy_with_logits_weighted::scalar(x, t, 1.0, 1.0);
            assert_eq!(weighted, binary_cross_entropy_with_logits::scalar(x, t));
            let probability = sigmoid::scalar(x);
            assert!((weighted - binary_cross_entropy::scalar(probability, t)).abs() < 1e-12);
            assert!((multilabel_soft_margin_loss::scalar(x, t) - weighted).abs() < 1e-14);
        }
    }

    #[test]
    fn hinges_know_three_targets() {
        let losses = [1, -1, 0].map(|target| hinge_embedding_loss::scalar(2, target, 5));
        assert_eq!(losses, [2, 3, 5]);
        assert_eq!(margin_ranking_loss::scalar(1.0, 3.0, 1.0, 0.5), 2.5);
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let x = StridedBuffer::from_vec(vec![0.5f32], &[1]).unwrap();
        let refused = [
            smooth_l1_loss(&x, &x, -1.0),
            huber_loss(&x, &x, 0),
            huber_loss_weighted(&x, &x, f64::NAN, &x),
            gaussian_nll_loss(&x, &x, -1.0, false, 1e-6),
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Value);
        }
    }

    /// A loss of input and target, and its gradient for the input.
    type Pair = (&'static str, fn(f64, f64) -> f64, fn(f64, f64) -> f64);

    const PAIRS: [Pair; 5] = [
        ("mse", mse_loss::scalar, |x, t| mse_loss_backward::scalar(1.0, x, t)),
        (
            "smooth_l1",
            |x, t| smooth_l1_loss::scalar(x, t, 0.3),
            |x, t| smooth_l1_loss_backward::scalar(1.0, x, t, 0.3),
        ),
        ("huber", |x, t| huber_loss::scalar(x, t, 0.3), |x, t| huber_loss_backward::scalar(1.0, x, t, 0.3)),
        ("soft_margin", soft_margin_loss::scalar, |x, t| soft_margin_loss_backward::scalar(1.0, x, t)),
        ("entropy", binary_cross_entropy::scalar, |x, t| binary_cross_entropy_backward::scalar(1.0, x, t)),
    ];

    #[test]
    fn gradients_are_slopes() {
        for (name, loss, gradient) in PAIRS {
            for (x, t) in [(0.1, 0.9), (0.4, 0.5), (0.7, 0.2), (0.9, 1.0)] {
                let slope = (loss(x + 1e-6, t) - loss(x - 1e-6, t)) / 2e-6;
                assert!((gradient(x, t) - slope).abs() < 1e-8, "{name} at {x}, {t}");
            }
        }
    }
}
