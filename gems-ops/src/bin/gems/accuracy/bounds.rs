//! How far a result may be from the exact one.
//!
//! One table for all ops. Results of f16 and bf16 have one rule: within 1 ulp, unless the f32 that they are computed in
//! may lose more, and 99.9 % of them the nearest float.

use gems_ops::dtype::DType;

/// A distance: so many ulps, or so much of a scale if that is more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) ulps: f64,
    pub(super) eps: f64,
    pub(super) scale: Scale,
}

/// What a distance is relative to, besides the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// As the report has it.
    name: &'static str,
    pub(super) of: fn(&[f64], f64) -> f64,
}

impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.ulps == 0.5, self.eps == 0.0) {
            (true, _) => f.write_str("nearest"),
            (false, true) => write!(f, "{} ulp", self.ulps),
            (false, false) if self.ulps > 1.0 => {
                write!(f, "{} ulp or {:e}·{}", self.ulps, self.eps, self.scale.name)
            }
            (false, false) => write!(f, "{:e}·{}", self.eps, self.scale.name),
        }
    }
}

/// The part of the results of f16 and bf16 that must be the nearest float.
const SHORT_NEAREST: f64 = 0.999;

/// Ops that have less, and why.
const SHORT_EXCEPTIONS: &[(&str, f64)] = &[
    // Half of x is halfway between two subnormal f16 for every second x below 2^(−13); that the value is a little more
    // does not show in f32.
    ("special_i1", 0.98),
    ("special_modified_bessel_i1", 0.98),
    ("special_bessel_j1", 0.98),
    // Near 0, gates are ½ab·(1 + …), which for short a and b is often halfway between two floats; what comes after the
    // 1 does not show in f32.
    ("glu_kernel", 0.998),
    ("silu_and_mul", 0.998),
    ("gelu_and_mul", 0.998),
    ("gelu_tanh_and_mul", 0.998),
    // An eighth of all bf16 are below −10^20, where the angle has no digit left.
    ("special_airy_ai", 0.88),
];

/// The part of an op's results in f16 and bf16 that must be the nearest float.
pub(super) fn nearest(op: &str) -> f64 {
    SHORT_EXCEPTIONS.iter().find(|(name, _)| *name == op).map_or(SHORT_NEAREST, |(_, part)| *part)
}

struct Family {
    ops: &'static str,
    f32: Allowed,
    f64: Allowed,
}

const NEAREST: Allowed = ulps(0.5);

const fn ulps(ulps: f64) -> Allowed {
    Allowed { ulps, eps: 0.0, scale: RESULT }
}

const fn relative(eps: f64) -> Allowed {
    scaled(1.0, eps, RESULT)
}

const fn scaled(ulps: f64, eps: f64, scale: Scale) -> Allowed {
    Allowed { ulps, eps, scale }
}

const RESULT: Scale = Scale { name: "|r|", of: |_, r| r.abs() };
const RESULT_OR_ONE: Scale = Scale { name: "max(1, |r|)", of: |_, r| r.abs().max(1.0) };
/// The larger of the two logarithms that the result is the difference of.
const LOGIT_TERM: Scale =
    Scale { name: "its larger term", of: |x, _| x[0].ln().abs().max((-x[0]).ln_1p().abs()) };
const LARGER_OPERAND: Scale = Scale { name: "the larger operand", of: |x, _| x[0].abs().max(x[1].abs()) };
/// The size of the oscillation.
const BESSEL_AMPLITUDE: Scale = Scale {
    name: "max(|r|, √(2/πx))",
    of: |x, r| (2.0 / (std::f64::consts::PI * x[0].abs())).sqrt().min(1.0).max(r.abs()),
};
/// Below 0, times what the angle ⅔|x|^1.5 misses of 106 bits, in units of the bound; above 0, the result.
fn airy_amplitude(x: &[f64], r: f64, eps: f64) -> f64 {
    if x[0] >= 0.0 {
        return r.abs();
    }
    let size = x[0].abs();
    let amplitude = size.max(1.0).powf(-0.25) * 0.564_189_583_547_756_3;
    amplitude * (1.0 + 2f64.powi(-104) * size.powf(1.5) / eps)
}

