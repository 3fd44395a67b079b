//! Circular functions; angles in radians. Integers become floats first.

use crate::prelude::*;
use crate::slope::sinc_slope;

/// The sine, reduced exactly for every finite x; ±∞ → NaN; −0 → −0.
///
/// Matches `torch.sin`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: cos x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn sin<T: Analytic>(input: T) -> T {
    input.sin()
}

/// The cosine, reduced exactly for every finite x; ±∞ → NaN.
///
/// Matches `torch.cos`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: −sin x.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn cos<T: Analytic>(input: T) -> T {
    input.cos()
}

/// The tangent, reduced exactly for every finite x; ±∞ → NaN; −0 → −0.
///
/// Matches `torch.tan`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 1+r².
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn tan<T: Analytic>(input: T) -> T {
    input.tan()
}

/// The inverse sine; NaN beyond ±1; −0 → −0.
///
/// Matches `torch.asin`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 1/√((1 − x)(1 + x)).
#[doc(alias = "arcsin")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn asin<T: Analytic>(input: T) -> T {
    input.asin()
}

/// The inverse cosine; NaN beyond ±1.
///
/// Matches `torch.acos`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: −1/√((1 − x)(1 + x)).
#[doc(alias = "arccos")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn acos<T: Analytic>(input: T) -> T {
    input.acos()
}

/// The inverse tangent; ±∞ → ±π/2; −0 → −0.
///
/// Matches `torch.atan`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: 1/(1+x²).
#[doc(alias = "arctan")]
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn atan<T: Analytic>(input: T) -> T {
    input.atan()
}

/// The angle of the point (other, input), from −π to π; zeros and infinities as in C99.
///
/// Matches `torch.atan2`.
///
/// Accuracy: 4 ulp. Derivative: the angle's, scaled by the greater of |x| and |y|; 0 at (0, 0).
#[doc(alias = "arctan2")]
#[pointwise_dynamic(promote = int_to_float(input, other), dtypes(bool, int, float), grad(order = 2))]
pub fn atan2<T: Float>(input: T, other: T) -> T {
    input.atan2(other)
}

/// sin(πx)/(πx); 1 at 0, exactly 0 at the other whole numbers and at ±∞.
///
/// Matches `torch.sinc`, which gives 4e−17 at whole numbers and NaN at ±∞.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: (cos πx − r)/x, near 0 its series.
#[doc(alias = "special_sinc")]
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float), complex = sinc_complex,
    grad(backward = crate::slope::of_sinc, order = 2)
)]
pub fn sinc<T: Float>(input: T) -> T {
    if input == 0 {
        1
    } else if input.is_infinite() {
        0
    } else {
        input.sin_pi() / (T::PI * input)
    }
}

#[pointwise_dynamic(
    promote = default(input), dtypes(complex), name = "sinc",
    grad(backward = of_complex_sinc, order = 2)
)]
fn sinc_complex<T: Analytic>(input: T) -> T {
    // By the distance from a whole number, which is exact: near there the sine vanishes. And by half the angle, whose
    // sine overflows later; where it does, in the steps of PyTorch.
    let whole = (2 * input.re() + 1).div_floor(2);
    let half = 1.5707963267948966 * (input - whole as T);
    let size = half.sin() / (1.5707963267948966 * input) * half.cos();
    let angle = 3.141592653589793 * input;
    if input == 0 {
        1
    } else if size.abs().is_nan() {
        angle.sin() / angle
    } else if whole.rem_floor(2) == 0 {
        size
    } else {
        -size
    }
}

/// (cos πz − sinc z)/z; near 0 its series, in which nothing cancels.
#[device_fn(grad)]
fn of_complex_sinc<T: Analytic>(g: T, z: T) -> T {
    let whole = (2 * z.re() + 1).div_floor(2);
    let half = 1.5707963267948966 * (z - whole as T);
    let (sin, cos) = (half.sin(), half.cos());
    let cosine = cos / z * cos - sin / z * sin;
    let cosine = if whole.rem_floor(2) == 0 { cosine } else { -cosine };
    let slope = if 4 * z.abs() < 1 {
        3.141592653589793 * sinc_slope(3.141592653589793 * z)
    } else {
        cosine - sinc_complex::scalar(z) / z
    };
    g * slope.conj()
}

/// x·π/180.
///
/// Matches `torch.deg2rad`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: π/180.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float), grad(order = 2))]
pub fn deg2rad<T: Float>(input: T) -> T {
    input * 0.017453292519943295
}

/// x·180/π.
///
/// Matches `torch.rad2deg`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 180/π.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float), grad(order = 2))]
pub fn rad2deg<T: Float>(input: T) -> T {
    input * 57.29577951308232
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn great_angles_are_reduced_exactly() {
        assert_eq!((sin::scalar(1e22f64), tan::scalar(-0.0f64).to_bits()), (-0.8522008497671888, 1 << 63));
    }

    #[test]
    fn quadrants_are_those_of_c99() {
        use std::f64::consts::PI;
        assert_eq!((atan2::scalar(0.0, -0.0), atan2::scalar(-0.0, -1.0)), (PI, -PI));
        assert_eq!(atan2::scalar(f64::INFINITY, f64::INFINITY), PI / 4.0);
    }

    #[test]
    fn sinc_vanishes_at_whole_numbers() {
        assert_eq!(sinc::scalar(0.0f32), 1.0);
        for x in [1.0, -2.0, 1e30, f32::INFINITY] {
            assert_eq!(sinc::scalar(x), 0.0, "{x}");
        }
    }

    #[test]
    fn half_a_turn_is_180_degrees() {
        assert_eq!(
            (rad2deg::scalar(std::f64::consts::PI), deg2rad::scalar(180.0)),
            (180.0, std::f64::consts::PI)
        );
    }
}
