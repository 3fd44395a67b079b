//! What a function does with inputs of one form: its graph, and the kernels that the graph became.

use crate::buffer::{Buffer, Meta, StridedBuffer, SymbolicBuffer};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::BackEnds;
use crate::layout::Layout;
use crate::trace::file::KernelImage;
use crate::trace::forms::Bind;
use crate::trace::fuse::{self, Kernel};
use crate::trace::graph::{Graph, View};
use crate::trace::run::{self, Memories, Run, Used};
use crate::trace::{Dim, Fusion, Options, Policy, Recorder, Returned, Scope, Values, explain, loaded};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A traced function of inputs of one form: dtypes, ranks, devices, which sizes are 1, how strides follow from sizes, and
/// the guards of the trace.
#[derive(Debug)]
pub struct Form {
    pub(super) graph: Graph,
    pub(super) options: Options,
    pub(super) kernels: Vec<Kernel>,
    /// Those of inputs that share memory which is written, one an op.
    apart: OnceLock<Vec<Kernel>>,
    /// Kernels that ran: what is worth saving.
    used: Mutex<BTreeSet<Used>>,
}

/// Traces a function of any number of inputs and fuses what it did.
///
/// # Errors
/// The function's own; a returned buffer that does not come from the inputs.
pub fn trace<R: Returned>(
    inputs: &[&StridedBuffer],
    options: Options,
    function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<R>,
) -> Result<Form> {
    Ok(Form::fused(record(inputs, |index| format!("x{index}"), function)?, options))
}

/// What a function does with symbolic buffers like these inputs, as it was recorded.
pub(super) fn record<R: Returned>(
    inputs: &[&StridedBuffer],
    name: impl Fn(usize) -> String,
    function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<R>,
) -> Result<Graph> {
    let scope = Scope::new(Policy::Guard);
    let recorder = Recorder::new(&scope);
    let mut traced = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let meta = input.meta();
        // Where an input lies in its storage changes nothing about the function.
        let layout = Layout::new(meta.layout.shape(), meta.layout.strides(), 0)?;
        let name = name(index);
        let symbolic = SymbolicBuffer::like_symbolic(&Meta { layout, ..meta.clone() }, &name, &scope)?;
        traced.push(symbolic.into_input(&recorder, index, &name));
    }
    let returned = recorder.run(|| function(traced)).map_err(|error| {
        let note = scope.sizes_in(&error.to_string());
        error.with_note(&note)
    })?;
    let result = |buffer: &SymbolicBuffer| match recorder.memory(buffer) {
        Some(memory) => Ok(View { memory, layout: buffer.meta().layout.clone() }),
        None => {
            let message = format!("the returned {buffer} does not come from the inputs, so it has no value");
            Err(Error::new(ErrorKind::Value, message))
        }
    };
    let results = returned.flatten().into_iter().map(result).collect::<Result<Vec<_>>>()?;
    Ok(Graph { results, guards: scope.guards()?, ..recorder.snapshot() })
}

impl Form {
    /// A recording, simplified and fused.
    pub(super) fn fused(recording: Graph, options: Options) -> Form {
        let form = Form::new(recording.settled().simplified(), options);
        debug_assert!(form.graph.verify().is_ok(), "{:?}\n{}", form.graph.verify(), form.graph);
        form
    }

    /// A graph that fits together, fused.
    pub(super) fn new(graph: Graph, options: Options) -> Form {
        let kernels = fuse::kernels(&graph, options);
        tracing::debug!("{} ops in {} kernels", graph.ops().len(), kernels.len());
        Form { graph, options, kernels, apart: OnceLock::new(), used: Mutex::default() }
    }

    /// The graph, without dead and repeated ops.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The kernels: what was joined, what was not and why, and the guards.
    #[must_use]
    pub fn explain(&self) -> String {
        explain::explain(self)
    }

    /// Runs the function.
    ///
    /// # Errors
    /// `Guard` if the inputs are of another form; a device that fails.
    pub fn run(&self, inputs: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        Ok(self.run_for(&self.values(inputs)?, inputs)?.results)
    }

    /// [`Form::run`] on other back ends than those of the devices.
    ///
    /// # Errors
    /// As [`Form::run`].
    #[doc(hidden)]
    pub fn run_on(&self, back_ends: BackEnds, inputs: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        let values = self.values(inputs)?;
        let kernels = self.kernels_for(inputs);
        Ok(run::all(Some(back_ends), &self.graph, kernels, &values, inputs)?.results)
    }

    /// Writes the function to a file, for inputs of this form; as
    /// [`Compiled::save`](crate::trace::Compiled::save).
    ///
    /// # Errors
    /// `Io` if the file can't be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        loaded::save(&[self], path.as_ref())
    }

    /// The CUDA C++ of every kernel for inputs of these sizes, as fresh allocations would be aligned.
    ///
    /// # Errors
    /// As [`Form::run`].
    pub fn cuda_sources(&self, inputs: &[&StridedBuffer]) -> Result<Vec<String>> {
        let values = self.values(inputs)?;
        let mut memories = Memories::new(&self.graph, &values, inputs);
        self.kernels.iter().map(|kernel| Ok(run::source(kernel, &mut memories)?.text)).collect()
    }

    fn values(&self, inputs: &[&StridedBuffer]) -> Result<Values> {
        self.bind(inputs).ok_or_else(|| {
            let given: Vec<String> = inputs.iter().map(|input| format!("{:?}", input.meta())).collect();
            let message = format!(
                "the inputs {} are not of the form that was traced; trace the function with inputs like them",
                given.join(", ")
            );
            Error::new(ErrorKind::Guard, message)
        })
    }

    /// The kernels for these inputs, by the memory that they share.
    fn kernels_for(&self, inputs: &[&StridedBuffer]) -> &[Kernel] {
        if run::inputs_are_entangled(&self.graph, inputs) {
            let options = Options { fusion: Fusion::Off, ..self.options };
            self.apart.get_or_init(|| fuse::kernels(&self.graph, options))
        } else {
            &self.kernels
        }
    }

    pub(super) fn run_for(&self, values: &Values, inputs: &[&StridedBuffer]) -> Result<Run> {
        let mut run = run::all(None, &self.graph, self.kernels_for(inputs), values, inputs)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(run.used.drain(..));
        Ok(run)
    }

    /// The kernels that ran, with the binaries of those that ran on a GPU.
    ///
    /// # Errors
    /// A kernel whose binary was given up and cannot be compiled again.
    pub(super) fn images(&self) -> Result<Vec<KernelImage>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Used::image).collect()
    }
}

impl Bind for Form {
    fn bind(&self, inputs: &[&StridedBuffer]) -> Option<Values> {
        let metas = || self.graph.inputs().map(|memory| &memory.meta);
        let same = |(described, actual): (&Meta<Dim>, &&StridedBuffer)| {
            described.dtype == actual.dtype() && described.device == actual.device()
        };
        if metas().count() != inputs.len() || !metas().zip(inputs).all(same) {
            return None;
        }
        let described: SmallVec<[&Layout<Dim>; 8]> = metas().map(|meta| &meta.layout).collect();
        let actual: SmallVec<[&Layout; 8]> = inputs.iter().map(|input| &input.meta().layout).collect();
        let guards = self.graph.guards();
        let bindings = guards.bind(&described, &actual)?;
        guards.check(&bindings).ok()?;
        Some(guards.values(&bindings))
    }
}
