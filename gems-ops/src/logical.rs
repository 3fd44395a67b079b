//! Operations on truth values: a value is true if it is not 0; NaN is true. Each operand is tested in its own dtype.

use crate::prelude::*;

/// Both are true.
///
/// Matches `torch.logical_and`.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_and(input: bool, other: bool) -> bool {
    input && other
}

/// x is false.
///
/// Matches `torch.logical_not`.
#[pointwise_dynamic(promote = always_bool())]
pub fn logical_not(input: bool) -> bool {
    !input
}
