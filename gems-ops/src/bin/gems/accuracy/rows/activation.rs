//! Activation functions, gates, and a loss.

use super::super::exact::{Real, erfc};
use super::super::points::Draw;
use super::{INF, Row, drawn, line};

/// Where tails vanish, in f32 and f64.
const TAILS: &[f64] = &[-5.0, -13.0, -14.0, -38.0, -88.0, -104.0, -708.0, -745.0];

fn sigmoid(x: &Real) -> Real {
    1.0 / (1.0 + (-x).exp())
}

fn silu(x: &Real) -> Real {
    x * sigmoid(x)
}

fn gelu(x: &Real) -> Real {
    x * 0.5 * erfc(&(-x / Real::of(2.0).sqrt()))
}

fn gelu_tanh(x: &Real) -> Real {
    let cubic = Real::of(44_715.0) / 1e6;
    let twice = (Real::of(8.0) / Real::pi()).sqrt() * (x + cubic * x * x * x);
    x * sigmoid(&twice)
}

fn softplus(x: &Real) -> Real {
    if x.is_negative() { x.exp().ln_1p() } else { x + (-x).exp().ln_1p() }
}

/// Of SELU, as published.
const ALPHA: f64 = 1.673_263_242_354_377_2;
const SCALE: f64 = 1.050_700_987_355_480_5;

fn elu(x: &Real, alpha: f64) -> Real {
    if x.is_negative() { x.exp_m1() * alpha } else { x.clone() }
}

fn gated(draw: &mut Draw) -> Vec<f64> {
    let x = match draw.below(10) {
        0 => draw.within(-40.0, 10.0),
        1..=3 => draw.within(-8.0, 8.0),
        _ => draw.spread(-26.0, 9.0),
    };
    vec![x, draw.spread(-20.0, 10.0)]
}

fn gated_by_the_second(draw: &mut Draw) -> Vec<f64> {
    let operands = gated(draw);
    vec![operands[1], operands[0]]
}

pub(super) const ROWS: &[Row] = &[
    line("gelu", TAILS, [0.0, INF], |x| gelu(&x[0])).special(),
    line("gelu_tanh", TAILS, [0.0, INF], |x| gelu_tanh(&x[0])),
    line("silu", TAILS, [0.0, INF], |x| silu(&x[0])),
    line("mish", TAILS, [0.0, INF], |x| {
        // From 50 on, the rest is less than 2^(−140) of x.
        let growth = x[0].exp();
        let n = &growth * (&growth + 2.0);
        if x[0].below(50.0) { &x[0] * &n / (n + 2.0) } else { x[0].clone() }
    }),
    line("softplus", &[20.0, -88.0, -745.0], [0.0, INF], |x| {
        if Real::of(20.0).less(&x[0]) { x[0].clone() } else { softplus(&x[0]) }
    })
    .with(&[("beta", 1.0), ("threshold", 20.0)]),
    line("log_sigmoid", TAILS, [-INF, 0.0], |x| -softplus(&-&x[0])),
    line("softsign", &[0.0], [-1.0, 1.0], |x| &x[0] / (x[0].abs() + 1.0)),
    line("tanhshrink", &[0.0, 1.0], [-INF, INF], |x| {
        // For small x, all but x³/3 cancels; below 2^(−400) that vanishes in all dtypes.
        let lost = 2 * (-x[0].exponent()).clamp(0, 400);
        let x = x[0].at(320 + usize::try_from(lost).unwrap_or(0));
        &x - x.tanh()
    }),
    line("elu", TAILS, [-1.0, INF], |x| elu(&x[0], 1.0)).with(&[
        ("alpha", 1.0),
        ("scale", 1.0),
        ("input_scale", 1.0),
    ]),
    line("celu", TAILS, [-1.5, INF], |x| elu(&(&x[0] / 1.5), 1.0) * 1.5).with(&[("alpha", 1.5)]),
    line("selu", TAILS, [-ALPHA * SCALE, INF], |x| elu(&x[0], ALPHA) * SCALE),
    drawn("glu_kernel", gated_by_the_second, |x| &x[0] * sigmoid(&x[1])),
    drawn("silu_and_mul", gated, |x| silu(&x[0]) * &x[1]),
    drawn("gelu_and_mul", gated, |x| gelu(&x[0]) * &x[1]).special(),
    drawn("gelu_tanh_and_mul", gated, |x| gelu_tanh(&x[0]) * &x[1]),
    drawn(
        "soft_margin_loss",
        |draw| vec![draw.spread(-26.0, 9.0), [-1.0, 1.0][draw.below(2) as usize]],
        |x| softplus(&-(&x[0] * &x[1])),
    ),
];
