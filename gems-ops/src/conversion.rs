//! Conversion and selection.

use crate::prelude::*;
use gems_runtime::op::Operand;

/// The same values in a new buffer, or in a given one of any dtype.
///
/// Conversions round once, to nearest even; float to integer truncates and saturates, NaN gives 0; anything to bool
/// tests for 0.
///
/// Matches `torch.clone` and `torch.Tensor.copy_`.
#[pointwise_dynamic(promote = no_opmath(input), casts = freely)]
pub fn copy<T: Element>(input: T) -> T {
    input
}

/// The values of `input` in another dtype, converted as [`copy`] does.
///
/// Matches `torch.Tensor.to(dtype)`.
///
/// # Errors
/// `Memory`; `Driver`.
pub fn cast<B: Buffer>(input: &B, dtype: DType) -> Result<B> {
    let mut outputs = B::run(copy::DEF, &[Operand::Buffer(input)], Some(dtype))?;
    outputs.pop().ok_or_else(|| Error::new(ErrorKind::Unsupported, "copy has one output"))
}

/// x where the condition is true, else y; values of any dtype, untouched.
///
/// The condition is bool or u8 and does not promote. Matches `torch.where`.
#[pointwise_dynamic(name = "where", promote = no_opmath(input, other), accepts(condition = bool | u8))]
pub fn where_<T: Element>(condition: bool, input: T, other: T) -> T {
    if condition { input } else { other }
}
