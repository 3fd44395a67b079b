//! Ops of a buffer and vectors along its axes.

use crate::prelude::*;
use gems_runtime::layout::{Place, Quantity};
use gems_runtime::op::Operand;

/// beta·x + alpha·(a·b); beta = 0 ignores x, NaN too.
///
/// The formula of [`addr`], for operands that broadcast already.
///
/// Matches `torch.addr`.
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: beta for x, alpha·b for a,
/// alpha·a for b.
#[pointwise_dynamic(promote = default(input, vec1, vec2), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn addr_kernel<T: Number>(input: T, vec1: T, vec2: T, #[param] beta: T, #[param] alpha: T) -> T {
    let product = alpha * vec1 * vec2;
    if beta == 0 { product } else { beta * input + product }
}

/// beta·x + alpha·(a ⊗ b): a matrix, a vector for its rows and one for its columns; beta = 0 ignores x, NaN too.
///
/// Matches `torch.addr`.
///
/// # Errors
/// `Shape` unless `vec1` and `vec2` are vectors; else as [`addr_kernel()`].
pub fn addr<B: Buffer>(
    input: &B,
    vec1: &B,
    vec2: &B,
    beta: impl Into<Scalar>,
    alpha: impl Into<Scalar>,
) -> Result<B> {
    for vector in [vec1, vec2] {
        if vector.meta().layout.rank() != 1 {
            let message = format!("{} is no vector; flatten it", vector.meta());
            return Err(Error::new(ErrorKind::Shape, message).in_op("addr"));
        }
    }
    addr_kernel(input, &vec1.unsqueeze(1)?, vec2, beta, alpha)
}

/// (x − mean)·invstd·weight + bias.
///
/// The formula of [`batch_norm_elemt`], for operands that broadcast already. The result has the dtype of x; the others
/// are read in the computation dtype.
///
/// Matches `torch.batch_norm_elemt`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: invstd·weight for x, (x − mean)·invstd for weight, 1 for bias, −invstd·weight for mean, (x −
/// mean)·weight for invstd.
#[pointwise_dynamic(promote = default(input), vote(input), grad(order = 2))]
pub fn batch_norm_elemt_kernel<T: Float>(input: T, weight: T, bias: T, mean: T, invstd: T) -> T {
    (input - mean) * invstd * weight + bias
}

/// (x − mean)·invstd·weight + bias, with vectors along axis 1 of x; no weight is 1, no bias 0.
///
/// Matches `torch.batch_norm_elemt`.
///
/// # Errors
/// `Shape` if x has no axis 1 or a vector does not have its size; else as [`batch_norm_elemt_kernel()`].
pub fn batch_norm_elemt<B: Buffer>(
    input: &B,
    weight: Option<&B>,
    bias: Option<&B>,
    mean: &B,
    invstd: &B,
) -> Result<B> {
    let named = |error: Error| error.in_op("batch_norm_elemt");
    let view = |vector: Option<&B>| vector.map(|vector| along(vector, input, 1)).transpose().map_err(named);
    let (mean, invstd) = (along(mean, input, 1).map_err(named)?, along(invstd, input, 1).map_err(named)?);
    let (weight, bias) = (view(weight)?, view(bias)?);
    let weight = weight.as_ref().map_or(Operand::from(1), Operand::from);
    let bias = bias.as_ref().map_or(Operand::from(0), Operand::from);
    batch_norm_elemt_kernel(input, weight, bias, &mean, &invstd)
}

/// The axis that a number names, counted from the end if negative.
pub(crate) fn axis_of(rank: usize, axis: isize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add_unsigned(rank)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// A view of a vector that runs along an axis of `input`.
pub(crate) fn along<B: Buffer>(vector: &B, input: &B, axis: isize) -> Result<B> {
    let dims = input.dims();
    let Some(position) = axis_of(dims.len(), axis) else {
        let message = format!("{} has no axis {axis}; give it one, or an axis that it has", input.meta());
        return Err(Error::new(ErrorKind::Shape, message));
    };
    let place = Place::new("comparing a vector with the axis that it runs along").axis(position);
    let fits = matches!(vector.dims(), [size] if size.equals(&dims[position], place));
    if !fits {
        let message = format!(
            "{} does not fit axis {axis} of {}; give a vector of {:?} elements",
            vector.meta(),
            input.meta(),
            dims[position]
        );
        return Err(Error::new(ErrorKind::Shape, message));
    }
    (position + 1..dims.len()).try_fold(vector.clone(), |view, _| view.unsqueeze(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_product_goes_over_rows_and_columns() {
        let x = StridedBuffer::from_vec(vec![f32::NAN; 6], &[2, 3]).unwrap();
        let a = StridedBuffer::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
        let b = StridedBuffer::from_vec(vec![1.0f32, 10.0, 100.0], &[3]).unwrap();
        let result = addr(&x, &a, &b, 0, 0.5).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(result, [0.5, 5.0, 50.0, 1.0, 10.0, 100.0]);
        assert_eq!(addr(&x, &x, &b, 0, 1).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn normalization_runs_along_axis_1() {
        let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[1, 2, 2]).unwrap();
        let mean = StridedBuffer::from_vec(vec![1.0f32, 3.0], &[2]).unwrap();
        let invstd = StridedBuffer::from_vec(vec![1.0f32, 10.0], &[2]).unwrap();
        let result = batch_norm_elemt(&x, None, Some(&mean), &mean, &invstd).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 13.0]);
        let long = StridedBuffer::from_vec(vec![1.0f32; 3], &[3]).unwrap();
        assert_eq!(batch_norm_elemt(&x, None, None, &long, &invstd).unwrap_err().kind(), ErrorKind::Shape);
    }
}
