//! Conversion, selection and quantization.

use crate::check::{bounds_in_order, last_fits};
use crate::prelude::*;
use crate::vectors::along;
use gems_runtime::op::{Operand, Seen};

/// The same values in a new buffer, or in a given one of any dtype.
///
/// Conversions round once, to nearest even; float to integer truncates and saturates, NaN gives 0; anything to bool
/// tests for 0.
///
/// Matches `torch.clone` and `torch.Tensor.copy_`.
///
/// Accuracy: one rounding, to nearest even. Derivative: 1.
#[doc(alias = "clone")]
#[doc(alias = "to")]
#[pointwise_dynamic(promote = no_opmath(input), casts = freely, grad(order = 2))]
pub fn copy<T: Element>(input: T) -> T {
    input
}

/// The values of `input` in another dtype, converted as [`copy()`] does.
///
/// Matches `torch.Tensor.to(dtype)`.
///
/// # Errors
/// `Memory`; `Driver`.
pub fn cast<B: Buffer>(input: &B, dtype: DType) -> Result<B> {
    in_dtype(copy::DEF, &[Operand::Buffer(input)], Some(dtype))
}

/// The one result of an op, in a chosen dtype.
fn in_dtype<B: Buffer>(
    op: &'static gems_runtime::op::OpDef,
    operands: &[Operand<'_, B>],
    dtype: Option<DType>,
) -> Result<B> {
    let mut outputs = B::run(op, operands, dtype)?;
    outputs.pop().ok_or_else(|| Error::new(ErrorKind::Unsupported, "the op has no result").in_op(op.name))
}

/// The last argument is a number that fits or a buffer without axes.
fn last_is_one_value(arguments: &[Seen], common: DType) -> Result<()> {
    if let Some(Seen::Buffer { rank: 1.., .. }) = arguments.last() {
        let message = "`value` has axes; pass a number or a buffer without axes";
        return Err(Error::new(ErrorKind::Shape, message));
    }
    last_fits(arguments, common)
}

/// `value` in every element; a number must fit the dtype of `input`, a buffer must have no axes.
///
/// Matches `torch.fill`.
///
/// Special values: kept as given. Accuracy: exact. Derivative: 0 for x, 1 for `value`.
#[expect(unused_variables, reason = "`input` gives shape and dtype")]
#[pointwise_dynamic(promote = no_opmath(input), check = last_is_one_value, vote(input), grad)]
pub fn fill<T: Element>(input: T, value: T) -> T {
    value
}

/// 0 in every element.
///
/// Matches `torch.zeros_like` and `torch.Tensor.zero_`.
///
/// Special values: none. Accuracy: exact. Derivative: 0.
#[doc(alias = "zeros_like")]
#[expect(unused_variables, reason = "`input` gives shape and dtype")]
#[pointwise_dynamic(promote = default(input), dtypes(bool, int, float, complex), grad(zero))]
pub fn zero<T: Number>(input: T) -> T {
    0
}

/// A new buffer like `input`, of its dtype or another one, with `fill_value` in every element.
///
/// Matches `torch.full_like`.
///
/// # Errors
/// `Value` if the number does not fit the dtype; `Memory`; `Driver`.
pub fn full_like<B: Buffer>(input: &B, fill_value: impl Into<Scalar>, dtype: Option<DType>) -> Result<B> {
    let mut filled = in_dtype(zero::DEF, &[Operand::Buffer(input)], dtype)?;
    fill::inplace(&mut filled, fill_value.into())?;
    Ok(filled)
}

/// x where the condition is true, else y; values of any dtype, untouched.
///
/// The condition is bool or u8 and does not promote. Matches `torch.where`.
///
/// Special values: kept, bit by bit. Accuracy: exact. Derivative: 1 for the chosen one.
#[pointwise_dynamic(
    name = "where", promote = no_opmath(input, other), accepts(condition = bool | u8),
    grad(order = 2)
)]
pub fn where_<T: Element>(condition: bool, input: T, other: T) -> T {
    if condition { input } else { other }
}

