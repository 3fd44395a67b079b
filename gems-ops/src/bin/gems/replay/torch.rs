//! From PyTorch's names and arguments to our ops and operands.
//!
//! One row an op. Options that are words or `None` never reach an op: they choose it. The order of a row's operands is
//! the order of the op's parameters. A name without a row, or a row whose op is not there yet, is unsupported.

use super::report::Verdict;
use crate::notation;
use gems_ops::buffer::{Buffer, Views};
use gems_ops::dtype::Scalar;
use gems_ops::op::{OpDef, Operand};

/// PyTorch's name, its parameters with defaults, and the forms that the call may take.
///
/// A form is `conditions: op operands`; the first whose conditions hold is called, and none if none does. An operand is
/// a parameter, a number, or a view: `lower(x,axis)` and `upper(x,axis)` are the halves of `x` along an axis,
/// `channels(w,x)` is the vector `w` along axis 1 of `x`.
type Row = (&'static str, &'static str, &'static str);

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
    ("prelu", "input weight", "prelu input channels(weight,input)"),
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
    ("glu", "input dim=-1", "glu lower(input,dim) upper(input,dim)"),
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
        "input target delta=1 weight=none reduction=mean",
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
        "reduction=none weight=none: binary_cross_entropy input target 1 \
         | reduction=none: binary_cross_entropy input target weight",
    ),
    (
        "binary_cross_entropy_with_logits",
        "input target weight=none pos_weight=none reduction=mean",
        "reduction=none weight=none pos_weight=none: binary_cross_entropy_with_logits input target 1 1 \
         | reduction=none pos_weight=none: binary_cross_entropy_with_logits input target weight 1 \
         | reduction=none weight=none: binary_cross_entropy_with_logits input target 1 pos_weight \
         | reduction=none: binary_cross_entropy_with_logits input target weight pos_weight",
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
        "reduction=none: gaussian_nll_loss input target var full eps",
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
    ("polygamma", "input n", "polygamma n input"),
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
        "posinf=none neginf=none: nan_to_num input nan | neginf=none: nan_to_num_posinf input nan posinf \
         | posinf=none: nan_to_num_neginf input nan neginf | nan_to_num_infs input nan posinf neginf",
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
const METHODS: &[(&str, &str)] = &[("where", "Tensor.where")];

/// Prefixes of names that say where PyTorch keeps a function.
const PREFIXES: [&str; 3] = ["torch.", "nn.functional.", "special."];

/// What was given for a parameter.
#[derive(Clone, Debug)]
pub(super) enum Given<B> {
    Buffer(B),
    Number(Scalar),
    Word(String),
    None,
}

/// An op with its operands.
#[derive(Debug)]
pub(super) struct Call<B> {
    pub(super) op: &'static OpDef,
    operands: Vec<Bound<B>>,
}

#[derive(Debug)]
enum Bound<B> {
    Buffer(B),
    Number(Scalar),
}

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

impl<B: Buffer> Call<B> {
    /// The call that PyTorch's arguments mean.
    ///
    /// Keywords come first and positional arguments fill the parameters that are left: Python forbids what would make
    /// a difference, and recorded cases may leave out leading tensors that a keyword names.
    pub(super) fn bind(
        name: &str,
        positional: Vec<Given<B>>,
        keywords: Vec<(&str, Given<B>)>,
    ) -> Result<Call<B>, Verdict> {
        let (_, params, forms) = ROWS
            .iter()
            .find(|row| row.0 == short_name(name))
            .ok_or_else(|| Verdict::Unsupported(format!("no row for `{name}`")))?;
        let params: Vec<(&str, Option<&str>)> = params.split_whitespace().map(split_default).collect();
        let mut given: Vec<Option<Given<B>>> = params.iter().map(|_| None).collect();
        for (keyword, value) in keywords {
            let known = |name: &str| params.iter().position(|param| param.0 == name);
            let place = known(keyword)
                .or_else(|| if matches!(keyword, "self" | "lhs") { known("input") } else { None });
            let place =
                place.ok_or_else(|| Verdict::Unsupported(format!("`{name}` has no keyword `{keyword}`")))?;
            given[place] = Some(value);
        }
        let mut positional = positional.into_iter();
        for place in given.iter_mut().filter(|place| place.is_none()) {
            *place = positional.next();
        }
        if positional.next().is_some() {
            return Err(Verdict::Failed(format!("more arguments than `{name}` has parameters")));
        }
        let mut arguments = Vec::new();
        for ((param, default), value) in params.iter().zip(given) {
            let value = value.or_else(|| default.map(literal));
            arguments.push((
                *param,
                value.ok_or_else(|| Verdict::Failed(format!("`{param}` of `{name}` is missing")))?,
            ));
        }
        Call::choose(name, forms, &arguments)
    }

    /// The first form whose conditions hold.
    fn choose(name: &str, forms: &str, arguments: &[(&str, Given<B>)]) -> Result<Call<B>, Verdict> {
        let value = |param: &str| arguments.iter().find(|(name, _)| *name == param).map(|(_, value)| value);
        let holds = |condition: &str| {
            let (param, wanted) = split_default(condition);
            value(param).zip(wanted).is_some_and(|(value, wanted)| value.is(wanted))
        };
        let call = forms
            .split('|')
            .map(|form| form.split_once(':').unwrap_or(("", form)))
            .find(|(conditions, _)| conditions.split_whitespace().all(holds))
            .map_or("", |(_, call)| call);
        let mut words = call.split_whitespace();
        let op = words
            .next()
            .ok_or_else(|| Verdict::Unsupported(format!("no form of `{name}` for these options")))?;
        let op = gems_ops::REGISTRY.get(op).ok_or_else(|| Verdict::Unsupported(format!("no op `{op}`")))?;
        let operands =
            words.map(|word| operand(word, &value).map_err(Verdict::Failed)).collect::<Result<_, _>>()?;
        Ok(Call { op, operands })
    }

    /// The operands as the library takes them.
    pub(super) fn operands(&self) -> Vec<Operand<'_, B>> {
        self.operands
            .iter()
            .map(|operand| match operand {
                Bound::Buffer(buffer) => Operand::Buffer(buffer),
                Bound::Number(number) => Operand::Scalar(*number),
            })
            .collect()
    }

    /// Whether every operand has a dtype that the op takes.
    pub(super) fn takes_dtypes(&self) -> bool {
        self.op.params.iter().zip(&self.operands).all(|(param, operand)| {
            let accepted = if param.promotes { self.op.dtypes } else { param.accepts };
            match operand {
                Bound::Buffer(buffer) => accepted.contains(buffer.meta().dtype),
                Bound::Number(number) => accepted.iter().any(|dtype| dtype.category() >= number.category()),
            }
        })
    }
}

