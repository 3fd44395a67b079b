//! Operations on truth values: a value is true if it is not 0; NaN is true. Each operand is tested in its own dtype.

use crate::prelude::*;

/// Both are true.
///
/// Matches `torch.logical_and`.
///
/// Special values: NaN is true, −0 is false. Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_and(input: bool, other: bool) -> bool {
    input && other
}

/// At least one is true.
///
/// Matches `torch.logical_or`.
///
/// Special values: NaN is true, −0 is false. Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_or(input: bool, other: bool) -> bool {
    input || other
}

/// Exactly one is true.
///
/// Matches `torch.logical_xor`.
///
/// Special values: NaN is true, −0 is false. Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_xor(input: bool, other: bool) -> bool {
    input != other
}

/// x is false.
///
/// Matches `torch.logical_not`.
///
/// Special values: NaN is true, −0 is false. Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_not(input: bool) -> bool {
    !input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operand_is_tested_in_its_own_dtype() {
        let x = StridedBuffer::from_vec(vec![0.5f32, f32::NAN, -0.0, 0.0], &[4]).unwrap();
        let y = StridedBuffer::from_vec(vec![0u8, 7, 0, 1], &[4]).unwrap();
        let all = |buffer: StridedBuffer| buffer.to_vec::<bool>().unwrap();
        assert_eq!(all(logical_and(&x, &y).unwrap()), [false, true, false, false]);
        assert_eq!(all(logical_or(&x, &y).unwrap()), [true, true, false, true]);
        assert_eq!(all(logical_xor(&x, &y).unwrap()), [true, false, false, true]);
        assert_eq!(all(logical_not(&x).unwrap()), [false, false, true, true]);
    }
}
