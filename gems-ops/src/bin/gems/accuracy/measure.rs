//! Runs an op on its points and compares with exact values.

use super::bounds::{self, Allowed};
use super::exact::{self, Real};
use super::formula::{Formula, Tracked};
use super::points::{self, Format, Points};
use super::rows::complex::ComplexRow;
use super::rows::{Row, composed};
use crate::failure::{Failure, Outcome, find_op};
use gems_ops::buffer::{Buffer, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::op::{OpDef, Operand, ParamDef, Role, TypeRef};
use num_complex::Complex;
use rayon::prelude::*;

/// What one op does in one dtype.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) points: usize,
    /// The largest error in ulps, and that which 99.9 % of the results do not exceed.
    pub(super) max: f64,
    pub(super) p999: f64,
    /// The part of the results that are the nearest float, and how large it must be.
    pub(super) nearest: f64,
    wanted: f64,
    /// The largest error over what is allowed there.
    pub(super) of_bound: f64,
    pub(super) bound: String,
    /// Where it is.
    pub(super) worst: Vec<f64>,
    pub(super) got: f64,
    pub(super) exact: f64,
}

impl Measured {
    /// Whether the bound is met; for halves, also that almost all results are the nearest float.
    pub(super) fn is_met(&self) -> bool {
        self.of_bound <= 1.0 && self.nearest >= self.wanted
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

/// An op with an exact function of its own.
pub(super) fn measure(row: &Row, dtype: DType, device: Device, samples: usize) -> Outcome<Measured> {
    let op = find_op(row.op)?;
    let is_short = Format::of(dtype).is_short() && matches!(row.points, Points::Line(_));
    let samples = if row.is_special && !is_short { samples.div_ceil(10) } else { samples };
    let points = points::points(row.points, &row.name(), dtype, samples);
    let Ran { operands, results } = run(op, row.numbers, &points, dtype, device)?;
    let (results, dtype) =
        results.into_iter().next().ok_or_else(|| Failure::new(format!("{} has no result", op.name)))?;
    let format = Format::of(dtype);
    let allowed = bounds::bound(row.op, dtype)
        .ok_or_else(|| Failure::new(format!("{} has no bound for {dtype}", row.op)))?;
    let point = |i: usize| -> Vec<f64> { operands.iter().map(|operand| operand[i]).collect() };
    let errors: Vec<Option<Error>> = (0..results.len())
        .into_par_iter()
        .map(|i| Some(error(row, &point(i), results[i], format, allowed)))
        .collect();
    let wanted = if format.is_short() { bounds::nearest(row.op) } else { 0.0 };
    let worst = |i: usize| (point(i), results[i], exact(row, &point(i)).to_f64());
    Ok(summary(errors, wanted, allowed.to_string(), worst))
}

/// An op whose exact values are those of its formula, and whose bound is what the roundings of the formula may do.
/// All results of an op are one row. None if no result is in this dtype.
pub(super) fn measure_formula(
    op: &'static OpDef,
    dtype: DType,
    device: Device,
    samples: usize,
) -> Outcome<Option<Measured>> {
    if !op.dtypes.contains(dtype) {
        return Ok(None);
    }
    let numbers = composed::numbers(op);
    let domains = composed::domains(op);
    let points = domains.as_deref().map_or(Points::Line(composed::NEAR), Points::Each);
    let points = points::points(points, op.name, dtype, samples);
    let Ran { operands, results } = run(op, &numbers, &points, dtype, device)?;
    let outputs: Vec<usize> = (0..results.len()).filter(|&output| results[output].1 == dtype).collect();
    let Some(count) = operands.first().map(Vec::len).filter(|_| !outputs.is_empty()) else { return Ok(None) };
    let compute = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let formula = Formula::of(op, compute, dtype)
        .map_err(|rest| Failure::new(format!("{}: cannot read the formula at {rest:?}", op.name)))?;
    let format = Format::of(dtype);
    let point = |i: usize| -> Vec<f64> {
        let mut buffers = operands.iter();
        let value = |param: &ParamDef| match numbers.iter().find(|(name, _)| *name == param.name) {
            Some((_, value)) => rounded(*value, param.ty.resolve(compute)),
            None => buffers.next().map_or(f64::NAN, |operand| operand[i]),
        };
        op.params.iter().map(value).collect()
    };
    let errors: Vec<Vec<Option<Error>>> = (0..count)
        .into_par_iter()
        .map(|i| {
            let exact = formula.results(&point(i)).ok();
            let error = |&output: &usize| {
                let exact = exact.as_ref()?.get(output)?.clone().rounded(format).ok()?;
                Some(error_of_formula(&exact, results[output].0[i], format))
            };
            outputs.iter().map(error).collect()
        })
        .collect();
    let errors: Vec<Option<Error>> =
        (0..outputs.len()).flat_map(|output| errors.iter().map(move |errors| errors[output])).collect();
    let worst = |at: usize| {
        let (output, i) = (outputs[at / count], at % count);
        let exact = formula.results(&point(i)).map_or(f64::NAN, |exact| exact[output].value.to_f64());
        (point(i), results[output].0[i], exact)
    };
    Ok(Some(summary(errors, 0.0, "½ ulp·each step".to_owned(), worst)))
}

/// An op of complex operands whose parts are in this dtype. Each part of a result counts, in ulps of the magnitude.
pub(super) fn measure_complex(
    row: &ComplexRow,
    dtype: DType,
    device: Device,
    samples: usize,
) -> Outcome<Measured> {
    let op = find_op(row.op)?;
    let columns = points::points(Points::Drawn(row.draw), row.op, dtype, samples.div_ceil(10));
    let pairs = |parts: &[Vec<f64>]| -> Vec<Complex<f64>> {
        parts[0].iter().zip(&parts[1]).map(|(&re, &im)| Complex::new(re, im)).collect()
    };
    let values = |buffer: &StridedBuffer| -> Outcome<Vec<Complex<f64>>> {
        Ok(gems_ops::cast(&buffer.to_device(Device::Cpu)?, DType::C128)?.to_vec::<Complex<f64>>()?)
    };
    let buffers = columns
        .chunks(2)
        .map(|parts| {
            let buffer = StridedBuffer::from_slice(&pairs(parts), &[parts[0].len()])?;
            Ok(gems_ops::cast(&buffer, dtype.complex())?.to_device(device)?)
        })
        .collect::<Outcome<Vec<_>>>()?;
    let operands = buffers.iter().map(values).collect::<Outcome<Vec<_>>>()?;
    let arguments: Vec<_> = buffers.iter().map(Operand::Buffer).collect();
    let results = StridedBuffer::run(op, &arguments, None)?;
    let results = values(results.first().ok_or_else(|| Failure::new(format!("{} has no result", op.name)))?)?;
    // On the axes are cuts, whose side is the sign of a zero: those are special values.
    let is_on_an_axis =
        |i: usize| operands.iter().any(|operand| operand[i].re == 0.0 || operand[i].im == 0.0);
    let exact_point = |i: usize| -> Vec<exact::Complex> {
        operands.iter().map(|operand| exact::Complex::of(operand[i].re, operand[i].im)).collect()
    };
    let format = Format::of(dtype);
    let allowed = if format.is_short() { 1.0 } else { row.ulps };
    let errors: Vec<Option<Error>> = (0..results.len())
        .into_par_iter()
        .map(|i| {
            let point = exact_point(i);
            let exact = (row.exact)(&point);
            let size = exact.abs();
            if is_on_an_axis(i) || !size.is_finite() || size.exponent() >= format.greatest.into() {
                return None;
            }
            let parts = [(results[i].re, exact.re), (results[i].im, exact.im)];
            let distance = |(got, exact): (f64, Real)| (Real::of(got) - exact).abs();
            let [re, im] = parts.map(distance);
            let most = if re.less(&im) || im.is_nan() { im } else { re };
            if !most.is_finite() {
                return Some(WRONG);
            }
            let ulps = most.scaled(-format.ulp(&size)).to_f64();
            let scale = row.scale.map_or(size, |scale| scale(&point));
            let of_scale = most.scaled(-format.ulp(&scale)).to_f64();
            Some(Error { ulps, of_bound: of_scale / allowed })
        })
        .collect();
    let bound = match row.scale {
        None => format!("{} ulp·|r|", row.ulps),
        Some(_) => format!("{} ulp·the larger term", row.ulps),
    };
    let worst = |i: usize| {
        let point: Vec<f64> = operands.iter().flat_map(|operand| [operand[i].re, operand[i].im]).collect();
        let exact = (row.exact)(&exact_point(i));
        (point, results[i].norm(), exact.abs().to_f64())
    };
    Ok(summary(errors, 0.0, bound, worst))
}

fn summary(
    errors: Vec<Option<Error>>,
    wanted: f64,
    bound: String,
    point: impl Fn(usize) -> (Vec<f64>, f64, f64),
) -> Measured {
    let of_bound = |i: usize| errors[i].map_or(-1.0, |error: Error| error.of_bound);
    let worst = (0..errors.len()).max_by(|&i, &j| of_bound(i).total_cmp(&of_bound(j))).unwrap_or(0);
    // Where nothing is measured, nothing is met.
    let of_bound = if errors.iter().all(Option::is_none) { f64::INFINITY } else { of_bound(worst) };
    let (worst, got, exact) = point(worst);
    let mut ulps: Vec<f64> = errors.iter().flatten().map(|error| error.ulps).collect();
    ulps.sort_unstable_by(f64::total_cmp);
    let count = ulps.len();
    let nearest = ulps.iter().filter(|&&ulps| ulps <= 0.5).count();
    Measured {
        points: count,
        max: ulps.last().copied().unwrap_or(f64::INFINITY),
        p999: ulps.get((count * 999).div_ceil(1000).saturating_sub(1)).copied().unwrap_or(f64::INFINITY),
        nearest: ratio(nearest, count),
        wanted,
        of_bound,
        bound,
        worst,
        got,
        exact,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of points")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// A number as the computation has it.
#[expect(clippy::cast_possible_truncation, reason = "rounds once")]
fn rounded(value: f64, dtype: DType) -> f64 {
    if dtype == DType::F32 { f64::from(value as f32) } else { value }
}

struct Ran {
    /// The buffers, as their dtypes have them.
    operands: Vec<Vec<f64>>,
    /// With their dtypes.
    results: Vec<(Vec<f64>, DType)>,
}

fn run(
    op: &'static OpDef,
    numbers: &[(&str, f64)],
    points: &[Vec<f64>],
    dtype: DType,
    device: Device,
) -> Outcome<Ran> {
    let values = |buffer: &StridedBuffer| -> Outcome<Vec<f64>> {
        Ok(gems_ops::cast(&buffer.to_device(Device::Cpu)?, DType::F64)?.to_vec::<f64>()?)
    };
    let number = |param: &ParamDef| numbers.iter().find(|(name, _)| *name == param.name);
    let dtypes = op.params.iter().filter(|param| number(param).is_none()).map(|param| match param.ty {
        TypeRef::Fixed(fixed) => fixed,
        _ => dtype,
    });
    let buffers = points
        .iter()
        .zip(dtypes)
        .map(|(points, dtype)| {
            Ok(gems_ops::cast(&StridedBuffer::from_slice(points, &[points.len()])?, dtype)?)
        })
        .collect::<Outcome<Vec<_>>>()?;
    let operands = buffers.iter().map(values).collect::<Outcome<Vec<_>>>()?;
    let buffers = buffers.iter().map(|buffer| Ok(buffer.to_device(device)?)).collect::<Outcome<Vec<_>>>()?;
    let mut remaining = buffers.iter();
    let arguments = op
        .params
        .iter()
        .map(|param| {
            let argument = match (number(param), param.role) {
                (Some((_, value)), _) => Some(Operand::Scalar(number_of(*value, param.ty))),
                (None, Role::Tensor) => remaining.next().map(Operand::Buffer),
                (None, Role::Number) => None,
            };
            argument.ok_or_else(|| Failure::new(format!("{}: no operand for `{}`", op.name, param.name)))
        })
        .collect::<Outcome<Vec<_>>>()?;
    let results = StridedBuffer::run(op, &arguments, None)?;
    let results =
        results.iter().map(|result| Ok((values(result)?, result.dtype()))).collect::<Outcome<_>>()?;
    Ok(Ran { operands, results })
}

/// An integer where it is one: orders are no floats.
#[expect(clippy::cast_possible_truncation, reason = "small numbers of the rows")]
fn number_of(value: f64, ty: TypeRef) -> Scalar {
    match ty {
        TypeRef::Fixed(DType::Bool) => Scalar::from(value != 0.0),
        _ if value.fract() == 0.0 => Scalar::from(value as i64),
        _ => Scalar::from(value),
    }
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
    let overflow = Real::of(2.0 - 2f64.powi(-format.mantissa - 1)).scaled(format.greatest.into());
    if !exact.abs().less(&overflow) {
        // At a pole, the sign may be that of a zero.
        let is_signed = exact.is_finite() || point.iter().all(|&x| x != 0.0);
        let is_same = got.is_infinite() && (!is_signed || (got < 0.0) == exact.is_negative());
        return if is_same { NONE } else { WRONG };
    }
    let ulp = format.ulp(&exact);
    let ulps = (counted(got, format) - &exact).abs().scaled(-ulp).to_f64();
    let numbers = row.numbers.iter().map(|(_, value)| *value);
    let all: Vec<f64> = point.iter().copied().chain(numbers).collect();
    let scale = if allowed.eps == 0.0 { 0.0 } else { (allowed.scale.of)(&all, exact.to_f64()) };
    let scaled = Real::of(allowed.eps * scale).scaled(-ulp).to_f64();
    Error { ulps, of_bound: ulps / scaled.max(allowed.ulps) }
}

/// A result as it counts where the exact one is a number: an infinite one as the power of two behind the greatest number.
fn counted(got: f64, format: Format) -> Real {
    match got.is_infinite() {
        true => Real::of(got.signum()).scaled(i64::from(format.greatest) + 1),
        false => Real::of(got),
    }
}

/// The error of a formula's result, whose own rounding is counted in the exact one's error.
fn error_of_formula(exact: &Tracked, got: f64, format: Format) -> Error {
    if !exact.value.is_finite() || got.is_nan() {
        let (exact, is_nan) = (exact.value.to_f64(), got.is_nan());
        return if exact == got || exact.is_nan() && is_nan { NONE } else { WRONG };
    }
    let distance = (counted(got, format) - &exact.value).abs();
    let ulps = distance.scaled(-format.ulp(&exact.value)).to_f64();
    if distance.is_zero() { NONE } else { Error { ulps, of_bound: (distance / &exact.error).to_f64() } }
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
    fn a_formula_that_rounds_to_infinity_is_no_fault() {
        let format = Format::of(DType::F16);
        let of_bound = |exact: f64, got: f64| {
            let exact = Tracked::exact(Real::of(exact), Format::of(DType::F32)).rounded(format).unwrap();
            error_of_formula(&exact, got, format).of_bound
        };
        assert!(of_bound(65529.0, f64::INFINITY) <= 1.0, "the nearest float is infinite from 65520 on");
        assert!(of_bound(65510.0, f64::INFINITY) > 1.0);
        assert!(of_bound(-65529.0, f64::INFINITY) > 1000.0);
        assert!(of_bound(65529.0, f64::NAN).is_infinite());
        assert_eq!(of_bound(f64::INFINITY, f64::INFINITY), 0.0);
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
