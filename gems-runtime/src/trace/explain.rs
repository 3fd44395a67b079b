//! A traced form in words.

use super::form::Form;
use super::fuse::{Kernel, KernelInput};
use super::graph::Origin;
use std::fmt::Write as _;

/// The kernels, what each computes and stores, and the guards.
pub(super) fn explain(form: &Form) -> String {
    let mut text = String::new();
    let graph = &form.graph;
    let _ = writeln!(text, "{} ops in {} kernels", graph.nodes.len(), form.kernels.len());
    for (position, kernel) in form.kernels.iter().enumerate() {
        let shape = kernel.ops.last().map(|&node| graph.nodes[node].shape()).unwrap_or_default();
        let _ = writeln!(text, "\nkernel {position}: {} over {shape:?}", kernel.name());
        for &node in &kernel.ops {
            let again =
                if kernel.recomputed.contains(&node) { ", again: cheaper than storing it" } else { "" };
            let _ = writeln!(text, "  {}{again}", graph.nodes[node].name());
        }
        for input in &kernel.inputs {
            if let KernelInput::View(view) = input {
                let _ = writeln!(text, "  reads {}", graph.memories[view.memory].name);
            }
        }
        for (other, why) in &kernel.apart {
            let _ = writeln!(text, "  apart from kernel {other}: {why}");
        }
        for view in &kernel.outputs {
            let memory = &graph.memories[view.memory];
            let reads = |kernel: &Kernel| {
                let mut inputs = kernel.inputs.iter();
                inputs.any(|input| matches!(input, KernelInput::View(read) if read.memory == view.memory))
            };
            let reader = (position + 1..form.kernels.len()).find(|&later| reads(&form.kernels[later]));
            let why = match (memory.origin, reader) {
                (Origin::Input(_), _) => "an input, in place".to_owned(),
                _ if graph.results.iter().any(|result| result.memory == view.memory) => "returned".to_owned(),
                (Origin::Result(_), Some(reader)) => format!("kernel {reader} reads it"),
                (Origin::Result(_), None) => "it is written again".to_owned(),
            };
            let _ = writeln!(text, "  stores {}: {why}", memory.name);
        }
    }
    if graph.guards.is_empty() {
        text.push_str("\nno guards: holds for all sizes of these ranks\n");
    } else {
        let _ = writeln!(text, "\nguards\n{}", graph.guards);
    }
    text
}
