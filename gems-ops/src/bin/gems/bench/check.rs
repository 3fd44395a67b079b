//! What a case must move, and whether its results are right on a sample.

use super::data::Argument;
use crate::elements::{Elements, Value};
use crate::failure::{Failure, Outcome};
use gems_ops::buffer::{Buffer, StridedBuffer, Views};
use gems_ops::device::Device;
use gems_ops::dtype::DType;

/// Bytes that a case must move: each element of inputs and outputs once, whole 32-byte sectors where elements lie apart,
/// and nothing for inputs that are broadcast.
#[expect(clippy::cast_precision_loss, reason = "a number for a report")]
pub(crate) fn least_bytes(arguments: &[Argument], outputs: &[StridedBuffer]) -> f64 {
    let numel = outputs.first().map_or(0, StridedBuffer::numel);
    let of = |buffer: &StridedBuffer| {
        let steps = buffer.meta().layout.strides().iter().map(|stride| stride.unsigned_abs());
        let step = steps.filter(|&step| step > 0).min().unwrap_or(1);
        let sector = 32 / buffer.dtype().size().min(32);
        (buffer.numel() * buffer.dtype().size() * step.min(sector)) as f64
    };
    let inputs = arguments.iter().filter_map(Argument::buffer).filter(|buffer| buffer.numel() == numel);
    inputs.chain(outputs).map(of).sum()
}

/// Elements of a line that is checked.
const LINE: usize = 3000;

/// Views of lines along each axis, at the start, in the middle and at the end of the others: the same lines of every
/// buffer that is asked for.
pub(crate) fn lines(shape: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let mut lines = Vec::new();
    for axis in 0..shape.len() {
        for part in 0..3 {
            let at = |extent: usize, length: usize| (extent - length) * part / 2;
            let ranges = shape.iter().enumerate().map(|(other, &extent)| {
                let length = if other == axis { extent.min(LINE) } else { extent.min(1) };
                (at(extent, length), length)
            });
            lines.push(ranges.collect());
        }
    }
    if shape.is_empty() {
        lines.push(Vec::new());
    }
    lines
}

/// The elements of a line on the host, contiguous.
pub(crate) fn line(
    buffer: &StridedBuffer,
    shape: &[usize],
    ranges: &[(usize, usize)],
) -> Outcome<StridedBuffer> {
    let wide: Vec<isize> = shape.iter().map(|extent| extent.cast_signed()).collect();
    let mut view = buffer.expand(&wide)?;
    for (axis, &(start, length)) in ranges.iter().enumerate() {
        view = view.narrow(axis.cast_signed(), start.cast_signed(), length)?;
    }
    let mut line = StridedBuffer::zeros(buffer.dtype(), view.shape(), buffer.device())?;
    gems_ops::copy::out(&view, &mut line)?;
    Ok(line.to_device(Device::Cpu)?)
}

/// Whether two buffers on the host agree: integers exactly, floats within some ulps of their dtype, those below 1 in the
/// ulps of 1, since results are sums of terms of about 1.
pub(crate) fn agree(expected: &StridedBuffer, got: &StridedBuffer) -> Outcome<()> {
    let ulps = match expected.dtype() {
        DType::F64 => 16.0 * f64::EPSILON,
        DType::F32 => 16.0 * f64::from(f32::EPSILON),
        DType::F16 => 2.0 / 1024.0,
        _ => 2.0 / 128.0,
    };
    let (expected, got) = (Elements::of(expected)?, Elements::of(got)?);
    for index in 0..expected.count() {
        let (want, have) = (expected.value(index), got.value(index));
        let equal = match (want, have) {
            (Value::Real(a), Value::Real(b)) => {
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= ulps * a.abs().max(1.0)
            }
            (want, have) => want == have,
        };
        if !equal {
            return Err(Failure::new(format!(
                "wrong result at {index} of a line: expected {want}, got {have}"
            )));
        }
    }
    Ok(())
}