const AIRY_AMPLITUDE_F32: Scale =
    Scale { name: "amplitude below 0, plus 2⁻¹⁰⁴·|x|^1.5", of: |x, r| airy_amplitude(x, r, 2e-7) };
const AIRY_AMPLITUDE_F64: Scale =
    Scale { name: "amplitude below 0, plus 2⁻¹⁰⁴·|x|^1.5", of: |x, r| airy_amplitude(x, r, 2e-14) };
/// Below 0, where the terms around cancel, the term of the nearest pole; the operands are x and n.
const POLE: Scale = Scale {
    name: "the nearest pole's term below 0",
    of: |x, r| {
        let factorial: f64 = (1..=30).map(f64::from).take_while(|&k| k <= x[1]).product();
        if x[0] < 0.0 {
            r.abs().max(factorial * (x[0] - x[0].round()).abs().powf(-x[1] - 1.0))
        } else {
            r.abs()
        }
    },
};
/// Below 0, where the reflection's cotangent decides.
const COTANGENT: Scale = Scale {
    name: "max(|r|, π·|cot πx| below 0)",
    of: |x, r| {
        let tangent = (std::f64::consts::PI * (x[0] - x[0].round())).tan();
        if x[0] < 0.0 { r.abs().max((std::f64::consts::PI / tangent).abs()).max(1.0) } else { r.abs() }
    },
};
/// The same of ζ: the operands are s and q.
const ZETA_POLE: Scale = Scale {
    name: "the nearest pole's term below 0",
    of: |x, r| if x[1] < 0.0 { r.abs().max((x[1] - x[1].round()).abs().powf(-x[0])) } else { r.abs() },
};
/// Below 1e−150, the roundings of the exponent count in proportion to it.
const TAIL: Scale =
    Scale { name: "|r|·max(1, |ln r|/345)", of: |_, r| r.abs() * (-r.abs().ln() / 345.0).max(1.0) };

/// 2^e ≤ |x| < 2^(e + 1), or the least normal number.
fn binade(x: f64, least: f64) -> f64 {
    if x.abs() < least { least } else { x.abs().log2().floor().exp2() }
}

/// The function that all operands are multiplied by has its own ulps, which are absolute where it is subnormal.
fn function_factor(x: &[f64], r: f64, least: f64) -> f64 {
    let product = x.iter().product::<f64>();
    binade(r / product, least) * product.abs()
}

const FACTOR_F32: Scale =
    Scale { name: "each factor", of: |x, r| function_factor(x, r, f32::MIN_POSITIVE.into()) };
const FACTOR_F64: Scale = Scale { name: "each factor", of: |x, r| function_factor(x, r, f64::MIN_POSITIVE) };
/// The same where the first operand alone is a factor.
const GATE_F32: Scale =
    Scale { name: "each factor", of: |x, r| function_factor(&x[..1], r, f32::MIN_POSITIVE.into()) };
const GATE_F64: Scale =
    Scale { name: "each factor", of: |x, r| function_factor(&x[..1], r, f64::MIN_POSITIVE) };

/// The argument 2u of the exponential: its roundings become relative errors of the tail.
fn tanh_form(x: &[f64], r: f64, least: f64) -> f64 {
    let twice = 1.595_769_121_605_730_8 * (x[0] + 0.044_715 * x[0].powi(3));
    r.abs().max(function_factor(x, r, least)) * (1.0 - twice).max(1.0)
}

const TANH_FORM_F32: Scale =
    Scale { name: "(1 + |2u|) below 0", of: |x, r| tanh_form(x, r, f32::MIN_POSITIVE.into()) };
