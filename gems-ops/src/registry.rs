//! All ops of this crate, in the order of their documentation.

use crate::prelude::*;
use gems_runtime::op::Registry;

macro_rules! registry {
    ($($op:ident)*) => { Registry::new(&[$($op::DEF),*]) };
}

/// All ops of this crate.
pub const REGISTRY: Registry = registry! {
    abs neg sign add add_scaled sub sub_scaled mul div div_trunc div_floor remainder maximum minimum
    clamp clamp_min clamp_max addcmul lerp
    bitwise_and bitwise_left_shift
    eq ne lt le gt ge isnan
    logical_and logical_not
    exp log sigmoid
    sin cos
    tanh tanh_backward
    sqrt rsqrt pow
    relu gelu gelu_tanh silu
    silu_and_mul gelu_and_mul gelu_tanh_and_mul gelu_and_mul_backward gelu_tanh_and_mul_backward
    copy where_
};
