//! A plan in words: which kernel was chosen for a call, and why.

use super::{Access, Class, IndexWidth, Plan};
use std::fmt::Write as _;

/// The plan in a few lines of text.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut text = String::new();
    let spec = &plan.spec;
    let threads = spec.class.threads();
    let _ = writeln!(text, "kernel   {spec}");
    let _ = match spec.class {
        Class::Flat { width, vectors, .. } => writeln!(
            text,
            "class    flat: every buffer is contiguous along one merged axis, or a single element\n\
             vectors  {vectors} of {width} elements a thread"
        ),
        Class::Strided { rank, index, items, .. } => {
            let width = match index {
                IndexWidth::I32 => "32 bits: every index and offset is below 2^31",
                IndexWidth::I64 => "64 bits: an index or offset reaches 2^31",
            };
            writeln!(
                text,
                "class    strided: {rank} axes are left after dropping, ordering and merging\n\
                 items    {items} a thread\n\
                 index    {width}"
            )
        }
    };
    let _ = writeln!(
        text,
        "launch   {} blocks of {threads} threads, {} elements",
        plan.args.blocks, plan.args.numel
    );
    let _ = writeln!(text, "axes     {:?}", plan.args.extents);
    let inputs = spec.body.input_names().into_iter().zip(&spec.inputs).zip(&plan.args.input_strides);
    for ((name, input), strides) in inputs {
        let _ = write!(text, "input    {name}: {}", describe(input.access, strides));
        for dtype in steps([input.stored, input.joined, input.lane]) {
            let _ = write!(text, " → {dtype}");
        }
        let _ = writeln!(text);
    }
    let outputs = spec.body.output_names().into_iter().zip(&spec.outputs).zip(&plan.args.output_strides);
    for ((name, output), strides) in outputs {
        let _ = write!(text, "output   {name}: {}", describe(output.access, strides));
        for dtype in steps([output.lane, output.result, output.stored]) {
            let _ = write!(text, " → {dtype}");
        }
        let _ = writeln!(text);
    }
    if !spec.disjoint {
        text.push_str("aliasing an output shares memory with an input: loads are not cached\n");
    }
    text
}

fn describe(access: Access, strides: &[isize]) -> String {
    match access {
        Access::Value => "passed by value".to_owned(),
        Access::Single => "one element in memory".to_owned(),
        Access::Contiguous { aligned: true } => "whole vectors".to_owned(),
        Access::Contiguous { aligned: false } => {
            "element by element: its address is not aligned to a vector".to_owned()
        }
        Access::Strided => format!("strides {strides:?}"),
    }
}

/// The dtypes that a value passes through, without repetition.
fn steps<const N: usize>(dtypes: [crate::dtype::DType; N]) -> Vec<crate::dtype::DType> {
    let mut steps = dtypes.to_vec();
    steps.dedup();
    steps
}
