//! Promotion against the answers recorded from PyTorch 2.15.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_runtime::dtype::{DType, Kind, Scalar, Tiered, promotion, result_type};
use num_complex::Complex;
use serde_json::Value;
use std::fs;

fn recorded(table: &str) -> Vec<(String, Value)> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/promotion.json")).unwrap();
    let mut tables: Value = serde_json::from_str(&text).unwrap();
    let Value::Object(rows) = tables[table].take() else { panic!("no table {table}") };
    rows.into_iter().collect()
}

/// `i32:tensor`, `i32:0d` or `scalar:int`.
fn operand(text: &str) -> Tiered {
    match text.split_once(':').unwrap() {
        ("scalar", "bool") => Scalar::from(true).into(),
        ("scalar", "int") => Scalar::from(3).into(),
        ("scalar", "float") => Scalar::from(0.5).into(),
        ("scalar", "complex") => Scalar::from(Complex::new(0.0, 1.0)).into(),
        (dtype, "tensor") => Tiered::buffer(dtype_named(dtype), 1),
        (dtype, "0d") => Tiered::buffer(dtype_named(dtype), 0),
        _ => panic!("unknown operand {text}"),
    }
}

fn dtype_named(name: &str) -> DType {
    match name {
        // A complex pair of bf16 has no arithmetic in PyTorch and no dtype here.
        "bc32" => DType::C64,
        name => DType::from_name(name).unwrap_or_else(|| panic!("unknown dtype {name}")),
    }
}

#[test]
fn result_types_agree_with_pytorch() {
    let rows = recorded("result_type");
    assert_eq!(rows.len(), 672);
    for (operands, expected) in rows {
        let dtype = result_type(operands.split(',').map(operand)).unwrap();
        assert_eq!(dtype, dtype_named(expected.as_str().unwrap()), "{operands}");
    }
}

#[test]
fn kinds_agree_with_pytorch() {
    let rows = recorded("elementwise");
    assert_eq!(rows.len(), 72);
    for (row, expected) in rows {
        let (common, kind) = row.split_once(':').unwrap();
        let kind = match kind {
            "DEFAULT" => Kind::Default,
            "NO_OPMATH" => Kind::NoOpmath,
            "INT_TO_FLOAT" => Kind::IntToFloat,
            "ALWAYS_BOOL" => Kind::AlwaysBool,
            "COMPLEX_TO_FLOAT" => Kind::ComplexToFloat,
            "BOOL_TO_LONG" => Kind::BoolToLong,
            other => panic!("unknown kind {other}"),
        };
        let promoted = promotion(kind, dtype_named(common));
        let recorded = |i: usize| dtype_named(expected[i].as_str().unwrap());
        assert_eq!((promoted.compute, promoted.result), (recorded(0), recorded(1)), "{row}");
    }
}
