//! Gated activations: two operands, one result, no rounding in between.
//!
//! The forms of one buffer take its halves along an axis as two views.

use crate::check::last_is_not_negative;
use crate::prelude::*;
use crate::vectors::axis_of;
use gems_runtime::layout::{Extent, Place};

/// a·σ(b): b opens the gate.
///
/// The formula of [`glu`], for two operands.
///
/// Matches `torch.nn.functional.glu`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, relative in the tails. Derivative: σ(b)
/// for a, a·σ(b)(1 − σ(b)) for b.
#[pointwise_dynamic(promote = default(input, gate), grad(order = 2))]
pub fn glu_kernel<T: Float>(input: T, gate: T) -> T {
    input * sigmoid::scalar(gate)
}

/// silu(x)·y.
///
/// Matches FlagGems' `silu_and_mul`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, relative in the tails. Derivative:
/// y·silu′(x) for x, silu(x) for y.
#[pointwise_dynamic(promote = default(x, y), grad(order = 2))]
pub fn silu_and_mul<T: Float>(x: T, y: T) -> T {
    silu::scalar(x) * y
}

/// gelu(x)·y.
///
/// Matches FlagGems' `gelu_and_mul`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, relative in the tails. Derivative:
/// y·gelu′(x) for x, gelu(x) for y.
#[pointwise_dynamic(promote = default(x, y), grad(order = 2))]
pub fn gelu_and_mul<T: Float>(x: T, y: T) -> T {
    gelu::scalar(x) * y
}

/// gelu(x)·y with the tanh form of gelu.
///
/// Matches FlagGems' `gelu_and_mul(…, approximate="tanh")`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, relative in the tails. Derivative:
/// y·gelu′(x) for x, gelu(x) for y.
#[pointwise_dynamic(promote = default(x, y), grad(order = 2))]
pub fn gelu_tanh_and_mul<T: Float>(x: T, y: T) -> T {
    gelu_tanh::scalar(x) * y
}

/// relu(x)·y; NaN in x stays.
///
/// Own addition; FlagGems' `reglu` of two halves.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: y where x is positive, else
/// 0, for x; relu(x) for y.
#[pointwise_dynamic(promote = default(x, y), grad(order = 2))]
pub fn relu_and_mul<T: Float>(x: T, y: T) -> T {
    relu::scalar(x) * y
}

/// silu(min(x, limit)) · y moved into ±limit; NaN stays.
///
/// Matches FlagGems' `silu_and_mul_with_clamp`.
///
/// Accuracy: 4 ulp of each factor, relative in the tails. Derivative: as `silu_and_mul`, 0 beyond the bounds.
#[pointwise_dynamic(
    promote = default(x, y), check = last_is_not_negative,
    grad(backward = silu_and_mul_with_clamp_backward::scalar, order = 2)
)]
pub fn silu_and_mul_with_clamp<T: Float>(x: T, y: T, #[param] limit: T) -> T {
    silu::scalar(clamp_max::scalar(x, limit)) * clamp::scalar(y, -limit, limit)
}

/// Logits that occurred already, pushed down: l/p if positive, else l·p; the others stay.
///
/// The formula of [`apply_repetition_penalties`], for operands that broadcast already.
///
/// Matches FlagGems' `apply_repetition_penalties`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1, 1/p or p for the logits, by branch; the branch's for the penalties.
#[pointwise_dynamic(
    promote = default(logits, repetition_penalties), vote(logits),
    accepts(prompt_mask = bool, output_mask = bool),
    grad(order = 2)
)]
pub fn apply_repetition_penalties_kernel<T: Float>(
    logits: T,
    prompt_mask: bool,
    output_mask: bool,
    repetition_penalties: T,
) -> T {
    if !(prompt_mask || output_mask) {
        logits
    } else if logits > 0 {
        logits / repetition_penalties
    } else {
        logits * repetition_penalties
    }
}

