//! Operands of a kernel in text: their names, their parameters, their conversions.

use super::abi::{Parameter, memory_type, parameters};
use super::names::Names;
use super::uses::Uses;
use super::writer::Writer;
use crate::dtype::DType;
use crate::plan::{Access, IndexWidth, KernelSpec};

/// Names of one operand in the kernel.
#[derive(Debug)]
pub(super) struct Operand {
    /// The parameter, or the value loaded before any loop.
    pub(super) name: String,
    /// Elements in registers.
    pub(super) held: String,
    /// The converted value in the innermost loop.
    pub(super) value: String,
    /// Offset of the row, in elements.
    pub(super) row: String,
    /// Offset of the tile's first row, in elements.
    pub(super) base: String,
    /// The tile in shared memory.
    pub(super) tile: String,
    /// The memory of the tile.
    pub(super) tile_bytes: String,
    /// Vectors in registers on their way into the tile.
    pub(super) going: String,
}

/// Operands of a kernel with their names.
#[derive(Debug)]
pub(super) struct Operands {
    pub(super) inputs: Vec<Operand>,
    pub(super) outputs: Vec<Operand>,
}

impl Operands {
    pub(super) fn new(spec: &KernelSpec) -> Operands {
        let mut names = Names::new();
        let inputs: Vec<_> = spec.body.input_names().into_iter().map(|name| names.unique(name)).collect();
        let outputs: Vec<_> = spec.body.output_names().into_iter().map(|name| names.unique(name)).collect();
        let mut operand = |name: String| Operand {
            held: names.unique(&format!("{name}_held")),
            value: names.unique(&format!("{name}_value")),
            row: names.unique(&format!("{name}_row")),
            base: names.unique(&format!("{name}_base")),
            tile: names.unique(&format!("{name}_tile")),
            tile_bytes: names.unique(&format!("{name}_tile_bytes")),
            going: names.unique(&format!("{name}_going")),
            name,
        };
        Operands {
            inputs: inputs.into_iter().map(&mut operand).collect(),
            outputs: outputs.into_iter().map(&mut operand).collect(),
        }
    }

    /// The parameter list of the kernel.
    pub(super) fn signature(&self, spec: &KernelSpec) -> String {
        let restrict = if spec.disjoint { " __restrict__" } else { "" };
        let list: Vec<String> = parameters(spec)
            .map(|parameter| match parameter {
                Parameter::Value(i) => {
                    format!("const {} {}", spec.inputs[i].lane.cuda_name(), self.inputs[i].name)
                }
                Parameter::Input(i) => {
                    let ty = memory_type(spec.inputs[i].stored);
                    format!("const {ty}*{restrict} {}", self.inputs[i].name)
                }
                Parameter::Output(i) => {
                    let ty = memory_type(spec.outputs[i].stored);
                    format!("{ty}*{restrict} {}", self.outputs[i].name)
                }
                Parameter::Axes => "const Axes axes".to_owned(),
                Parameter::Lead => "const u32 lead".to_owned(),
                Parameter::Total => format!("const {} total", index_types(spec.class.index()).0),
            })
            .collect();
        list.join(", ")
    }

    /// The call of the op's function and the statements that keep its results, given how to keep output `j`.
    pub(super) fn call(
        &self,
        spec: &KernelSpec,
        uses: &mut Uses,
        function: &str,
        keep: impl Fn(usize, &str) -> String,
    ) -> Vec<String> {
        let arguments: Vec<&str> = spec
            .inputs
            .iter()
            .zip(&self.inputs)
            .map(|(input, operand)| match input.access {
                Access::Value => operand.name.as_str(),
                _ => operand.value.as_str(),
            })
            .collect();
        let call = format!("{function}({})", arguments.join(", "));
        let mut store = |j: usize, value: &str| {
            let output = &spec.outputs[j];
            let converted = convert(uses, value, [output.lane, output.result, output.stored], Memory::Stores);
            keep(j, &converted)
        };
        if self.outputs.len() == 1 {
            let name = &self.outputs[0].value;
            let ty = spec.outputs[0].lane.cuda_name();
            return vec![format!("const {ty} {name} = {call};"), store(0, name)];
        }
        let names: Vec<&str> = self.outputs.iter().map(|output| output.value.as_str()).collect();
        let mut statements = vec![format!("const auto [{}] = {call};", names.join(", "))];
        statements.extend(names.iter().enumerate().map(|(j, name)| store(j, name)));
        statements
    }
}