const TANH_FORM_F64: Scale =
    Scale { name: "(1 + |2u|) below 0", of: |x, r| tanh_form(x, r, f64::MIN_POSITIVE) };

/// 2n + 8 roundings of the largest value between the ends, or of the result outside; `large` is that value for n.
const fn polynomial(name: &'static str, large: fn(&[f64], f64) -> f64) -> Allowed {
    Allowed { ulps: 1.0, eps: 1.2e-16, scale: Scale { name, of: large } }
}

/// The roundings of the recurrence of degree n.
fn roundings(x: &[f64], value: f64) -> f64 {
    (2.0 * x[1] + 8.0) * value
}

/// ln √(n!).
fn half_log_factorial(n: f64) -> f64 {
    let mut sum = 0.0;
    let mut k = 2.0;
    while k <= n {
        sum += 0.5 * f64::ln(k);
        k += 1.0;
    }
    sum
}

const ONE: Allowed = polynomial("(2n + 8)·max(1, |r|)", |x, r| roundings(x, r.abs().max(1.0)));
const RISING: Allowed = polynomial("(2n + 8)·max(n + 1, |r|)", |x, r| roundings(x, r.abs().max(x[1] + 1.0)));
const STEEP: Allowed =
    polynomial("(2n + 8)·max(2n + 1, |r|)", |x, r| roundings(x, r.abs().max(2.0 * x[1] + 1.0)));
// The bounds of Cramér and Szegő.
const HERMITE: Allowed = polynomial("(2n + 8)·max(√(2ⁿn!)·e^(x²/2), |r|)", |x, r| {
    let envelope = half_log_factorial(x[1]) + 0.5 * x[1] * std::f64::consts::LN_2 + 0.5 * x[0] * x[0];
    roundings(x, r.abs().max(envelope.exp()))
});
const HERMITE_HE: Allowed = polynomial("(2n + 8)·max(√(n!)·e^(x²/4), |r|)", |x, r| {
    roundings(x, r.abs().max((half_log_factorial(x[1]) + 0.25 * x[0] * x[0]).exp()))
});
const LAGUERRE: Allowed =
    polynomial("(2n + 8)·max(e^(x/2), |r|)", |x, r| roundings(x, r.abs().max((0.5 * x[0]).exp())));

