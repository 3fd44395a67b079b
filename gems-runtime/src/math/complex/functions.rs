//! Division and the elementary functions of complex f64 numbers.
//!
//! Branch cuts are Kahan's, special values those of C99's Annex G. Near overflow and underflow numbers are
//! scaled by powers of two.

use super::C128;
use crate::math::Analytic;
use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// 2^n for a normal result.
#[expect(clippy::cast_sign_loss, reason = "positive in the domain")]
const fn two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

const fn c(re: f64, im: f64) -> C128 {
    C128::new(re, im)
}

/// x / y; for y = 0 each part divided by 0.
///
/// Baudin and Smith's robust form of Smith's algorithm.
pub(super) fn div(x: C128, y: C128) -> C128 {
    const BIG: f64 = f64::MAX / 2.0;
    const SMALL: f64 = f64::MIN_POSITIVE * 2.0 / f64::EPSILON;
    const LIFT: f64 = 2.0 / (f64::EPSILON * f64::EPSILON);
    let (mut x, mut y, mut scale) = (x, y, 1.0);
    let (size_x, size_y) = (size(x), size(y));
    if size_x >= BIG {
        (x, scale) = (x * 0.5, scale * 2.0);
    }
    if size_y >= BIG {
        (y, scale) = (y * 0.5, scale * 0.5);
    }
    if size_x <= SMALL {
        (x, scale) = (x * LIFT, scale / LIFT);
    }
    if size_y <= SMALL {
        (y, scale) = (y * LIFT, scale * LIFT);
    }
    let quotient = smith(x, y);
    c(quotient.re * scale, quotient.im * scale)
}

/// The larger magnitude of the parts.
fn size(z: C128) -> f64 {
    let (re, im) = (z.re.abs(), z.im.abs());
    if re < im { im } else { re }
}

/// x / y by Smith's algorithm: right if no square of a part overflows or underflows.
pub(super) fn smith(x: C128, y: C128) -> C128 {
    let (re, im) = (y.re.abs(), y.im.abs());
    if re == 0.0 && im == 0.0 {
        return c(x.re / re, x.im / im);
    }
    if im <= re {
        let ratio = y.im / y.re;
        let divisor = y.re + y.im * ratio;
        c(smith_part(x.re, x.im, y, ratio, divisor), smith_part(x.im, -x.re, y, ratio, divisor))
    } else {
        let turned = c(y.im, y.re);
        let ratio = y.re / y.im;
        let divisor = y.im + y.re * ratio;
        c(smith_part(x.im, x.re, turned, ratio, divisor), smith_part(-x.re, x.im, turned, ratio, divisor))
    }
}

/// (p + q·ratio) / divisor, where ratio = y.im / y.re may have underflowed.
fn smith_part(p: f64, q: f64, y: C128, ratio: f64, divisor: f64) -> f64 {
    if ratio == 0.0 {
        // Multiplying first cannot overflow here, dividing first can.
        let rest = if q.abs() > 1.0 { q * y.im / y.re } else { y.im * (q / y.re) };
        return (p + rest) / divisor;
    }
    let product = q * ratio;
    if product == 0.0 { p / divisor + q / divisor * ratio } else { (p + product) / divisor }
}

pub(super) fn recip(z: C128) -> C128 {
    if z.re.is_infinite() || z.im.is_infinite() {
        return c(0.0_f64.copysign(z.re), 0.0_f64.copysign(-z.im));
    }
    div(c(1.0, 0.0), z)
}