/// `value` where the mask is true, else x; a number must fit the dtype of `input`, a buffer must have no axes.
///
/// Matches `torch.masked_fill`.
///
/// Special values: kept, bit by bit. Accuracy: exact. Derivative: 1 for x outside the mask, 1 for `value` under it.
#[pointwise_dynamic(promote = no_opmath(input), check = last_is_one_value, accepts(mask = bool), vote(input, mask), grad(order = 2))]
pub fn masked_fill<T: Element>(input: T, mask: bool, value: T) -> T {
    if mask { value } else { input }
}

/// x·scale where the mask is not 0, else 0, also for NaN.
///
/// Matches `torch._masked_scale`, which multiplies with the mask.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: scale under the mask.
#[doc(alias = "_masked_scale")]
#[doc(alias = "native_dropout_backward")]
#[pointwise_dynamic(promote = default(input), accepts(mask = bool | u8), grad(order = 2))]
pub fn masked_scale<T: Float>(input: T, mask: bool, #[param] scale: T) -> T {
    if mask { input * scale } else { 0 }
}

/// `nan` for NaN, `posinf` for ∞, `neginf` for −∞, else x; complex numbers part by part.
///
/// The formula of [`nan_to_num`], with all numbers given.
///
/// Matches `torch.nan_to_num`.
///
/// Accuracy: exact. Derivative: 1 where nothing was replaced, else 0; real numbers only.
#[pointwise_dynamic(
    promote = default(input), dtypes(bool, int, float), complex = nan_to_num_complex, grad(order = 2)
)]
pub fn nan_to_num_kernel<T: Real>(input: T, #[param] nan: T, #[param] posinf: T, #[param] neginf: T) -> T {
    if input.is_nan() {
        nan
    } else if input > T::MAX {
        posinf
    } else if input < T::MIN {
        neginf
    } else {
        input
    }
}

#[pointwise_dynamic(promote = default(input), dtypes(complex), name = "nan_to_num_kernel")]
fn nan_to_num_complex<T: Number>(input: T, #[param] nan: T, #[param] posinf: T, #[param] neginf: T) -> T {
    let re = nan_to_num_kernel::scalar(input.re(), nan.re(), posinf.re(), neginf.re());
    let im = nan_to_num_kernel::scalar(input.im(), nan.re(), posinf.re(), neginf.re());
    (re as T).with_im(im)
}

