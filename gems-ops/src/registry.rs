//! All ops of this crate in the order of their documentation, and PyTorch's other names for them.

use crate::prelude::*;
use gems_runtime::op::{OpDef, Registry};

macro_rules! registry {
    ($($op:ident)*) => { Registry::new(&[$($op::DEF),*]) };
}

/// All ops of this crate.
pub const REGISTRY: Registry = registry! {
    add add_scaled sub sub_scaled rsub rsub_scaled mul div div_trunc div_floor fmod remainder neg positive abs
    reciprocal sign sgn square addcmul addcdiv mul_add add_relu lerp addr_kernel
    maximum minimum fmax fmin clamp clamp_min clamp_max
    hypot gcd lcm ldexp copysign nextafter heaviside batch_norm_elemt_kernel
    ceil floor trunc round round_decimals frac
    eq ne lt le gt ge isclose isnan isinf isfinite isposinf isneginf isreal signbit
    logical_and logical_or logical_xor logical_not
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 xlogy special_xlog1py special_entr logit logit_eps
    sigmoid sigmoid_backward logit_backward logit_eps_backward
    sin cos tan asin acos atan atan2 sinc deg2rad rad2deg
    sinh cosh tanh asinh acosh atanh tanh_backward
    pow float_power sqrt rsqrt
    relu relu6 hardtanh threshold leaky_relu prelu_kernel rrelu rrelu_with_noise elu celu selu gelu gelu_tanh silu
    mish softplus softsign tanhshrink softshrink hardshrink hardsigmoid hardswish log_sigmoid native_dropout
    alpha_dropout
    elu_backward elu_backward_from_result gelu_backward gelu_tanh_backward hardshrink_backward hardsigmoid_backward
    hardswish_backward hardtanh_backward leaky_relu_backward log_sigmoid_backward mish_backward
    rrelu_with_noise_backward silu_backward softplus_backward softshrink_backward threshold_backward
    glu_kernel silu_and_mul gelu_and_mul gelu_tanh_and_mul relu_and_mul silu_and_mul_with_clamp
    apply_repetition_penalties_kernel gelu_and_mul_backward gelu_tanh_and_mul_backward
    mse_loss mse_loss_weighted l1_loss l1_loss_weighted smooth_l1_loss huber_loss huber_loss_weighted
    soft_margin_loss multilabel_soft_margin_loss multilabel_soft_margin_loss_weighted hinge_embedding_loss
    margin_ranking_loss binary_cross_entropy binary_cross_entropy_weighted binary_cross_entropy_with_logits
    binary_cross_entropy_with_logits_weighted kl_div kl_div_log_target poisson_nll_loss gaussian_nll_loss
    mse_loss_backward smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward
    binary_cross_entropy_backward binary_cross_entropy_weighted_backward
    erf erfc erfinv special_erfcx special_ndtr special_ndtri special_log_ndtr
    lgamma digamma polygamma mvlgamma igamma igammac special_zeta
    i0 special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1 special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
    special_spherical_bessel_j0 special_airy_ai
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h
    special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
    real imag conj_physical angle complex polar
    copy fill zero where_ masked_fill masked_scale nan_to_num_kernel fake_quantize_per_tensor_affine
    fake_quantize_learnable_per_tensor_affine quantize_per_tensor_u8 quantize_per_tensor_i8 quantize_per_tensor_i32
    dequantize saturate_weight_to_fp16 fake_quantize_per_tensor_affine_cachemask_backward
    fake_quantize_learnable_per_tensor_affine_backward
    uniform_from normal_from log_normal_from exponential_from cauchy_from geometric_from bernoulli_from
    fused_adam fused_adam_scaled fused_adam_amsgrad fused_adam_amsgrad_scaled fused_adam_rates
    fused_adamax fused_adamax_rate fused_nadam fused_nadam_rates fused_radam fused_radam_rates
    fused_sgd fused_sgd_scaled fused_sgd_momentum fused_sgd_momentum_scaled fused_adagrad fused_adagrad_rate
    fused_rmsprop fused_rmsprop_momentum fused_rmsprop_centered fused_rmsprop_centered_momentum fused_adadelta
    fused_rprop fused_asgd fused_asgd_rates fused_asgd_shrink fused_lion ema_update amp_unscale
    frexp sincos polar_parts log_sigmoid_forward fake_quantize_per_tensor_affine_cachemask glu_backward_kernel
    prelu_kernel_backward silu_and_mul_backward silu_and_mul_with_clamp_backward rotary_embedding lstm_cell_kernel
    lstm_cell_biased_kernel gru_cell_kernel gru_cell_biased_kernel
};

