//! Special functions.

use super::super::exact::{
    Family, Real, airy_ai, bessel_i, bessel_i_scaled, bessel_j, bessel_k, bessel_k_scaled, bessel_y, digamma,
    erf, erfc, erfcx, erfinv, igamma, igammac, lgamma, log_ndtr, mvlgamma, ndtr, ndtri, polygamma,
    polynomial, zeta,
};
use super::super::points::Draw;
use super::{INF, NAN, Row, drawn, line};

/// Zeros and poles of ln |Γ|, and the root of ψ.
const GAMMA: &[f64] = &[
    1.0,
    2.0,
    1.4616321449683622,
    -2.4570247382208006,
    -2.7476826467274127,
    -1.0,
    -2.0,
    -3.5,
    -0.5040830082644554,
    10.0,
];
/// Where I is another formula, and where it overflows.
const BESSEL_I: &[f64] = &[0.0, 8.0, -8.0, 88.7, 91.9, 713.98];
const BESSEL_K: &[f64] = &[0.0, 2.0, 88.0, 103.0, 705.0, 742.0];
/// Zeros of J₀, J₁, Y₀ and Y₁.
const BESSEL_J: &[f64] = &[
    2.404825557695773,
    5.520078110286311,
    8.653727912911013,
    3.8317059702075125,
    7.015586669815619,
    0.8935769662791675,
    3.957678419314858,
    2.197141326031017,
    5.429681040794135,
    30.0,
];

/// A shape, and an argument around it.
fn shape_and_argument(draw: &mut Draw) -> Vec<f64> {
    let a = draw.size(-20.0, 12.0);
    let x = match draw.below(3) {
        0 => a * draw.size(-1.0, 1.0),
        1 => a + a.sqrt() * draw.within(-4.0, 4.0),
        _ => draw.size(-20.0, 10.0),
    };
    vec![a, x.abs()]
}

fn order_and_argument(draw: &mut Draw) -> Vec<f64> {
    if draw.below(4) == 0 {
        return vec![f64::from(draw.below(20) + 2), -draw.within(0.0, 20.0)];
    }
    vec![1.0 + draw.size(-16.0, 6.5), draw.size(-10.0, 10.0)]
}

/// An argument within a little more than [−1, 1], and a degree.
fn argument_and_degree(draw: &mut Draw) -> Vec<f64> {
    let x = if draw.below(4) == 0 { draw.near(1.0) } else { draw.within(-1.3, 1.3) };
    vec![x, f64::from(draw.below(60))]
}

fn shifted_argument_and_degree(draw: &mut Draw) -> Vec<f64> {
    let operands = argument_and_degree(draw);
    vec![0.5 * (operands[0] + 1.0), operands[1]]
}

fn wide_argument_and_degree(draw: &mut Draw) -> Vec<f64> {
    let operands = argument_and_degree(draw);
    vec![4.0 * operands[0], operands[1]]
}

fn positive_argument_and_degree(draw: &mut Draw) -> Vec<f64> {
    let operands = argument_and_degree(draw);
    vec![8.0 * operands[0].abs(), operands[1]]
}

/// Chebyshev's families differ in their second member.
fn chebyshev(x: &Real, degree: &Real, first: fn(&Real) -> Real) -> Real {
    polynomial(Family { first, next: |_, x, last, before| x * 2.0 * last - before }, x, degree)
}

fn shifted(x: &Real) -> Real {
    x * 2.0 - 1.0
}

const T: fn(&Real) -> Real = |x| x.clone();
const U: fn(&Real) -> Real = |x| x * 2.0;
const V: fn(&Real) -> Real = |x| x * 2.0 - 1.0;
const W: fn(&Real) -> Real = |x| x * 2.0 + 1.0;

const HERMITE_H: Family = Family { first: U, next: |n, x, last, before| x * 2.0 * last - before * (2.0 * n) };
const HERMITE_HE: Family = Family { first: T, next: |n, x, last, before| x * last - before * n };
const LAGUERRE: Family = Family {
    first: |x| 1.0 - x,
    next: |n, x, last, before| ((2.0 * n + 1.0 - x) * last - before * n) / (n + 1.0),
};
const LEGENDRE: Family =
    Family { first: T, next: |n, x, last, before| (x * (2.0 * n + 1.0) * last - before * n) / (n + 1.0) };

/// The rows, all of them special.
const fn all<const N: usize>(mut rows: [Row; N]) -> [Row; N] {
    let mut i = 0;
    while i < N {
        rows[i] = rows[i].special();
        i += 1;
    }
    rows
}

