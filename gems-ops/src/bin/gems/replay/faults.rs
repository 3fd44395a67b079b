//! Small cases distilled from public fault reports: values, metadata, refusals, programs.

use super::case::{self, Window};
use super::compare::{self, Form, Rule, Tolerance};
use super::formula::Formula;
use super::known::Known;
use super::program::{in_place, interpret, write_into};
use super::report::{Label, Verdict};
use super::rules;
use super::run;
use super::subject::{Stop, Subject};
use super::torch::{Call, Given};
use crate::elements::{Elements, Value};
use gems_ops::buffer::{StridedBuffer, SymbolicBuffer, Views};
use gems_ops::device::Device;
use gems_ops::dtype::{self, DType, Scalar, Tier, Tiered};
use gems_ops::layout::{Layout, broadcast_shapes};
use gems_ops::plan::needs_i64_index;
use num_complex::Complex;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// One case of a fault-cases file.
#[derive(Debug, Deserialize)]
pub(super) struct FaultCase {
    id: String,
    #[serde(default)]
    case: u64,
    #[serde(default)]
    source: String,
    op: String,
    check: String,
    #[serde(default)]
    dtype: Option<String>,
    #[serde(default)]
    inputs: Vec<Input>,
    #[serde(default)]
    args: Map<String, Json>,
    expected: Expected,
    #[serde(default)]
    tolerance: Option<RecordedTolerance>,
    #[serde(default)]
    accept: Vec<Json>,
    #[serde(default)]
    signed_zero: Option<String>,
    #[serde(default)]
    large: bool,
}

/// A tensor: its logical values, or a storage with a view of it.
#[derive(Debug, Deserialize)]
struct Input {
    #[serde(default)]
    dtype: Option<String>,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    #[serde(default)]
    offset: isize,
    storage: Option<Vec<Json>>,
    storage_gen: Option<String>,
    storage_len: Option<usize>,
    #[serde(flatten)]
    values: Values,
}

/// Elements in one of the ways that a case writes them.
#[derive(Debug, Default, Deserialize)]
struct Values {
    data: Option<Vec<Json>>,
    /// Bit patterns.
    bits: Option<Vec<Json>>,
    /// Raw bytes of bools.
    bytes: Option<Vec<Json>>,
    r#gen: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Expected {
    dtype: Option<String>,
    shape: Option<Vec<usize>>,
    strides: Option<Vec<isize>>,
    value: Option<bool>,
    /// Values of each result.
    outputs: Option<Vec<Vec<Json>>>,
    #[serde(default)]
    error: bool,
    #[serde(flatten)]
    values: Values,
}

#[derive(Debug, Deserialize)]
struct RecordedTolerance {
    kind: String,
    #[serde(default)]
    value: f64,
}

/// What a case's values are compared with.
enum Wanted {
    Elements(Elements),
    Formula(Formula),
}

impl FaultCase {
    pub(super) fn label(&self) -> Label {
        Label {
            id: self.name(),
            op: self.op.clone(),
            dtype: self.dtype.clone().unwrap_or_default(),
            source: self.source.clone(),
        }
    }

    /// Case 2 of report B76 is `B76.2`.
    fn name(&self) -> String {
        format!("{}.{}", self.id, self.case)
    }

    fn rule(&self) -> Result<Rule, Verdict> {
        let tolerance = match &self.tolerance {
            None => Tolerance::Exact,
            Some(RecordedTolerance { kind, value }) => match kind.as_str() {
                "exact" => Tolerance::Exact,
                "ulp" => Tolerance::Ulp(*value),
                "rel" => Tolerance::Relative(*value),
                "abs" => Tolerance::Absolute(*value),
                other => return Err(Verdict::Unsupported(format!("no tolerance `{other}`"))),
            },
        };
        Ok(Rule { tolerance, signed_zero: self.signed_zero.as_deref() == Some("strict") })
    }
}

/// Replays a case with buffers of one kind.
pub(super) fn verdict<B: Subject>(case: &FaultCase, device: Device, known: &Known) -> Verdict {
    judge::<B>(case, device, known).unwrap_or_else(|verdict| verdict)
}

