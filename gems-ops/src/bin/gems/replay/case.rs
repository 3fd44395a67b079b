//! Recorded cases as their files hold them; the format is described in tests/data/FORMAT.md.
//!
//! Guarantees: a file is recognized by its content, not by its name; damaged ones are errors that name the line.
//! Runs nothing.

use crate::failure::{Failure, Outcome};
use base64::Engine as _;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::layout::Layout;
use num_complex::Complex;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// The cases of one file.
#[derive(Debug)]
pub(super) enum Cases {
    Torch(Vec<TorchCase>),
    Layout(Vec<LayoutCase>),
    Fault(Vec<super::faults::FaultCase>),
    Promotion(Promotion),
}

/// A call and PyTorch's answer.
#[derive(Debug, Deserialize)]
pub(super) struct TorchCase {
    pub(super) id: String,
    pub(super) op: String,
    #[serde(default)]
    pub(super) dtype: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) args: Vec<Argument>,
    #[serde(default)]
    pub(super) kwargs: BTreeMap<String, Argument>,
    pub(super) out: Vec<Tensor>,
    #[serde(default)]
    pub(super) ref64: Option<Vec<Tensor>>,
    #[serde(default)]
    pub(super) grad: Option<Gradients>,
}

/// PyTorch's gradients of a call.
#[derive(Debug, Deserialize)]
pub(super) struct Gradients {
    pub(super) grad_out: Tensor,
    /// Positions among the arguments.
    pub(super) wrt: Vec<usize>,
    pub(super) grads: Vec<Option<Tensor>>,
}

/// One argument of a call.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Argument {
    Tensor {
        tensor: Tensor,
    },
    Scalar {
        scalar: Json,
        kind: String,
    },
    Word {
        str: String,
    },
    DType {
        dtype: String,
    },
    None {
        #[serde(rename = "none")]
        _none: bool,
    },
}

/// A view with the smallest window of memory that holds it.
#[derive(Debug, Deserialize)]
pub(super) struct Tensor {
    pub(super) dtype: String,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: isize,
    data: String,
}

/// The layout that PyTorch gives a result.
#[derive(Debug, Deserialize)]
pub(super) struct LayoutCase {
    pub(super) op: String,
    pub(super) args: Vec<Shaped>,
    pub(super) out: Shaped,
}

/// Shape and strides, in elements.
#[derive(Debug, Deserialize)]
pub(super) struct Shaped {
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<isize>,
}

/// PyTorch's promotion tables.
#[derive(Debug, Deserialize)]
pub(super) struct Promotion {
    #[serde(default)]
    pub(super) result_type: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) elementwise: BTreeMap<String, (String, String)>,
}

/// A tensor whose dtype this build knows.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) dtype: DType,
    pub(super) layout: Layout,
    pub(super) bytes: Vec<u8>,
}

impl Tensor {
    /// The tensor's window, `None` if there is no such dtype.
    pub(super) fn window(&self) -> Result<Option<Window>, String> {
        let Some(dtype) = DType::from_name(&self.dtype) else { return Ok(None) };
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(&self.data)
            .map_err(|error| format!("data is not base64: {error}"))?;
        let elements = bytes.len() / dtype.size();
        let layout = Layout::as_strided(&self.shape, &self.strides, self.offset, elements)
            .map_err(|error| error.to_string())?;
        Ok(Some(Window { dtype, layout, bytes }))
    }
}

/// The number of a `scalar` argument.
pub(super) fn scalar(value: &Json, kind: &str) -> Result<Scalar, String> {
    let wrong = || format!("{value} is no scalar of kind `{kind}`");
    let number = match kind {
        "bool" => value.as_bool().map(Scalar::Bool),
        "int" => integer(value),
        "float" => float(value).map(Scalar::F64),
        "complex" => complex(value).map(Scalar::C128),
        _ => None,
    };
    number.ok_or_else(wrong)
}

/// An integer that is a number or its text.
pub(super) fn integer(value: &Json) -> Option<Scalar> {
    match value {
        Json::Number(number) => number.as_i64().map(Scalar::I64).or_else(|| number.as_u64().map(Scalar::U64)),
        Json::String(text) => {
            text.parse().map(Scalar::I64).ok().or_else(|| text.parse().map(Scalar::U64).ok())
        }
        _ => None,
    }
}