/// Writes [`ALIASES`], and [`names`] for those that are functions of their own name in Rust.
macro_rules! aliases {
    ($($other:ident = $op:ident,)* ; $($name:literal = $target:literal,)*) => {
        /// PyTorch's other names of ops, and of functions that view their operands and run one op.
        ///
        /// Where a name covers several forms, as `add` with and without `alpha`, it leads to the plain one.
        pub const ALIASES: &[(&str, &str)] =
            &[$((stringify!($other), stringify!($op)),)* $(($name, $target),)*];

        /// Ops under PyTorch's other names: `use gems_ops::names::*`.
        pub mod names {
            $(pub use crate::$op as $other;)*
        }
    };
}

aliases! {
    absolute = abs,
    negative = neg,
    subtract = sub,
    multiply = mul,
    divide = div,
    true_divide = div,
    clip = clamp,
    max = maximum,
    min = minimum,
    fix = trunc,
    arccos = acos,
    arcsin = asin,
    arctan = atan,
    arctan2 = atan2,
    arccosh = acosh,
    arcsinh = asinh,
    arctanh = atanh,
    greater = gt,
    greater_equal = ge,
    less = lt,
    less_equal = le,
    not_equal = ne,
    special_digamma = digamma,
    special_psi = digamma,
    special_erf = erf,
    special_erfc = erfc,
    special_erfinv = erfinv,
    special_gammainc = igamma,
    special_gammaincc = igammac,
    special_gammaln = lgamma,
    special_i0 = i0,
    special_multigammaln = mvlgamma,
    special_polygamma = polygamma,
    special_exp2 = exp2,
    special_expm1 = expm1,
    special_expit = sigmoid,
    special_log1p = log1p,
    special_logit = logit,
    special_round = round,
    special_sinc = sinc,
    special_xlogy = xlogy,
    logsigmoid = log_sigmoid,
    ;
    // The same function under a name for machines.
    "floor_divide" = "div_floor",
    "_conj_physical" = "conj_physical",
    "_prelu_kernel_backward" = "prelu_kernel_backward",
    "_fake_quantize_learnable_per_tensor_affine_backward" = "fake_quantize_learnable_per_tensor_affine_backward",
    "fake_quantize_per_channel_affine_cachemask" = "fake_quantize_per_tensor_affine_cachemask",
    "_thnn_fused_lstm_cell" = "lstm_cell_kernel",
    "_thnn_fused_gru_cell" = "gru_cell_kernel",
    "_add_relu" = "add_relu",
    "_prelu_kernel" = "prelu_kernel",
    "rrelu_with_noise_functional" = "rrelu_with_noise",
    "infinitely_differentiable_gelu_backward" = "gelu_backward",
    "fused_adamw" = "fused_adam",
    "_saturate_weight_to_fp16" = "saturate_weight_to_fp16",
    "native_dropout_backward" = "masked_scale",
    "_masked_scale" = "masked_scale",
    // Python's operators.
    "__and__" = "bitwise_and",
    "__iand__" = "bitwise_and",
    "__or__" = "bitwise_or",
    "__ior__" = "bitwise_or",
    "__xor__" = "bitwise_xor",
    "__ixor__" = "bitwise_xor",
    "__lshift__" = "bitwise_left_shift",
    "__ilshift__" = "bitwise_left_shift",
    "__rshift__" = "bitwise_right_shift",
    "__irshift__" = "bitwise_right_shift",
    "__radd__" = "add",
    "__rsub__" = "rsub",
    "__rmul__" = "mul",
    "__rdiv__" = "div",
    "__rmod__" = "remainder",
    "__rpow__" = "pow",
    "__rand__" = "bitwise_and",
    "__ror__" = "bitwise_or",
    "__rxor__" = "bitwise_xor",
    // Views of operands.
    "addr" = "addr_kernel",
    "outer" = "mul",
    "ger" = "mul",
    "batch_norm_elemt" = "batch_norm_elemt_kernel",
    "prelu" = "prelu_kernel",
    "glu" = "glu_kernel",
    "glu_backward" = "glu_backward_kernel",
    "lstm_cell_pointwise" = "lstm_cell_kernel",
    "gru_cell_pointwise" = "gru_cell_kernel",
    "swiglu" = "silu_and_mul",
    "geglu" = "gelu_tanh_and_mul",
    "reglu" = "relu_and_mul",
    "apply_repetition_penalties" = "apply_repetition_penalties_kernel",
    "beam_search_score" = "add",
    "nan_to_num" = "nan_to_num_kernel",
    "quantize_per_tensor" = "quantize_per_tensor_u8",
    "fake_quantize_per_channel_affine" = "fake_quantize_per_tensor_affine",
    "fake_quantize_learnable_per_channel_affine" = "fake_quantize_learnable_per_tensor_affine",
    "fake_quantize_learnable_per_channel_affine_backward" = "fake_quantize_learnable_per_tensor_affine",
    // Conversions.
    "_to_copy" = "copy",
    "to" = "copy",
    "type_as" = "copy",
    "bool" = "copy",
    "byte" = "copy",
    "char" = "copy",
    "short" = "copy",
    "int" = "copy",
    "long" = "copy",
    "half" = "copy",
    "bfloat16" = "copy",
    "float" = "copy",
    "double" = "copy",
    "chalf" = "copy",
    "cfloat" = "copy",
    "cdouble" = "copy",
    "clone" = "copy",
    "full" = "fill",
    "full_like" = "fill",
    "new_full" = "fill",
    "scalar_tensor" = "fill",
    "ones" = "fill",
    "ones_like" = "fill",
    "new_ones" = "fill",
    "zeros" = "zero",
    "zeros_like" = "zero",
    // Noise drawn by the caller.
    "dropout" = "native_dropout",
    "dropout1d" = "native_dropout",
    "dropout2d" = "native_dropout",
    "dropout3d" = "native_dropout",
    "feature_dropout" = "native_dropout",
    "feature_alpha_dropout" = "alpha_dropout",
    "uniform" = "uniform_from",
    "normal" = "normal_from",
    "log_normal" = "log_normal_from",
    "exponential" = "exponential_from",
    "cauchy" = "cauchy_from",
    "geometric" = "geometric_from",
    "bernoulli" = "bernoulli_from",
}