const FAMILIES: &[Family] = &[
    Family {
        ops: "add sub rsub mul div reciprocal square mul_add fmod remainder sqrt ceil floor trunc round frac ldexp",
        f32: NEAREST,
        f64: NEAREST,
    },
    Family {
        ops: "exp exp2 expm1 log log2 log10 log1p sin cos atan tanh sigmoid rsqrt deg2rad rad2deg softsign",
        f32: ulps(2.0),
        f64: ulps(2.0),
    },
    Family {
        ops: "tan asin acos atan2 sinh cosh asinh acosh atanh hypot softplus log_sigmoid xlogy special_xlog1py \
              special_entr sinc tanhshrink soft_margin_loss exponential_from",
        f32: ulps(4.0),
        f64: ulps(4.0),
    },
    Family { ops: "logit", f32: scaled(4.0, 2.4e-7, LOGIT_TERM), f64: scaled(4.0, 4.4e-16, LOGIT_TERM) },
    Family {
        ops: "logaddexp logaddexp2",
        f32: scaled(4.0, 2.4e-7, LARGER_OPERAND),
        f64: scaled(4.0, 4.4e-16, LARGER_OPERAND),
    },
    Family { ops: "pow", f32: ulps(4.0), f64: ulps(2.0) },
    Family { ops: "float_power", f32: ulps(2.0), f64: ulps(2.0) },
    Family { ops: "elu celu selu", f32: ulps(4.0), f64: ulps(4.0) },
    Family {
        ops: "gelu silu mish",
        f32: scaled(4.0, 4.8e-7, FACTOR_F32),
        f64: scaled(4.0, 8.9e-16, FACTOR_F64),
    },
    // With the rounding of the product.
    Family {
        ops: "silu_and_mul gelu_and_mul",
        f32: scaled(4.5, 5.4e-7, FACTOR_F32),
        f64: scaled(4.5, 1e-15, FACTOR_F64),
    },
    Family { ops: "glu_kernel", f32: scaled(4.5, 5.4e-7, GATE_F32), f64: scaled(4.5, 1e-15, GATE_F64) },
    Family {
        ops: "gelu_tanh gelu_tanh_and_mul",
        f32: scaled(4.0, 2.4e-7, TANH_FORM_F32),
        f64: scaled(4.0, 4.5e-16, TANH_FORM_F64),
    },
    Family { ops: "erf erfc erfinv", f32: ulps(4.0), f64: ulps(4.0) },
    Family {
        ops: "special_erfcx special_ndtr special_ndtri special_log_ndtr",
        f32: ulps(4.0),
        f64: relative(2e-15),
    },
    Family {
        ops: "lgamma mvlgamma",
        f32: scaled(4.0, 1e-7, RESULT_OR_ONE),
        f64: scaled(1.0, 1e-15, RESULT_OR_ONE),
    },
    Family { ops: "digamma", f32: scaled(4.0, 1.2e-7, COTANGENT), f64: scaled(1.0, 1e-14, COTANGENT) },
    Family { ops: "special_zeta", f32: scaled(4.0, 1e-14, ZETA_POLE), f64: scaled(1.0, 1e-14, ZETA_POLE) },
    Family { ops: "polygamma", f32: scaled(4.0, 1e-14, POLE), f64: scaled(1.0, 1e-14, POLE) },
    Family { ops: "igamma igammac", f32: ulps(4.0), f64: scaled(1.0, 2e-13, TAIL) },
    Family {
        ops: "i0 special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1",
        f32: ulps(1.0),
        f64: relative(2e-15),
    },
    Family {
        ops: "special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 \
              special_scaled_modified_bessel_k1",
        f32: ulps(4.0),
        f64: relative(2e-15),
    },
    Family {
        ops: "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1",
        f32: scaled(8.0, 2e-7, BESSEL_AMPLITUDE),
        f64: scaled(1.0, 1e-13, BESSEL_AMPLITUDE),
    },
    Family { ops: "special_spherical_bessel_j0", f32: ulps(4.0), f64: ulps(4.0) },
    Family {
        ops: "special_airy_ai",
        f32: scaled(2.0, 2e-7, AIRY_AMPLITUDE_F32),
        f64: scaled(1.0, 2e-14, AIRY_AMPLITUDE_F64),
    },
    Family {
        ops: "special_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_t special_legendre_polynomial_p",
        f32: ONE,
        f64: ONE,
    },
    Family {
        ops: "special_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_u",
        f32: RISING,
        f64: RISING,
    },
    Family {
        ops: "special_chebyshev_polynomial_v special_chebyshev_polynomial_w \
              special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w",
        f32: STEEP,
        f64: STEEP,
    },
    Family { ops: "special_hermite_polynomial_h", f32: HERMITE, f64: HERMITE },
    Family { ops: "special_hermite_polynomial_he", f32: HERMITE_HE, f64: HERMITE_HE },
    Family { ops: "special_laguerre_polynomial_l", f32: LAGUERRE, f64: LAGUERRE },
];

/// The bound of an op's results in this dtype, if the table has one.
pub(super) fn bound(op: &str, dtype: DType) -> Option<Allowed> {
    let family = FAMILIES.iter().find(|family| family.ops.split_whitespace().any(|name| name == op))?;
    match dtype {
        // They compute in f32: what may be lost there is not regained.
        DType::F16 | DType::BF16 => Some(Allowed { ulps: 1.0, ..family.f32 }),
        DType::F32 => Some(family.f32),
        _ => Some(family.f64),
    }
}
