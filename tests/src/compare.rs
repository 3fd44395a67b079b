//! Equality of two buffers, bit for bit or within some ulps.

use gems_ops::prelude::*;
use num_complex::Complex;

/// How equal two buffers must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The same bits; NaN for NaN.
    Exact,
    /// At most so many representable values apart (f32 and f64; halves one apart); NaN for NaN. Results below 1/4 are
    /// counted in the ulps of 1/4, since sums of library results cancel.
    Ulps(u64),
}

/// Compares two buffers of one dtype and shape.
///
/// # Errors
/// The first difference: index and both values.
pub fn compare(expected: &StridedBuffer, got: &StridedBuffer, bound: Bound) -> Result<(), String> {
    let text = |error: Error| error.to_string();
    match expected.dtype() {
        DType::C32 | DType::C64 | DType::C128 => {
            let wide = |x: &StridedBuffer| cast(x, DType::C128)?.to_vec::<Complex<f64>>();
            let parts = |x: &StridedBuffer| {
                wide(x).map(|values| values.iter().flat_map(|z| [z.re, z.im]).collect::<Vec<_>>())
            };
            differ(
                &parts(expected).map_err(text)?,
                &parts(got).map_err(text)?,
                bound,
                expected.dtype().real(),
            )
        }
        dtype if dtype.is_float() => {
            let wide = |x: &StridedBuffer| cast(x, DType::F64)?.to_vec::<f64>();
            differ(&wide(expected).map_err(text)?, &wide(got).map_err(text)?, bound, dtype)
        }
        DType::U64 => {
            let (a, b) = (expected.to_vec::<u64>().map_err(text)?, got.to_vec::<u64>().map_err(text)?);
            first(a.iter().zip(&b).map(|(a, b)| (a == b, a, b)))
        }
        _ => {
            let wide = |x: &StridedBuffer| cast(x, DType::I64)?.to_vec::<i64>();
            let (a, b) = (wide(expected).map_err(text)?, wide(got).map_err(text)?);
            first(a.iter().zip(&b).map(|(a, b)| (a == b, a, b)))
        }
    }
}

fn differ(expected: &[f64], got: &[f64], bound: Bound, dtype: DType) -> Result<(), String> {
    let equal = |a: f64, b: f64| match bound {
        _ if a.is_nan() || b.is_nan() => a.is_nan() && b.is_nan(),
        Bound::Exact => a.to_bits() == b.to_bits(),
        Bound::Ulps(ulps) => {
            let scale = a.abs().max(0.25);
            let unit = match dtype {
                DType::F64 => ulp(scale, 52, -1074),
                DType::F32 => ulp(scale, 23, -149),
                DType::BF16 => ulp(scale, 7, -133),
                DType::F16 => ulp(scale, 10, -24),
                _ => ulp(scale, 2, -16),
            };
            let allowed = if matches!(dtype, DType::F32 | DType::F64) { ulps as f64 } else { 1.0 };
            a == b || (a - b).abs() <= allowed * unit
        }
    };
    first(expected.iter().zip(got).map(|(&a, &b)| (equal(a, b), a, b)))
}

/// Distance to the next value with so many mantissa bits.
#[expect(clippy::cast_possible_truncation, reason = "exponents of f64 are small")]
fn ulp(x: f64, mantissa: i32, smallest: i32) -> f64 {
    let exponent = if x == 0.0 || !x.is_finite() { -1100 } else { x.abs().log2().floor() as i32 };
    2f64.powi(Ord::max(exponent - mantissa, smallest))
}

fn first<T: std::fmt::Debug>(pairs: impl Iterator<Item = (bool, T, T)>) -> Result<(), String> {
    for (i, (equal, expected, got)) in pairs.enumerate() {
        if !equal {
            return Err(format!("element {i}: expected {expected:?}, got {got:?}"));
        }
    }
    Ok(())
}