/// A float that is a number or its text.
pub(super) fn float(value: &Json) -> Option<f64> {
    match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A pair of floats, or Python's text such as `(1+2j)`.
fn complex(value: &Json) -> Option<Complex<f64>> {
    match value {
        Json::Array(parts) => match parts.as_slice() {
            [re, im] => Some(Complex::new(float(re)?, float(im)?)),
            _ => None,
        },
        Json::String(text) => text.trim_matches(['(', ')']).parse().ok(),
        _ => float(value).map(Complex::from),
    }
}

/// Reads a file of any of the formats, plain or gzip.
pub(super) fn read(path: &Path) -> Outcome<Cases> {
    let bytes = fs::read(path).map_err(|error| Failure::of_file(path, error))?;
    parse(&decompress(bytes).map_err(|error| Failure::of_file(path, error))?)
        .map_err(|what| Failure::of_file(path, what))
}

fn decompress(bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Tells the formats apart by their first value and its fields.
fn parse(bytes: &[u8]) -> Result<Cases, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "no text and no gzip file")?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let first = values.next().ok_or("the file is empty")?.map_err(|error| error.to_string())?;
    match &first {
        Json::Array(_) => serde_json::from_str(text).map(Cases::Fault).map_err(|error| error.to_string()),
        Json::Object(fields) if fields.contains_key("result_type") || fields.contains_key("elementwise") => {
            serde_json::from_value(first).map(Cases::Promotion).map_err(|error| error.to_string())
        }
        Json::Object(fields) if fields.contains_key("id") => lines(text).map(Cases::Torch),
        Json::Object(fields) if fields.contains_key("out") => lines(text).map(Cases::Layout),
        _ => Err("no known format: expected cases as tests/data/FORMAT.md describes them".to_owned()),
    }
}

/// One JSON object a line.
fn lines<T: for<'de> Deserialize<'de>>(text: &str) -> Result<Vec<T>, String> {
    let filled = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(i, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", i + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const TORCH: &str = r#"{"id":"a","op":"add","dtype":"f32","source":"s","args":[
        {"tensor":{"dtype":"f32","shape":[2],"strides":[1],"offset":0,"data":"AACAPwAAAEA="}},
        {"scalar":"2.5","kind":"float"},{"none":true},{"str":"floor"},{"dtype":"f32"}],
        "kwargs":{"alpha":{"scalar":2,"kind":"int"}},"out":[]}"#;

    fn one_line(text: &str) -> String {
        text.replace('\n', "")
    }

    #[test]
    fn formats_are_recognized_by_content() {
        let torch = one_line(TORCH);
        let Ok(Cases::Torch(cases)) = parse(torch.as_bytes()) else { panic!("no torch cases") };
        assert!(matches!(cases[0].args[0], Argument::Tensor { .. }));
        assert!(matches!(cases[0].args[1], Argument::Scalar { .. }));
        assert!(matches!(cases[0].args[2], Argument::None { .. }));
        assert!(matches!(&cases[0].args[3], Argument::Word { str } if str == "floor"));
        assert!(matches!(&cases[0].args[4], Argument::DType { dtype } if dtype == "f32"));
        let layout = r#"{"op":"tanh","args":[{"shape":[],"strides":[]}],"out":{"shape":[],"strides":[]}}"#;
        assert!(matches!(parse(layout.as_bytes()), Ok(Cases::Layout(cases)) if cases.len() == 1));
        assert!(matches!(parse(b"[]"), Ok(Cases::Fault(_))));
        assert!(matches!(parse(br#"{"result_type": {"a": "b"}}"#), Ok(Cases::Promotion(_))));
    }

    #[test]
    fn gzip_is_read_like_plain_text() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"[]").unwrap();
        assert_eq!(decompress(gzip.finish().unwrap()).unwrap(), b"[]");
        assert_eq!(decompress(b"[]".to_vec()).unwrap(), b"[]");
        assert!(decompress(vec![0x1f, 0x8b, 1, 2, 3]).is_err());
    }

    #[test]
    fn damaged_files_name_the_line() {
        let text = format!("{}\n\n{{\"id\": 3}}\n", one_line(TORCH));
        assert!(parse(text.as_bytes()).unwrap_err().starts_with("line 3: "));
        for text in ["", "3", "{}", "{\"id\"", "nonsense"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn scalars_parse_exactly() {
        assert_eq!(scalar(&Json::from("0.1"), "float"), Ok(Scalar::F64(0.1)));
        assert_eq!(scalar(&Json::from("-inf"), "float"), Ok(Scalar::F64(f64::NEG_INFINITY)));
        assert_eq!(scalar(&Json::from(u64::MAX), "int"), Ok(Scalar::U64(u64::MAX)));
        assert_eq!(scalar(&Json::from(-3), "int"), Ok(Scalar::I64(-3)));
        assert_eq!(scalar(&Json::from(true), "bool"), Ok(Scalar::Bool(true)));
        assert_eq!(scalar(&Json::from("(1-2j)"), "complex"), Ok(Scalar::C128(Complex::new(1.0, -2.0))));
        assert!(scalar(&Json::from("x"), "float").is_err());
        assert!(scalar(&Json::from(1), "word").is_err());
    }

    #[test]
    fn a_window_that_is_too_small_is_refused() {
        let tensor = |shape: &[usize], data: &str| Tensor {
            dtype: "f32".into(),
            shape: shape.into(),
            strides: vec![1],
            offset: 0,
            data: data.into(),
        };
        let window = tensor(&[2], "AACAPwAAAEA=").window().unwrap().unwrap();
        assert_eq!((window.dtype, window.bytes.len()), (DType::F32, 8));
        assert!(tensor(&[3], "AACAPwAAAEA=").window().is_err());
        assert!(tensor(&[2], "?").window().is_err());
        assert!(Tensor { dtype: "bc32".into(), ..tensor(&[2], "") }.window().unwrap().is_none());
    }
}
