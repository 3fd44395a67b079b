//! Running the kernels of a graph on real buffers.
//!
//! Sizes come from the bindings of the call; every kernel is planned for them, launched, and its intermediates go back
//! to the allocator at the end. Decides nothing about fusion.

use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::Scalar;
use crate::emit::{self, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{self, Fused};
use crate::layout::{self, Layout, Overlap, Region};
use crate::op::Operand;
use crate::plan::{self, Program};
use crate::trace::fuse::{Kernel, KernelBody, KernelInput};
use crate::trace::graph::{ArgValue, Graph, MemoryId, Op, Origin, View, Work};
use crate::trace::{Dim, Values};
use smallvec::SmallVec;
use std::sync::Arc;

/// The memories of one run.
pub(super) struct Memories<'a> {
    graph: &'a Graph,
    values: &'a Values,
    inputs: &'a [&'a StridedBuffer],
    results: Vec<Option<StridedBuffer>>,
}

impl<'a> Memories<'a> {
    pub(super) fn new(graph: &'a Graph, values: &'a Values, inputs: &'a [&'a StridedBuffer]) -> Self {
        Memories { graph, values, inputs, results: vec![None; graph.memories.len()] }
    }

    /// A view at the sizes of this run; memory of results is allocated at its first use.
    pub(super) fn view(&mut self, view: &View) -> Result<StridedBuffer> {
        let layout = layout(self.values, &view.layout)?;
        match self.graph.memories[view.memory].origin {
            Origin::Input(index) => {
                let input = self.inputs.get(index).copied().ok_or_else(missing)?;
                let offset = input.meta().layout.offset() + layout.offset();
                Ok(input.with_layout(Layout::new(layout.shape(), layout.strides(), offset)?))
            }
            Origin::Result(_) => Ok(self.result(view.memory)?.with_layout(layout)),
        }
    }

    fn result(&mut self, memory: MemoryId) -> Result<&StridedBuffer> {
        if self.results[memory].is_none() {
            let meta = &self.graph.memories[memory].meta;
            let layout = layout(self.values, &meta.layout)?;
            let meta = Meta { dtype: meta.dtype, device: meta.device, layout };
            self.results[memory] = Some(StridedBuffer::allocate(&meta)?);
        }
        self.results[memory].as_ref().ok_or_else(missing)
    }
}

/// A layout at the sizes of a run.
pub(super) fn layout(values: &Values, layout: &Layout<Dim>) -> Result<Layout> {
    let shape: SmallVec<[usize; 6]> =
        layout.shape().iter().map(|dim| values.of(dim).unsigned_abs()).collect();
    let strides: SmallVec<[isize; 6]> = layout.strides().iter().map(|dim| values.of(dim)).collect();
    let start = layout.start().terms().iter().map(|dim| values.of(dim)).sum();
    Layout::new(&shape, &strides, start)
}

fn missing() -> Error {
    Error::new(ErrorKind::Value, "the call has fewer inputs than the traced function")
}

/// The operands of a kernel in one run.
struct Operands {
    buffers: SmallVec<[Option<StridedBuffer>; 8]>,
    numbers: SmallVec<[Option<Scalar>; 8]>,
    outputs: SmallVec<[StridedBuffer; 2]>,
    disjoint: bool,
    /// Whether an output shares memory with an input at other elements.
    shares_otherwise: bool,
}

impl Operands {
    fn new(kernel: &Kernel, memories: &mut Memories<'_>) -> Result<Operands> {
        let outputs: SmallVec<[StridedBuffer; 2]> =
            kernel.outputs.iter().map(|view| memories.view(view)).collect::<Result<_>>()?;
        let device = outputs.first().map_or(Device::Cpu, StridedBuffer::device);
        let mut buffers = SmallVec::new();
        let mut numbers = SmallVec::new();
        for input in &kernel.inputs {
            let (buffer, number) = match input {
                KernelInput::Number(number) => (None, Some(*number)),
                KernelInput::View(view) => (Some(memories.view(view)?), None),
            };
            buffers.push(buffer);
            numbers.push(number);
        }
        let mut operands = Operands { buffers, numbers, outputs, disjoint: true, shares_otherwise: false };
        for output in &operands.outputs {
            for input in operands.buffers.iter().flatten().filter(|input| input.device() == device) {
                match layout::overlap(region(output), region(input)) {
                    Overlap::None => {}
                    Overlap::Full => operands.disjoint = false,
                    Overlap::Partial | Overlap::Copy => operands.shares_otherwise = true,
                }
            }
        }
        Ok(operands)
    }

    fn fused<'a>(&'a self, program: &'a Arc<Program>) -> Fused<'a> {
        Fused {
            program,
            buffers: &self.buffers,
            numbers: &self.numbers,
            outputs: &self.outputs,
            disjoint: self.disjoint,
        }
    }
}

