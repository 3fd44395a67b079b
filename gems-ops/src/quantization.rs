//! Quantization: values moved to the nearest of evenly spaced steps, and steps themselves.

use crate::check::bounds_in_order;
use crate::prelude::*;
use crate::vectors::along;
use gems_runtime::op::Seen;

/// The nearest step before bounds: rint(x/scale) + zero_point, with the quotient as a product.
#[device_fn(grad)]
pub(crate) fn nearest_step<T: Float>(input: T, scale: T, zero_point: T) -> T {
    (input * (1 / scale)).round_ties_even() + zero_point
}

/// The value of the nearest quantization step: (q − zero_point)·scale with q = rint(x·(1/scale)) + zero_point in
/// [quant_min, quant_max].
///
/// Matches `torch.fake_quantize_per_tensor_affine`, but for NaN (lost there).
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: 1 where no bound was met,
/// else 0; 0 for scale and zero point.
#[pointwise_dynamic(
    promote = default(input), vote(input), check = quantization_range,
    grad(backward = crate::slope::of_fake_quantize)
)]
pub fn fake_quantize_per_tensor_affine<T: Float>(
    input: T,
    scale: T,
    zero_point: T,
    #[param] quant_min: T,
    #[param] quant_max: T,
) -> T {
    let step = clamp::scalar(nearest_step(input, scale, zero_point), quant_min, quant_max);
    (step - zero_point) * scale
}

/// The bounds of steps are in order.
pub(crate) fn quantization_range(arguments: &[Seen], common: DType) -> Result<()> {
    arguments.get(2..).map_or(Ok(()), |arguments| bounds_in_order(arguments, common))
}

/// [`fake_quantize_per_tensor_affine()`] with a scale and a zero point for each index of an axis.
///
/// Matches `torch.fake_quantize_per_channel_affine`.
///
/// # Errors
/// `Shape` if a vector does not have the size of the axis; else as [`fake_quantize_per_tensor_affine()`].
pub fn fake_quantize_per_channel_affine<B: Buffer>(
    input: &B,
    scale: &B,
    zero_point: &B,
    axis: isize,
    quant_min: i64,
    quant_max: i64,
) -> Result<B> {
    let named = |error: Error| error.in_op("fake_quantize_per_channel_affine");
    let scale = along(scale, input, axis).map_err(named)?;
    let zero_point = along(zero_point, input, axis).map_err(named)?;
    fake_quantize_per_tensor_affine(input, &scale, &zero_point, quant_min, quant_max)
}

/// [`fake_quantize_per_tensor_affine`] with the zero point rounded and moved into [quant_min, quant_max] first.
///
/// `grad_factor` is for the derivative alone. Matches `torch._fake_quantize_learnable_per_tensor_affine`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 for x where no bound was met, else 0; for scale and zero point as if rounding were straight, times
/// `grad_factor`: (r − x)/scale and 0 where no bound was met, else the bound's distance from the zero point and −scale.
#[pointwise_dynamic(
    promote = default(input), vote(input), check = quantization_range,
    grad(backward = fake_quantize_learnable_per_tensor_affine_backward::scalar)
)]
#[expect(unused_variables, reason = "the gradient's factor is none of the value's")]
pub fn fake_quantize_learnable_per_tensor_affine<T: Float>(
    input: T,
    scale: T,
    zero_point: T,
    #[param] quant_min: T,
    #[param] quant_max: T,
    #[param] grad_factor: T,
) -> T {
    let zero_point = clamp::scalar(zero_point.round_ties_even(), quant_min, quant_max);
    fake_quantize_per_tensor_affine::scalar(input, scale, zero_point, quant_min, quant_max)
}

