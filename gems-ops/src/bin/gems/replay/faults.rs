//! Small cases distilled from public fault reports: values, metadata, refusals, programs.

mod execute;
mod format;

use super::compare::{self, Form};
use super::formula::Formula;
use super::known::Known;
use super::report::Verdict;
use super::rules;
use super::subject::{Stop, Subject};
use crate::elements::{Elements, Value};
use execute::{execute, execute_gradients};
use format::{damaged, encode, generated};
use gems_ops::buffer::{StridedBuffer, SymbolicBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::{self, DType, Tier, Tiered};
use gems_ops::layout::{Layout, broadcast_shapes};
use gems_ops::plan::needs_i64_index;
use serde::Deserialize;
use serde_json::Value as Json;

pub(super) use format::FaultCase;

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
        "index" => index(case),
        "result_type" => result_type(case),
        "broadcast" => Ok(broadcast(case)),
        "grad" | "grad2" | "grad-uniform" => {
            let gradients = execute_gradients::<B>(case, device).map_err(Stop::verdict)?;
            compare_gradients(case, &gradients, known)
        }
        other => Err(Verdict::Unsupported(format!("no check `{other}`"))),
    }
}

/// Compares the gradients of all inputs with the expected ones, or the elements of each with each other.
fn compare_gradients(
    case: &FaultCase,
    gradients: &[Option<StridedBuffer>],
    known: &Known,
) -> Result<Verdict, Verdict> {
    let mut verdict = Verdict::Passed;
    for (i, gradient) in gradients.iter().enumerate() {
        let Some(gradient) = gradient else {
            if matches!(case.expected.grad.as_ref().and_then(|grads| grads.get(i)), Some(Some(_))) {
                return Ok(Verdict::Failed(format!("input {i} has no gradient")));
            }
            continue;
        };
        let shape = gradient.shape();
        if let Some(want) = case.expected.grad_shape.as_ref().and_then(|shapes| shapes.get(i))
            && want != shape
        {
            return Ok(Verdict::Failed(format!("the gradient of input {i} is {shape:?}, expected {want:?}")));
        }
        let next = match case.expected.grad.as_ref().and_then(|grads| grads.get(i)) {
            Some(Some(values)) => compare_values(case, &vec![gradient.clone(); i + 1], i, values, known)?,
            _ if case.check == "grad-uniform" => uniform(gradient)?,
            _ => Verdict::Passed,
        };
        verdict = compare::worse(verdict, next);
    }
    Ok(verdict)
}

/// Whether all elements are equal.
fn uniform(gradient: &StridedBuffer) -> Result<Verdict, Verdict> {
    let elements = Elements::of(gradient).map_err(|error| Stop::of(error).verdict())?;
    let differs = (1..elements.count()).find(|&i| elements.bytes(i) != elements.bytes(0));
    Ok(differs.map_or(Verdict::Passed, |i| {
        Verdict::Failed(format!("element {i} is {}, the first {}", elements.value(i), elements.value(0)))
    }))
}

/// What a case's values are compared with.
enum Wanted {
    Elements(Elements),
    Formula(Formula),
}
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
    let meta = &result.plain().map_err(|error| Stop::of(error).verdict())?;
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
    let meta = &result.plain().map_err(|error| Stop::of(error).verdict())?;
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
    let meta = result.plain().map_err(|error| Stop::of(error).verdict())?;
    Ok(compare::judge(&got, want, &differing, meta.layout.shape(), known.entry(&case.name(), index)))
}
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
fn index(case: &FaultCase) -> Result<Verdict, Verdict> {
    let input = case.inputs.first().ok_or_else(|| Verdict::Unsupported("there is no input".into()))?;
    let mut layouts = Vec::new();
    for strides in case.inputs.iter().filter_map(|input| input.strides.as_deref()) {
        layouts.push(Layout::new(&input.shape, strides, 0).map_err(|error| Stop::of(error).verdict())?);
    }
    let got = needs_i64_index(&input.shape, layouts.iter().map(Layout::strides));
    match case.expected.value {
        Some(want) if got == want => Ok(Verdict::Passed),
        Some(want) => Ok(Verdict::Failed(format!("got {got}, expected {want}"))),
        None => Err(Verdict::Unsupported("no value is expected".into())),
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
}
