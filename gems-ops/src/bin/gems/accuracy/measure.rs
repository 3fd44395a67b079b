//! Runs an op on its points and compares with exact values.

use super::bounds::{self, Allowed};
use super::exact::Real;
use super::points::{self, Format, Points};
use super::rows::Row;
use crate::failure::{Failure, Outcome, find_op};
use gems_ops::buffer::{Buffer, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::op::{OpDef, Operand, Role};
use rayon::prelude::*;

/// What one op does in one dtype.
#[derive(Debug)]
pub(super) struct Measured {
    /// Of the results.
    dtype: DType,
    pub(super) points: usize,
    /// The largest error in ulps, and that which 99.9 % of the results do not exceed.
    pub(super) max: f64,
    pub(super) p999: f64,
    /// The part of the results that are the nearest float.
    pub(super) nearest: f64,
    /// The largest error over what is allowed there.
    pub(super) of_bound: f64,
    pub(super) allowed: Allowed,
    /// Where it is.
    pub(super) worst: Vec<f64>,
    pub(super) got: f64,
    pub(super) exact: f64,
}

impl Measured {
    /// Whether the bound is met; for halves, also that almost all results are the nearest float.
    pub(super) fn is_met(&self, op: &str) -> bool {
        let is_short = Format::of(self.dtype).is_short();
        self.of_bound <= 1.0 && (!is_short || self.nearest >= bounds::nearest(op))
    }
}

/// One result against the exact one.
#[derive(Clone, Copy, Debug)]
struct Error {
    ulps: f64,
    of_bound: f64,
}

const NONE: Error = Error { ulps: 0.0, of_bound: 0.0 };
const WRONG: Error = Error { ulps: f64::INFINITY, of_bound: f64::INFINITY };

pub(super) fn measure(row: &Row, dtype: DType, device: Device, samples: usize) -> Outcome<Measured> {
    let op = find_op(row.op)?;
    let is_short = Format::of(dtype).is_short() && matches!(row.points, Points::Line(_));
    let samples = if row.is_special && !is_short { samples.div_ceil(10) } else { samples };
    let points = points::points(row.points, &row.name(), dtype, samples);
    let (operands, results, dtype) = run(op, row, &points, dtype, device)?;
    let format = Format::of(dtype);
    let allowed = bounds::bound(row.op, dtype)
        .ok_or_else(|| Failure::new(format!("{} has no bound for {dtype}", row.op)))?;
    let point = |i: usize| -> Vec<f64> { operands.iter().map(|operand| operand[i]).collect() };
    let mut errors: Vec<Error> = (0..results.len())
        .into_par_iter()
        .map(|i| error(row, &point(i), results[i], format, allowed))
        .collect();
    let worst =
        (0..errors.len()).max_by(|&i, &j| errors[i].of_bound.total_cmp(&errors[j].of_bound)).unwrap_or(0);
    let arguments = point(worst);
    let exact = exact(row, &arguments).to_f64();
    let (of_bound, count) = (errors[worst].of_bound, errors.len());
    let nearest = errors.iter().filter(|error| error.ulps <= 0.5).count();
    errors.sort_unstable_by(|a, b| a.ulps.total_cmp(&b.ulps));
    Ok(Measured {
        dtype,
        points: count,
        max: errors[count - 1].ulps,
        p999: errors[(count * 999).div_ceil(1000) - 1].ulps,
        nearest: ratio(nearest, count),
        of_bound,
        allowed,
        worst: arguments,
        got: results[worst],
        exact,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of points")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The operands as their dtype has them, the results, and the dtype of these.
fn run(
    op: &'static OpDef,
    row: &Row,
    points: &[Vec<f64>],
    dtype: DType,
    device: Device,
) -> Outcome<(Vec<Vec<f64>>, Vec<f64>, DType)> {
    let buffers = points
        .iter()
        .map(|points| Ok(gems_ops::cast(&StridedBuffer::from_slice(points, &[points.len()])?, dtype)?))
        .collect::<Outcome<Vec<_>>>()?;
    let values = |buffer: &StridedBuffer| -> Outcome<Vec<f64>> {
        Ok(gems_ops::cast(&buffer.to_device(Device::Cpu)?, DType::F64)?.to_vec::<f64>()?)
    };
    let operands = buffers.iter().map(values).collect::<Outcome<Vec<_>>>()?;
    let buffers = buffers.iter().map(|buffer| Ok(buffer.to_device(device)?)).collect::<Outcome<Vec<_>>>()?;
    let mut remaining = buffers.iter();
    let arguments = op
        .params
        .iter()
        .map(|param| {
            let number = row.numbers.iter().find(|(name, _)| *name == param.name);
            let argument = match (number, param.role) {
                (Some((_, value)), _) => Some(Operand::Scalar(number_of(*value))),
                (None, Role::Tensor) => remaining.next().map(Operand::Buffer),
                (None, Role::Number) => None,
            };
            argument.ok_or_else(|| Failure::new(format!("{}: no operand for `{}`", row.name(), param.name)))
        })
        .collect::<Outcome<Vec<_>>>()?;
    let results = StridedBuffer::run(op, &arguments, None)?;
    let result = results.first().ok_or_else(|| Failure::new(format!("{} has no result", op.name)))?;
    Ok((operands, values(result)?, result.dtype()))
}

/// An integer where it is one: orders are no floats.
#[expect(clippy::cast_possible_truncation, reason = "small numbers of the rows")]
fn number_of(value: f64) -> Scalar {
    if value.fract() == 0.0 { Scalar::from(value as i64) } else { Scalar::from(value) }
}

fn exact(row: &Row, point: &[f64]) -> Real {
    match point {
        _ if point.iter().any(|x| x.is_nan()) => Real::of(f64::NAN),
        [x] if *x == f64::NEG_INFINITY => Real::of(row.ends[0]),
        [x] if *x == f64::INFINITY => Real::of(row.ends[1]),
        _ => (row.exact)(&point.iter().map(|&x| Real::of(x)).collect::<Vec<_>>()),
    }
}

fn error(row: &Row, point: &[f64], got: f64, format: Format, allowed: Allowed) -> Error {
    let exact = exact(row, point);
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { NONE } else { WRONG };
    }
    let Format { mantissa, least, greatest } = format;
    let overflow = Real::of(2.0 - 2f64.powi(-mantissa - 1)).scaled(greatest.into());
    if !exact.abs().less(&overflow) {
        // At a pole, the sign may be that of a zero.
        let is_signed = exact.is_finite() || point.iter().all(|&x| x != 0.0);
        let is_same = got.is_infinite() && (!is_signed || (got < 0.0) == exact.is_negative());
        return if is_same { NONE } else { WRONG };
    }
    // An infinite result counts as the power of two behind the greatest number.
    let value = if got.is_infinite() {
        Real::of(got.signum()).scaled(i64::from(greatest) + 1)
    } else {
        Real::of(got)
    };
    let ulp = exact.exponent().max(least.into()) - i64::from(mantissa);
    let ulps = (value - &exact).abs().scaled(-ulp).to_f64();
    let numbers = row.numbers.iter().map(|(_, value)| *value);
    let all: Vec<f64> = point.iter().copied().chain(numbers).collect();
    let scale = if allowed.eps == 0.0 { 0.0 } else { (allowed.scale.of)(&all, exact.to_f64()) };
    let scaled = Real::of(allowed.eps * scale).scaled(-ulp).to_f64();
    Error { ulps, of_bound: ulps / scaled.max(allowed.ulps) }
}

#[cfg(test)]
mod tests {
    use super::super::rows::rows;
    use super::*;

    fn row(name: &str) -> &'static Row {
        rows().find(|row| row.name() == name).unwrap()
    }

    #[track_caller]
    fn ulps(name: &str, point: &[f64], got: f64, dtype: DType) -> f64 {
        error(row(name), point, got, Format::of(dtype), bounds::bound(row(name).op, dtype).unwrap()).ulps
    }

    #[test]
    fn errors_are_counted_in_ulps_of_the_exact_value() {
        let step = f64::from(f32::EPSILON);
        assert_eq!(ulps("add", &[1.0, 2.0], 3.0, DType::F32), 0.0);
        assert_eq!(ulps("add", &[1.0, 0.5], 1.5 + 3.0 * step, DType::F32), 3.0);
        assert_eq!(ulps("add", &[1.0, step / 4.0], 1.0, DType::F32), 0.25);
        // Not below the least subnormal.
        assert_eq!(ulps("mul", &[2f64.powi(-100), 2f64.powi(-50)], 0.0, DType::F32), 0.5);
        assert_eq!(ulps("mul", &[2f64.powi(-1000), 2f64.powi(-75)], 5e-324, DType::F64), 0.5);
    }

    #[test]
    fn infinities_and_nan_must_be_what_they_are() {
        let wrong = f64::INFINITY;
        assert_eq!(ulps("exp", &[100.0], f64::INFINITY, DType::F32), 0.0);
        assert_eq!(ulps("exp", &[100.0], f32::MAX.into(), DType::F32), wrong);
        assert_eq!(ulps("mul", &[f32::MAX.into(), 1.0], f64::INFINITY, DType::F32), 1.0);
        assert_eq!(ulps("log", &[-1.0], 0.0, DType::F32), wrong);
        assert_eq!(ulps("log", &[-1.0], f64::NAN, DType::F32), 0.0);
        assert_eq!(ulps("log", &[1.0], f64::NAN, DType::F32), wrong);
        assert_eq!(ulps("reciprocal", &[-0.0], f64::NEG_INFINITY, DType::F32), 0.0);
        assert_eq!(ulps("gelu", &[f64::NEG_INFINITY], -0.0, DType::F16), 0.0);
    }
}
