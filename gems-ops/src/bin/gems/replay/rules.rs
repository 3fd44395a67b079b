//! Recorded layouts and promotion tables, answered without memory.

use super::call::{Call, Given};
use super::case::{LayoutCase, Shaped};
use super::compare::same_strides;
use super::known::Known;
use super::report::Verdict;
use super::run;
use super::subject::{Stop, symbolic};
use gems_ops::buffer::{Buffer, SymbolicBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::{self, Category, DType, Kind, Tier, Tiered};
use gems_ops::layout::Layout;

/// The layout of the result of a call on operands of given layouts.
pub(super) fn layout(case: &LayoutCase, device: Device) -> Verdict {
    match results(case, device) {
        Err(stop) => stop.verdict(),
        Ok(results) => results.first().map_or(Verdict::Passed, |got| {
            let Shaped { shape, strides } = &case.out;
            if got.shape() == shape && same_strides(shape, got.strides(), strides) {
                return Verdict::Passed;
            }
            let (got_shape, got_strides) = (got.shape(), got.strides());
            Verdict::Failed(format!(
                "got shape {got_shape:?} with strides {got_strides:?}, expected {shape:?} with {strides:?}"
            ))
        }),
    }
}

fn results(case: &LayoutCase, device: Device) -> Result<Vec<SymbolicBuffer>, Stop> {
    let positional = case.args.iter().map(|Shaped { shape, strides }| {
        let layout = Layout::new(shape, strides, 0).map_err(Stop::of)?;
        Ok(Given::Buffer(symbolic(DType::F32, layout, device)))
    });
    let positional = positional.collect::<Result<Vec<_>, Stop>>()?;
    run(&Call::bind(&case.op, positional, Vec::new())?)
}

/// `"A:tensor,B:0d"` gives the dtype `want`.
pub(super) fn result_type(id: &str, want: &str, known: &Known) -> Verdict {
    let operands: Option<Vec<Tiered>> = id.split(',').map(operand).collect();
    let Some(operands) = operands else {
        return Verdict::Unsupported(format!("an operand of `{id}` is not known"));
    };
    let got = match dtype::result_type(operands) {
        Ok(dtype) => dtype.to_string(),
        Err(error) => format!("error: {error}"),
    };
    answer(id, &got, want, known)
}

/// `"dtype:KIND"` gives a computation dtype and a result dtype.
pub(super) fn elementwise(id: &str, want: &(String, String), known: &Known) -> Verdict {
    let parts =
        id.split_once(':').and_then(|(name, kind)| Some((DType::from_name(name)?, promotion_kind(kind)?)));
    let Some((common, kind)) = parts else { return Verdict::Unsupported(format!("`{id}` is not known")) };
    let got = dtype::promotion(kind, common);
    answer(id, &format!("{}, {}", got.compute, got.result), &format!("{}, {}", want.0, want.1), known)
}

fn answer(id: &str, got: &str, want: &str, known: &Known) -> Verdict {
    match known.entry(id, 0).filter(|entry| entry.expects(got)) {
        _ if got == want => Verdict::Passed,
        Some(entry) => Verdict::Known(entry.why()),
        None => Verdict::Failed(format!("got {got}, expected {want}")),
    }
}

/// `f16:tensor`, `f16:0d` or `scalar:float`.
fn operand(text: &str) -> Option<Tiered> {
    let (name, kind) = text.split_once(':')?;
    match (name, kind) {
        ("scalar", kind) => number(kind),
        (name, "tensor") => Some(Tiered { dtype: DType::from_name(name)?, tier: Tier::Tensor }),
        (name, "0d") => Some(Tiered { dtype: DType::from_name(name)?, tier: Tier::ZeroDim }),
        _ => None,
    }
}

/// A Python number of this type.
pub(super) fn number(kind: &str) -> Option<Tiered> {
    let dtype = match category(kind)? {
        Category::Bool => DType::Bool,
        Category::Int => DType::I64,
        Category::Float => DType::F32,
        Category::Complex => DType::C64,
    };
    Some(Tiered { dtype, tier: Tier::Number })
}

fn category(name: &str) -> Option<Category> {
    match name {
        "bool" => Some(Category::Bool),
        "int" => Some(Category::Int),
        "float" => Some(Category::Float),
        "complex" => Some(Category::Complex),
        _ => None,
    }
}

fn promotion_kind(name: &str) -> Option<Kind> {
    match name {
        "DEFAULT" => Some(Kind::Default),
        "NO_OPMATH" => Some(Kind::NoOpmath),
        "INT_TO_FLOAT" => Some(Kind::IntToFloat),
        "ALWAYS_BOOL" => Some(Kind::AlwaysBool),
        "COMPLEX_TO_FLOAT" => Some(Kind::ComplexToFloat),
        "BOOL_TO_LONG" => Some(Kind::BoolToLong),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_entries_are_read_as_written() {
        let known = Known::default();
        assert_eq!(result_type("f16:tensor,f64:0d", "f16", &known), Verdict::Passed);
        assert_eq!(result_type("i64:tensor,scalar:float", "f32", &known), Verdict::Passed);
        assert!(matches!(result_type("f16:tensor,f64:tensor", "f16", &known), Verdict::Failed(_)));
        assert!(matches!(result_type("q8:tensor,f64:tensor", "f16", &known), Verdict::Unsupported(_)));
        assert_eq!(elementwise("bf16:ALWAYS_BOOL", &("f32".into(), "bool".into()), &known), Verdict::Passed);
        assert!(matches!(
            elementwise("bf16:DEFAULT", &("f32".into(), "f32".into()), &known),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn a_layout_without_a_fitting_shape_fails() {
        let shaped =
            |shape: &[usize], strides: &[isize]| Shaped { shape: shape.into(), strides: strides.into() };
        let case = |out| LayoutCase { op: "tanh".into(), args: vec![shaped(&[2, 3], &[1, 2])], out };
        assert_eq!(layout(&case(shaped(&[2, 3], &[1, 2])), Device::Cpu), Verdict::Passed);
        assert!(matches!(layout(&case(shaped(&[2, 3], &[3, 1])), Device::Cpu), Verdict::Failed(_)));
    }
}
