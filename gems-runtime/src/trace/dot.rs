//! A graph in the language of Graphviz.

use crate::op::ParamDef;
use crate::trace::graph::{ArgValue, Graph, Op, OpArg, Origin};
use std::fmt::Write as _;

impl Graph {
    /// The graph as DOT: a box a memory, an ellipse an op; writes into memory that was there before are dashed, and what
    /// the function returns is bold.
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph gems {\n  node [fontname=monospace];\n");
        for (place, memory) in self.memories.iter().enumerate() {
            let returned = self.results.iter().any(|view| view.memory == place);
            let style = match (memory.origin, returned) {
                (_, true) => "bold",
                (Origin::Input(_), false) => "rounded",
                (Origin::Result(_), false) => "solid",
            };
            let label = format!("{}: {}", memory.name, self.sizes().meta(&memory.meta));
            let _ = writeln!(text, "  m{place} [shape=box, style={style}, label=\"{}\"];", escaped(&label));
        }
        for (node, op) in self.nodes.iter().enumerate() {
            let _ = writeln!(text, "  n{node} [label=\"{}\"];", escaped(&label(op)));
            for view in op.reads() {
                let label = if self.is_whole(view) { String::new() } else { self.view_text(view) };
                let _ = writeln!(text, "  m{} -> n{node} [label=\"{}\"];", view.memory, escaped(&label));
            }
            for view in op.writes() {
                let made = self.memories[view.memory].origin == Origin::Result(node);
                let style = if made { "solid" } else { "dashed" };
                let _ = writeln!(text, "  n{node} -> m{} [style={style}];", view.memory);
            }
        }
        text.push_str("}\n");
        text
    }
}

/// The op with its numbers.
fn label(op: &Op) -> String {
    let params = op.pointwise().map_or(&[][..], |op| op.params);
    let number = |(arg, param): (&OpArg, &ParamDef)| match &arg.value {
        ArgValue::Number(number) => Some(format!("\n{} = {number}", param.name)),
        ArgValue::View(_) => None,
    };
    let numbers: Vec<String> = op.args.iter().zip(params).filter_map(number).collect();
    format!("{}{}", op.name(), numbers.concat())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