impl<B> Given<B> {
    /// Whether this is what a condition names.
    fn is(&self, wanted: &str) -> bool {
        match self {
            Given::Buffer(_) => false,
            Given::Number(number) => {
                notation::number(wanted).is_some_and(|wanted| wanted.to_f64() == number.to_f64())
            }
            Given::Word(word) => word == wanted,
            Given::None => wanted == "none",
        }
    }
}

/// A default value of the table.
fn literal<B>(text: &str) -> Given<B> {
    match notation::number(text) {
        Some(number) => Given::Number(number),
        None if text == "none" => Given::None,
        None => Given::Word(text.to_owned()),
    }
}

/// `name=value` or `name`.
fn split_default(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
}

fn operand<'a, B: Buffer + 'a>(
    word: &str,
    value: &impl Fn(&str) -> Option<&'a Given<B>>,
) -> Result<Bound<B>, String> {
    if let Some(number) = notation::number(word) {
        return Ok(Bound::Number(number));
    }
    let argument = |name: &str| value(name).ok_or_else(|| format!("the table names no parameter `{name}`"));
    let Some((view, names)) = word.strip_suffix(')').and_then(|word| word.split_once('(')) else {
        return match argument(word)? {
            Given::Buffer(buffer) => Ok(Bound::Buffer(buffer.clone())),
            Given::Number(number) => Ok(Bound::Number(*number)),
            Given::Word(_) | Given::None => Err(format!("`{word}` is neither a tensor nor a number")),
        };
    };
    let (first, second) = names.split_once(',').ok_or("a view of the table takes two names")?;
    match (view, argument(first)?, argument(second)?) {
        ("lower", Given::Buffer(x), Given::Number(axis)) => half(x, *axis, 0).map(Bound::Buffer),
        ("upper", Given::Buffer(x), Given::Number(axis)) => half(x, *axis, 1).map(Bound::Buffer),
        ("channels", Given::Buffer(weight), Given::Buffer(x)) => channels(weight, x).map(Bound::Buffer),
        _ => Err(format!("`{word}` cannot be formed from these arguments")),
    }
}

