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
    erf erfc erfinv special_erfcx special_ndtr special_ndtri special_log_ndtr
    lgamma digamma polygamma mvlgamma igamma igammac special_zeta
    i0 special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_spherical_bessel_j0
    special_airy_ai
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
    special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p
    copy where_
};