/// Logits (S, V) that occurred already, pushed down by the penalty (S) of their row.
///
/// In place: [`apply_repetition_penalties_kernel::inplace`]. Matches FlagGems' `apply_repetition_penalties`.
///
/// # Errors
/// `Shape` unless the penalties are a vector; else as [`apply_repetition_penalties_kernel()`].
pub fn apply_repetition_penalties<B: Buffer>(
    logits: &B,
    prompt_mask: &B,
    output_mask: &B,
    repetition_penalties: &B,
) -> Result<B> {
    let penalties =
        column(repetition_penalties).map_err(|error| error.in_op("apply_repetition_penalties"))?;
    apply_repetition_penalties_kernel(logits, prompt_mask, output_mask, &penalties)
}

/// Log probabilities (B, V) plus the score (B) of their beam.
///
/// Matches FlagGems' `beam_search_score`.
///
/// # Errors
/// `Shape` unless the scores are a vector; else as [`add()`].
pub fn beam_search_score<B: Buffer>(log_probs: &B, beam_scores: &B) -> Result<B> {
    let scores = column(beam_scores).map_err(|error| error.in_op("beam_search_score"))?;
    add(log_probs, &scores)
}

/// A vector as a column.
fn column<B: Buffer>(vector: &B) -> Result<B> {
    if vector.meta().layout.rank() != 1 {
        let message = format!("{} is no vector; give one value a row", vector.meta());
        return Err(Error::new(ErrorKind::Shape, message));
    }
    vector.unsqueeze(1)
}

/// The first half of an axis times σ of the second.
///
/// Matches `torch.nn.functional.glu`.
///
/// # Errors
/// `Shape` if the axis is out of range or of odd size; else as [`glu_kernel()`].
pub fn glu<B: Buffer>(input: &B, dim: isize) -> Result<B> {
    let (input, gate) = halves(input, dim, "glu")?;
    glu_kernel(&input, &gate)
}

/// silu of the first half of the last axis times the second.
///
/// # Errors
/// `Shape` if the last axis has an odd size; else as [`silu_and_mul()`].
pub fn swiglu<B: Buffer>(input: &B) -> Result<B> {
    let (x, y) = halves(input, -1, "swiglu")?;
    silu_and_mul(&x, &y)
}

/// gelu, in the tanh form, of the first half of the last axis times the second.
///
/// # Errors
/// `Shape` if the last axis has an odd size; else as [`gelu_tanh_and_mul()`].
pub fn geglu<B: Buffer>(input: &B) -> Result<B> {
    let (x, y) = halves(input, -1, "geglu")?;
    gelu_tanh_and_mul(&x, &y)
}

/// relu of the first half of the last axis times the second.
///
/// # Errors
/// `Shape` if the last axis has an odd size; else as [`relu_and_mul()`].
pub fn reglu<B: Buffer>(input: &B) -> Result<B> {
    let (x, y) = halves(input, -1, "reglu")?;
    relu_and_mul(&x, &y)
}

/// Both halves of an axis.
pub(crate) fn halves<B: Buffer>(input: &B, axis: isize, op: &str) -> Result<(B, B)> {
    let place = Place::new("halving");
    let size = axis_of(input.dims().len(), axis).map(|axis| input.dims()[axis].number(place.axis(axis)));
    match size {
        Some(size) if size % 2 == 0 => {
            let half = size / 2;
            let second = isize::try_from(half).unwrap_or(isize::MAX);
            Ok((input.narrow(axis, 0, half)?, input.narrow(axis, second, half)?))
        }
        Some(size) => {
            let message =
                format!("axis {axis} of {} has {size} elements, which have no halves", input.meta());
            Err(Error::new(ErrorKind::Shape, message).in_op(op))
        }
        None => {
            let message = format!("{} has no axis {axis} to take halves of", input.meta());
            Err(Error::new(ErrorKind::Shape, message).in_op(op))
        }
    }
}

// Gradients under PyTorch's names.

