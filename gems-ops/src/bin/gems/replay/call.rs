//! A call as PyTorch's arguments mean it: the op that the options choose, and its operands.

use super::report::Verdict;
use super::torch::{row, split_default};
use crate::notation;
use gems_ops::buffer::{Buffer, Views};
use gems_ops::dtype::Scalar;
use gems_ops::op::{OpDef, Operand};

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
    /// What the table writes for each operand: a parameter, a number, or a view of a parameter.
    pub(super) words: Vec<&'static str>,
    /// PyTorch's parameters and what was given for them.
    pub(super) arguments: Vec<(&'static str, Given<B>)>,
    /// The parameters that positional arguments have filled, in order.
    pub(super) positional: Vec<&'static str>,
    name: String,
    /// The column of the table that chose the op.
    forms: &'static str,
}

#[derive(Debug)]
enum Bound<B> {
    Buffer(B),
    Number(Scalar),
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
        let (_, params, forms) =
            row(name).ok_or_else(|| Verdict::Unsupported(format!("no row for `{name}`")))?;
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
        let mut filled = Vec::new();
        for (place, (param, _)) in given.iter_mut().zip(&params).filter(|(place, _)| place.is_none()) {
            *place = positional.next();
            filled.extend(place.as_ref().map(|_| *param));
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
        Call::choose(name, forms, arguments, filled)
    }

    /// The first form whose conditions hold.
    fn choose(
        name: &str,
        forms: &'static str,
        arguments: Vec<(&'static str, Given<B>)>,
        positional: Vec<&'static str>,
    ) -> Result<Call<B>, Verdict> {
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
        let words: Vec<&'static str> = words.collect();
        let operands = words.iter().map(|word| operand(word, &value).map_err(Verdict::Failed));
        let operands = operands.collect::<Result<_, _>>()?;
        Ok(Call { op, operands, words, arguments, positional, name: name.to_owned(), forms })
    }

    /// The same call of other buffers; `other` gives one for each parameter that has a buffer.
    pub(super) fn with_buffers<C: Buffer>(
        &self,
        mut other: impl FnMut(&'static str, &B) -> C,
    ) -> Result<Call<C>, Verdict> {
        let arguments = self.arguments.iter().map(|(param, given)| {
            let given = match given {
                Given::Buffer(buffer) => Given::Buffer(other(param, buffer)),
                Given::Number(number) => Given::Number(*number),
                Given::Word(word) => Given::Word(word.clone()),
                Given::None => Given::None,
            };
            (*param, given)
        });
        Call::choose(&self.name, self.forms, arguments.collect(), self.positional.clone())
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

fn operand<'a, B: Buffer + 'a>(
    word: &str,
    value: &impl Fn(&str) -> Option<&'a Given<B>>,
) -> Result<Bound<B>, String> {
    // A parameter may be called `nan`.
    if let Some(number) = notation::number(word).filter(|_| value(word).is_none()) {
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
    if let ("lowest" | "highest", Some(Given::Buffer(x))) = (view, value(names)) {
        let side = if view == "lowest" { -1 } else { 1 };
        return Ok(Bound::Number(Scalar::limit(x.meta().dtype, side)));
    }
    let (first, second) = names.split_once(',').ok_or("a view of the table takes two names")?;
    match (view, argument(first)?, argument(second)?) {
        ("lower", Given::Buffer(x), Given::Number(axis)) => half(x, *axis, 0).map(Bound::Buffer),
        ("upper", Given::Buffer(x), Given::Number(axis)) => half(x, *axis, 1).map(Bound::Buffer),
        ("channels", Given::Buffer(weight), Given::Buffer(x)) => channels(weight, x).map(Bound::Buffer),
        ("rows", Given::Buffer(weight), Given::Buffer(x)) => rows(weight, x).map(Bound::Buffer),
        ("rows", Given::Number(weight), _) => Ok(Bound::Number(*weight)),
        _ => Err(format!("`{word}` cannot be formed from these arguments")),
    }
}

/// The first or second half along an axis.
fn half<B: Buffer>(x: &B, axis: Scalar, which: isize) -> Result<B, String> {
    let Scalar::I64(axis) = axis else { return Err(format!("axis {axis} is no integer")) };
    let axis = isize::try_from(axis).map_err(|_| format!("no axis {axis}"))?;
    let shape = x.shape();
    let index =
        if axis < 0 { shape.len().checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let extent = index.and_then(|index| shape.get(index)).ok_or_else(|| format!("no axis {axis}"))?;
    if !extent.is_multiple_of(2) {
        return Err(format!("extent {extent} has no halves"));
    }
    x.narrow(axis, which * (extent / 2).cast_signed(), extent / 2).map_err(|error| error.to_string())
}

/// A vector along axis 1 of `x`; one element is for all, whatever the rank.
fn channels<B: Buffer>(weight: &B, x: &B) -> Result<B, String> {
    let rank = x.meta().layout.rank();
    if weight.shape().iter().product::<usize>() == 1 {
        return weight.squeeze_all().map_err(|error| error.to_string());
    }
    (2..rank).try_fold(weight.clone(), |view, _| view.unsqueeze(-1)).map_err(|error| error.to_string())
}

/// One element for each row of `x`, where the shapes say so; else as it is.
fn rows<B: Buffer>(weight: &B, x: &B) -> Result<B, String> {
    match x.shape().split_last() {
        Some((_, rows)) if weight.shape() == rows => weight.unsqueeze(-1).map_err(|error| error.to_string()),
        _ => Ok(weight.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::torch::name_in_source;
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
    fn halves_and_channels_are_views() {
        let Given::Buffer(x) = buffer() else { unreachable!() };
        let upper = half(&x, Scalar::I64(-1), 1).unwrap();
        assert_eq!(upper.shape(), [2, 2]);
        assert!(half(&x, Scalar::I64(2), 0).is_err());
        let image = SymbolicBuffer::new(DType::F32, &[2, 3, 5, 5], Device::Cpu).unwrap();
        let weight = SymbolicBuffer::new(DType::F32, &[3], Device::Cpu).unwrap();
        assert_eq!(channels(&weight, &image).unwrap().shape(), [3, 1, 1]);
        let (one, point) = (weight.narrow(0, 0, 1).unwrap(), image.select(0, 0).unwrap());
        assert_eq!(channels(&one, &point).unwrap().shape(), [0usize; 0]);
    }
}
