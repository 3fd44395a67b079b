//! Running the kernels of a graph on real buffers.
//!
//! Sizes come from the bindings of the call; every kernel is planned for them, launched, and its intermediates go back
//! to the allocator at the end. What was planned is kept for the next call of the same layouts. Decides nothing about
//! fusion.

use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::Scalar;
use crate::emit::{self, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{self, BackEnds, Fused, Place, Replay, Step};
use crate::layout::{self, Layout, Overlap, Region};
use crate::op::Operand;
use crate::plan::{self, KernelSpec, Program, ReduceSpec};
use crate::trace::file::KernelImage;
use crate::trace::fuse::{Kernel, KernelBody, KernelInput};
use crate::trace::graph::{ArgValue, Graph, MemoryId, Op, OpResult, Origin, View, Work};
use crate::trace::{Dim, Values};
use smallvec::SmallVec;
use std::sync::Arc;

/// What a run gave.
pub(super) struct Run {
    pub(super) results: Vec<StridedBuffer>,
    /// The kernels that ran.
    pub(super) used: Vec<Used>,
    /// What runs the same for other inputs of the same layouts; none if it depends on what memory they share.
    pub(super) replay: Option<Replay>,
}

/// A kernel and the device that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Used {
    Kernel(Device, KernelSpec),
    Sum(Device, ReduceSpec),
}

impl Used {
    /// The kernel as it is saved.
    pub(super) fn image(&self) -> Result<KernelImage> {
        let (device, source) = match self {
            Used::Kernel(device, spec) => (*device, emit::source(spec)?),
            Used::Sum(device, spec) => (*device, emit::sum_source(spec)?),
        };
        let binary = exec::binary(device, &source)?;
        Ok(KernelImage { entry: source.entry, source: source.text, binary })
    }
}

