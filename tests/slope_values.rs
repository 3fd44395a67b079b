//! Derivatives of single functions against values that Arb has proven: `tests/data/reference.py slopes` makes them.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::REGISTRY;
use gems_ops::prelude::*;
use gems_runtime::op::{self, OpDef, Operand};
use std::f64::consts::PI;

/// How far a slope may be from the exact one: so many times what its scale says at (x, slope).
struct Bound {
    ops: &'static str,
    f64: f64,
    f32: f64,
    scale: fn(f64, f64) -> f64,
}

const fn relative(ops: &'static str, f64: f64, f32: f64) -> Bound {
    Bound { ops, f64, f32, scale: |_, slope| slope.abs() }
}

/// The size of Bessel functions' waves.
fn wave(x: f64, slope: f64) -> f64 {
    (2.0 / (PI * x.abs())).sqrt().min(1.0).max(slope.abs())
}

/// The size of the waves of Ai′ below 0, where the angle ⅔|x|^1.5 has 106 bits.
fn airy(x: f64, slope: f64) -> f64 {
    let size = x.abs();
    let blur = 1.0 + 2f64.powi(-104) * size.powf(1.5) / 2e-14;
    if x < 0.0 { size.max(1.0).powf(0.25) / PI.sqrt() * blur } else { slope.abs() }
}

const BOUNDS: &[Bound] = &[
    // An exponential of x² has as many digits less as x² has.
    relative("erf erfc gelu gelu_tanh special_ndtr special_log_ndtr", 2e-13, 4e-6),
    relative("special_ndtri", 2e-13, 2e-7),
    relative("erfinv", 2e-14, 2e-7),
    // 1 − tanh² has no tail.
    Bound { ops: "tanh", f64: 4e-16, f32: 2e-7, scale: |_, _| 1.0 },
    Bound {
        ops: "special_erfcx",
        f64: 1e-15,
        f32: 2e-7,
        scale: |x, slope| slope.abs() * (1.0 + x.min(50.0).powi(2)),
    },
    Bound {
        ops: "special_i0e special_i1e special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1",
        f64: 1e-15,
        f32: 2e-7,
        scale: |x, slope| slope.abs() * (1.0 + x.abs()),
    },
    Bound {
        ops: "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1",
        f64: 1e-15,
        f32: 2e-7,
        scale: wave,
    },
    // Between its poles it crosses 0.
    Bound {
        ops: "lgamma",
        f64: 4e-15,
        f32: 2e-7,
        scale: |x, slope| if x < 0.0 { slope.abs().max(1.0) } else { slope.abs() },
    },
    Bound { ops: "special_airy_ai", f64: 2e-14, f32: 2e-7, scale: airy },
];

const REST: Bound = relative("", 2e-15, 1e-6);

/// Hexadecimal, as Python writes it: `-0x1.8p+1`.
fn parse(text: &str) -> f64 {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (mantissa, exponent) = text.strip_prefix("0x").and_then(|text| text.split_once('p')).unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let (half, places) = (exponent / 2, i32::try_from(fraction.len()).unwrap());
    // In two steps, neither of which overflows.
    sign * digits as f64 * 2f64.powi(half - 4 * places) * 2f64.powi(exponent - half)
}

fn slope(op: &'static OpDef, dtype: DType, x: f64) -> f64 {
    let x = StridedBuffer::full(dtype, &[1], x, Device::Cpu).unwrap();
    let one = StridedBuffer::full(dtype, &[1], 1, Device::Cpu).unwrap();
    // `beta` and a threshold that is never met.
    let numbers = [1.0, 1e30].map(|number| Operand::Scalar(Scalar::F64(number)));
    let mut operands = vec![Operand::Buffer(&x)];
    operands.extend(numbers.into_iter().take(op.params.len() - 1));
    let gradient = op::vjp(op, &[&one], &operands, None).unwrap().remove(0).unwrap();
    cast(&gradient, DType::F64).unwrap().item::<f64>().unwrap()
}

#[test]
fn slopes_are_those_of_arb() {
    let mut wrong = Vec::new();
    for line in include_str!("data/slopes.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let op = REGISTRY.get(fields[0]).unwrap();
        let (x, want) = (parse(fields[1]), parse(fields[2]));
        let bound =
            BOUNDS.iter().find(|bound| bound.ops.split(' ').any(|name| name == op.name)).unwrap_or(&REST);
        let mut check = |dtype, x: f64, want: f64, most: f64| {
            let got = slope(op, dtype, x);
            let error = (got - want).abs() / (bound.scale)(x, want);
            if error.is_nan() || error > most {
                wrong.push(format!("{} {dtype} at {x:e}: {got:e}, expected {want:e}, {error:.1e}", op.name));
            }
        };
        check(DType::F64, x, want, bound.f64);
        // The slope at the nearest f32, by the f64 that was just checked.
        #[expect(clippy::cast_possible_truncation, reason = "this is what rounds it")]
        let near = f64::from(x as f32);
        let want = slope(op, DType::F64, near);
        if (f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&want.abs()) {
            check(DType::F32, near, want, bound.f32);
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_slope_of_ai_ends_as_ai_does() {
    let at = |x| slope(special_airy_ai::DEF, DType::F64, x);
    assert_eq!((at(f64::INFINITY), at(111.0)), (0.0, 0.0));
    assert!(at(106.0) < 0.0 && at(f64::NAN).is_nan());
    assert!(at(f64::NEG_INFINITY).is_nan(), "there is no limit");
}
