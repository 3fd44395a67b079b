//! Layouts of results against the 20,000 answers recorded from PyTorch 2.15.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use flate2::read::GzDecoder;
use gems_runtime::layout::{Entry, Layout, broadcast_shapes, output_strides};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};

fn numbers(list: &Value) -> impl Iterator<Item = i64> {
    list.as_array().unwrap().iter().map(|number| number.as_i64().unwrap())
}

fn layout(recorded: &Value) -> Layout {
    let shape: Vec<usize> = numbers(&recorded["shape"]).map(|extent| extent.try_into().unwrap()).collect();
    let strides: Vec<isize> =
        numbers(&recorded["strides"]).map(|stride| stride.try_into().unwrap()).collect();
    Layout::new(&shape, &strides, 0).unwrap()
}

#[test]
fn output_layouts_agree_with_pytorch() {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/data/layout-cases.jsonl.gz")).unwrap();
    let mut n_cases = 0;
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line.unwrap();
        let case: Value = serde_json::from_str(&line).unwrap();
        let inputs: Vec<Layout> = case["args"].as_array().unwrap().iter().map(layout).collect();
        let expected = layout(&case["out"]);

        let shape = broadcast_shapes(inputs.iter().map(Layout::shape)).unwrap();
        assert_eq!(shape.as_slice(), expected.shape(), "{line}");

        let entries: Vec<Entry<'_>> = inputs.iter().map(Entry::from).collect();
        let strides = output_strides(&entries);
        assert!(Layout::new(&shape, &strides, 0).unwrap().is_dense(), "{line}");
        // Strict, also where the recording's format would let a stride pass: on axes of size 0 and 1, and if empty.
        assert_eq!(strides.as_slice(), expected.strides(), "{line}");
        n_cases += 1;
    }
    assert_eq!(n_cases, 20_000);
}