/// The first or second half along an axis.
fn half<B: Buffer>(x: &B, axis: Scalar, which: isize) -> Result<B, String> {
    let Scalar::I64(axis) = axis else { return Err(format!("axis {axis} is no integer")) };
    let axis = isize::try_from(axis).map_err(|_| format!("no axis {axis}"))?;
    let shape = x.meta().layout.shape();
    let index =
        if axis < 0 { shape.len().checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let extent = index.and_then(|index| shape.get(index)).ok_or_else(|| format!("no axis {axis}"))?;
    if !extent.is_multiple_of(2) {
        return Err(format!("extent {extent} has no halves"));
    }
    x.narrow(axis, which * (extent / 2).cast_signed(), extent / 2).map_err(|error| error.to_string())
}

/// A vector along axis 1 of `x`; one element stays as it is.
fn channels<B: Buffer>(weight: &B, x: &B) -> Result<B, String> {
    let rank = x.meta().layout.rank();
    if weight.meta().layout.numel() == 1 || rank < 2 {
        return Ok(weight.clone());
    }
    (2..rank).try_fold(weight.clone(), |view, _| view.unsqueeze(-1)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gems_ops::buffer::SymbolicBuffer;
    use gems_ops::device::Device;
    use gems_ops::dtype::DType;

    fn buffer() -> Given<SymbolicBuffer> {
        Given::Buffer(SymbolicBuffer::new(DType::F32, &[2, 4], Device::Cpu).unwrap())
    }

    fn number(text: &str) -> Given<SymbolicBuffer> {
        literal(text)
    }

    #[track_caller]
    fn check(
        name: &str,
        positional: Vec<Given<SymbolicBuffer>>,
        keywords: Vec<(&str, Given<SymbolicBuffer>)>,
        op: &str,
    ) {
        let call = Call::bind(name, positional, keywords).unwrap();
        assert_eq!((call.op.name, call.operands.len()), (op, call.op.params.len()), "{name}");
    }

    #[test]
    fn options_choose_the_op() {
        check("add", vec![buffer(), buffer()], vec![], "add");
        check("add", vec![buffer(), buffer()], vec![("alpha", number("1"))], "add");
        check("add", vec![buffer(), buffer()], vec![("alpha", number("2"))], "add_scaled");
        check("div", vec![buffer(), buffer()], vec![("rounding_mode", number("floor"))], "div_floor");
        check("div", vec![buffer(), buffer()], vec![("rounding_mode", number("none"))], "div");
        check("true_divide", vec![buffer(), number("2")], vec![], "div");
        check("clamp", vec![buffer(), number("none"), number("3")], vec![], "clamp_max");
        check("clamp", vec![buffer(), number("3")], vec![], "clamp_min");
        check("clamp", vec![buffer()], vec![("max", number("3")), ("min", number("2"))], "clamp");
        check("addcmul", vec![buffer(), buffer(), buffer()], vec![], "addcmul");
        check("nn.functional.gelu", vec![buffer()], vec![("approximate", number("tanh"))], "gelu_tanh");
        check("where", vec![buffer()], vec![("self", number("1")), ("other", number("2"))], "where");
        check("sub", vec![buffer()], vec![("lhs", number("0"))], "sub");
    }

    #[test]
    fn samples_of_where_are_in_the_methods_order() {
        assert_eq!(name_in_source("where", "layouts"), "where");
        assert_eq!(name_in_source("add", "torch-opinfo"), "add");
        let name = name_in_source("where", "torch-opinfo");
        let mask = SymbolicBuffer::new(DType::Bool, &[4], Device::Cpu).unwrap();
        let call = Call::bind(name, vec![buffer(), Given::Buffer(mask), number("1")], vec![]).unwrap();
        assert!(call.takes_dtypes());
    }

    #[test]
    fn what_is_not_there_is_unsupported_and_what_is_wrong_fails() {
        let bind = |name: &str, positional| Call::<SymbolicBuffer>::bind(name, positional, vec![]);
        assert!(matches!(bind("no_such_op", vec![]), Err(Verdict::Unsupported(_))));
        assert!(matches!(bind("mse_loss", vec![buffer(), buffer()]), Err(Verdict::Unsupported(_))));
        assert!(matches!(bind("clamp", vec![buffer()]), Err(Verdict::Unsupported(_))));
        assert!(matches!(bind("add", vec![buffer()]), Err(Verdict::Failed(_))));
        assert!(matches!(bind("abs", vec![buffer(), buffer()]), Err(Verdict::Failed(_))));
        let keyword = Call::bind("abs", vec![buffer()], vec![("foo", number("1"))]);
        assert!(matches!(keyword, Err(Verdict::Unsupported(_))));
    }

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

    #[test]
    fn halves_and_channels_are_views() {
        let Given::Buffer(x) = buffer() else { unreachable!() };
        let upper = half(&x, Scalar::I64(-1), 1).unwrap();
        assert_eq!((upper.shape(), upper.meta().layout.offset()), ([2, 2].as_slice(), 2));
        assert!(half(&x, Scalar::I64(2), 0).is_err());
        let image = SymbolicBuffer::new(DType::F32, &[2, 3, 5, 5], Device::Cpu).unwrap();
        let weight = SymbolicBuffer::new(DType::F32, &[3], Device::Cpu).unwrap();
        assert_eq!(channels(&weight, &image).unwrap().shape(), [3, 1, 1]);
    }
}
