//! The ops without an exact function of their own: selections, sums of products, gradients, losses, optimizers, cells.
//!
//! Their exact values are those of their formulas, so that all there is to say is where: for each parameter by its
//! name, and for an op where its domain is another.

use super::super::points::{Draw, DrawOne};
use gems_ops::dtype::{DType, DTypeSet};
use gems_ops::op::{OpDef, ParamDef, Role, TypeRef};

/// Not measured: these count or step in integers, and are compared bit by bit elsewhere.
const IN_INTEGERS: [&str; 2] = ["nextafter", "round_decimals"];

/// Where piecewise functions of one operand have their joints.
pub(in super::super) const NEAR: &[f64] = &[0.0, 0.5, 1.0, 3.0, 6.0];

/// The numbers that ops are measured with, by the parameter's name, of one op before those of all.
const NUMBERS: &[(&str, &str, f64)] = &[
    ("softplus_backward", "threshold", 20.0),
    ("softplus_backward", "beta", 1.5),
    ("poisson_nll_loss", "log_input", 0.0),
    ("logit_eps", "eps", 0.01),
    ("logit_eps_backward", "eps", 0.01),
    ("fill", "value", 0.7),
    ("masked_fill", "value", 0.7),
    ("", "alpha", 0.75),
    ("", "beta", 1.25),
    ("", "beta1", 0.9),
    ("", "beta2", 0.999),
    ("", "dampening", 0.1),
    ("", "decay", 0.01),
    ("", "decoupled", 1.0),
    ("", "delta", 0.7),
    ("", "eps", 1e-8),
    ("", "eta_minus", 0.5),
    ("", "eta_plus", 1.2),
    ("", "from", -0.5),
    ("", "full", 1.0),
    ("", "grad_factor", 0.3),
    ("", "greatest", 50.0),
    ("", "input_scale", 1.5),
    ("", "is_first_step", 0.0),
    ("", "lambd", 0.5),
    ("", "least", 1e-6),
    ("", "limit", 7.0),
    ("", "log_input", 1.0),
    ("", "lower", 0.125),
    ("", "lr", 0.001),
    ("", "lr_decay", 0.01),
    ("", "margin", 0.4),
    ("", "max_val", 1.5),
    ("", "maximize", 1.0),
    ("", "mean", 0.3),
    ("", "median", 0.3),
    ("", "min_val", -1.5),
    ("", "momentum", 0.9),
    ("", "momentum_decay", 0.004),
    ("", "nan", 0.5),
    ("", "negative_slope", 0.01),
    ("", "neginf", -30.0),
    ("", "nesterov", 1.0),
    ("", "p", 0.3),
    ("", "posinf", 30.0),
    ("", "quant_max", 127.0),
    ("", "quant_min", -128.0),
    ("", "rho", 0.9),
    ("", "scale", 1.05),
    ("", "sigma", 1.3),
    ("", "std", 1.3),
    ("", "t0", 1000.0),
    ("", "threshold", 0.3),
    ("", "to", 2.5),
    ("", "training", 1.0),
    ("", "upper", 0.333),
    ("", "value", 0.7),
    ("", "weight", 0.1),
    ("", "weight1", 0.1),
    ("", "weight2", 0.001),
    ("", "weight_decay", 0.01),
    ("", "zero_point", 3.0),
];

fn anything(draw: &mut Draw) -> f64 {
    draw.spread(-14.0, 5.0)
}

fn positive(draw: &mut Draw) -> f64 {
    draw.size(-14.0, 5.0)
}

fn unit(draw: &mut Draw) -> f64 {
    draw.unit()
}

/// Often just 0 or 1.
fn probability(draw: &mut Draw) -> f64 {
    if draw.below(4) == 0 { coin(draw) } else { draw.unit() }
}

fn coin(draw: &mut Draw) -> f64 {
    f64::from(draw.below(2))
}

fn sign(draw: &mut Draw) -> f64 {
    2.0 * coin(draw) - 1.0
}

fn step(draw: &mut Draw) -> f64 {
    draw.size(0.0, 17.0).floor()
}

fn zero(_: &mut Draw) -> f64 {
    0.0
}

type Domain = (&'static str, &'static str, DrawOne);

