//! Every function against values that Arb has proven: `tests/data/reference.py` makes them.

use super::{Real, *};

/// Hexadecimal, as Python writes it: `-0x1.8p+1`.
fn parse(text: &str) -> f64 {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (mantissa, exponent) = text.strip_prefix("0x").and_then(|text| text.split_once('p')).unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let exponent = exponent.parse::<i64>().unwrap() - 4 * i64::try_from(fraction.len()).unwrap();
    sign * Real::of(digits as f64).scaled(exponent).to_f64()
}

fn evaluate(name: &str, x: &Real, y: Option<&Real>) -> Real {
    let y = || y.expect("a second argument");
    let member = |first, next| polynomial(Family { first, next }, x, y());
    match name {
        "exp" => x.exp(),
        "exp_m1" => x.exp_m1(),
        "ln" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "ln_1p" => x.ln_1p(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        "sin_pi" => x.sin_pi(),
        "cos_pi" => x.cos_pi(),
        "erf" => erf(x),
        "erfc" => erfc(x),
        "erfcx" => erfcx(x),
        "erfinv" => erfinv(x),
        "ndtr" => ndtr(x),
        "ndtri" => ndtri(x),
        "log_ndtr" => log_ndtr(x),
        "lgamma" => lgamma(x),
        "digamma" => digamma(x),
        "i0" => bessel_i(0.0, x),
        "i1" => bessel_i(1.0, x),
        "i0e" => bessel_i_scaled(0.0, x),
        "i1e" => bessel_i_scaled(1.0, x),
        "k0" => bessel_k(0.0, x),
        "k1" => bessel_k(1.0, x),
        "k0e" => bessel_k_scaled(0.0, x),
        "k1e" => bessel_k_scaled(1.0, x),
        "j0" => bessel_j(0.0, x),
        "j1" => bessel_j(1.0, x),
        "y0" => bessel_y(0.0, x),
        "y1" => bessel_y(1.0, x),
        "airy_ai" => airy_ai(x),
        "pow" => x.pow(y()),
        "hypot" => x.hypot(y()),
        "zeta" => zeta(x, y()),
        "polygamma" => polygamma(x.to_f64(), y()),
        "igamma" => igamma(x, y()),
        "igammac" => igammac(x, y()),
        "chebyshev_t" => member(|x| x.clone(), |_, x, last, before| x * 2.0 * last - before),
        "chebyshev_u" => member(|x| x * 2.0, |_, x, last, before| x * 2.0 * last - before),
        "legendre_p" => {
            member(|x| x.clone(), |n, x, last, before| (x * (2.0 * n + 1.0) * last - before * n) / (n + 1.0))
        }
        "laguerre_l" => {
            member(|x| 1.0 - x, |n, x, last, before| ((2.0 * n + 1.0 - x) * last - before * n) / (n + 1.0))
        }
        "hermite_h" => member(|x| x * 2.0, |n, x, last, before| x * 2.0 * last - before * (2.0 * n)),
        _ => panic!("`{name}` is not known here"),
    }
}

#[test]
fn a_hundred_bits_are_those_of_arb() {
    let table = include_str!("../../../../../../tests/data/reference.txt");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let values: Vec<f64> = fields[1..].iter().map(|text| parse(text)).collect();
        let (arguments, value) = values.split_at(values.len() - 2);
        let reals: Vec<Real> = arguments.iter().map(|&x| Real::of(x)).collect();
        let got = evaluate(fields[0], &reals[0], reals.get(1));
        let error = got.clone() - value[0] - value[1];
        let bits = Real::of(value[0]).exponent() - error.exponent();
        if bits < 103 || !got.is_finite() {
            wrong.push(format!("{} {arguments:?}: {:e}, {bits} bits", fields[0], got.to_f64()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), table.lines().count(), wrong.join("\n"));
}