fn judge<B: Subject>(case: &FaultCase, device: Device, known: &Known) -> Result<Verdict, Verdict> {
    if case.large && B::HAS_VALUES && device == Device::Cpu {
        return Err(Verdict::Unsupported("more than 2^31 elements or bytes: needs a GPU".into()));
    }
    match case.check.as_str() {
        "forward" => {
            let results = execute::<B>(case, device).map_err(Stop::verdict)?;
            compare_results(case, &results, known)
        }
        "meta" | "layout" => {
            let results = execute::<SymbolicBuffer>(case, device).map_err(Stop::verdict)?;
            compare_results(case, &results, known)
        }
        "error" | "error-or" | "error-or-forward" if B::HAS_VALUES => match execute::<B>(case, device) {
            Err(Stop::Refused(_)) => Ok(Verdict::Passed),
            Err(Stop::Verdict(verdict)) => Err(verdict),
            Ok(_) if case.check == "error" => Err(Verdict::Failed("was not refused".into())),
            Ok(results) => compare_results(case, &results, known),
        },
        "error" | "error-or" | "error-or-forward" => {
            Err(Verdict::Unsupported("refusals are checked in eager mode".into()))
        }
        "no-trap" => no_trap::<B>(case, device),
        "index" => Ok(index(case)),
        "result_type" => result_type(case),
        "broadcast" => Ok(broadcast(case)),
        "grad" | "grad2" | "grad-uniform" => Err(Verdict::Unsupported("gradients are not replayed".into())),
        other => Err(Verdict::Unsupported(format!("no check `{other}`"))),
    }
}

// Running.

fn execute<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let inputs = place::<B>(case, device)?;
    let positional = || inputs.iter().cloned().map(Given::Buffer).collect::<Vec<_>>();
    let first = || inputs.first().cloned().ok_or_else(|| damaged("there is no input"));
    match case.op.as_str() {
        "graph" => {
            let program =
                case.args.get("program").and_then(Json::as_array).ok_or_else(|| damaged("no program"))?;
            let statements: Option<Vec<String>> =
                program.iter().map(|line| line.as_str().map(str::to_owned)).collect();
            interpret(&statements.ok_or_else(|| damaged("the program is no list of lines"))?, &inputs)
        }
        "graph_nary_add" => many_sums(case, device),
        "add_transposed_self" => {
            let x = first()?;
            let other = x.t().map_err(Stop::of)?;
            in_place("add", vec![Given::Buffer(x), Given::Buffer(other)], Vec::new()).map(Vec::from_iter)
        }
        "add_flip_self" => {
            let x = first()?;
            let axes: Vec<isize> = (0..x.meta().layout.rank().cast_signed()).collect();
            let other = x.flip(&axes).map_err(Stop::of)?;
            in_place("add", vec![Given::Buffer(x), Given::Buffer(other)], Vec::new()).map(Vec::from_iter)
        }
        "broadcast_copy" => {
            let shape = case.expected.shape.as_deref().ok_or_else(|| damaged("no shape is expected"))?;
            let source = first()?.broadcast_to(shape).map_err(Stop::of)?;
            run(&Call::bind("copy", vec![Given::Buffer(source)], Vec::new())?)
        }
        op => match (op.strip_suffix('_'), case.args.get("out").and_then(Json::as_str)) {
            (Some(op), _) => in_place(op, positional(), keywords(case)?).map(Vec::from_iter),
            (None, Some(out)) => {
                let dtype =
                    DType::from_name(out).ok_or_else(|| Verdict::Unsupported(format!("no dtype {out}")))?;
                let call = Call::bind(op, positional(), keywords(case)?)?;
                let shapes = inputs.iter().map(|input| input.meta().layout.shape());
                let shape = broadcast_shapes(shapes).map_err(Stop::of)?;
                let target = B::zeros(dtype, &shape, device).map_err(Stop::of)?;
                write_into(&call, target).map(|result| vec![result])
            }
            (None, None) => run(&Call::bind(op, positional(), keywords(case)?)?),
        },
    }
}