/// The unsigned and the signed type of indices.
pub(super) fn index_types(index: IndexWidth) -> (&'static str, &'static str) {
    match index {
        IndexWidth::I32 => ("u32", "i32"),
        IndexWidth::I64 => ("u64", "i64"),
    }
}

/// At which end of a conversion the value is in memory, where bool is a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Before the conversion.
    Loads,
    /// Behind it.
    Stores,
    /// It stays in registers.
    Neither,
}

/// `value` through a chain of dtypes, one conversion a step.
pub(super) fn convert<const N: usize>(
    uses: &mut Uses,
    value: &str,
    chain: [DType; N],
    memory: Memory,
) -> String {
    let mut chain = chain.to_vec();
    chain.dedup();
    match memory {
        Memory::Loads if chain.first() == Some(&DType::Bool) => chain.insert(0, DType::U8),
        Memory::Stores if chain.last() == Some(&DType::Bool) => chain.push(DType::U8),
        Memory::Loads | Memory::Stores | Memory::Neither => {}
    }
    let mut text = value.to_owned();
    for pair in chain.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        uses.require("cast", [to, from]);
        text = format!("math::cast<{}>({text})", to.cuda_name());
    }
    text
}

/// Declares the vectors in registers: those of inputs that have memory for each element, and those of outputs.
pub(super) fn declare_held(
    text: &mut Writer,
    spec: &KernelSpec,
    operands: &Operands,
    width: u32,
    vectors: u32,
) {
    for (input, operand) in
        spec.inputs.iter().zip(&operands.inputs).filter(|(input, _)| input.access.has_strides())
    {
        let ty = memory_type(input.stored);
        text.line(&format!("math::vec<{ty}, {width}> {}[{vectors}] = {{}};", operand.held));
    }
    for (output, operand) in spec.outputs.iter().zip(&operands.outputs) {
        let ty = memory_type(output.stored);
        text.line(&format!("math::vec<{ty}, {width}> {}[{vectors}];", operand.held));
    }
}

/// The first statement of every kernel.
pub(super) fn wait_for_earlier(text: &mut Writer, uses: &mut Uses) {
    uses.require("wait_for_earlier", []);
    text.line("math::wait_for_earlier();");
}

/// Declares how lines that are loaded leave L2, by the size of the call.
pub(super) fn declare_policy(text: &mut Writer, uses: &mut Uses, spec: &KernelSpec) {
    if let Some(blocks) = spec.streaming_blocks() {
        uses.require("l2_policy", []);
        text.line(&format!("const u64 policy = math::l2_policy(gridDim.x >= {blocks});"));
    }
}

/// Computes all elements of the vectors in registers.
pub(super) fn compute(
    text: &mut Writer,
    uses: &mut Uses,
    spec: &KernelSpec,
    operands: &Operands,
    function: &str,
    (width, vectors): (u32, u32),
) {
    text.unrolled("v", vectors, |text| {
        text.unrolled("k", width, |text| {
            let inputs = spec.inputs.iter().zip(&operands.inputs);
            for (input, operand) in inputs.filter(|(input, _)| input.access.has_strides()) {
                let loaded = format!("{}[v].get(k)", operand.held);
                let chain = [input.stored, input.joined, input.lane];
                let value = convert(uses, &loaded, chain, Memory::Loads);
                text.line(&format!("const {} {} = {value};", input.lane.cuda_name(), operand.value));
            }
            let keep = |j: usize, value: &str| format!("{}[v].set(k, {value});", operands.outputs[j].held);
            for line in operands.call(spec, uses, function, keep) {
                text.line(&line);
            }
        });
    });
}

/// Loads of the operands that are one element for the whole call.
pub(super) fn single_loads(operands: &Operands, spec: &KernelSpec, uses: &mut Uses) -> Vec<String> {
    spec.inputs
        .iter()
        .zip(&operands.inputs)
        .filter(|(input, _)| input.access == Access::Single)
        .map(|(input, operand)| {
            let loaded = format!("*{}", operand.name);
            let value = convert(uses, &loaded, [input.stored, input.joined, input.lane], Memory::Loads);
            format!("const {} {} = {value};", input.lane.cuda_name(), operand.value)
        })
        .collect()
}