/// The gradients of [`gelu_and_mul`] for x and y: (dz·y·gelu′(x), dz·gelu(x)).
///
/// gelu′ = Φ(x) + x·φ(x), with the limits 0 and 1 at ∓∞. Matches FlagGems' `gelu_and_mul` backward.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy), grad)]
pub fn gelu_and_mul_backward<T: Float>(grad_output: T, x: T, y: T) -> (T, T) {
    let cdf = x.normal_cdf();
    let density = 0.3989422804014327 * (-0.5 * x * x).exp();
    let bump = if density == 0 { 0 } else { x * density };
    (grad_output * y * (cdf + bump), grad_output * gelu::scalar(x))
}

/// The gradients of [`gelu_tanh_and_mul`] for x and y: (dz·y·gelu′(x), dz·gelu(x)).
///
/// gelu′ = s + 2x·s(1 − s)·u′ with s = σ(2u) and u′ = √(2/π)·(1 + 0.134145·x²), with the limits 0 and 1 at ∓∞.
///
/// Matches FlagGems' `gelu_and_mul` backward, with `approximate="tanh"`.
///
/// Accuracy: every written step is rounded; functions of the library have 2 ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy), grad)]
pub fn gelu_tanh_and_mul_backward<T: Float>(grad_output: T, x: T, y: T) -> (T, T) {
    let u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    let gate = sigmoid::scalar(2 * u);
    let slope = gate * sigmoid::scalar(-2 * u);
    let bump = if slope == 0 { 0 } else { 2 * x * slope * (0.7978845608028654 * (1 + 0.134145 * x * x)) };
    (grad_output * y * (gate + bump), grad_output * gelu_tanh::scalar(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_taken_along_any_axis() {
        let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[2, 4]).unwrap();
        let rows = reglu(&x).unwrap();
        assert_eq!((rows.shape(), rows.to_vec::<f32>().unwrap()), (&[2, 2][..], vec![-3.0, 8.0, 35.0, 48.0]));
        let columns = glu(&x, 0).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(
            columns,
            [(1.0, 5.0), (2.0, 6.0), (-3.0, 7.0), (4.0, 8.0)].map(|(a, b)| glu_kernel::scalar(a, b))
        );
        assert_eq!(swiglu(&x).unwrap().to_vec::<f32>().unwrap()[0], silu_and_mul::scalar(1.0, -3.0));
        assert_eq!(geglu(&x).unwrap().to_vec::<f32>().unwrap()[0], gelu_tanh_and_mul::scalar(1.0, -3.0));
    }

    #[test]
    fn an_odd_or_missing_axis_has_no_halves() {
        let x = StridedBuffer::from_vec(vec![0.0f32; 6], &[2, 3]).unwrap();
        let scalar = StridedBuffer::from_element(0.0f32).unwrap();
        for result in [swiglu(&x), glu(&x, 2), glu(&scalar, -1), glu(&scalar, 0)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Shape);
        }
        assert!(glu(&x, -2).is_ok());
    }

    #[test]
    fn penalties_push_logits_down() {
        let logits = StridedBuffer::from_vec(vec![4.0f32, -4.0, 4.0, 4.0], &[2, 2]).unwrap();
        let mask = |values: [bool; 4]| StridedBuffer::from_vec(values.to_vec(), &[2, 2]).unwrap();
        let (prompt, output) = (mask([true, false, false, false]), mask([false, true, true, false]));
        let penalties = StridedBuffer::from_vec(vec![2.0f32, 4.0], &[2]).unwrap();
        let result = apply_repetition_penalties(&logits, &prompt, &output, &penalties).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [2.0, -8.0, 1.0, 4.0]);
        let scores = beam_search_score(&logits, &penalties).unwrap();
        assert_eq!(scores.to_vec::<f32>().unwrap(), [6.0, -2.0, 8.0, 8.0]);
        assert_eq!(beam_search_score(&penalties, &logits).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn limits_bound_both_operands() {
        assert_eq!(silu_and_mul_with_clamp::scalar(9.0, -9.0, 2.0), silu::scalar(2.0) * -2.0);
        assert!(silu_and_mul_with_clamp::scalar(f64::NAN, 1.0, 2.0).is_nan());
    }
}