pub(super) fn sqrt(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im.is_infinite() {
        return c(INF, im);
    }
    if re.is_infinite() {
        let rest = if im.is_nan() { NAN } else { 0.0 };
        return if re > 0.0 { c(re, rest.copysign(im)) } else { c(rest, INF.copysign(im)) };
    }
    if re.is_nan() || im.is_nan() {
        return c(NAN, NAN);
    }
    let size = size(z);
    if size == 0.0 {
        return c(0.0, im);
    }
    let (scale, root) = if size > two(1021) {
        (0.25, 2.0)
    } else if size < two(-960) {
        (two(108), two(-54))
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (re * scale, im * scale);
    let large = (0.5 * (re.abs() + re.hypot(im))).sqrt();
    let small = im.abs() / (2.0 * large);
    let (re, im) = if re >= 0.0 { (large, small.copysign(im)) } else { (small, large.copysign(im)) };
    c(re * root, im * root)
}

pub(super) fn rsqrt(z: C128) -> C128 {
    recip(sqrt(z))
}

/// full·(cos, sin), where half² = full even if that overflows.
fn polar(full: f64, half: f64, cos: f64, sin: f64) -> C128 {
    if full == INF { c(half * cos * half, half * sin * half) } else { c(full * cos, full * sin) }
}

/// The exponential of re + i·im for im infinite or NaN.
fn exp_of_no_angle(re: f64) -> C128 {
    if re == -INF {
        c(0.0, 0.0)
    } else if re == INF {
        c(INF, NAN)
    } else {
        c(NAN, NAN)
    }
}

pub(super) fn exp(z: C128) -> C128 {
    if z.im == 0.0 {
        return c(z.re.exp(), z.im);
    }
    if !z.im.is_finite() {
        return exp_of_no_angle(z.re);
    }
    polar(z.re.exp(), (0.5 * z.re).exp(), z.im.cos(), z.im.sin())
}

/// ln 2 − LN_2.
const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;

pub(super) fn exp2(z: C128) -> C128 {
    if z.im == 0.0 {
        return c(z.re.exp2(), z.im);
    }
    if !z.im.is_finite() {
        return exp_of_no_angle(z.re);
    }
    // The angle and what its rounding lost.
    let angle = z.im * LN_2;
    let rest = z.im.mul_add(LN_2, -angle) + z.im * LN_2_REST;
    let (sin, cos) = (angle.sin(), angle.cos());
    polar(z.re.exp2(), (0.5 * z.re).exp2(), cos - rest * sin, sin + rest * cos)
}

pub(super) fn exp_m1(z: C128) -> C128 {
    if z.im == 0.0 {
        return c(z.re.exp_m1(), z.im);
    }
    // Not for NaN, either.
    if !(z.im.is_finite() && z.re < 700.0) {
        let full = exp(z);
        return c(full.re - 1.0, full.im);
    }
    let sin = (0.5 * z.im).sin();
    c(z.re.exp_m1() * z.im.cos() - 2.0 * sin * sin, z.re.exp() * z.im.sin())
}

/// ln |x + iy| without overflow, underflow or cancellation near 1.
fn ln_abs(x: f64, y: f64) -> f64 {
    let r = x.hypot(y);
    if r > 0.5 && r < 2.0 {
        let (x, y) = (x.abs(), y.abs());
        let (large, small) = if x < y { (y, x) } else { (x, y) };
        return 0.5 * ((large - 1.0) * (large + 1.0) + small * small).ln_1p();
    }
    if r > two(1022) {
        return (0.5 * x).hypot(0.5 * y).ln() + LN_2;
    }
    if r < two(-960) {
        return (two(108) * x).hypot(two(108) * y).ln() - 108.0 * LN_2;
    }
    r.ln()
}

pub(super) fn ln(z: C128) -> C128 {
    c(ln_abs(z.re, z.im), z.im.atan2(z.re))
}

pub(super) fn log2(z: C128) -> C128 {
    let ln = ln(z);
    c(ln.re / LN_2, ln.im / LN_2)
}

pub(super) fn log10(z: C128) -> C128 {
    let ln = ln(z);
    c(ln.re / LN_10, ln.im / LN_10)
}

pub(super) fn ln_1p(z: C128) -> C128 {
    let re = 1.0 + z.re;
    let r = re.hypot(z.im);
    let log =
        if r > 0.5 && r < 2.0 { 0.5 * (z.re * (z.re + 2.0) + z.im * z.im).ln_1p() } else { ln_abs(re, z.im) };
    c(log, z.im.atan2(re))
}

pub(super) fn sinh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im == 0.0 {
        return c(re.sinh(), im);
    }
    if re == 0.0 {
        return c(re, im.sin());
    }
    if !im.is_finite() {
        return c(if re.is_infinite() { re } else { NAN }, NAN);
    }
    if re.abs() > 709.0 {
        let half = (0.5 * re.abs()).exp();
        return c(0.5 * half * im.cos() * half.copysign(re), 0.5 * half * im.sin() * half);
    }
    c(re.sinh() * im.cos(), re.cosh() * im.sin())
}

pub(super) fn cosh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if im == 0.0 {
        let sign = if re.is_nan() { 1.0 } else { 1.0_f64.copysign(re) };
        return c(re.cosh(), im * sign);
    }
    if re == 0.0 {
        return c(im.cos(), if im.is_finite() { re * im.sin() } else { re });
    }
    if !im.is_finite() {
        return c(if re.is_infinite() { INF } else { NAN }, NAN);
    }
    if re.abs() > 709.0 {
        let half = (0.5 * re.abs()).exp();
        return c(0.5 * half * im.cos() * half, 0.5 * half * im.sin() * half.copysign(re));
    }
    c(re.cosh() * im.cos(), re.sinh() * im.sin())
}

