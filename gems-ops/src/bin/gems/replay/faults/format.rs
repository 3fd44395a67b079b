//! Cases of fault reports as their file holds them, and their tensors as bytes.

use super::super::case::{self, Window};
use super::super::compare::{Rule, Tolerance};
use super::super::formula::Formula;
use super::super::report::{Label, Verdict};
use super::super::subject::Stop;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::layout::Layout;
use num_complex::Complex;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// One case of a fault-cases file.
#[derive(Debug, Deserialize)]
pub(in super::super) struct FaultCase {
    pub(super) id: String,
    #[serde(default)]
    pub(super) case: u64,
    #[serde(default)]
    pub(super) source: String,
    pub(super) op: String,
    pub(super) check: String,
    #[serde(default)]
    pub(super) dtype: Option<String>,
    #[serde(default)]
    pub(super) inputs: Vec<Input>,
    #[serde(default)]
    pub(super) args: Map<String, Json>,
    pub(super) expected: Expected,
    #[serde(default)]
    pub(super) tolerance: Option<RecordedTolerance>,
    #[serde(default)]
    pub(super) accept: Vec<Json>,
    #[serde(default)]
    pub(super) signed_zero: Option<String>,
    #[serde(default)]
    pub(super) large: bool,
}

/// A tensor: its logical values, or a storage with a view of it.
#[derive(Debug, Deserialize)]
pub(super) struct Input {
    #[serde(default)]
    pub(super) dtype: Option<String>,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Option<Vec<isize>>,
    #[serde(default)]
    pub(super) offset: isize,
    pub(super) storage: Option<Vec<Json>>,
    pub(super) storage_gen: Option<String>,
    pub(super) storage_len: Option<usize>,
    #[serde(flatten)]
    pub(super) values: Values,
}

/// Elements in one of the ways that a case writes them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Values {
    pub(super) data: Option<Vec<Json>>,
    /// Bit patterns.
    pub(super) bits: Option<Vec<Json>>,
    /// Raw bytes of bools.
    pub(super) bytes: Option<Vec<Json>>,
    pub(super) r#gen: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    pub(super) dtype: Option<String>,
    pub(super) shape: Option<Vec<usize>>,
    pub(super) strides: Option<Vec<isize>>,
    pub(super) value: Option<bool>,
    /// Values of each result.
    pub(super) outputs: Option<Vec<Vec<Json>>>,
    /// Values of the gradient of each input.
    #[serde(alias = "grad2")]
    pub(super) grad: Option<Vec<Option<Vec<Json>>>>,
    pub(super) grad_shape: Option<Vec<Vec<usize>>>,
    #[serde(default)]
    pub(super) error: bool,
    #[serde(flatten)]
    pub(super) values: Values,
}

#[derive(Debug, Deserialize)]
pub(super) struct RecordedTolerance {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) value: f64,
}
impl FaultCase {
    pub(in super::super) fn label(&self) -> Label {
        Label {
            id: self.name(),
            op: self.op.clone(),
            dtype: self.dtype.clone().unwrap_or_default(),
            source: self.source.clone(),
        }
    }

    pub(in super::super) fn is_about_gradients(&self) -> bool {
        self.check.starts_with("grad")
    }

    /// Case 2 of report B76 is `B76.2`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.id, self.case)
    }

    pub(super) fn rule(&self) -> Result<Rule, Verdict> {
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
pub(super) fn damaged(what: impl std::fmt::Display) -> Stop {
    Stop::Verdict(Verdict::Failed(format!("damaged case: {what}")))
}
/// A number as cases write it: special floats are words, complex numbers are pairs.
pub(super) fn number(value: &Json) -> Option<Scalar> {
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
    pub(super) fn window(&self) -> Result<Window, Stop> {
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
    pub(super) fn bytes(&self, count: usize, dtype: DType) -> Result<Option<Vec<u8>>, Stop> {
        if let Some(text) = &self.r#gen {
            return generate(text, count, dtype).map(Some);
        }
        let bytes = match (&self.data, &self.bits, &self.bytes) {
            (_, Some(bits), _) => patterns(bits, dtype.size())?,
            (_, None, Some(bytes)) => patterns(bytes, 1)?,
            (Some(data), None, None) => encode(data, dtype)?,
            (None, None, None) => return Ok(None),
        };
        if Some(bytes.len()) != count.checked_mul(dtype.size()) {
            return Err(damaged(format_args!("{} bytes for {count} elements of {dtype}", bytes.len())));
        }
        Ok(Some(bytes))
    }
}

/// The bytes of these numbers in a dtype.
pub(super) fn encode(values: &[Json], dtype: DType) -> Result<Vec<u8>, Stop> {
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
    let mut bytes = Vec::new();
    let size = count.checked_mul(dtype.size()).filter(|&size| bytes.try_reserve_exact(size).is_ok());
    size.ok_or_else(|| damaged(format_args!("no memory for {count} elements of {dtype}")))?;
    for i in 0..count {
        let number =
            generated(&formula, i).ok_or_else(|| damaged(format_args!("`{text}` has no value at {i}")))?;
        bytes.extend_from_slice(&number.store(dtype)[..dtype.size()]);
    }
    Ok(bytes)
}
/// The value of a formula at an index, as a number.
pub(super) fn generated(formula: &Formula, i: usize) -> Option<Scalar> {
    formula.at(i64::try_from(i).ok()?).map(Scalar::I64)
}
#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(generate("i", usize::MAX, DType::F32).is_err());
        assert!(generate("i", usize::MAX, DType::U8).is_err());
    }
}
