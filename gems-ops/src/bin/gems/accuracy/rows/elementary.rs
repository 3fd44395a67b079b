//! Arithmetic, exponentials and logarithms, circular and hyperbolic functions, powers.

use super::super::exact::Real;
use super::super::points::Draw;
use super::{INF, NAN, Row, drawn, line};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Where e^x overflows, becomes subnormal and vanishes, in f16, f32 and f64.
const EXP: &[f64] = &[11.09, -9.7, -17.3, 88.72, -87.3, -103.97, 709.78, -708.4, -745.13];
const EXP2: &[f64] = &[16.0, -24.0, 128.0, -126.0, -149.0, 1024.0, -1022.0, -1074.0];
/// Zeros of sine and cosine.
const TURNS: &[f64] = &[FRAC_PI_4, FRAC_PI_2, PI, 4.71238898038469, 2.0 * PI, -FRAC_PI_2, -PI, 355.0, 1e5];

fn one() -> Real {
    Real::of(1.0)
}

/// A base and an exponent whose power is a number.
fn power(draw: &mut Draw) -> Vec<f64> {
    match draw.below(4) {
        0 => {
            let base = draw.near(1.0);
            let reach = 600.0 / (base.abs().ln().abs() + 1e-300);
            let exponent = draw.within(-1.0, 1.0) * reach.min(1e18);
            vec![base, exponent]
        }
        1 => vec![draw.spread(-4.0, 4.0), (draw.within(-40.0, 40.0)).round()],
        2 => vec![f64::from(draw.below(40)), f64::from(draw.below(30))],
        _ => {
            let base = draw.size(-100.0, 100.0);
            let reach = 60.0 / base.log2().abs();
            vec![base, draw.within(-1.0, 1.0) * reach * draw.size(0.0, 4.0)]
        }
    }
}

fn three(draw: &mut Draw) -> Vec<f64> {
    let (x, a) = (draw.spread(-12.0, 12.0), draw.spread(-12.0, 12.0));
    let b = if draw.below(2) == 0 { draw.near(-x * a) } else { draw.spread(-24.0, 24.0) };
    vec![x, a, b]
}

/// x·2ⁿ.
#[expect(clippy::cast_possible_truncation, reason = "small")]
fn times_power(x: &[Real]) -> Real {
    x[0].scaled(x[1].to_f64() as i64)
}

/// The remainder with the sign of the divisor.
fn remainder(x: &[Real]) -> Real {
    let rest = x[0].rem(&x[1]);
    if rest.is_zero() || rest.is_negative() == x[1].is_negative() { rest } else { rest + &x[1] }
}

