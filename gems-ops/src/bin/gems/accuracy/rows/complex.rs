//! Complex functions.

use super::super::exact::{Complex, Real};
use super::super::points::Draw;

/// The exact value of an op of complex operands.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ComplexRow {
    pub(in super::super) op: &'static str,
    /// Real and imaginary part of each operand.
    pub(in super::super) draw: fn(&mut Draw) -> Vec<f64>,
    pub(in super::super) exact: fn(&[Complex]) -> Complex,
    /// How far each part may be from it, in ulps of the result's magnitude.
    pub(in super::super) ulps: f64,
    /// What the magnitude is, if not that of the result.
    pub(in super::super) scale: Option<fn(&[Complex]) -> Real>,
}

impl ComplexRow {
    const fn within(self, ulps: f64) -> ComplexRow {
        ComplexRow { ulps, ..self }
    }

    const fn of_scale(self, scale: fn(&[Complex]) -> Real) -> ComplexRow {
        ComplexRow { scale: Some(scale), ..self }
    }
}

const fn row(
    op: &'static str,
    draw: fn(&mut Draw) -> Vec<f64>,
    exact: fn(&[Complex]) -> Complex,
) -> ComplexRow {
    ComplexRow { op, draw, exact, ulps: 8.0, scale: None }
}

const fn unary(op: &'static str, exact: fn(&[Complex]) -> Complex) -> ComplexRow {
    row(op, anywhere, exact)
}

const fn binary(op: &'static str, exact: fn(&[Complex]) -> Complex) -> ComplexRow {
    row(op, |draw| [anywhere(draw), anywhere(draw)].concat(), exact)
}

/// Everywhere, closer around the unit circle and the branch points ±1 and ±i.
fn anywhere(draw: &mut Draw) -> Vec<f64> {
    match draw.below(6) {
        0 => {
            let angle = draw.within(-3.2, 3.2);
            let size = draw.near(1.0);
            vec![size * angle.cos(), size * angle.sin()]
        }
        1 => vec![[1.0, -1.0][draw.below(2) as usize] + draw.spread(-30.0, -1.0), draw.spread(-30.0, -1.0)],
        2 => vec![draw.spread(-30.0, -1.0), [1.0, -1.0][draw.below(2) as usize] + draw.spread(-30.0, -1.0)],
        3 => vec![draw.spread(-14.0, 14.0), draw.spread(-14.0, 14.0)],
        _ => vec![draw.spread(-10.0, 4.0), draw.spread(-10.0, 4.0)],
    }
}

/// Where the gate is no subnormal number.
fn gated(draw: &mut Draw) -> Vec<f64> {
    let mut parts = anywhere(draw);
    parts[0] = parts[0].clamp(-80.0, 80.0);
    parts
}

/// A base and an exponent whose power is a number.
fn power(draw: &mut Draw) -> Vec<f64> {
    vec![draw.spread(-4.0, 4.0), draw.spread(-4.0, 4.0), draw.spread(-6.0, 1.0), draw.spread(-6.0, 1.0)]
}

fn greater(z: &[Complex]) -> Real {
    let [x, y] = [z[0].abs(), z[1].abs()];
    if x.less(&y) { y } else { x }
}

