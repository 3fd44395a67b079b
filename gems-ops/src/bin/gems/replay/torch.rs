//! PyTorch's names and arguments in terms of our ops and operands: a table.
//!
//! One row an op. Options that are words or `None` never reach an op: they choose it. The order of a row's operands is
//! the order of the op's parameters. A name without a row, or a row whose op is not there yet, is unsupported.

/// PyTorch's name, its parameters with defaults, and the forms that the call may take.
///
/// A form is `conditions: op operands`; the first whose conditions hold is called, and none if none does. An operand is
/// a parameter, a number, or a view: `lower(x,axis)` and `upper(x,axis)` are the halves of `x` along an axis,
/// `channels(w,x)` is the vector `w` along axis 1 of `x`, and `rows(w,x)` has one element for each row of `x`, if the
/// shapes say so; `lowest(x)` and `highest(x)` are the limits of the dtype of `x`.
pub(super) type Row = (&'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    // Arithmetic.
    ("abs", "input", "abs input"),
    ("add", "input other alpha=1", "alpha=1: add input other | add_scaled input other alpha"),
    ("sub", "input other alpha=1", "alpha=1: sub input other | sub_scaled input other alpha"),
    ("rsub", "input other alpha=1", "alpha=1: rsub input other | rsub_scaled input other alpha"),
    ("mul", "input other", "mul input other"),
    (
        "div",
        "input other rounding_mode=none",
        "rounding_mode=none: div input other | rounding_mode=trunc: div_trunc input other \
         | rounding_mode=floor: div_floor input other",
    ),
    ("floor_divide", "input other", "div_floor input other"),
    ("fmod", "input other", "fmod input other"),
    ("remainder", "input other", "remainder input other"),
    ("neg", "input", "neg input"),
    ("positive", "input", "positive input"),
    ("reciprocal", "input", "reciprocal input"),
    ("sign", "input", "sign input"),
    ("sgn", "input", "sgn input"),
    ("square", "input", "square input"),
    ("addcmul", "input tensor1 tensor2 value=1", "addcmul input tensor1 tensor2 value"),
    ("addcdiv", "input tensor1 tensor2 value=1", "addcdiv input tensor1 tensor2 value"),
    ("lerp", "input end weight", "lerp input end weight"),
    ("maximum", "input other", "maximum input other"),
    ("minimum", "input other", "minimum input other"),
    ("fmax", "input other", "fmax input other"),
    ("fmin", "input other", "fmin input other"),
    (
        "clamp",
        "input min=none max=none",
        "min=none max=none: | min=none: clamp_max input max | max=none: clamp_min input min | clamp input min max",
    ),
    ("clamp_min", "input min", "clamp_min input min"),
    ("clamp_max", "input max", "clamp_max input max"),
    ("hypot", "input other", "hypot input other"),
    ("gcd", "input other", "gcd input other"),
    ("lcm", "input other", "lcm input other"),
    ("ldexp", "input other", "ldexp input other"),
    ("copysign", "input other", "copysign input other"),
    ("nextafter", "input other", "nextafter input other"),
    ("heaviside", "input values", "heaviside input values"),
    // Rounding.
    ("ceil", "input", "ceil input"),
    ("floor", "input", "floor input"),
    ("trunc", "input", "trunc input"),
    ("round", "input decimals=0", "decimals=0: round input | round_decimals input decimals"),
    ("frac", "input", "frac input"),
    // Comparison.
    ("eq", "input other", "eq input other"),
    ("ne", "input other", "ne input other"),
    ("lt", "input other", "lt input other"),
    ("le", "input other", "le input other"),
    ("gt", "input other", "gt input other"),
    ("ge", "input other", "ge input other"),
    ("isclose", "input other rtol=1e-5 atol=1e-8 equal_nan=false", "isclose input other rtol atol equal_nan"),
    ("isnan", "input", "isnan input"),
    ("isinf", "input", "isinf input"),
    ("isfinite", "input", "isfinite input"),
    ("isposinf", "input", "isposinf input"),
    ("isneginf", "input", "isneginf input"),
    ("isreal", "input", "isreal input"),
    ("signbit", "input", "signbit input"),
    // Logical and bitwise.
    ("logical_and", "input other", "logical_and input other"),
    ("logical_or", "input other", "logical_or input other"),
    ("logical_xor", "input other", "logical_xor input other"),
    ("logical_not", "input", "logical_not input"),
    ("bitwise_and", "input other", "bitwise_and input other"),
    ("bitwise_or", "input other", "bitwise_or input other"),
    ("bitwise_xor", "input other", "bitwise_xor input other"),
    ("bitwise_not", "input", "bitwise_not input"),
    ("bitwise_left_shift", "input other", "bitwise_left_shift input other"),
    ("bitwise_right_shift", "input other", "bitwise_right_shift input other"),
    // Exponential.
    ("exp", "input", "exp input"),
    ("exp2", "input", "exp2 input"),
    ("expm1", "input", "expm1 input"),
    ("log", "input", "log input"),
    ("log2", "input", "log2 input"),
    ("log10", "input", "log10 input"),
    ("log1p", "input", "log1p input"),
    ("logaddexp", "input other", "logaddexp input other"),
    ("logaddexp2", "input other", "logaddexp2 input other"),
    ("xlogy", "input other", "xlogy input other"),
    ("xlog1py", "input other", "special_xlog1py input other"),
    ("entr", "input", "special_entr input"),
    ("logit", "input eps=none", "eps=none: logit input | logit_eps input eps"),
    ("sigmoid", "input", "sigmoid input"),
    // Trigonometric and hyperbolic.
    ("sin", "input", "sin input"),
    ("cos", "input", "cos input"),
    ("tan", "input", "tan input"),
    ("asin", "input", "asin input"),
    ("acos", "input", "acos input"),
    ("atan", "input", "atan input"),
    ("atan2", "input other", "atan2 input other"),
    ("sinc", "input", "sinc input"),
    ("deg2rad", "input", "deg2rad input"),
    ("rad2deg", "input", "rad2deg input"),
    ("sinh", "input", "sinh input"),
    ("cosh", "input", "cosh input"),
    ("tanh", "input", "tanh input"),
    ("asinh", "input", "asinh input"),
    ("acosh", "input", "acosh input"),
    ("atanh", "input", "atanh input"),
    // Power.
    ("pow", "input exponent", "pow input exponent"),
    ("float_power", "input exponent", "float_power input exponent"),
    ("sqrt", "input", "sqrt input"),
    ("rsqrt", "input", "rsqrt input"),
    // Activation.
    ("relu", "input", "relu input"),
    ("relu6", "input", "relu6 input"),
    ("hardtanh", "input min_val=-1 max_val=1", "hardtanh input min_val max_val"),
    ("threshold", "input threshold value", "threshold input threshold value"),
    ("leaky_relu", "input negative_slope=0.01", "leaky_relu input negative_slope"),
    ("prelu", "input weight", "prelu_kernel input channels(weight,input)"),
    ("elu", "input alpha=1", "elu input alpha 1 1"),
    ("celu", "input alpha=1", "celu input alpha"),
    ("selu", "input", "selu input"),
    ("gelu", "input approximate=none", "approximate=none: gelu input | approximate=tanh: gelu_tanh input"),
    ("silu", "input", "silu input"),
    ("mish", "input", "mish input"),
    ("softplus", "input beta=1 threshold=20", "softplus input beta threshold"),
    ("softsign", "input", "softsign input"),
    ("tanhshrink", "input", "tanhshrink input"),
    ("softshrink", "input lambd=0.5", "softshrink input lambd"),
    ("hardshrink", "input lambd=0.5", "hardshrink input lambd"),
    ("hardsigmoid", "input", "hardsigmoid input"),
    ("hardswish", "input", "hardswish input"),
    ("logsigmoid", "input", "log_sigmoid input"),
    ("glu", "input dim=-1", "glu_kernel lower(input,dim) upper(input,dim)"),
    // Losses, element by element.
    (
        "mse_loss",
        "input target weight=none reduction=mean",
        "reduction=none weight=none: mse_loss input target | reduction=none: mse_loss_weighted input target weight",
    ),
    (
        "l1_loss",
        "input target weight=none reduction=mean",
        "reduction=none weight=none: l1_loss input target | reduction=none: l1_loss_weighted input target weight",
    ),
    (
        "smooth_l1_loss",
        "input target beta=1 reduction=mean",
        "reduction=none: smooth_l1_loss input target beta",
    ),
    (
        "huber_loss",
        "input target reduction=mean delta=1 weight=none",
        "reduction=none weight=none: huber_loss input target delta \
         | reduction=none: huber_loss_weighted input target delta weight",
    ),
    ("soft_margin_loss", "input target reduction=mean", "reduction=none: soft_margin_loss input target"),
    (
        "hinge_embedding_loss",
        "input target margin=1 reduction=mean",
        "reduction=none: hinge_embedding_loss input target margin",
    ),
    (
        "margin_ranking_loss",
        "input1 input2 target margin=0 reduction=mean",
        "reduction=none: margin_ranking_loss input1 input2 target margin",
    ),
    (
        "binary_cross_entropy",
        "input target weight=none reduction=mean",
        "reduction=none weight=none: binary_cross_entropy input target \
         | reduction=none: binary_cross_entropy_weighted input target weight",
    ),
    (
        "binary_cross_entropy_with_logits",
        "input target weight=none pos_weight=none reduction=mean",
        "reduction=none weight=none pos_weight=none: binary_cross_entropy_with_logits input target \
         | reduction=none pos_weight=none: binary_cross_entropy_with_logits_weighted input target weight 1 \
         | reduction=none weight=none: binary_cross_entropy_with_logits_weighted input target 1 pos_weight \
         | reduction=none: binary_cross_entropy_with_logits_weighted input target weight pos_weight",
    ),
    (
        "kl_div",
        "input target log_target=false reduction=mean",
        "reduction=none log_target=false: kl_div input target | reduction=none: kl_div_log_target input target",
    ),
    (
        "poisson_nll_loss",
        "input target log_input=true full=false eps=1e-8 reduction=mean",
        "reduction=none: poisson_nll_loss input target log_input full eps",
    ),
    (
        "gaussian_nll_loss",
        "input target var full=false eps=1e-6 reduction=mean",
        "reduction=none: gaussian_nll_loss input target rows(var,input) full eps",
    ),
    // Special functions.
    ("erf", "input", "erf input"),
    ("erfc", "input", "erfc input"),
    ("erfinv", "input", "erfinv input"),
    ("erfcx", "input", "special_erfcx input"),
    ("ndtr", "input", "special_ndtr input"),
    ("ndtri", "input", "special_ndtri input"),
    ("log_ndtr", "input", "special_log_ndtr input"),
    ("lgamma", "input", "lgamma input"),
    ("digamma", "input", "digamma input"),
    ("polygamma", "n input", "polygamma n input"),
    ("Tensor.polygamma", "input n", "polygamma n input"),
    ("mvlgamma", "input p", "mvlgamma input p"),
    ("igamma", "input other", "igamma input other"),
    ("igammac", "input other", "igammac input other"),
    ("zeta", "input other", "special_zeta input other"),
    ("i0", "input", "i0 input"),
    ("i0e", "input", "special_i0e input"),
    ("i1", "input", "special_i1 input"),
    ("i1e", "input", "special_i1e input"),
    ("modified_bessel_i0", "input", "special_modified_bessel_i0 input"),
    ("modified_bessel_i1", "input", "special_modified_bessel_i1 input"),
    ("modified_bessel_k0", "input", "special_modified_bessel_k0 input"),
    ("modified_bessel_k1", "input", "special_modified_bessel_k1 input"),
    ("scaled_modified_bessel_k0", "input", "special_scaled_modified_bessel_k0 input"),
    ("scaled_modified_bessel_k1", "input", "special_scaled_modified_bessel_k1 input"),
    ("bessel_j0", "input", "special_bessel_j0 input"),
    ("bessel_j1", "input", "special_bessel_j1 input"),
    ("bessel_y0", "input", "special_bessel_y0 input"),
    ("bessel_y1", "input", "special_bessel_y1 input"),
    ("spherical_bessel_j0", "input", "special_spherical_bessel_j0 input"),
    ("airy_ai", "input", "special_airy_ai input"),
    ("chebyshev_polynomial_t", "x n", "special_chebyshev_polynomial_t x n"),
    ("chebyshev_polynomial_u", "x n", "special_chebyshev_polynomial_u x n"),
    ("chebyshev_polynomial_v", "x n", "special_chebyshev_polynomial_v x n"),
    ("chebyshev_polynomial_w", "x n", "special_chebyshev_polynomial_w x n"),
    ("shifted_chebyshev_polynomial_t", "x n", "special_shifted_chebyshev_polynomial_t x n"),
    ("shifted_chebyshev_polynomial_u", "x n", "special_shifted_chebyshev_polynomial_u x n"),
    ("shifted_chebyshev_polynomial_v", "x n", "special_shifted_chebyshev_polynomial_v x n"),
    ("shifted_chebyshev_polynomial_w", "x n", "special_shifted_chebyshev_polynomial_w x n"),
    ("hermite_polynomial_h", "x n", "special_hermite_polynomial_h x n"),
    ("hermite_polynomial_he", "x n", "special_hermite_polynomial_he x n"),
    ("laguerre_polynomial_l", "x n", "special_laguerre_polynomial_l x n"),
    ("legendre_polynomial_p", "x n", "special_legendre_polynomial_p x n"),
    // Complex numbers.
    ("real", "input", "real input"),
    ("imag", "input", "imag input"),
    ("conj_physical", "input", "conj_physical input"),
    ("angle", "input", "angle input"),
    ("complex", "real imag", "complex real imag"),
    ("polar", "abs angle", "polar abs angle"),
    // Conversion, selection, several results.
    ("clone", "input", "copy input"),
    ("where", "condition input other", "where condition input other"),
    ("Tensor.where", "input condition other", "where condition input other"),
    ("masked_fill", "input mask value", "masked_fill input mask value"),
    (
        "nan_to_num",
        "input nan=0 posinf=none neginf=none",
        "nan=none posinf=none neginf=none: nan_to_num_kernel input 0 highest(input) lowest(input) \
         | nan=none neginf=none: nan_to_num_kernel input 0 posinf lowest(input) \
         | nan=none posinf=none: nan_to_num_kernel input 0 highest(input) neginf \
         | nan=none: nan_to_num_kernel input 0 posinf neginf \
         | posinf=none neginf=none: nan_to_num_kernel input nan highest(input) lowest(input) \
         | neginf=none: nan_to_num_kernel input nan posinf lowest(input) \
         | posinf=none: nan_to_num_kernel input nan highest(input) neginf \
         | nan_to_num_kernel input nan posinf neginf",
    ),
    ("frexp", "input", "frexp input"),
];