/// Runs a kernel. An op that reads what it writes at other elements, or writes elements twice, is a kernel of its own
/// and runs as an eager call does, with that call's checks and copies.
pub(super) fn kernel(kernel: &Kernel, memories: &mut Memories<'_>) -> Result<()> {
    let program = match &kernel.body {
        KernelBody::Program(program) => program,
        KernelBody::Sum => return sum(kernel, memories, exec::sum_into),
    };
    let operands = Operands::new(kernel, memories)?;
    let twice = operands.outputs.iter().any(|output| layout::has_internal_overlap(&output.meta().layout));
    match kernel.ops.as_slice() {
        &[only] if operands.shares_otherwise || twice => one(&memories.graph.nodes[only], memories),
        _ if twice => {
            let message =
                "elements of a buffer that is written in place share memory; give one without overlap";
            Err(Error::new(ErrorKind::Overlap, message))
        }
        _ => exec::run_fused(&operands.fused(program)),
    }
}

/// Does something with the operand and the result of a sum.
fn sum<T>(
    kernel: &Kernel,
    memories: &mut Memories<'_>,
    act: impl FnOnce(&StridedBuffer, &StridedBuffer) -> Result<T>,
) -> Result<T> {
    match (kernel.inputs.as_slice(), kernel.outputs.as_slice()) {
        ([KernelInput::View(from)], [to]) => act(&memories.view(from)?, &memories.view(to)?),
        _ => Err(missing()),
    }
}

/// The CUDA C++ of a kernel.
pub(super) fn source(kernel: &Kernel, memories: &mut Memories<'_>) -> Result<Source> {
    match &kernel.body {
        KernelBody::Program(program) => {
            let operands = Operands::new(kernel, memories)?;
            emit::source(&exec::plan_fused(&operands.fused(program))?.spec)
        }
        KernelBody::Sum => {
            sum(kernel, memories, |from, to| emit::sum_source(&plan::reduce(from.meta(), to.meta()).spec))
        }
    }
}

fn region(buffer: &StridedBuffer) -> Region<'_> {
    Region { address: buffer.address(), element_size: buffer.dtype().size(), layout: &buffer.meta().layout }
}

/// Whether inputs share memory that the graph writes to; fusion then knows too little of what a kernel reads.
pub(super) fn inputs_are_entangled(graph: &Graph, inputs: &[&StridedBuffer]) -> bool {
    let is_input = |memory: MemoryId| matches!(graph.memories[memory].origin, Origin::Input(_));
    let writes = graph.nodes.iter().flat_map(Op::writes).any(|view| is_input(view.memory));
    let pairs = || inputs.iter().enumerate().flat_map(|(i, a)| inputs[..i].iter().map(move |b| (a, b)));
    writes
        && pairs()
            .any(|(a, b)| a.device() == b.device() && layout::overlap(region(a), region(b)) != Overlap::None)
}

/// Runs all ops one by one, as eager calls do, with their checks and copies.
pub(super) fn one_by_one(graph: &Graph, memories: &mut Memories<'_>) -> Result<()> {
    graph.nodes.iter().try_for_each(|op| one(op, memories))
}

/// Runs one op as an eager call does.
fn one(op: &Op, memories: &mut Memories<'_>) -> Result<()> {
    let buffers = op
        .args
        .iter()
        .map(|arg| match &arg.value {
            ArgValue::View(view) => memories.view(view).map(Some),
            ArgValue::Number(_) => Ok(None),
        })
        .collect::<Result<Vec<_>>>()?;
    let operands: SmallVec<[Operand<'_, StridedBuffer>; 8]> = op
        .args
        .iter()
        .zip(&buffers)
        .map(|(arg, buffer)| match (&arg.value, buffer) {
            (_, Some(buffer)) => Operand::Buffer(buffer),
            (ArgValue::Number(number), None) => Operand::Scalar(*number),
            (ArgValue::View(_), None) => Operand::Scalar(Scalar::I64(0)),
        })
        .collect();
    let mut outputs =
        op.writes().map(|view| memories.view(view)).collect::<Result<SmallVec<[StridedBuffer; 2]>>>()?;
    match (op.work, operands.as_slice(), outputs.as_mut_slice()) {
        (Work::Pointwise { op, .. }, operands, outputs) => {
            let mut outputs: SmallVec<[&mut StridedBuffer; 2]> = outputs.iter_mut().collect();
            StridedBuffer::call_out(op, operands, &mut outputs)
        }
        (Work::Sum, [Operand::Buffer(from)], [to]) => exec::sum_into(from, to),
        (Work::Sum, ..) => Err(missing()),
    }
}