/// The sum of many inputs, each full of its number.
fn many_sums<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let count = case.args.get("n_inputs").and_then(Json::as_u64).ok_or_else(|| damaged("no `n_inputs`"))?;
    let shape = case.expected.shape.as_deref().ok_or_else(|| damaged("no shape is expected"))?;
    let zeros = || B::zeros(DType::F32, shape, device).map_err(Stop::of);
    let mut sum = zeros()?;
    for k in 0..count {
        let number = Given::Number(Scalar::from(k));
        let input = run(&Call::bind("add", vec![Given::Buffer(zeros()?), number], Vec::new())?)?;
        let operands = [sum].into_iter().chain(input).map(Given::Buffer).collect();
        let mut results = run(&Call::bind("add", operands, Vec::new())?)?;
        sum = results.pop().ok_or_else(|| damaged("`add` has no result"))?;
    }
    Ok(vec![sum])
}

fn damaged(what: impl std::fmt::Display) -> Stop {
    Stop::Verdict(Verdict::Failed(format!("damaged case: {what}")))
}

/// The inputs on the device; with `same_storage`, as views of the first one's memory.
fn place<B: Subject>(case: &FaultCase, device: Device) -> Result<Vec<B>, Stop> {
    let windows: Vec<Window> = case.inputs.iter().map(Input::window).collect::<Result<_, Stop>>()?;
    let place = |window: &Window| B::place(window, device).map_err(Stop::of);
    match windows.split_first() {
        Some((first, rest)) if case.args.get("same_storage") == Some(&Json::Bool(true)) => {
            if rest.iter().any(|window| window.bytes != first.bytes) {
                return Err(damaged("inputs of the same storage differ"));
            }
            let buffer = place(first)?;
            let views = rest.iter().map(|window| buffer.with_layout(window.layout.clone()));
            Ok([buffer.clone()].into_iter().chain(views).collect())
        }
        _ => windows.iter().map(place).collect(),
    }
}

/// The options and scalar operands.
fn keywords<B>(case: &FaultCase) -> Result<Vec<(&str, Given<B>)>, Stop> {
    const NOT_OF_THE_OP: [&str; 3] = ["out", "grad_out", "same_storage"];
    let of_the_op = case.args.iter().filter(|(name, _)| !NOT_OF_THE_OP.contains(&name.as_str()));
    of_the_op
        .map(|(name, value)| {
            let given = match value {
                Json::Null => Given::None,
                Json::String(text) if case::float(value).is_none() => Given::Word(text.clone()),
                value => {
                    Given::Number(number(value).ok_or_else(|| damaged(format_args!("`{name}` is {value}")))?)
                }
            };
            Ok((name.as_str(), given))
        })
        .collect()
}

/// A number as cases write it: special floats are words, complex numbers are pairs.
fn number(value: &Json) -> Option<Scalar> {
    match value {
        Json::Bool(value) => Some(Scalar::Bool(*value)),
        Json::Number(_) => case::integer(value).or_else(|| case::float(value).map(Scalar::F64)),
        Json::String(_) => case::float(value).map(Scalar::F64),
        Json::Array(parts) => match parts.as_slice() {
            [re, im] => Some(Scalar::C128(Complex::new(case::float(re)?, case::float(im)?))),
            _ => None,
        },
        Json::Null | Json::Object(_) => None,
    }
}