pub(super) const ROWS: &[Row] = &all([
    line("erf", &[0.0, 0.5, 1.0], [-1.0, 1.0], |x| erf(&x[0])),
    line("erfc", &[0.0, 1.0, 9.2, 10.05, 26.5, 27.2], [2.0, 0.0], |x| erfc(&x[0])),
    line("erfinv", &[0.8, 1.0, -1.0, 0.5], [NAN, NAN], |x| erfinv(&x[0])),
    line("special_erfcx", &[0.0, -9.38, -26.6, 10.0], [INF, 0.0], |x| erfcx(&x[0])),
    line("special_ndtr", &[-1.0, -13.0, -14.2, -37.5, -38.4, 5.0], [0.0, 1.0], |x| ndtr(&x[0])),
    line("special_ndtri", &[0.5, 0.2, 0.8, 1.0], [NAN, NAN], |x| ndtri(&x[0])),
    line("special_log_ndtr", &[-1.0, 1.0, 13.0, 37.5], [-INF, 0.0], |x| log_ndtr(&x[0])),
    line("lgamma", GAMMA, [INF, INF], |x| lgamma(&x[0])),
    drawn("mvlgamma", |draw| vec![1.0 + draw.size(-20.0, 12.0)], |x| mvlgamma(&x[0], 3.0))
        .with(&[("p", 3.0)]),
    line("digamma", GAMMA, [NAN, INF], |x| digamma(&x[0])),
    line("polygamma", GAMMA, [INF, 0.0], |x| polygamma(1.0, &x[0])).with(&[("n", 1.0)]),
    line("polygamma", GAMMA, [NAN, 0.0], |x| polygamma(2.0, &x[0])).with(&[("n", 2.0)]),
    line("polygamma", GAMMA, [INF, 0.0], |x| polygamma(5.0, &x[0])).with(&[("n", 5.0)]),
    line("polygamma", GAMMA, [NAN, 0.0], |x| polygamma(20.0, &x[0])).with(&[("n", 20.0)]),
    drawn("special_zeta", order_and_argument, |x| zeta(&x[0], &x[1])),
    drawn("igamma", shape_and_argument, |x| igamma(&x[0], &x[1])),
    drawn("igammac", shape_and_argument, |x| igammac(&x[0], &x[1])),
    line("i0", BESSEL_I, [INF, INF], |x| bessel_i(0.0, &x[0])),
    line("special_i0e", BESSEL_I, [0.0, 0.0], |x| bessel_i_scaled(0.0, &x[0])),
    line("special_i1", BESSEL_I, [-INF, INF], |x| bessel_i(1.0, &x[0])),
    line("special_i1e", BESSEL_I, [0.0, 0.0], |x| bessel_i_scaled(1.0, &x[0])),
    line("special_modified_bessel_i0", BESSEL_I, [INF, INF], |x| bessel_i(0.0, &x[0])),
    line("special_modified_bessel_i1", BESSEL_I, [-INF, INF], |x| bessel_i(1.0, &x[0])),
    line("special_modified_bessel_k0", BESSEL_K, [NAN, 0.0], |x| bessel_k(0.0, &x[0])),
    line("special_modified_bessel_k1", BESSEL_K, [NAN, 0.0], |x| bessel_k(1.0, &x[0])),
    line("special_scaled_modified_bessel_k0", BESSEL_K, [NAN, 0.0], |x| bessel_k_scaled(0.0, &x[0])),
    line("special_scaled_modified_bessel_k1", BESSEL_K, [NAN, 0.0], |x| bessel_k_scaled(1.0, &x[0])),
    line("special_bessel_j0", BESSEL_J, [0.0, 0.0], |x| bessel_j(0.0, &x[0])),
    line("special_bessel_j1", BESSEL_J, [0.0, 0.0], |x| bessel_j(1.0, &x[0])),
    line("special_bessel_y0", BESSEL_J, [NAN, 0.0], |x| bessel_y(0.0, &x[0])),
    line("special_bessel_y1", BESSEL_J, [NAN, 0.0], |x| bessel_y(1.0, &x[0])),
    line("special_spherical_bessel_j0", &[0.0, 0.5, std::f64::consts::PI], [0.0, 0.0], |x| {
        if x[0].is_zero() { Real::of(1.0) } else { x[0].sin() / &x[0] }
    }),
    line("special_airy_ai", &[0.0, 2.0, -4.0, -2.338107410459767, 15.0, 104.0, 107.5], [0.0, 0.0], |x| {
        airy_ai(&x[0])
    }),
    drawn("special_chebyshev_polynomial_t", argument_and_degree, |x| chebyshev(&x[0], &x[1], T)),
    drawn("special_chebyshev_polynomial_u", argument_and_degree, |x| chebyshev(&x[0], &x[1], U)),
    drawn("special_chebyshev_polynomial_v", argument_and_degree, |x| chebyshev(&x[0], &x[1], V)),
    drawn("special_chebyshev_polynomial_w", argument_and_degree, |x| chebyshev(&x[0], &x[1], W)),
    drawn("special_shifted_chebyshev_polynomial_t", shifted_argument_and_degree, |x| {
        chebyshev(&shifted(&x[0]), &x[1], T)
    }),
    drawn("special_shifted_chebyshev_polynomial_u", shifted_argument_and_degree, |x| {
        chebyshev(&shifted(&x[0]), &x[1], U)
    }),
    drawn("special_shifted_chebyshev_polynomial_v", shifted_argument_and_degree, |x| {
        chebyshev(&shifted(&x[0]), &x[1], V)
    }),
    drawn("special_shifted_chebyshev_polynomial_w", shifted_argument_and_degree, |x| {
        chebyshev(&shifted(&x[0]), &x[1], W)
    }),
    drawn("special_hermite_polynomial_h", wide_argument_and_degree, |x| polynomial(HERMITE_H, &x[0], &x[1])),
    drawn("special_hermite_polynomial_he", wide_argument_and_degree, |x| {
        polynomial(HERMITE_HE, &x[0], &x[1])
    }),
    drawn("special_laguerre_polynomial_l", positive_argument_and_degree, |x| {
        polynomial(LAGUERRE, &x[0], &x[1])
    }),
    drawn("special_legendre_polynomial_p", argument_and_degree, |x| polynomial(LEGENDRE, &x[0], &x[1])),
]);