/// [`fake_quantize_learnable_per_tensor_affine()`] with a scale and a zero point for each index of an axis.
///
/// Matches `torch._fake_quantize_learnable_per_channel_affine`.
///
/// # Errors
/// As [`fake_quantize_per_channel_affine`].
pub fn fake_quantize_learnable_per_channel_affine<B: Buffer>(
    input: &B,
    scale: &B,
    zero_point: &B,
    axis: isize,
    quant_min: i64,
    quant_max: i64,
    grad_factor: f64,
) -> Result<B> {
    let named = |error: Error| error.in_op("fake_quantize_learnable_per_channel_affine");
    let scale = along(scale, input, axis).map_err(named)?;
    let zero_point = along(zero_point, input, axis).map_err(named)?;
    fake_quantize_learnable_per_tensor_affine(input, &scale, &zero_point, quant_min, quant_max, grad_factor)
}

/// rint(x/scale) + zero_point without bounds; NaN → zero_point.
#[device_fn]
fn quantized<T: Float>(input: T, scale: T, zero_point: i32) -> f64 {
    let zero = zero_point as f64;
    if input.is_nan() { zero } else { (input / scale).round_ties_even() as f64 + zero }
}

/// The nearest quantization step, as u8: rint(x/scale) + zero_point, saturated; NaN → zero_point.
///
/// Matches the integers of `torch.quantize_per_tensor(…, torch.quint8)`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: none.
#[pointwise_dynamic(promote = default(input))]
pub fn quantize_per_tensor_u8<T: Float>(input: T, #[param] scale: T, #[param] zero_point: i32) -> u8 {
    let step: f64 = quantized(input, scale, zero_point);
    step as u8
}

/// The nearest quantization step, as i8: rint(x/scale) + zero_point, saturated; NaN → zero_point.
///
/// Matches the integers of `torch.quantize_per_tensor(…, torch.qint8)`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: none.
#[pointwise_dynamic(promote = default(input))]
pub fn quantize_per_tensor_i8<T: Float>(input: T, #[param] scale: T, #[param] zero_point: i32) -> i8 {
    let step: f64 = quantized(input, scale, zero_point);
    step as i8
}

/// The nearest quantization step, as i32: rint(x/scale) + zero_point, saturated; NaN → zero_point.
///
/// Matches the integers of `torch.quantize_per_tensor(…, torch.qint32)`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: none.
#[pointwise_dynamic(promote = default(input))]
pub fn quantize_per_tensor_i32<T: Float>(input: T, #[param] scale: T, #[param] zero_point: i32) -> i32 {
    let step: f64 = quantized(input, scale, zero_point);
    step as i32
}

/// The nearest quantization step in u8, i8 or i32.
///
/// Matches the integers of `torch.quantize_per_tensor`.
///
/// # Errors
/// `DType` for another dtype of the result; else as [`quantize_per_tensor_u8()`].
pub fn quantize_per_tensor<B: Buffer>(input: &B, scale: f64, zero_point: i32, dtype: DType) -> Result<B> {
    match dtype {
        DType::U8 => quantize_per_tensor_u8(input, scale, zero_point),
        DType::I8 => quantize_per_tensor_i8(input, scale, zero_point),
        DType::I32 => quantize_per_tensor_i32(input, scale, zero_point),
        other => {
            let message = format!("steps of {other} are not supported; choose u8, i8 or i32");
            Err(Error::new(ErrorKind::DType, message).in_op("quantize_per_tensor"))
        }
    }
}

/// (q − zero_point)·scale in f32, the difference exact.
///
/// Matches `torch.dequantize`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: none.
#[pointwise_dynamic(
    promote = default(input), vote(input),
    accepts(scale = float, zero_point = bool | u8 | i8 | i16 | u16 | i32 | u32 | i64)
)]
pub fn dequantize<T: Int>(input: T, scale: f32, zero_point: i64) -> f32 {
    (input as i64 - zero_point) as f32 * scale
}

// Gradients under PyTorch's names.

/// The gradient of [`fake_quantize_per_tensor_affine`]: dz where no bound was met.
///
/// Matches `aten::fake_quantize_per_tensor_affine_cachemask_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output), accepts(mask = bool), grad)]
pub fn fake_quantize_per_tensor_affine_cachemask_backward<T: Float>(grad_output: T, mask: bool) -> T {
    if mask { grad_output } else { 0 }
}