impl Input {
    fn window(&self) -> Result<Window, Stop> {
        let name = self.dtype.as_deref().unwrap_or("f32");
        let dtype = DType::from_name(name).ok_or_else(|| Verdict::Unsupported(format!("no dtype {name}")))?;
        let contiguous = Layout::contiguous(&self.shape).map_err(Stop::of)?;
        let layout = match &self.strides {
            Some(strides) => Layout::new(&self.shape, strides, self.offset).map_err(Stop::of)?,
            None => contiguous.clone(),
        };
        let bytes = match (&self.storage, &self.storage_gen) {
            (Some(storage), _) => encode(storage, dtype)?,
            (None, Some(text)) => {
                let count = self.storage_len.ok_or_else(|| damaged("`storage_gen` without `storage_len`"))?;
                generate(text, count, dtype)?
            }
            (None, None) => match self.values.bytes(contiguous.numel(), dtype)? {
                Some(bytes) => bytes,
                // Shape and strides are all there is: enough for checks of metadata.
                None => return Ok(Window { dtype, layout, bytes: Vec::new() }),
            },
        };
        if layout
            .span()
            .is_some_and(|(low, high)| low < 0 || high.unsigned_abs() >= bytes.len() / dtype.size())
        {
            return Err(damaged("a view leaves its storage"));
        }
        Ok(Window { dtype, layout, bytes })
    }
}

impl Values {
    /// The bytes of `count` elements, if there are values.
    fn bytes(&self, count: usize, dtype: DType) -> Result<Option<Vec<u8>>, Stop> {
        if let Some(text) = &self.r#gen {
            return generate(text, count, dtype).map(Some);
        }
        let bytes = match (&self.data, &self.bits, &self.bytes) {
            (_, Some(bits), _) => patterns(bits, dtype.size())?,
            (_, None, Some(bytes)) => patterns(bytes, 1)?,
            (Some(data), None, None) => encode(data, dtype)?,
            (None, None, None) => return Ok(None),
        };
        if bytes.len() != count * dtype.size() {
            return Err(damaged(format_args!("{} bytes for {count} elements of {dtype}", bytes.len())));
        }
        Ok(Some(bytes))
    }
}

/// The bytes of these numbers in a dtype.
fn encode(values: &[Json], dtype: DType) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::with_capacity(values.len() * dtype.size());
    for value in values {
        let number = number(value).ok_or_else(|| damaged(format_args!("{value} is no number")))?;
        bytes.extend_from_slice(&number.store(dtype)[..dtype.size()]);
    }
    Ok(bytes)
}

/// Bit patterns of `size` bytes, numbers or `0x…`.
fn patterns(values: &[Json], size: usize) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::with_capacity(values.len() * size);
    for value in values {
        let bits = match value {
            Json::String(text) => u128::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
            Json::Bool(value) => Some(u128::from(*value)),
            value => value.as_u64().map(u128::from),
        };
        let bits = bits.ok_or_else(|| damaged(format_args!("{value} is no bit pattern")))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
    }
    Ok(bytes)
}

fn generate(text: &str, count: usize, dtype: DType) -> Result<Vec<u8>, Stop> {
    let formula = Formula::parse(text).map_err(damaged)?;
    let mut bytes = Vec::with_capacity(count * dtype.size());
    for i in 0..count {
        let number =
            generated(&formula, i).ok_or_else(|| damaged(format_args!("`{text}` has no value at {i}")))?;
        bytes.extend_from_slice(&number.store(dtype)[..dtype.size()]);
    }
    Ok(bytes)
}

fn generated(formula: &Formula, i: usize) -> Option<Scalar> {
    formula.at(i as i128).and_then(|value| i64::try_from(value).ok()).map(Scalar::I64)
}

// Comparing.

/// Passes if the results are the expected ones or, failing that, accepted ones.
fn compare_results<B: Subject>(case: &FaultCase, results: &[B], known: &Known) -> Result<Verdict, Verdict> {
    let verdict = if case.expected.error {
        Verdict::Failed("was not refused".into())
    } else {
        compare_expected(case, results, known)?
    };
    let accepted = |values: &Json| {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        matches!(compare_values(case, results, 0, values, known), Ok(Verdict::Passed))
    };
    match verdict {
        Verdict::Failed(_) if case.accept.iter().any(accepted) => Ok(Verdict::Passed),
        verdict => Ok(verdict),
    }
}

