//! Operations on bits.

use crate::prelude::*;

/// Bitwise and; bool: and.
///
/// Matches `torch.bitwise_and`.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "__and__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int))]
pub fn bitwise_and<T: Int>(input: T, other: T) -> T {
    input & other
}

/// Bitwise or; bool: or.
///
/// Matches `torch.bitwise_or`.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "__or__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int))]
pub fn bitwise_or<T: Int>(input: T, other: T) -> T {
    input | other
}

/// Bitwise exclusive or; bool: not equal.
///
/// Matches `torch.bitwise_xor`.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "__xor__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int))]
pub fn bitwise_xor<T: Int>(input: T, other: T) -> T {
    input ^ other
}

/// The complement; bool: not.
///
/// Matches `torch.bitwise_not`.
///
/// Accuracy: exact. Derivative: none.
#[pointwise_dynamic(promote = default(input), dtypes(bool, int))]
pub fn bitwise_not<T: Int>(input: T) -> T {
    !input
}

/// x·2^count, wrapping; 0 if the count is negative or not less than the width.
///
/// Matches `torch.bitwise_left_shift`.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "__lshift__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(int))]
pub fn bitwise_left_shift<T: Int>(input: T, other: T) -> T {
    input << other
}

/// x/2^count rounded down: arithmetic for signed dtypes, logical for unsigned ones.
///
/// A negative count, or one not less than the width, leaves the sign only: −1 or 0. Matches
/// `torch.bitwise_right_shift`.
///
/// Accuracy: exact. Derivative: none.
#[doc(alias = "__rshift__")]
#[pointwise_dynamic(promote = default(input, other), dtypes(int))]
pub fn bitwise_right_shift<T: Int>(input: T, other: T) -> T {
    input >> other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_take_any_count() {
        assert_eq!((bitwise_left_shift::scalar(1i8, 7), bitwise_left_shift::scalar(1i8, 8)), (i8::MIN, 0));
        assert_eq!(
            (bitwise_right_shift::scalar(-3i32, 99), bitwise_right_shift::scalar(-3i32, -1)),
            (-1, -1)
        );
        assert_eq!(bitwise_right_shift::scalar(200u8, 8), 0);
    }

    #[test]
    fn bool_has_no_other_bits() {
        assert!(
            !bitwise_not::scalar(true) && bitwise_xor::scalar(true, false) && bitwise_or::scalar(false, true)
        );
    }

    #[test]
    fn numbers_wrap_into_the_dtype() {
        let x = StridedBuffer::from_vec(vec![0b1010u8], &[1]).unwrap();
        assert_eq!(bitwise_or(&x, -256).unwrap().to_vec::<u8>().unwrap(), [0b1010]);
        assert_eq!(bitwise_xor(&x, -1).unwrap().to_vec::<u8>().unwrap(), [0b1111_0101]);
    }
}