pub(super) const ROWS: &[Row] = &[
    drawn("add", Draw::pair, |x| &x[0] + &x[1]),
    drawn("sub", Draw::pair, |x| &x[0] - &x[1]),
    drawn("rsub", Draw::pair, |x| &x[1] - &x[0]),
    drawn("mul", Draw::pair, |x| &x[0] * &x[1]),
    drawn("div", Draw::pair, |x| &x[0] / &x[1]),
    drawn("mul_add", three, |x| &x[0] * &x[1] + &x[2]),
    drawn("fmod", Draw::pair, |x| x[0].rem(&x[1])),
    drawn("remainder", Draw::pair, remainder),
    drawn("ldexp", |draw| vec![draw.anything(), draw.within(-200.0, 200.0).round()], times_power),
    drawn("hypot", Draw::pair, |x| x[0].hypot(&x[1])),
    line("reciprocal", &[], [0.0, 0.0], |x| 1.0 / &x[0]),
    line("square", &[], [INF, INF], |x| &x[0] * &x[0]),
    line("sqrt", &[], [NAN, INF], |x| x[0].sqrt()),
    line("rsqrt", &[], [NAN, 0.0], |x| 1.0 / x[0].sqrt()),
    line("ceil", &[1.0, 1.5], [-INF, INF], |x| -(-&x[0]).floor()),
    line("floor", &[1.0, 1.5], [-INF, INF], |x| x[0].floor()),
    line("trunc", &[1.0, 1.5], [-INF, INF], |x| x[0].trunc()),
    line("round", &[1.0, 1.5, 2.5], [-INF, INF], |x| x[0].round_ties_even()),
    line("frac", &[1.0, 1.5], [NAN, NAN], |x| &x[0] - x[0].trunc()),
    line("exp", EXP, [0.0, INF], |x| x[0].exp()),
    line("exp2", EXP2, [0.0, INF], |x| x[0].exp2()),
    line("expm1", EXP, [-1.0, INF], |x| x[0].exp_m1()),
    line("log", &[1.0], [NAN, INF], |x| x[0].ln()),
    line("log2", &[1.0], [NAN, INF], |x| x[0].log2()),
    line("log10", &[1.0, 10.0, 1000.0], [NAN, INF], |x| x[0].log10()),
    line("log1p", &[0.0, -1.0, -0.5], [NAN, INF], |x| x[0].ln_1p()),
    drawn("logaddexp", Draw::pair, |x| {
        let (low, high) = if x[0].less(&x[1]) { (&x[0], &x[1]) } else { (&x[1], &x[0]) };
        high + (low - high).exp().ln_1p()
    }),
    drawn("logaddexp2", Draw::pair, |x| {
        let (low, high) = if x[0].less(&x[1]) { (&x[0], &x[1]) } else { (&x[1], &x[0]) };
        high + (low - high).exp2().ln_1p() / Real::of(2.0).ln()
    }),
    drawn("xlogy", |draw| vec![draw.spread(-20.0, 20.0), draw.anything().abs()], |x| &x[0] * x[1].ln()),
    drawn(
        "special_xlog1py",
        |draw| vec![draw.spread(-20.0, 20.0), draw.size(-16.0, 20.0)],
        |x| &x[0] * x[1].ln_1p(),
    ),
    line("special_entr", &[1.0, 0.0], [-INF, -INF], |x| match (x[0].is_zero(), x[0].is_negative()) {
        (true, _) => x[0].clone(),
        (false, true) => Real::of(-INF),
        (false, false) => -&x[0] * x[0].ln(),
    }),
    line("logit", &[0.5, 0.25, 0.75, 1.0], [NAN, NAN], |x| (&x[0] / (1.0 - &x[0])).ln()),
    line("sigmoid", EXP, [0.0, 1.0], |x| 1.0 / (1.0 + (-&x[0]).exp())),
    line("sin", TURNS, [NAN, NAN], |x| x[0].sin()),
    line("cos", TURNS, [NAN, NAN], |x| x[0].cos()),
    line("tan", TURNS, [NAN, NAN], |x| x[0].tan()),
    line("asin", &[1.0, -1.0, 0.5], [NAN, NAN], |x| x[0].asin()),
    line("acos", &[1.0, -1.0, 0.5], [NAN, NAN], |x| x[0].acos()),
    line("atan", &[1.0], [-FRAC_PI_2, FRAC_PI_2], |x| x[0].atan()),
    drawn("atan2", Draw::pair, |x| x[0].atan2(&x[1])),
    line("sinc", &[1.0, 2.0, 0.5], [0.0, 0.0], |x| {
        if x[0].is_zero() { one() } else { x[0].sin_pi() / (Real::pi() * &x[0]) }
    }),
    line("deg2rad", &[180.0], [-INF, INF], |x| &x[0] * Real::pi() / 180.0),
    line("rad2deg", &[PI], [-INF, INF], |x| &x[0] * 180.0 / Real::pi()),
    line("sinh", &[0.0, 1.0, 89.4, 710.4], [-INF, INF], |x| x[0].sinh()),
    line("cosh", &[0.0, 1.0, 89.4, 710.4], [INF, INF], |x| x[0].cosh()),
    line("tanh", &[0.0, 0.625, 9.0, 20.0], [-1.0, 1.0], |x| x[0].tanh()),
    line("asinh", &[0.0, 1.0], [-INF, INF], |x| x[0].asinh()),
    line("acosh", &[1.0, 2.0], [NAN, INF], |x| x[0].acosh()),
    line("atanh", &[1.0, -1.0, 0.5], [NAN, NAN], |x| x[0].atanh()),
    drawn("pow", power, |x| x[0].pow(&x[1])),
    drawn("float_power", power, |x| x[0].pow(&x[1])),
    drawn("exponential_from", |draw| vec![draw.size(-14.0, 0.0)], |x| -x[0].ln()).with(&[("lambd", 1.0)]),
];