fn compare_expected<B: Subject>(case: &FaultCase, results: &[B], known: &Known) -> Result<Verdict, Verdict> {
    let expected = &case.expected;
    if let Some(outputs) = &expected.outputs {
        if outputs.len() != results.len() {
            return Ok(Verdict::Failed(format!("got {} results, expected {}", results.len(), outputs.len())));
        }
        return outputs.iter().enumerate().try_fold(Verdict::Passed, |verdict, (i, values)| {
            Ok(compare::worse(verdict, compare_values(case, results, i, values, known)?))
        });
    }
    let result = results.first().ok_or_else(|| Verdict::Failed("there is no result".into()))?;
    let meta = result.meta();
    let form = Form {
        dtype: expected.dtype.as_deref().unwrap_or(meta.dtype.name()),
        shape: expected.shape.as_deref().unwrap_or(meta.layout.shape()),
        strides: expected.strides.as_deref(),
    };
    if let Some(difference) = form.difference(meta) {
        return Ok(match known.entry(&case.name(), 0).filter(|entry| entry.expects(&meta.to_string())) {
            Some(entry) => Verdict::Known(entry.why()),
            None => Verdict::Failed(difference),
        });
    }
    let wanted = match &expected.values.r#gen {
        Some(text) => Wanted::Formula(Formula::parse(text).map_err(|what| damaged(what).verdict())?),
        None => match expected.values.bytes(meta.layout.numel(), meta.dtype).map_err(Stop::verdict)? {
            Some(bytes) => Wanted::Elements(wanted_elements(bytes, meta.dtype, meta.layout.shape())?),
            None => return Ok(Verdict::Passed),
        },
    };
    compare_wanted(case, result, 0, &wanted, known)
}

/// Compares one result with listed values, whatever its shape.
fn compare_values<B: Subject>(
    case: &FaultCase,
    results: &[B],
    index: usize,
    values: &[Json],
    known: &Known,
) -> Result<Verdict, Verdict> {
    let result = results.get(index).ok_or_else(|| Verdict::Failed("there is no result".into()))?;
    let meta = result.meta();
    if values.len() != meta.layout.numel() {
        return Ok(Verdict::Failed(format!("got {meta}, expected {} elements", values.len())));
    }
    let bytes = encode(values, meta.dtype).map_err(Stop::verdict)?;
    let wanted = Wanted::Elements(wanted_elements(bytes, meta.dtype, meta.layout.shape())?);
    compare_wanted(case, result, index, &wanted, known)
}

fn wanted_elements(bytes: Vec<u8>, dtype: DType, shape: &[usize]) -> Result<Elements, Verdict> {
    let layout = Layout::contiguous(shape).map_err(|error| Stop::of(error).verdict())?;
    Ok(Elements::new(bytes, dtype, layout))
}

fn compare_wanted<B: Subject>(
    case: &FaultCase,
    result: &B,
    index: usize,
    wanted: &Wanted,
    known: &Known,
) -> Result<Verdict, Verdict> {
    let dtype = result.meta().dtype;
    let rule = case.rule()?;
    let elements = result.elements().map_err(|error| Stop::of(error).verdict())?;
    let Some(got) = elements else { return Ok(Verdict::Passed) };
    let want = |i: usize| match wanted {
        Wanted::Elements(elements) => elements.value(i),
        Wanted::Formula(formula) => {
            generated(formula, i).map_or(Value::Real(f64::NAN), |number| Value::of(number, dtype))
        }
    };
    let differing = compare::differences(&got, |i, value| rule.agrees(value, want(i), dtype));
    let shape = result.meta().layout.shape();
    Ok(compare::judge(&got, want, &differing, shape, known.entry(&case.name(), index)))
}

// Checks of other things than values.

