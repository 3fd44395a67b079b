//! A plan in words: which kernel was chosen for a call, and why.

use super::{Access, Class, IndexWidth, Plan, policy};
use std::fmt::Write as _;

/// The plan in a few lines of text.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut text = String::new();
    let spec = &plan.spec;
    let threads = spec.class.threads();
    let _ = writeln!(text, "kernel   {spec}");
    let _ = match spec.class {
        Class::Flat { width, vectors, peeled, .. } => {
            let head = if peeled {
                "\npeeled   the first vector is a part: the first output begins between two"
            } else {
                ""
            };
            writeln!(
                text,
                "class    flat: every buffer is contiguous along one merged axis, or a single element\n\
                 vectors  {vectors} of {width} elements a thread{head}"
            )
        }
        Class::Rows { rank, index, width, vectors, ragged, .. } => {
            let ends = if ragged { "; a row's ends are parts of vectors" } else { "" };
            writeln!(
                text,
                "class    rows: {rank} axes are left after dropping, ordering and merging\n\
                 vectors  {vectors} of {width} elements a thread, along the innermost axis{ends}\n\
                 index    {}",
                describe_index(index)
            )
        }
        Class::Tiled { rank, index, width, across, down, .. } => writeln!(
            text,
            "class    tiles: operands differ in their fastest axis, {rank} axes are left after dropping, ordering and merging\n\
             tile     {down} × {across} elements a block, turned in shared memory\n\
             vectors  of {width} elements\n\
             index    {}",
            describe_index(index)
        ),
    };
    let _ = writeln!(
        text,
        "launch   {} blocks of {threads} threads, {} elements",
        plan.args.blocks, plan.args.numel
    );
    if spec.streaming_blocks().is_some_and(|blocks| plan.args.blocks >= blocks) {
        let megabytes = policy::STREAMING_BYTES >> 20;
        let _ = writeln!(
            text,
            "L2       more than {megabytes} MiB are moved: lines that are loaded leave last, on sm_90"
        );
    }
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

fn describe_index(index: IndexWidth) -> &'static str {
    match index {
        IndexWidth::I32 => "32 bits: every index and offset is below 2^31",
        IndexWidth::I64 => "64 bits: an index or offset reaches 2^31",
    }
}

fn describe(access: Access, strides: &[isize]) -> String {
    let from_any = |aligned: bool| if aligned { "" } else { ", shifted from between two" };
    match access {
        Access::Value => "passed by value".to_owned(),
        Access::Single => "one element in memory".to_owned(),
        Access::Contiguous { aligned } => format!("whole vectors{}", from_any(aligned)),
        Access::Reversed { aligned } => format!("whole vectors from behind{}", from_any(aligned)),
        Access::Repeated => format!("one element a row, strides {strides:?}"),
        Access::Strided => format!("element by element, strides {strides:?}"),
        Access::Tiled { aligned, .. } => {
            format!("whole vectors down the tile{}, turned, strides {strides:?}", from_any(aligned))
        }
    }
}

/// The dtypes that a value passes through, without repetition.
fn steps<const N: usize>(dtypes: [crate::dtype::DType; N]) -> Vec<crate::dtype::DType> {
    let mut steps = dtypes.to_vec();
    steps.dedup();
    steps
}