/// Other names of the same functions.
const ALIASES: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("clip", "clamp"),
    ("copy", "clone"),
    ("divide", "div"),
    ("expit", "sigmoid"),
    ("fix", "trunc"),
    ("gammainc", "igamma"),
    ("gammaincc", "igammac"),
    ("gammaln", "lgamma"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("log_sigmoid", "logsigmoid"),
    ("multigammaln", "mvlgamma"),
    ("multiply", "mul"),
    ("negative", "neg"),
    ("not_equal", "ne"),
    ("psi", "digamma"),
    ("subtract", "sub"),
    ("true_divide", "div"),
];

/// Methods that take their arguments in another order than the function of the same name.
///
/// The samples of PyTorch's own tests (`torch-opinfo`) are arguments of methods.
const METHODS: &[(&str, &str)] = &[
    ("where", "Tensor.where"),
    ("polygamma", "Tensor.polygamma"),
    ("special.polygamma", "Tensor.polygamma"),
];

/// Prefixes of names that say where PyTorch keeps a function.
const PREFIXES: [&str; 3] = ["torch.", "nn.functional.", "special."];

/// The name by which the table knows a function.
pub(super) fn short_name(name: &str) -> &str {
    let short = PREFIXES.iter().fold(name, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    ALIASES.iter().find(|(alias, _)| *alias == short).map_or(short, |(_, name)| name)
}

/// The name of the function whose order of arguments a case of this source has.
pub(super) fn name_in_source<'a>(name: &'a str, source: &str) -> &'a str {
    let methods = if source == "torch-opinfo" { METHODS } else { &[] };
    methods.iter().find(|(function, _)| *function == name).map_or(name, |(_, method)| method)
}