/// Runs the kernels on these back ends or on those of the devices.
pub(super) fn all(
    back_ends: Option<BackEnds>,
    graph: &Graph,
    kernels: &[Kernel],
    values: &Values,
    inputs: &[&StridedBuffer],
) -> Result<Run> {
    let mut memories = Memories::new(graph, values, inputs);
    let (mut used, mut steps) = (Vec::new(), Some(Vec::new()));
    for body in kernels {
        let ran = kernel(back_ends, body, &mut memories)?;
        used.extend(ran.used);
        match (ran.work, &mut steps) {
            (Again::Work { work, copied }, Some(steps)) => steps.push(memories.step(body, work, copied)?),
            (Again::Never, _) => steps = None,
            (Again::Nothing, _) | (Again::Work { .. }, None) => {}
        }
    }
    let results = graph.results.iter().map(|view| memories.view(view)).collect::<Result<_>>()?;
    let replay = steps.map(|steps| memories.replay(steps)).transpose()?;
    Ok(Run { results, used, replay: replay.filter(|replay| replay.fits(inputs)) })
}

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
                input.part(&layout)
            }
            Origin::Result(_) => {
                let result = self.result(view.memory)?;
                result.part(&from_first(&layout, result)?)
            }
        }
    }

    /// Where a view is, for replays; what is made is counted as memories are.
    fn place(&mut self, view: &View) -> Result<Place> {
        let layout = layout(self.values, &view.layout)?;
        let part = |layout: &Layout, whole: &Layout| {
            let is_whole = layout.offset() == 0
                && (layout.shape(), layout.strides()) == (whole.shape(), whole.strides());
            (!is_whole).then(|| layout.clone())
        };
        match self.graph.memories[view.memory].origin {
            Origin::Input(index) => {
                let input = self.inputs.get(index).copied().ok_or_else(missing)?;
                Ok(Place::Input(index, part(&layout, &input.meta().layout)))
            }
            Origin::Result(_) => {
                let result = self.result(view.memory)?;
                Ok(Place::Made(view.memory, part(&from_first(&layout, result)?, &result.meta().layout)))
            }
        }
    }

    /// A kernel that ran, with the places of its operands.
    fn step(&mut self, kernel: &Kernel, work: exec::Work, copied: SmallVec<[usize; 1]>) -> Result<Step> {
        let inputs = kernel.inputs.iter().map(|input| match input {
            KernelInput::View(view) => self.place(view),
            KernelInput::Number(number) => Ok(Place::Number(*number)),
        });
        let inputs = inputs.collect::<Result<_>>()?;
        let outputs = kernel.outputs.iter().map(|view| self.place(view)).collect::<Result<_>>()?;
        Ok(Step { work, inputs, outputs, copied })
    }

    fn replay(&mut self, mut steps: Vec<Step>) -> Result<Replay> {
        let graph = self.graph;
        let mut results: Vec<Place> =
            graph.results.iter().map(|view| self.place(view)).collect::<Result<_>>()?;
        // Memories that no kernel stores are not made.
        let of_steps = steps.iter_mut().flat_map(|step| step.inputs.iter_mut().chain(&mut step.outputs));
        for place in of_steps.chain(&mut results) {
            if let Place::Made(memory, _) = place {
                *memory = self.results[..*memory].iter().flatten().count();
            }
        }
        let is_written =
            |&input: &usize| graph.nodes.iter().flat_map(Op::writes).any(|view| view.memory == input);
        let written = (0..self.inputs.len()).filter(is_written).collect();
        let made = self.results.iter().flatten().map(|result| result.meta().clone()).collect();
        Replay::new(self.inputs, written, made, steps, results)
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

/// A layout that counts from the beginning of a result's memory, as one that counts from the result's first element.
fn from_first(layout: &Layout, result: &StridedBuffer) -> Result<Layout> {
    layout.moved(-result.meta().layout.offset()).ok_or_else(|| {
        Error::new(
            ErrorKind::Shape,
            format!("a view {layout:?} leaves {}; trace the function again", result.meta()),
        )
    })
}

/// A layout at the sizes of a run.
pub(super) fn layout(values: &Values, layout: &Layout<Dim>) -> Result<Layout> {
    let beyond = || {
        let message = format!(
            "the graph has a view {:?} of strides {:?} whose sizes or offset are out of range at these sizes; trace \
             the function again",
            layout.shape(),
            layout.strides()
        );
        Error::new(ErrorKind::Shape, message)
    };
    let size = |dim: &Dim| usize::try_from(values.of(dim)).map_err(|_| beyond());
    let shape = layout.shape().iter().map(size).collect::<Result<SmallVec<[usize; 6]>>>()?;
    let strides: SmallVec<[isize; 6]> = layout.strides().iter().map(|dim| values.of(dim)).collect();
    let mut terms = layout.start().terms().iter().map(|dim| values.of(dim));
    let start = terms.try_fold(0, isize::checked_add).ok_or_else(beyond)?;
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
    /// The inputs that are copies, since an output has their memory at other elements.
    copied: SmallVec<[usize; 1]>,
    /// Whether an eager call refuses them.
    refused: bool,
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
        if let Some(other) = outputs.iter().find(|output| output.shape() != outputs[0].shape()) {
            let message =
                format!("outputs of one kernel have shapes {:?} and {:?}", outputs[0].shape(), other.shape());
            return Err(Error::new(ErrorKind::Shape, message));
        }
        let refused = outputs.iter().any(|output| layout::has_internal_overlap(&output.meta().layout))
            || results_meet(kernel, memories)?;
        let mut operands =
            Operands { buffers, numbers, outputs, disjoint: true, copied: SmallVec::new(), refused };
        for (i, input) in operands.buffers.iter_mut().enumerate() {
            let Some(input) = input.as_mut().filter(|input| input.device() == device) else { continue };
            for output in &operands.outputs {
                match layout::overlap(region(output), region(input)) {
                    Overlap::None => {}
                    Overlap::Full => operands.disjoint = false,
                    Overlap::Partial => operands.refused = true,
                    Overlap::Copy => {
                        *input = exec::copy_span(input)?;
                        operands.copied.push(i);
                    }
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

/// What a kernel did.
struct Ran {
    used: Option<Used>,
    work: Again,
}

/// What it takes to run a kernel again on the same layouts.
enum Again {
    Work {
        work: exec::Work,
        /// The inputs that are copied first.
        copied: SmallVec<[usize; 1]>,
    },
    /// It computes no element.
    Nothing,
    /// It has to be planned again.
    Never,
}

/// Runs a kernel, or finds out from eager calls of its ops why they refuse its operands.
fn kernel(back_ends: Option<BackEnds>, kernel: &Kernel, memories: &mut Memories<'_>) -> Result<Ran> {
    let program = match &kernel.body {
        KernelBody::Program(program) => program,
        KernelBody::Sum => {
            return sum(kernel, memories, |from, to| sum_again(back_ends, from, to));
        }
    };
    let operands = Operands::new(kernel, memories)?;
    if operands.refused {
        kernel.ops.iter().try_for_each(|&op| one(back_ends, &memories.graph.nodes[op], memories))?;
        return Ok(Ran { used: None, work: Again::Never });
    }
    let device = operands.outputs.first().map_or(Device::Cpu, StridedBuffer::device);
    let ran = exec::run_fused(back_ends.unwrap_or(BackEnds::OWN).kernel, &operands.fused(program))?;
    let work = match (&ran.spec, ran.planned) {
        (_, Some(planned)) => {
            Again::Work { work: exec::Work::Kernel(Box::new(planned)), copied: operands.copied }
        }
        (None, None) => Again::Nothing,
        (Some(_), None) => Again::Never,
    };
    Ok(Ran { used: ran.spec.map(|spec| Used::Kernel(device, spec)), work })
}

fn sum_again(back_ends: Option<BackEnds>, from: &StridedBuffer, to: &StridedBuffer) -> Result<Ran> {
    exec::sum_into(back_ends.unwrap_or(BackEnds::OWN).sum, from, to)?;
    Ok(match exec::plan_sum(from, to)? {
        Some(plan) => {
            let used = Some(Used::Sum(to.device(), plan.spec));
            let work = exec::Work::Sum(Box::new(plan));
            Ran { used, work: Again::Work { work, copied: SmallVec::new() } }
        }
        None => Ran { used: None, work: Again::Never },
    })
}

/// Does something with the operand and the result of a sum.
fn sum<T>(
    kernel: &Kernel,
    memories: &mut Memories<'_>,
    act: impl FnOnce(&StridedBuffer, &StridedBuffer) -> Result<T>,
) -> Result<T> {
    match (kernel.inputs.as_slice(), kernel.outputs.as_slice()) {
        ([KernelInput::View(from)], [to]) => {
            let (from, to) = (memories.view(from)?, memories.view(to)?);
            plan::infer_sum(from.meta(), to.meta())?;
            act(&from, &to)
        }
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
            sum(kernel, memories, |from, to| emit::sum_source(&plan::reduce(from.meta(), to.meta())?.spec))
        }
    }
}

/// Whether two results of one op share memory.
fn results_meet(kernel: &Kernel, memories: &mut Memories<'_>) -> Result<bool> {
    let graph = memories.graph;
    for &node in &kernel.ops {
        let results = &graph.nodes[node].results;
        for (i, OpResult { view: a, .. }) in results.iter().enumerate() {
            for OpResult { view: b, .. } in &results[..i] {
                let may_share =
                    a.memory == b.memory || (graph.is_input(a.memory) && graph.is_input(b.memory));
                if may_share && overlap(&memories.view(a)?, &memories.view(b)?) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn overlap(a: &StridedBuffer, b: &StridedBuffer) -> bool {
    a.device() == b.device() && layout::overlap(region(a), region(b)) != Overlap::None
}

fn region(buffer: &StridedBuffer) -> Region<'_> {
    Region { address: buffer.address(), element_size: buffer.dtype().size(), layout: &buffer.meta().layout }
}

/// Whether an input shares memory that the graph writes to with another one; fusion then knows too little of what a
/// kernel reads.
pub(super) fn inputs_are_entangled(graph: &Graph, inputs: &[&StridedBuffer]) -> bool {
    let is_written =
        |&input: &usize| graph.nodes.iter().flat_map(Op::writes).any(|view| view.memory == input);
    (0..inputs.len()).filter(is_written).any(|written| {
        let others = (0..inputs.len()).filter(|&other| other != written);
        others.into_iter().any(|other| overlap(inputs[written], inputs[other]))
    })
}

/// Runs one op as an eager call does, with its checks.
fn one(back_ends: Option<BackEnds>, op: &Op, memories: &mut Memories<'_>) -> Result<()> {
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
            match back_ends {
                None => StridedBuffer::call_out(op, operands, &mut outputs),
                Some(back_ends) => exec::call_out_on(back_ends.kernel, op, operands, &mut outputs),
            }
        }
        (Work::Sum, [Operand::Buffer(from)], [to]) => {
            exec::sum_into(back_ends.unwrap_or(BackEnds::OWN).sum, from, to)
        }
        (Work::Sum, ..) => Err(missing()),
    }
}
