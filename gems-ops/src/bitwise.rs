//! Operations on bits.

use crate::prelude::*;

/// Bitwise and; bool: and.
///
/// Matches `torch.bitwise_and`.
#[pointwise_dynamic(promote = default(input, other), dtypes(bool, int))]
pub fn bitwise_and<T: Int>(input: T, other: T) -> T {
    input & other
}

/// x·2^count, wrapping; 0 if the count is negative or not less than the width.
///
/// Matches `torch.bitwise_left_shift`.
#[pointwise_dynamic(promote = default(input, other), dtypes(int))]
pub fn bitwise_left_shift<T: Int>(input: T, other: T) -> T {
    input << other
}