/// The gradients of [`fake_quantize_learnable_per_tensor_affine`] for x, scale and zero point, element by element.
///
/// The latter two are to be summed. Matches `aten::_fake_quantize_learnable_per_tensor_affine_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: by the formula, in which rounding has slope 0.
#[pointwise_dynamic(
    promote = default(grad_output, input), outputs(grad_input, grad_scale, grad_zero_point),
    vote(grad_output, input), check = learnable_range, grad
)]
pub fn fake_quantize_learnable_per_tensor_affine_backward<T: Float>(
    grad_output: T,
    input: T,
    scale: T,
    zero_point: T,
    #[param] quant_min: T,
    #[param] quant_max: T,
    #[param] grad_factor: T,
) -> (T, T, T) {
    let zero = clamp::scalar(zero_point.round_ties_even(), quant_min, quant_max);
    let step = nearest_step(input, scale, zero);
    let scaled = grad_output * grad_factor;
    let inside = step >= quant_min && step <= quant_max;
    let slope = if step < quant_min {
        quant_min - zero
    } else if step > quant_max {
        quant_max - zero
    } else {
        step - zero - input / scale
    };
    (if inside { grad_output } else { 0 }, scaled * slope, if inside { 0 } else { -scaled * scale })
}

/// The gradients of [`fake_quantize_learnable_per_channel_affine`] for x, scale and zero point, which must be floats.
///
/// Matches `aten::_fake_quantize_learnable_per_channel_affine_backward`.
///
/// # Errors
/// As [`fake_quantize_learnable_per_channel_affine`]; `Shape` if `grad_output` is not of the shape of `input`; `DType`
/// for integers.
#[expect(clippy::too_many_arguments, reason = "the signature of PyTorch's")]
pub fn fake_quantize_learnable_per_channel_affine_backward<B: Buffer>(
    grad_output: &B,
    input: &B,
    scale: &B,
    zero_point: &B,
    axis: isize,
    quant_min: i64,
    quant_max: i64,
    grad_factor: f64,
) -> Result<(B, B, B)> {
    let named = |error: Error| error.in_op("fake_quantize_learnable_per_channel_affine_backward");
    let scale = along(scale, input, axis).map_err(named)?;
    let zero_point = along(zero_point, input, axis).map_err(named)?;
    let (grad_input, grad_scale, grad_zero_point) = fake_quantize_learnable_per_tensor_affine::vjp(
        grad_output,
        input,
        &scale,
        &zero_point,
        quant_min,
        quant_max,
        grad_factor,
    )?;
    let flat = |gradient: &B| gradient.flatten(0, -1).map_err(named);
    Ok((grad_input, flat(&grad_scale)?, flat(&grad_zero_point)?))
}

