//! What a kernel calls for each element: one op's function, or a function that calls several.

use super::function::{Functions, Lines, Root};
use super::names::Names;
use super::operand::{Memory, convert};
use super::uses::Uses;
use super::writer::Writer;
use crate::dtype::DType;
use crate::plan::{Body, KernelSpec, Node, Program, ValueRef};

/// The functions of a kernel's body.
#[derive(Debug)]
pub(super) struct BodyText<'a> {
    body: &'a Body,
    full: Functions,
    /// Those whose results are rounded to bf16, in groups with the same short forms.
    short: Vec<Functions>,
}

impl<'a> BodyText<'a> {
    pub(super) fn new(spec: &'a KernelSpec) -> BodyText<'a> {
        let roots: Vec<(Root, bool)> = match &spec.body {
            Body::Op { op, compute } => {
                let is_short = spec.outputs.iter().all(|output| output.result == DType::BF16);
                vec![((op.device, *compute), is_short)]
            }
            Body::Program(program) => program.nodes.iter().map(|node| (root(node), is_short(node))).collect(),
        };
        let of = |wanted: bool| roots.iter().filter(move |(_, is)| *is == wanted).map(|(root, _)| *root);
        BodyText { body: &spec.body, full: Functions::full(of(false)), short: Functions::short(of(true)) }
    }

    /// The qualified name of the function that the kernel calls.
    pub(super) fn entry(&self) -> String {
        match self.body {
            Body::Op { op, compute } => self.qualified((op.device, *compute), !self.short.is_empty()),
            Body::Program(_) => "fused".to_owned(),
        }
    }

    /// The qualified name of a function that is called for its result.
    fn qualified(&self, root: Root, is_short: bool) -> String {
        let group = self.short.iter().find(|group| is_short && group.has_root(root));
        group.unwrap_or(&self.full).qualified(root.0)
    }

    /// The prelude functions in use.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = self.full.uses();
        self.short.iter().for_each(|group| uses.extend(&group.uses()));
        if let Body::Program(program) = self.body {
            self.fused(program, &mut uses);
        }
        uses
    }

    /// Writes all functions.
    pub(super) fn write(&self, text: &mut Writer, lines: Lines) {
        let all = [&self.full].into_iter().chain(&self.short);
        for functions in all.filter(|functions| !functions.is_empty()) {
            text.blank();
            functions.write(text, lines);
        }
        if let Body::Program(program) = self.body {
            text.blank();
            text.raw(&self.fused(program, &mut Uses::new()));
        }
    }

    /// The function that runs a program on one element of every input.
    fn fused(&self, program: &Program, uses: &mut Uses) -> String {
        let mut names = Names::new();
        let inputs: Vec<String> = program.inputs.iter().map(|input| names.unique(&input.name)).collect();
        let mut results: Vec<Vec<String>> = Vec::new();
        let mut text = Writer::new();
        let result = match program.outputs.as_slice() {
            [output] => output.dtype.cuda_name().to_owned(),
            outputs => {
                uses.require(tuple(outputs.len()), []);
                let list: Vec<_> = outputs.iter().map(|output| output.dtype.cuda_name()).collect();
                format!("math::{}<{}>", tuple(outputs.len()), list.join(", "))
            }
        };
        let parameters: Vec<String> = program
            .inputs
            .iter()
            .zip(&inputs)
            .map(|(input, name)| format!("const {} {name}", input.dtype.cuda_name()))
            .collect();
        let head = format!("__device__ __forceinline__ {result} fused({})", parameters.join(", "));
        let name_of = |value: ValueRef, results: &[Vec<String>]| match value {
            ValueRef::Input(input) => inputs[input].clone(),
            ValueRef::Result { node, output } => results[node][output].clone(),
        };
        text.block(&head, |text| {
            for node in &program.nodes {
                let arguments: Vec<String> = node
                    .args
                    .iter()
                    .map(|arg| convert(uses, &name_of(arg.value, &results), arg.chain, Memory::Neither))
                    .collect();
                let function = self.qualified(root(node), is_short(node));
                let call = format!("{function}({})", arguments.join(", "));
                let kept: Vec<String> =
                    node.results.iter().map(|result| names.unique(&result.name)).collect();
                if let ([result], [name]) = (node.results.as_slice(), kept.as_slice()) {
                    let value = convert(uses, &call, result.chain, Memory::Neither);
                    text.line(&format!("const {} {name} = {value};", result.chain[2].cuda_name()));
                } else {
                    let raw: Vec<String> =
                        kept.iter().map(|name| names.unique(&format!("{name}_raw"))).collect();
                    text.line(&format!("const auto [{}] = {call};", raw.join(", ")));
                    for ((result, raw), name) in node.results.iter().zip(&raw).zip(&kept) {
                        let value = convert(uses, raw, result.chain, Memory::Neither);
                        text.line(&format!("const {} {name} = {value};", result.chain[2].cuda_name()));
                    }
                }
                results.push(kept);
            }
            let outputs: Vec<String> =
                program.outputs.iter().map(|output| name_of(output.value, &results)).collect();
            text.line(&match outputs.as_slice() {
                [output] => format!("return {output};"),
                _ => format!("return {{{}}};", outputs.join(", ")),
            });
        });
        text.into_string()
    }
}

fn root(node: &Node) -> Root {
    (node.op.device, node.compute)
}

/// Whether all results of a node are rounded to bf16.
fn is_short(node: &Node) -> bool {
    node.results.iter().all(|result| result.chain[1] == DType::BF16)
}

/// The prelude's aggregate of so many members.
fn tuple(members: usize) -> &'static str {
    const TUPLES: [&str; 17] = [
        "tuple0", "tuple1", "tuple2", "tuple3", "tuple4", "tuple5", "tuple6", "tuple7", "tuple8", "tuple9",
        "tuple10", "tuple11", "tuple12", "tuple13", "tuple14", "tuple15", "tuple16",
    ];
    TUPLES.get(members).copied().unwrap_or("tuple16")
}