/// Neither back end may crash; a GPU gives what the CPU gives.
fn no_trap<B: Subject>(case: &FaultCase, device: Device) -> Result<Verdict, Verdict> {
    let results = match execute::<B>(case, device) {
        Err(Stop::Refused(_)) => return Ok(Verdict::Passed),
        Err(Stop::Verdict(verdict)) => return Err(verdict),
        Ok(results) => results,
    };
    if device == Device::Cpu || !B::HAS_VALUES {
        return Ok(Verdict::Passed);
    }
    let on_cpu = execute::<StridedBuffer>(case, Device::Cpu).map_err(Stop::verdict)?;
    let failed = |error| Stop::of(error).verdict();
    for (got, want) in results.iter().zip(&on_cpu) {
        let (Some(got), want) = (got.elements().map_err(failed)?, Elements::of(want).map_err(failed)?) else {
            continue;
        };
        if let Some(i) = (0..got.count()).find(|&i| got.bytes(i) != want.bytes(i)) {
            let (got, want) = (got.value(i), want.value(i));
            return Ok(Verdict::Failed(format!("element {i}: {device} gives {got}, the CPU {want}")));
        }
    }
    Ok(Verdict::Passed)
}

/// Whether indices need 64 bits.
fn index(case: &FaultCase) -> Verdict {
    let Some(Input { shape, .. }) = case.inputs.first() else {
        return Verdict::Unsupported("there is no input".into());
    };
    let strides = case.inputs.iter().filter_map(|input| input.strides.as_deref());
    let got = needs_i64_index(shape, strides);
    match case.expected.value {
        Some(want) if got == want => Verdict::Passed,
        Some(want) => Verdict::Failed(format!("got {got}, expected {want}")),
        None => Verdict::Unsupported("no value is expected".into()),
    }
}

