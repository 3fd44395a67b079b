//! Rounding to whole numbers; integers stay as they are.

use crate::prelude::*;

/// The least whole number that is not less than x; −0.5 → −0; ±∞ and NaN stay.
///
/// Matches `torch.ceil`.
///
/// Accuracy: exact. Derivative: 0.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(zero))]
pub fn ceil<T: Real>(input: T) -> T {
    let whole = trunc::scalar(input);
    if input > whole { whole + 1 } else { whole }
}

/// The greatest whole number that is not greater than x; ±∞ and NaN stay.
///
/// Matches `torch.floor`.
///
/// Accuracy: exact. Derivative: 0.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(zero))]
pub fn floor<T: Real>(input: T) -> T {
    let whole = trunc::scalar(input);
    if input < whole { whole - 1 } else { whole }
}

/// x without its fraction; −0.5 → −0; ±∞ and NaN stay.
///
/// Matches `torch.trunc`.
///
/// Accuracy: exact. Derivative: 0.
#[doc(alias = "fix")]
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(zero))]
pub fn trunc<T: Real>(input: T) -> T {
    input.div_trunc(1)
}

/// The nearest whole number, half to even; −0.5 → −0; ±∞ and NaN stay.
///
/// Matches `torch.round`.
///
/// Accuracy: exact. Derivative: 0.
#[pointwise_dynamic(promote = default(input), dtypes(int, float), grad(zero))]
pub fn round<T: Real>(input: T) -> T {
    let whole = trunc::scalar(input);
    // Exact, and below 2.
    let twice = 2 * (input - whole).abs();
    let away = twice > 1 || twice == 1 && whole % 2 != 0;
    if !away {
        whole
    } else if input < 0 {
        whole - 1
    } else {
        whole + 1
    }
}

/// 10^n, exact up to n = 22.
#[device_fn]
fn power_of_ten(n: i64) -> f64 {
    let mut power = 1.0;
    let mut left = n;
    // The next power is infinite.
    while left > 0 && power < 1e308 {
        power = power * 10.0;
        left -= 1;
    }
    if left > 0 { f64::INFINITY } else { power }
}

/// x rounded to a number of decimals, half to even in the scaled value; a negative number rounds to powers of ten.
///
/// A value without decimals, or too great to be scaled, stays as it is. Matches `torch.round(…, decimals=…)`, which
/// gives ∞ or NaN for great values.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 0.
#[pointwise_dynamic(promote = default(input), grad(zero))]
pub fn round_decimals<T: Float>(input: T, #[param] decimals: i32) -> T {
    let power: f64 = power_of_ten((decimals as i64).abs());
    let scale = power as T;
    if decimals > 0 {
        let scaled = input * scale;
        let is_whole = input.abs() >= 2 / T::EPSILON;
        if is_whole || !scaled.is_finite() { input } else { scaled.round_ties_even() / scale }
    } else {
        let scaled = (input / scale).round_ties_even();
        if scaled == 0 { scaled } else { scaled * scale }
    }
}

/// The fraction of x, with its sign; +0 for whole numbers; ±∞ → NaN.
///
/// Matches `torch.frac`.
///
/// Accuracy: exact. Derivative: 1.
#[pointwise_dynamic(promote = default(input), grad(order = 2))]
pub fn frac<T: Float>(input: T) -> T {
    input - input.trunc()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 15] = [
        0.0,
        -0.0,
        0.3,
        -0.3,
        0.5,
        -0.5,
        0.7,
        -0.7,
        1.5,
        2.5,
        -2.5,
        -1e-45,
        9007199254740993.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        for x in VALUES {
            assert_eq!(floor::scalar(x).to_bits(), x.floor().to_bits(), "{x}");
            assert_eq!(ceil::scalar(x).to_bits(), x.ceil().to_bits(), "{x}");
            assert_eq!(trunc::scalar(x).to_bits(), x.trunc().to_bits(), "{x}");
            assert_eq!(round::scalar(x).to_bits(), x.round_ties_even().to_bits(), "{x}");
        }
        assert!(round::scalar(f32::NAN).is_nan() && floor::scalar(f32::NAN).is_nan());
    }

    #[test]
    fn integers_stay() {
        assert_eq!((floor::scalar(-7i8), ceil::scalar(255u8), round::scalar(i64::MIN)), (-7, 255, i64::MIN));
    }

    #[test]
    fn decimals_of_great_values_are_left_alone() {
        assert_eq!(round_decimals::scalar(1.2345f64, 2), 1.23);
        assert_eq!(round_decimals::scalar(1e38f32, 2), 1e38);
        assert_eq!(round_decimals::scalar(1250.0f32, -2), 1200.0);
        assert_eq!(round_decimals::scalar(-3.0f32, -400).to_bits(), (-0.0f32).to_bits());
        assert_eq!(round_decimals::scalar(0.1f32, i32::MAX), 0.1);
    }
}