/// `nan` for NaN, `posinf` for ∞ or else the greatest value of the stored dtype, `neginf` likewise; integers stay,
/// complex numbers are taken part by part.
///
/// Matches `torch.nan_to_num`.
///
/// # Errors
/// `Memory`; `Driver`.
pub fn nan_to_num<B: Buffer>(input: &B, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<B> {
    let dtype = input.meta().dtype;
    if dtype.is_int() || dtype == DType::Bool {
        return copy(input);
    }
    let limit = |side, given: Option<f64>| given.map_or(Scalar::limit(dtype, side), Scalar::from);
    nan_to_num_kernel(input, nan, limit(1, posinf), limit(-1, neginf))
}

/// The nearest step before bounds: rint(x/scale) + zero_point, with the quotient as a product.
#[device_fn]
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
/// Matches `torch._fake_quantize_learnable_per_tensor_affine`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: 1 where no bound was met, else 0; 0 for scale and zero point, which
/// `fake_quantize_learnable_per_tensor_affine_backward` gives.
#[pointwise_dynamic(
    promote = default(input), vote(input), check = quantization_range,
    grad(backward = crate::slope::of_learnable_fake_quantize)
)]
pub fn fake_quantize_learnable_per_tensor_affine<T: Float>(
    input: T,
    scale: T,
    zero_point: T,
    #[param] quant_min: T,
    #[param] quant_max: T,
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
) -> Result<B> {
    let named = |error: Error| error.in_op("fake_quantize_learnable_per_channel_affine");
    let scale = along(scale, input, axis).map_err(named)?;
    let zero_point = along(zero_point, input, axis).map_err(named)?;
    fake_quantize_learnable_per_tensor_affine(input, &scale, &zero_point, quant_min, quant_max)
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

/// x moved into ±65504, the range of f16; NaN stays.
///
/// Matches `torch._saturate_weight_to_fp16`.
///
/// Accuracy: exact. Derivative: as `clamp`.
#[doc(alias = "_saturate_weight_to_fp16")]
#[pointwise_dynamic(promote = default(weight), dtypes(f32), grad)]
pub fn saturate_weight_to_fp16<T: Float>(weight: T) -> T {
    clamp::scalar(weight, -65504.0, 65504.0)
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
/// Derivative: none.
#[pointwise_dynamic(
    promote = default(grad_output, input), outputs(grad_input, grad_scale, grad_zero_point),
    vote(grad_output, input), check = learnable_range
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
    if step < quant_min {
        (0, scaled * (quant_min - zero), -scaled * scale)
    } else if step > quant_max {
        (0, scaled * (quant_max - zero), -scaled * scale)
    } else {
        (grad_output, scaled * (step - zero - input / scale), 0)
    }
}

/// The bounds of steps are in order.
fn learnable_range(arguments: &[Seen], common: DType) -> Result<()> {
    arguments.get(3..).map_or(Ok(()), |arguments| bounds_in_order(arguments, common))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use num_complex::Complex;

    fn buffer<T: crate::dtype::Element>(values: &[T]) -> StridedBuffer {
        StridedBuffer::from_slice(values, &[values.len()]).unwrap()
    }

    #[test]
    fn a_fill_must_fit() {
        let mut x = buffer(&[1u8, 2]);
        fill::inplace(&mut x, 7.9).unwrap();
        assert_eq!(x.to_vec::<u8>().unwrap(), [7, 7]);
        assert_eq!(fill(&x, 256).unwrap_err().kind(), ErrorKind::Value);
        assert_eq!(
            masked_fill(&buffer(&[f16::ONE]), &buffer(&[true]), 1e6).unwrap_err().kind(),
            ErrorKind::Value
        );
        let wide = full_like(&x, 300, Some(DType::I32)).unwrap();
        assert_eq!(wide.to_vec::<i32>().unwrap(), [300, 300]);
        assert_eq!(zero(&wide).unwrap().to_vec::<i32>().unwrap(), [0, 0]);
    }

    #[test]
    fn a_fill_from_a_0d_buffer_is_converted() {
        let value = StridedBuffer::from_element(2.7f64).unwrap();
        let filled = masked_fill(&buffer(&[5i64, 6]), &buffer(&[true, false]), &value).unwrap();
        assert_eq!(filled.to_vec::<i64>().unwrap(), [2, 6]);
    }

    #[test]
    fn infinities_become_the_limits_of_the_stored_dtype() {
        let x = buffer(&[f16::NAN, f16::INFINITY, f16::NEG_INFINITY, f16::ONE]);
        let numbers = nan_to_num(&x, 3.0, None, Some(-1.0)).unwrap().to_vec::<f16>().unwrap();
        assert_eq!(numbers.map_to_f32(), [3.0, 65504.0, -1.0, 1.0]);
        let x = buffer(&[bf16::INFINITY]);
        assert_eq!(nan_to_num(&x, 0.0, None, None).unwrap().to_vec::<bf16>().unwrap(), [bf16::MAX]);
        assert_eq!(nan_to_num(&buffer(&[3i8]), 0.0, None, None).unwrap().to_vec::<i8>().unwrap(), [3]);
        let z = buffer(&[Complex::new(f32::NAN, f32::INFINITY), Complex::new(f32::NEG_INFINITY, 1.0)]);
        let parts = nan_to_num(&z, 3.0, Some(f64::INFINITY), None).unwrap().to_vec::<Complex<f32>>().unwrap();
        assert_eq!(parts, [Complex::new(3.0, f32::INFINITY), Complex::new(f32::MIN, 1.0)]);
    }

    trait MapToF32 {
        fn map_to_f32(self) -> Vec<f32>;
    }

    impl MapToF32 for Vec<f16> {
        fn map_to_f32(self) -> Vec<f32> {
            self.into_iter().map(f32::from).collect()
        }
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
        for quantize in [fake_quantize_per_channel_affine, fake_quantize_learnable_per_channel_affine] {
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
    }
}
