//! Sums, products, quotients, extremes.

use crate::prelude::*;

/// |x|.
///
/// Clears the sign bit of floats (−0 → +0, NaN too); the lowest integer stays itself; complex gives the magnitude.
///
/// Matches `torch.abs`.
#[pointwise_dynamic(promote = complex_to_float(input), dtypes(bool, int, float, complex))]
pub fn abs<T: Number>(input: T) -> T::Real {
    input.abs()
}

/// −x: flips the sign bit of floats (NaN too); integers wrap.
///
/// Matches `torch.neg`.
#[pointwise_dynamic(promote = default(input), compute = storage, dtypes(int, float))]
pub fn neg<T: Bits>(input: T) -> T {
    input.neg()
}

/// −1, 0 or 1 by the sign of x; 0 for NaN.
///
/// Matches `torch.sign`.
#[pointwise_dynamic(promote = default(input), dtypes(bool, int, float))]
pub fn sign<T: Real>(input: T) -> T {
    if input > 0 {
        1
    } else if input < 0 {
        -1
    } else {
        0
    }
}

/// x + y. Integers wrap; bool: or.
///
/// Matches `torch.add` without `alpha`.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float, complex))]
pub fn add<T: Number>(input: T, other: T) -> T {
    input + other
}

/// x + alpha·y, the product rounded before the sum.
///
/// `alpha` takes no part in promotion; it must be an integer where the result is one.
///
/// Matches `torch.add(…, alpha=…)`, which fuses the product on some machines.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float, complex))]
pub fn add_scaled<T: Number>(input: T, other: T, #[param] alpha: T) -> T {
    input + alpha * other
}

/// x − y. Integers wrap, unsigned ones too.
///
/// Matches `torch.sub` without `alpha`.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float, complex))]
pub fn sub<T: Number>(input: T, other: T) -> T {
    input - other
}

/// x − alpha·y, the product rounded before the difference.
///
/// Matches `torch.sub(…, alpha=…)`.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float, complex))]
pub fn sub_scaled<T: Number>(input: T, other: T, #[param] alpha: T) -> T {
    input - alpha * other
}

/// x · y. Integers wrap; bool: and; complex products are not repaired at infinities.
///
/// Matches `torch.mul`.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float, complex))]
pub fn mul<T: Number>(input: T, other: T) -> T {
    input * other
}

/// x / y, correctly rounded; integers become floats first. x/±0 = ±∞, 0/0 = NaN.
///
/// Matches `torch.div`.
#[pointwise_dynamic(promote = int_to_float(input, other), dtypes(bool, int, float, complex))]
pub fn div<T: Analytic>(input: T, other: T) -> T {
    input / other
}

/// The quotient rounded toward zero. Integers: x/0 = 0, MIN/−1 = MIN.
///
/// Matches `torch.div(…, rounding_mode="trunc")`, which traps at an integer zero.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float))]
pub fn div_trunc<T: Real>(input: T, other: T) -> T {
    input.div_trunc(other)
}

/// The quotient rounded toward −∞. Integers: x/0 = 0, MIN/−1 = MIN.
///
/// Matches `torch.div(…, rounding_mode="floor")` and `torch.floor_divide`, which trap at an integer zero.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float))]
pub fn div_floor<T: Real>(input: T, other: T) -> T {
    input.div_floor(other)
}

/// The remainder with the sign of y, exact. Integers: x mod 0 = 0. Floats: NaN if y is 0 or x infinite.
///
/// Matches `torch.remainder`, which traps at an integer zero.
#[pointwise_dynamic(promote = default(input, other), dtypes(int, float))]
pub fn remainder<T: Real>(input: T, other: T) -> T {
    input.rem_floor(other)
}

/// The greater value; NaN if either is NaN; +0 is greater than −0.
///
/// Matches `torch.maximum` but for the zeros, of which PyTorch keeps the first.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float))]
pub fn maximum<T: Real>(input: T, other: T) -> T {
    input.maximum(other)
}

/// The lesser value; NaN if either is NaN; −0 is less than +0.
///
/// Matches `torch.minimum` but for the zeros, of which PyTorch keeps the first.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int, float))]
pub fn minimum<T: Real>(input: T, other: T) -> T {
    input.minimum(other)
}

/// `min` below it, `max` above it, x between; NaN if x or a bound is NaN; `max` where the bounds cross.
///
/// Integer bounds outside the dtype's range are no bounds. Equality keeps x, so −0 survives `min` = 0.
///
/// Matches `torch.clamp`.
#[pointwise_dynamic(
    promote = default(input, min, max), dtypes(bool, int, float), numbers = saturate, vote(input)
)]
pub fn clamp<T: Real>(input: T, min: T, max: T) -> T {
    let raised = if input < min || min.is_nan() { min } else { input };
    if raised > max || max.is_nan() { max } else { raised }
}

/// `min` below it, else x; NaN if either is NaN.
///
/// Matches `torch.clamp_min`.
#[pointwise_dynamic(promote = default(input, min), dtypes(bool, int, float), numbers = saturate, vote(input))]
pub fn clamp_min<T: Real>(input: T, min: T) -> T {
    if input < min || min.is_nan() { min } else { input }
}

/// `max` above it, else x; NaN if either is NaN.
///
/// Matches `torch.clamp_max`.
#[pointwise_dynamic(promote = default(input, max), dtypes(bool, int, float), numbers = saturate, vote(input))]
pub fn clamp_max<T: Real>(input: T, max: T) -> T {
    if input > max || max.is_nan() { max } else { input }
}

/// x + (value·a)·b, every step rounded.
///
/// Matches `torch.addcmul`; a fractional `value` with an integer result is an error here.
#[pointwise_dynamic(promote = default(input, tensor1, tensor2), dtypes(int, float, complex))]
pub fn addcmul<T: Number>(input: T, tensor1: T, tensor2: T, #[param] value: T) -> T {
    input + value * tensor1 * tensor2
}

/// x + weight·(end − x), exact at weight 0 and 1: beyond ½ it is counted from the end.
///
/// Matches `torch.lerp`; dtypes promote here.
#[pointwise_dynamic(promote = default(input, end, weight), vote(input, end))]
pub fn lerp<T: Float>(input: T, end: T, weight: T) -> T {
    let span = end - input;
    if weight.abs() < 0.5 { input + weight * span } else { end - span * (1 - weight) }
}