pub(in super::super) const ROWS: &[ComplexRow] = &[
    binary("add", |z| z[0].clone() + z[1].clone()).within(0.5),
    binary("sub", |z| z[0].clone() - z[1].clone()).within(0.5),
    binary("mul", |z| z[0].clone() * z[1].clone()).within(2.0),
    binary("div", |z| z[0].clone() / z[1].clone()),
    unary("reciprocal", |z| z[0].recip()),
    unary("square", |z| z[0].clone() * z[0].clone()).within(2.0),
    unary("exp", |z| z[0].exp()),
    unary("exp2", |z| z[0].exp_of(2.0)),
    unary("expm1", |z| z[0].exp_m1()),
    unary("log", |z| z[0].ln()),
    unary("log2", |z| z[0].log(2.0)),
    unary("log10", |z| z[0].log(10.0)),
    unary("log1p", |z| z[0].ln_1p()),
    // The larger operand stands in the result: what cancels of it cancels.
    binary("logaddexp", |z| {
        let is_first = z[1].re.less(&z[0].re);
        let (high, low) = if is_first { (&z[0], &z[1]) } else { (&z[1], &z[0]) };
        high.clone() + (low.clone() - high.clone()).exp().ln_1p()
    })
    .of_scale(|z| {
        // The rounding of the difference counts more where the two terms nearly cancel.
        let (difference, size) = (z[0].clone() - z[1].clone(), greater(z) + 1.0);
        let outward = if difference.re.is_negative() { difference } else { -difference };
        let left = (Complex::of(1.0, 0.0) + outward.exp()).abs();
        if left.below(1.0) { size / left } else { size }
    }),
    unary("sigmoid", |z| z[0].sigmoid()),
    row("silu", gated, |z| z[0].clone() * z[0].sigmoid()),
    unary("softsign", |z| {
        let size = Complex { re: z[0].abs() + 1.0, im: Real::of(0.0) };
        z[0].clone() / size
    }),
    // As PyTorch computes it: near 0 the operand cancels.
    unary("tanhshrink", |z| z[0].clone() - z[0].tanh()).of_scale(|z| z[0].abs() + z[0].tanh().abs()),
    unary("sin", |z| z[0].around(Complex::sinh)),
    unary("cos", |z| z[0].around_even(Complex::cosh)),
    unary("tan", |z| z[0].around(Complex::tanh)),
    unary("asin", |z| z[0].around(Complex::asinh)),
    unary("acos", |z| z[0].acos()),
    unary("atan", |z| z[0].around(Complex::atanh)),
    // The rounding of πz becomes a relative error where the sine grows like an exponential.
    unary("sinc", |z| z[0].sinc()).of_scale(|z| z[0].sinc().abs() * (z[0].im.abs() + 1.0)),
    unary("sinh", |z| z[0].sinh()),
    unary("cosh", |z| z[0].cosh()),
    unary("tanh", |z| z[0].tanh()),
    unary("asinh", |z| z[0].asinh()),
    unary("acosh", |z| z[0].acosh()),
    unary("atanh", |z| z[0].atanh()),
    unary("sqrt", |z| z[0].sqrt()),
    unary("rsqrt", |z| z[0].sqrt().recip()),
    // The product w·ln z has a rounding in proportion to its size.
    row("pow", power, |z| z[0].pow(&z[1])).of_scale(|z| {
        let product = (z[1].clone() * z[0].ln()).abs();
        z[0].pow(&z[1]).abs() * (product + 1.0)
    }),
    unary("sgn", |z| {
        let size = Complex { re: z[0].abs(), im: Real::of(0.0) };
        z[0].clone() / size
    }),
    unary("abs", |z| Complex { re: z[0].abs(), im: Real::of(0.0) }),
    unary("angle", |z| Complex { re: z[0].im.atan2(&z[0].re), im: Real::of(0.0) }),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Identities that join the formulas, to 200 bits.
    #[test]
    fn functions_undo_each_other() {
        let close = |x: Complex, y: &Complex| (x - y.clone()).abs().exponent() - y.abs().exponent() < -200;
        let one = || Complex::of(1.0, 0.0);
        for (re, im) in [(0.3, 0.7), (-1.2, 0.4), (2.5, -1.5), (-0.01, -0.9), (1e-9, 1e-6)] {
            let z = Complex::of(re, im);
            assert!(close(z.ln().exp(), &z) && close(z.sqrt() * z.sqrt(), &z), "{re} {im}");
            assert!(close(z.asinh().sinh(), &z) && close(z.atanh().tanh(), &z), "{re} {im}");
            assert!(
                close(z.acosh().cosh(), &z) && close(z.acos().around_even(Complex::cosh), &z),
                "{re} {im}"
            );
            assert!(close(z.exp_m1() + one(), &z.exp()) && close(z.recip() * z.clone(), &one()), "{re} {im}");
            let [sinh, cosh] = [z.sinh(), z.cosh()];
            assert!(close(cosh.clone() * cosh.clone() - sinh.clone() * sinh.clone(), &one()), "{re} {im}");
            assert!(close(cosh + sinh, &z.exp()), "{re} {im}");
        }
    }
}