/// The row of a function, by any of its names.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    let name = short_name(name);
    ROWS.iter().find(|row| row.0 == name)
}

/// `name=value` or `name`.
pub(super) fn split_default(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::super::case::{self, Cases, TorchCase};
    use super::*;
    use crate::notation;

    #[test]
    fn rows_name_only_their_own_parameters() {
        for (name, params, forms) in ROWS {
            let params: Vec<_> = params.split_whitespace().map(|param| split_default(param).0).collect();
            for form in forms.split('|') {
                let (conditions, call) = form.split_once(':').unwrap_or(("", form));
                let conditions = conditions.split_whitespace().map(|condition| split_default(condition).0);
                let operands =
                    call.split_whitespace().skip(1).filter(|word| notation::number(word).is_none());
                let operands = operands.flat_map(|word| {
                    let inside = word.split_once('(').map_or(word, |(_, names)| names.trim_end_matches(')'));
                    inside.split(',')
                });
                for word in conditions.chain(operands) {
                    assert!(params.contains(&word), "{name}: {word}");
                }
            }
        }
    }

    #[test]
    fn every_recorded_op_has_a_row() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/torch-cases.jsonl.gz");
        let Ok(Cases::Torch(cases)) = case::read(path.as_ref()) else { panic!("{path} holds no cases") };
        for TorchCase { op, source, .. } in &cases {
            assert!(row(name_in_source(op, source)).is_some(), "{op}");
        }
    }

    #[test]
    fn names_are_unique_and_aliases_lead_to_rows() {
        let mut names: Vec<_> = ROWS.iter().map(|row| row.0).chain(ALIASES.iter().map(|row| row.0)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for (alias, name) in ALIASES {
            assert!(ROWS.iter().any(|row| row.0 == *name), "{alias}");
        }
    }

    #[test]
    fn every_row_whose_op_exists_fits_its_parameters() {
        for (name, _, forms) in ROWS {
            for form in forms.split('|') {
                let call = form.split_once(':').map_or(form, |(_, call)| call);
                let mut words = call.split_whitespace();
                if let Some(op) = words.next().and_then(|op| gems_ops::REGISTRY.get(op)) {
                    assert_eq!(words.count(), op.params.len(), "{name}: {form}");
                }
            }
        }
    }
}
