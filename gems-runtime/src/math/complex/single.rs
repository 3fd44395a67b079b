//! The logarithm of complex f32 numbers, for powers.
//!
//! Rounds where the C library of PyTorch does: a power multiplies the error of its logarithm, so that the exact one
//! gives other digits. The error stays in proportion to the logarithm.

use super::{C64, functions, narrow, wide};
use crate::math::Float;
use std::f32::consts::PI;

/// ln z for z ≠ 0.
#[expect(clippy::cast_possible_truncation, reason = "rounded to the parts' type")]
pub(super) fn ln(z: C64) -> C64 {
    let exact = narrow(functions::ln(wide(z)));
    let size = Float::hypot(z.re, z.im);
    // Near 1 the distance from it counts, and the size of subnormal numbers has few digits.
    let is_rounded = (f32::MIN_POSITIVE..=0.5).contains(&size) || (2.0..=f32::MAX).contains(&size);
    let re = if is_rounded { f64::from(size).ln() as f32 } else { exact.re };
    let im = if z.re.is_finite() && z.im.is_finite() { angle(z.re, z.im) } else { exact.im };
    C64::new(re, im)
}

/// The angle of a finite point, from the rounded quotient of its parts.
fn angle(x: f32, y: f32) -> f32 {
    /// What the rounding of π lost.
    const PI_REST: f32 = -8.742278e-8;
    let acute = atan((y / x).abs());
    let size = if x < 0.0 { PI - (acute - PI_REST) } else { acute };
    size.copysign(y)
}

/// The inverse tangent of x ≥ 0 by the steps of fdlibm, all in f32.
fn atan(x: f32) -> f32 {
    // That of a number close by, what its rounding lost, and the tangent of the difference.
    let (near, rest, x) = if x < 0.4375 {
        (0.0, 0.0, x)
    } else if x < 0.6875 {
        (f32::from_bits(0x3eed_6338), 5.0121582e-9, (2.0 * x - 1.0) / (2.0 + x))
    } else if x < 1.1875 {
        (f32::from_bits(0x3f49_0fda), 3.7748947e-8, (x - 1.0) / (x + 1.0))
    } else if x < 2.4375 {
        (f32::from_bits(0x3f7b_985e), 3.4473217e-8, (x - 1.5) / (1.0 + 1.5 * x))
    } else {
        (f32::from_bits(0x3fc9_0fda), 7.5497894e-8, -1.0 / x)
    };
    let z = x * x;
    let w = z * z;
    let odd = z
        * (0.33333334
            + w * (0.14285715 + w * (0.09090887 + w * (0.06661073 + w * (0.04976878 + w * 0.01628582)))));
    let even = w * (-0.2 + w * (-0.111111104 + w * (-0.07691876 + w * (-0.058335703 + w * -0.03653157))));
    near - ((x * (odd + even) - rest) - x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_close_in_all_quadrants() {
        for n in -2400..2400 {
            let quotient = 1.01f32.powi(n);
            for (x, y) in [(1.0, quotient), (1.0, -quotient), (-1.0, quotient), (-1.0, -quotient)] {
                let exact = f64::from(y).atan2(f64::from(x));
                let error = (f64::from(angle(x, y)) - exact).abs() / exact.abs();
                assert!(error < 1.5e-7, "{x} {y}: {error:e}");
            }
        }
        assert_eq!((angle(-2.0, 0.0), angle(-2.0, -0.0)), (PI, -PI));
        assert_eq!(angle(-0.0, 3.0), std::f32::consts::FRAC_PI_2);
        assert!(angle(2.0, -0.0).is_sign_negative());
    }
}