/// The op of this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static OpDef> {
    let aliased = ALIASES.iter().find(|row| row.0 == name).map_or(name, |row| row.1);
    REGISTRY.get(aliased)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_aliases_are_distinct() {
        let names: Vec<&str> =
            REGISTRY.iter().map(|op| op.name).chain(ALIASES.iter().map(|row| row.0)).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn other_names_are_the_same_functions() {
        let x = StridedBuffer::from_vec(vec![-0.5f32], &[1]).unwrap();
        assert_eq!(names::absolute(&x).unwrap().to_vec::<f32>().unwrap(), [0.5]);
        assert_eq!(names::special_expit::scalar(0.0f32), 0.5);
        assert!(std::ptr::eq(names::true_divide::DEF, div::DEF));
    }

    #[test]
    fn every_alias_leads_to_an_op() {
        for (alias, name) in ALIASES {
            assert_eq!(find(alias).map(|op| op.name), Some(*name));
        }
    }

    #[test]
    fn every_op_is_documented() {
        // Words for values that are not plain numbers.
        const SPECIAL: [&str; 7] = ["NaN", "∞", "±0", "−0", "+0", "infinit", "Special values: "];
        for op in REGISTRY.iter() {
            let doc = op.doc.split_whitespace().collect::<Vec<_>>().join(" ");
            let has = |text: &str| doc.contains(text);
            let formula = op.doc.trim().lines().next().unwrap_or_default();
            assert!(formula.contains(char::is_alphanumeric), "{} has no formula", op.name);
            assert!(has("Matches ") || has("Own addition"), "{} does not say what it matches", op.name);
            assert!(has("Accuracy: "), "{} does not say how exact it is", op.name);
            let is_differentiable = op.vjp.is_some();
            assert!(has("Derivative: ") && has("Derivative: none") != is_differentiable, "{}", op.name);
            let is_special = op.dtypes.contains(DType::F32) && !SPECIAL.iter().any(|word| has(word));
            assert!(!is_special, "{} does not say what becomes of NaN and infinities", op.name);
        }
    }

    #[test]
    fn every_op_runs_on_the_cpu() {
        for op in REGISTRY.iter() {
            let (inference, _) = gems_runtime::plan::representative(op).unwrap();
            assert!((op.cpu)(inference.compute).is_some(), "{}", op.name);
        }
    }
}