pub(super) fn tanh(z: C128) -> C128 {
    let C128 { re, im } = z;
    if re.is_nan() {
        return c(re, if im == 0.0 { im } else { NAN });
    }
    if !im.is_finite() {
        return if re.is_infinite() {
            c(1.0_f64.copysign(re), 0.0)
        } else {
            c(if re == 0.0 { re } else { NAN }, NAN)
        };
    }
    if re.abs() > 22.0 {
        return c(1.0_f64.copysign(re), 4.0 * im.sin() * im.cos() * (-2.0 * re.abs()).exp());
    }
    let tan = im.tan();
    let beta = 1.0 + tan * tan;
    let sinh = re.sinh();
    let divisor = 1.0 + beta * sinh * sinh;
    c(beta * re.cosh() * sinh / divisor, tan / divisor)
}

/// i·z.
fn turn(z: C128) -> C128 {
    c(-z.im, z.re)
}

/// −i·z.
fn turn_back(z: C128) -> C128 {
    c(z.im, -z.re)
}

pub(super) fn sin(z: C128) -> C128 {
    turn_back(sinh(turn(z)))
}

pub(super) fn cos(z: C128) -> C128 {
    cosh(turn(z))
}

pub(super) fn tan(z: C128) -> C128 {
    turn_back(tanh(turn(z)))
}

/// From here on 1 is nothing beside |z|².
const LARGE: f64 = 1e10;

pub(super) fn asin(z: C128) -> C128 {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x == 0.0 && y.is_nan() {
        return z;
    }
    let (re, im) = if x < LARGE && y < LARGE {
        let (p, q) = (sqrt(c(1.0 - x, -y)), sqrt(c(1.0 + x, y)));
        (x.atan2(p.re * q.re - p.im * q.im), Analytic::asinh(p.re * q.im - p.im * q.re))
    } else {
        (x.atan2(y), ln_abs(x, y) + LN_2)
    };
    c(re.copysign(z.re), im.copysign(z.im))
}

pub(super) fn acos(z: C128) -> C128 {
    let (x, y) = (z.re, z.im.abs());
    if x == 0.0 && y.is_nan() {
        return c(FRAC_PI_2, y);
    }
    let (re, im) = if x.abs() < LARGE && y < LARGE {
        let (p, q) = (sqrt(c(1.0 - x, -y)), sqrt(c(1.0 + x, y)));
        (2.0 * p.re.atan2(q.re), Analytic::asinh(p.re * q.im - p.im * q.re))
    } else {
        (y.atan2(x), ln_abs(x, y) + LN_2)
    };
    c(re, im.copysign(-z.im))
}

pub(super) fn atan(z: C128) -> C128 {
    turn_back(atanh(turn(z)))
}

pub(super) fn asinh(z: C128) -> C128 {
    turn_back(asin(turn(z)))
}

pub(super) fn acosh(z: C128) -> C128 {
    let angle = acos(z);
    c(angle.im.abs(), angle.re.copysign(z.im))
}

pub(super) fn atanh(z: C128) -> C128 {
    // Beyond, squares of the parts overflow.
    const HUGE: f64 = 1e150;
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if x < HUGE && y < HUGE {
        let im = 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y);
        // At 1 the square of a small y would underflow.
        let re = if x == 1.0 {
            0.5 * (ln_abs(2.0, y) - y.ln())
        } else {
            0.25 * (4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p()
        };
        (re, im)
    } else if x.is_infinite() || y.is_infinite() {
        (0.0, if y.is_nan() { NAN } else { FRAC_PI_2 })
    } else if x.is_nan() || y.is_nan() {
        (if x == 0.0 { x } else { NAN }, NAN)
    } else {
        let half = (0.5 * x).hypot(0.5 * y);
        (0.5 * (0.5 * x / half) / half, FRAC_PI_2)
    };
    c(re.copysign(z.re), im.copysign(z.im))
}

/// Whether z^w needs no logarithm: w is a small integer, or z is 0.
pub(super) fn is_plain_power(z: C128, w: C128) -> bool {
    is_product(z, w) || z.re == 0.0 && z.im == 0.0
}

/// Of infinite numbers, products are NaN where powers are not.
fn is_product(z: C128, w: C128) -> bool {
    let is_small_integer = w.im == 0.0 && w.re.abs() <= 64.0 && w.re == w.re.trunc();
    is_small_integer && (w.re == 0.0 || !z.re.is_infinite() && !z.im.is_infinite())
}

/// z^w: 1 for w = 0, by squaring for small integers, else exp(w · ln z).
pub(super) fn pow(z: C128, w: C128) -> C128 {
    if is_product(z, w) {
        let mut result = c(1.0, 0.0);
        let mut square = z;
        let mut left = w.re.abs();
        while left > 0.0 {
            let half = (0.5 * left).floor();
            if half + half != left {
                result = product(result, square);
            }
            square = product(square, square);
            left = half;
        }
        return if w.re < 0.0 { recip(result) } else { result };
    }
    if z.re == 0.0 && z.im == 0.0 && w.re > 0.0 {
        return c(0.0, 0.0);
    }
    exp(product(w, ln(z)))
}

fn product(x: C128, y: C128) -> C128 {
    c(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
}