/// Where parameters are drawn, in the same order.
const DOMAINS: &[Domain] = &[
    ("binary_cross_entropy", "input", unit),
    ("binary_cross_entropy_weighted", "input", unit),
    ("binary_cross_entropy_backward", "input", unit),
    ("binary_cross_entropy_weighted_backward", "input", unit),
    ("logit_backward", "input", unit),
    ("logit_eps", "input", unit),
    ("logit_eps_backward", "input", unit),
    ("sigmoid_backward", "output", unit),
    ("tanh_backward", "output", |draw| draw.within(-1.0, 1.0)),
    ("elu_backward_from_result", "output", |draw| draw.within(-0.75, 4.0)),
    ("kl_div_log_target", "target", |draw| -draw.size(-10.0, 4.0)),
    ("margin_ranking_loss", "target", sign),
    ("hinge_embedding_loss", "target", sign),
    ("soft_margin_loss_backward", "target", sign),
    ("binary_cross_entropy", "target", probability),
    ("binary_cross_entropy_backward", "target", probability),
    ("binary_cross_entropy_weighted", "target", probability),
    ("binary_cross_entropy_weighted_backward", "target", probability),
    ("binary_cross_entropy_with_logits", "target", probability),
    ("binary_cross_entropy_with_logits_weighted", "target", probability),
    ("kl_div", "target", probability),
    ("multilabel_soft_margin_loss", "target", probability),
    ("multilabel_soft_margin_loss_weighted", "target", probability),
    ("poisson_nll_loss", "target", positive),
    ("", "acc_delta", positive),
    ("", "correction", positive),
    ("", "eta", positive),
    ("", "exp_avg_sq", positive),
    ("", "exp_inf", positive),
    ("", "found_inf", zero),
    ("", "grad_scale", positive),
    ("", "invstd", positive),
    ("", "max_exp_avg_sq", positive),
    ("", "mu", probability),
    ("", "mu_product", unit),
    ("", "noise", unit),
    ("", "pos_weight", positive),
    ("", "rate", positive),
    ("", "rectified", coin),
    ("", "root", unit),
    ("", "shrink", unit),
    ("", "square_avg", |draw| draw.size(6.0, 9.0)),
    ("", "state_sum", positive),
    ("", "step", step),
    ("", "step_size", positive),
    ("", "u", unit),
    ("", "var", positive),
];

/// The ops that are measured this way: all with float results that have no row.
pub(in super::super) fn ops() -> impl Iterator<Item = &'static OpDef> {
    gems_ops::REGISTRY.iter().filter(|op| {
        let is_known = super::rows().any(|row| row.op == op.name) || IN_INTEGERS.contains(&op.name);
        op.dtypes.contains(DType::F32) && has_float_result(op) && !is_known
    })
}

/// Whether a result is a real float for float operands.
fn has_float_result(op: &OpDef) -> bool {
    op.outputs.iter().any(|output| match output.ty {
        TypeRef::Generic | TypeRef::Real => true,
        TypeRef::Complex => false,
        TypeRef::Fixed(dtype) => DTypeSet::FLOAT.contains(dtype),
    })
}

fn of<T: Copy>(table: &[(&str, &str, T)], op: &OpDef, param: &ParamDef) -> Option<T> {
    let entry = |wanted: &str| table.iter().find(|(op, name, _)| *op == wanted && *name == param.name);
    entry(op.name).or_else(|| entry("")).map(|entry| entry.2)
}

/// What the op's numbers are.
pub(in super::super) fn numbers(op: &OpDef) -> Vec<(&'static str, f64)> {
    let params = op.params.iter().filter(|param| is_number(op, param));
    params.map(|param| (param.name, of(NUMBERS, op, param).unwrap_or(1.0))).collect()
}

/// Whether it is always a number, or one here.
fn is_number(op: &OpDef, param: &ParamDef) -> bool {
    param.role == Role::Number || NUMBERS.iter().any(|entry| (entry.0, entry.1) == (op.name, param.name))
}

/// Where operands are drawn; none for the only operand of an op that is defined everywhere.
pub(in super::super) fn domains(op: &OpDef) -> Option<Vec<DrawOne>> {
    let tensors: Vec<_> = op.params.iter().filter(|param| !is_number(op, param)).collect();
    let domain = |param: &&ParamDef| of(DOMAINS, op, param);
    if tensors.len() == 1 && domain(&tensors[0]).is_none() {
        return None;
    }
    let is_bool = |param: &ParamDef| param.ty == TypeRef::Fixed(DType::Bool);
    let or_default = |param| domain(param).unwrap_or(if is_bool(param) { coin } else { anything });
    Some(tensors.iter().map(or_default).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_measured_op_is_chosen() {
        for op in ops() {
            for param in op.params.iter().filter(|param| param.role == Role::Number) {
                assert!(of(NUMBERS, op, param).is_some(), "{}: {}", op.name, param.name);
            }
        }
    }
}