/// The common dtype of operands of given kinds.
fn result_type(case: &FaultCase) -> Result<Verdict, Verdict> {
    #[derive(Deserialize)]
    struct Described {
        kind: String,
        dtype: Option<String>,
        r#type: Option<String>,
    }
    let unknown = || Verdict::Unsupported("an operand is not known".into());
    let operands = case.args.get("operands").cloned().unwrap_or_default();
    let operands: Vec<Described> = serde_json::from_value(operands).map_err(|_| unknown())?;
    let operands = operands.iter().map(|Described { kind, dtype, r#type }| {
        let dtype = dtype.as_deref().and_then(DType::from_name);
        match kind.as_str() {
            "tensor" => Some(Tiered { dtype: dtype?, tier: Tier::Tensor }),
            "zero_dim" => Some(Tiered { dtype: dtype?, tier: Tier::ZeroDim }),
            "scalar" => rules::number(r#type.as_deref()?),
            _ => None,
        }
    });
    let operands = operands.collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
    let got = match dtype::result_type(operands) {
        Ok(dtype) => dtype.name(),
        Err(_) => "error",
    };
    let want = if case.expected.error { "error" } else { case.expected.dtype.as_deref().unwrap_or_default() };
    Ok(if got == want { Verdict::Passed } else { Verdict::Failed(format!("got {got}, expected {want}")) })
}

/// The common shape of the inputs' shapes.
fn broadcast(case: &FaultCase) -> Verdict {
    let got = broadcast_shapes(case.inputs.iter().map(|input| input.shape.as_slice()));
    match (got, &case.expected.shape) {
        (Err(_), _) if case.expected.error => Verdict::Passed,
        (Err(error), _) => Verdict::Failed(format!("refused: {error}")),
        (Ok(got), Some(want)) if got.as_slice() == want.as_slice() => Verdict::Passed,
        (Ok(got), Some(want)) => Verdict::Failed(format!("got {got:?}, expected {want:?}")),
        (Ok(got), None) => Verdict::Failed(format!("got {got:?}, expected to be refused")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> FaultCase {
        serde_json::from_str(text).unwrap()
    }

    #[track_caller]
    fn check(text: &str) -> Verdict {
        verdict::<StridedBuffer>(&case(text), Device::Cpu, &Known::default())
    }

    const ADD: &str = r#"{"id": "B1", "case": 1, "op": "add", "check": "forward", "dtype": "f32",
        "inputs": [{"dtype": "f32", "shape": [2], "strides": [-1], "offset": 1, "storage": ["-0.0", "inf"], "data": []}],
        "args": {"other": 1.0}, "expected": {"dtype": "f32", "shape": [2], "data": ["inf", 1.0]}}"#;

    #[test]
    fn values_are_compared() {
        assert_eq!(check(ADD), Verdict::Passed);
        let Verdict::Failed(reason) = check(&ADD.replace(r#"["inf", 1.0]"#, r#"["inf", 2.0]"#)) else {
            panic!("passed")
        };
        assert_eq!(reason, "element 1: got 1.0, expected 2.0");
        assert!(matches!(
            check(&ADD.replace("\"shape\": [2], \"data\": [\"inf", "\"shape\": [1, 2], \"data\": [\"inf")),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn accepted_values_pass_too() {
        let wrong = ADD.replace(r#"["inf", 1.0]"#, r#"["inf", 2.0]"#);
        let accepting = wrong.replace(r#""args""#, r#""accept": [["inf", 1.0]], "args""#);
        assert_eq!(check(&accepting), Verdict::Passed);
    }

    #[test]
    fn an_error_that_is_missing_is_a_failure() {
        let text =
            ADD.replace("forward", "error").replace(r#""expected": {"#, r#""expected": {"error": true, "#);
        assert_eq!(check(&text), Verdict::Failed("was not refused".into()));
    }

    #[test]
    fn metadata_needs_no_data() {
        let text = r#"{"id": "B2", "op": "add", "check": "layout",
            "inputs": [{"shape": [2, 3], "strides": [1, 2]}, {"shape": [3], "strides": [1]}],
            "expected": {"dtype": "f32", "shape": [2, 3], "strides": [1, 2]}}"#;
        assert_eq!(check(text), Verdict::Passed);
        assert!(matches!(
            check(&text.replace("\"strides\": [1, 2]}}", "\"strides\": [3, 1]}}")),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn promotion_broadcasting_and_index_width_are_checked() {
        let promotion = r#"{"id": "B3", "op": "result_type", "check": "result_type", "args": {"operands":
            [{"kind": "tensor", "dtype": "i64"}, {"kind": "scalar", "type": "float"}]}, "expected": {"dtype": "f32"}}"#;
        assert_eq!(check(promotion), Verdict::Passed);
        let broadcast = r#"{"id": "B4", "op": "broadcast", "check": "broadcast",
            "inputs": [{"shape": [2, 1]}, {"shape": [3]}], "expected": {"shape": [2, 3]}}"#;
        assert_eq!(check(broadcast), Verdict::Passed);
        let unequal = broadcast.replace("[3]}]", "[3, 3]}]");
        assert!(matches!(check(&unequal), Verdict::Failed(_)));
        assert_eq!(check(&unequal.replace(r#""shape": [2, 3]"#, r#""error": true"#)), Verdict::Passed);
        let index = r#"{"id": "B5", "op": "needs_i64_index", "check": "index",
            "inputs": [{"shape": [3], "strides": [1073741824]}], "expected": {"value": true}}"#;
        assert_eq!(check(index), Verdict::Passed);
    }

    #[test]
    fn damaged_cases_fail() {
        for text in [
            ADD.replace(r#""offset": 1"#, r#""offset": 0"#),
            ADD.replace(r#"["-0.0", "inf"]"#, r#"["-0.0", "zzz"]"#),
            ADD.replace(r#"1.0]}"#, r#"1.0, 2.0]}"#),
        ] {
            assert!(matches!(check(&text), Verdict::Failed(_)), "{text}");
        }
    }

    #[test]
    fn bit_patterns_and_formulas_become_bytes() {
        assert_eq!(
            patterns(&[Json::from(0x7fc0), Json::from("0xff80")], 2).unwrap(),
            [0xc0, 0x7f, 0x80, 0xff]
        );
        assert_eq!(generate("-(i % 3)", 4, DType::I8).unwrap(), [0, 255, 254, 0]);
        assert_eq!(
            generate("i + 1", 2, DType::F32).unwrap(),
            [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat()
        );
        assert!(generate("i % 0", 1, DType::F32).is_err());
    }
}
