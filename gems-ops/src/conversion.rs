//! Conversion and selection.

use crate::check::last_fits;
use crate::prelude::*;
use gems_runtime::layout::Layout;
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

/// `input` itself if its elements lie in row-major order without gaps, else a copy that has them so.
///
/// What has another order, such as a transposed view, cannot be viewed under another shape; its contiguous copy can, where
/// [`copy()`] keeps the order. Matches `torch.Tensor.contiguous`.
///
/// # Errors
/// `Memory`; `Driver`.
///
/// # Examples
/// ```
/// use gems_ops::prelude::*;
///
/// let x = StridedBuffer::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert!(x.t()?.reshape(&[6]).is_err());
/// assert_eq!(contiguous(&x.t()?)?.reshape(&[6])?.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), Error>(())
/// ```
pub fn contiguous<B: Buffer>(input: &B) -> Result<B> {
    if input.settled(Ok(input.meta().layout.is_contiguous()))? {
        return Ok(input.clone());
    }
    let mut result = input.unset(Layout::row_major(input.dims())?)?;
    copy::out(input, &mut result)?;
    Ok(result)
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
/// Accuracy: exact. Derivative: 1 where nothing was replaced, else 0, of complex numbers part by part.
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

#[pointwise_dynamic(
    promote = default(input), dtypes(complex), name = "nan_to_num_kernel",
    grad(backward = of_nan_to_num_complex(grad_output, input), order = 2)
)]
fn nan_to_num_complex<T: Number>(input: T, #[param] nan: T, #[param] posinf: T, #[param] neginf: T) -> T {
    let re = nan_to_num_kernel::scalar(input.re(), nan.re(), posinf.re(), neginf.re());
    let im = nan_to_num_kernel::scalar(input.im(), nan.re(), posinf.re(), neginf.re());
    (re as T).with_im(im)
}

/// The parts that were kept: of what is not finite, not even the difference from itself is.
#[device_fn(grad)]
fn of_nan_to_num_complex<T: Analytic>(g: T, input: T) -> T {
    let re = if input.re() - input.re() == 0 { g.re() } else { 0 };
    let im = if input.im() - input.im() == 0 { g.im() } else { 0 };
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

/// x moved into ±65504, the range of f16; NaN stays.
///
/// Matches `torch._saturate_weight_to_fp16`.
///
/// Accuracy: exact. Derivative: as `clamp`.
#[doc(alias = "_saturate_weight_to_fp16")]
#[pointwise_dynamic(promote = default(weight), dtypes(f32), grad(order = 2))]
pub fn saturate_weight_to_fp16<T: Float>(weight: T) -> T {
    clamp::scalar(weight, -65504.0, 65504.0)
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
    fn what_was_replaced_has_no_gradient_part_by_part() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let z = buffer(&[Complex::new(nan, 2.0), Complex::new(1.0, -inf), Complex::new(1.0, 2.0)]);
        let dz = buffer(&[Complex::new(0.5, -1.5); 3]);
        let gradient = nan_to_num_kernel::vjp(&dz, &z, 0.0, 9.0, -9.0).unwrap();
        let want = [Complex::new(0.0, -1.5), Complex::new(0.5, 0.0), Complex::new(0.5, -1.5)];
        assert_eq!(gradient.to_vec::<Complex<f64>>().unwrap(), want);
    }
}
