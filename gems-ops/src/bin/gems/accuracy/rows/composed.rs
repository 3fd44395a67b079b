//! The ops that have no row of their own.

use gems_ops::dtype::DType;
use gems_ops::op::{OpDef, TypeRef};

/// Selections, copies, sums of products and the like, gradients, losses, optimizers and cells: every rounding of theirs
/// is written in the formula, and the functions within have rows.
pub(super) const OPS: &str = "
    add_scaled sub_scaled rsub_scaled div_trunc div_floor neg positive abs sign sgn addcmul addcdiv add_relu
    lerp addr_kernel maximum minimum fmax fmin clamp clamp_min clamp_max copysign nextafter heaviside
    batch_norm_elemt_kernel round_decimals logit_eps sigmoid_backward logit_backward logit_eps_backward
    tanh_backward relu relu6 hardtanh threshold leaky_relu prelu_kernel rrelu rrelu_with_noise softshrink
    hardshrink hardsigmoid hardswish native_dropout alpha_dropout elu_backward elu_backward_from_result
    gelu_backward gelu_tanh_backward hardshrink_backward hardsigmoid_backward hardswish_backward
    hardtanh_backward leaky_relu_backward log_sigmoid_backward mish_backward rrelu_with_noise_backward
    silu_backward softplus_backward softshrink_backward threshold_backward relu_and_mul silu_and_mul_with_clamp
    apply_repetition_penalties_kernel gelu_and_mul_backward gelu_tanh_and_mul_backward mse_loss
    mse_loss_weighted l1_loss l1_loss_weighted smooth_l1_loss huber_loss huber_loss_weighted
    multilabel_soft_margin_loss multilabel_soft_margin_loss_weighted hinge_embedding_loss margin_ranking_loss
    binary_cross_entropy binary_cross_entropy_weighted binary_cross_entropy_with_logits
    binary_cross_entropy_with_logits_weighted kl_div kl_div_log_target poisson_nll_loss gaussian_nll_loss
    mse_loss_backward smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward
    binary_cross_entropy_backward binary_cross_entropy_weighted_backward real conj_physical angle copy fill zero
    where masked_fill masked_scale nan_to_num_kernel fake_quantize_per_tensor_affine
    fake_quantize_learnable_per_tensor_affine saturate_weight_to_fp16
    fake_quantize_per_tensor_affine_cachemask_backward fake_quantize_learnable_per_tensor_affine_backward
    uniform_from normal_from log_normal_from cauchy_from geometric_from bernoulli_from fused_adam
    fused_adam_scaled fused_adam_amsgrad fused_adam_amsgrad_scaled fused_adam_rates fused_sgd fused_sgd_scaled fused_sgd_momentum
    fused_sgd_momentum_scaled fused_adagrad fused_adagrad_rate fused_rmsprop fused_rmsprop_momentum fused_rmsprop_centered
    fused_rmsprop_centered_momentum fused_adadelta fused_adamax fused_adamax_rate fused_nadam fused_nadam_rates
    fused_radam fused_radam_rates fused_rprop fused_asgd
    fused_lion ema_update amp_unscale frexp sincos polar_parts log_sigmoid_forward
    fake_quantize_per_tensor_affine_cachemask glu_backward_kernel prelu_kernel_backward silu_and_mul_backward
    silu_and_mul_with_clamp_backward rotary_embedding lstm_cell_kernel lstm_cell_biased_kernel gru_cell_kernel
    gru_cell_biased_kernel
";

/// Whether a result is a real float for float operands.
pub(super) fn has_float_result(op: &OpDef) -> bool {
    op.outputs.iter().any(|output| match output.ty {
        TypeRef::Generic | TypeRef::Real => true,
        TypeRef::Complex => false,
        TypeRef::Fixed(dtype) => matches!(dtype, DType::F32 | DType::F64),
    })
}