/// The bounds of steps are in order.
fn learnable_range(arguments: &[Seen], common: DType) -> Result<()> {
    arguments.get(3..).map_or(Ok(()), |arguments| bounds_in_order(arguments, common))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer<T: crate::dtype::Element>(values: &[T]) -> StridedBuffer {
        StridedBuffer::from_slice(values, &[values.len()]).unwrap()
    }

    #[test]
    fn steps_are_rounded_before_the_zero_point_is_added() {
        assert_eq!(fake_quantize_per_tensor_affine::scalar(0.25f32, 0.1, 1.0, 0.0, 255.0), 0.2);
        assert!(fake_quantize_per_tensor_affine::scalar(f32::NAN, 0.1, 1.0, 0.0, 255.0).is_nan());
        assert_eq!(quantize_per_tensor_i8::scalar(1e30f32, 0.1, 5), 127);
        assert_eq!(quantize_per_tensor_u8::scalar(f32::NAN, 0.1, 5), 5);
        assert_eq!(quantize_per_tensor_i32::scalar(-2.5f64, 1.0, 1), -1);
        let steps = quantize_per_tensor(&buffer(&[1.0f32]), 0.5, 0, DType::I8).unwrap();
        assert_eq!(dequantize(&steps, 0.5, 0).unwrap().to_vec::<f32>().unwrap(), [1.0]);
        let wrong = quantize_per_tensor(&buffer(&[1.0f32]), 0.5, 0, DType::I64);
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::DType);
    }

    #[test]
    fn channels_have_their_own_steps() {
        let x = StridedBuffer::from_vec(vec![0.28f32; 4], &[2, 2]).unwrap();
        let (scale, zero_point) = (buffer(&[0.5f32, 0.2]), buffer(&[0i32, 0]));
        let learnable = |input: &_, scale: &_, zero: &_, axis, min, max| {
            fake_quantize_learnable_per_channel_affine(input, scale, zero, axis, min, max, 1.0)
        };
        for quantize in [fake_quantize_per_channel_affine, learnable] {
            let rows = quantize(&x, &scale, &zero_point, 0, -128, 127).unwrap().to_vec::<f32>().unwrap();
            let columns = quantize(&x, &scale, &zero_point, -1, -128, 127).unwrap().to_vec::<f32>().unwrap();
            assert_eq!((rows, columns), (vec![0.5, 0.5, 0.2, 0.2], vec![0.5, 0.2, 0.5, 0.2]));
            assert_eq!(quantize(&x, &scale, &zero_point, 2, 0, 1).unwrap_err().kind(), ErrorKind::Shape);
            assert_eq!(quantize(&x, &scale, &zero_point, 0, 1, 0).unwrap_err().kind(), ErrorKind::Value);
        }
    }

    #[test]
    fn bounds_of_steps_take_the_gradient() {
        let gradients =
            |x| fake_quantize_learnable_per_tensor_affine_backward::scalar(1.0, x, 0.5, 1.0, 0.0, 4.0, 2.0);
        assert_eq!(gradients(9.0), (0.0, 6.0, -1.0));
        assert_eq!(gradients(-9.0), (0.0, -2.0, -1.0));
        assert_eq!(gradients(0.75), (1.0, 1.0, 0.0));
        let (by_input, by_scale, by_zero_point) = gradients(f64::NAN);
        assert_eq!((by_input, by_scale.is_nan(), by_zero_point), (0.0, true, -1.0));
    }

    #[test]
    fn steps_that_are_learnt_have_summed_gradients() {
        let x = StridedBuffer::from_vec(vec![9.0f64, 0.75, -9.0, 0.75, 9.0, 9.0], &[2, 3]).unwrap();
        let dz = StridedBuffer::full(DType::F64, &[2, 3], 1, Device::Cpu).unwrap();
        let values = |x: &StridedBuffer| x.to_vec::<f64>().unwrap();
        let (scale, zero) = (buffer(&[0.5]), buffer(&[1.0]));
        let (dx, by_scale, by_zero) =
            fake_quantize_learnable_per_tensor_affine::vjp(&dz, &x, &scale, &zero, 0, 4, 2.0).unwrap();
        assert_eq!(values(&dx), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!((values(&by_scale), values(&by_zero)), (vec![18.0], vec![-4.0]));
        let (scale, zero) = (buffer(&[0.5, 0.5, 0.5]), buffer(&[1.0, 1.0, 1.0]));
        let channels = fake_quantize_learnable_per_channel_affine_backward;
        let (dx, by_scale, by_zero) = channels(&dz, &x, &scale, &zero, 1, 0, 4, 2.0).unwrap();
        assert_eq!(values(&dx), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!((values(&by_scale), values(&by_zero)), (vec![7.0, 7.0, 4.0], vec![-1.0, -1.0, -2.0]));
        assert_eq!(channels(&dz, &x, &scale, &zero, 0, 0, 4, 2.0).unwrap_err().kind(), ErrorKind::Shape);
    }
}
