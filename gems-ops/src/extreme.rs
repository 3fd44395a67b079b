//! Greater and lesser values, and bounds.

use crate::prelude::*;

/// The greater value; NaN if either is NaN; +0 is greater than −0.
///
/// Matches `torch.maximum` but for the zeros, of which PyTorch keeps the first.
///
/// Accuracy: exact. Derivative: 1 for the greater, ½ each for equals, 1 each if one is NaN.
#[doc(alias = "max")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float), grad(order = 2))]
pub fn maximum<T: Real>(input: T, other: T) -> T {
    input.maximum(other)
}

/// The lesser value; NaN if either is NaN; −0 is less than +0.
///
/// Matches `torch.minimum` but for the zeros, of which PyTorch keeps the first.
///
/// Accuracy: exact. Derivative: 1 for the lesser, ½ each for equals, 1 each if one is NaN.
#[doc(alias = "min")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float), grad(order = 2))]
pub fn minimum<T: Real>(input: T, other: T) -> T {
    input.minimum(other)
}

/// The greater value; the other one if one is NaN; +0 is greater than −0.
///
/// Matches `torch.fmax` but for the zeros.
///
/// Accuracy: exact. Derivative: 1 for the result's operand, ½ each for equals.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float), grad(order = 2))]
pub fn fmax<T: Real>(input: T, other: T) -> T {
    input.max(other)
}

/// The lesser value; the other one if one is NaN; −0 is less than +0.
///
/// Matches `torch.fmin` but for the zeros.
///
/// Accuracy: exact. Derivative: 1 for the result's operand, ½ each for equals.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float), grad(order = 2))]
pub fn fmin<T: Real>(input: T, other: T) -> T {
    input.min(other)
}

/// `min` below it, `max` above it, x between; NaN if x or a bound is NaN; `max` where the bounds cross.
///
/// Integer bounds outside the dtype's range are no bounds. Equality keeps x, so −0 survives `min` = 0.
///
/// Matches `torch.clamp`.
///
/// Accuracy: exact. Derivative: 1 within the bounds, 0 on them and outside for numbers; as maximum and minimum for
/// buffers.
#[doc(alias = "clip")]
#[pointwise_dynamic(
    promote = default(input, min, max), dtypes(bool, int, float), numbers = saturate, vote(input),
    grad(backward = crate::slope::of_clamp, numbers = crate::slope::of_number_clamp, order = 2)
)]
pub fn clamp<T: Real>(input: T, min: T, max: T) -> T {
    let raised = if input < min || min.is_nan() { min } else { input };
    if raised > max || max.is_nan() { max } else { raised }
}

/// `min` below it, else x; NaN if either is NaN.
///
/// Matches `torch.clamp_min`.
///
/// Accuracy: exact. Derivative: as `clamp`.
#[pointwise_dynamic(
    promote = default(input, min), dtypes(bool, int, float), numbers = saturate, vote(input),
    grad(backward = crate::slope::of_clamp_min, numbers = crate::slope::of_number_clamp_min, order = 2)
)]
pub fn clamp_min<T: Real>(input: T, min: T) -> T {
    if input < min || min.is_nan() { min } else { input }
}

/// `max` above it, else x; NaN if either is NaN.
///
/// Matches `torch.clamp_max`.
///
/// Accuracy: exact. Derivative: as `clamp`.
#[pointwise_dynamic(
    promote = default(input, max), dtypes(bool, int, float), numbers = saturate, vote(input),
    grad(backward = crate::slope::of_clamp_max, numbers = crate::slope::of_number_clamp_max, order = 2)
)]
pub fn clamp_max<T: Real>(input: T, max: T) -> T {
    if input > max || max.is_nan() { max } else { input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_wins_or_loses_by_the_name() {
        assert!(maximum::scalar(1.0, f64::NAN).is_nan() && minimum::scalar(f64::NAN, 1.0).is_nan());
        assert_eq!((fmax::scalar(1.0, f64::NAN), fmin::scalar(f64::NAN, 1.0)), (1.0, 1.0));
    }

    #[test]
    fn zeros_are_ordered_by_sign() {
        assert!(
            fmax::scalar(-0.0, 0.0f32).is_sign_positive() && fmin::scalar(0.0, -0.0f32).is_sign_negative()
        );
    }

    #[test]
    fn the_upper_bound_wins_where_bounds_cross() {
        assert_eq!((clamp::scalar(5, 3, 1), clamp::scalar(0, 3, 1)), (1, 1));
        assert!(clamp::scalar(f32::NAN, 0.0, 1.0).is_nan() && clamp::scalar(0.5, f32::NAN, 1.0).is_nan());
        assert!(clamp::scalar(-0.0f32, 0.0, 1.0).is_sign_negative());
    }
}
