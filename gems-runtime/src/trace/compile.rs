//! A traced function as something to call: traced once a form of its inputs, fused, run for any sizes.

use crate::buffer::{Buffer, Meta, StridedBuffer, SymbolicBuffer};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Layout;
use crate::trace::forms::Bind;
use crate::trace::fuse::{self, Kernel};
use crate::trace::graph::{Graph, View};
use crate::trace::run::{self, Memories};
use crate::trace::{Dim, Fusion, Guards, Policy, Recorder, Returned, Scope, Values, explain};
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Makes a function of buffers one that is traced and fused.
///
/// The first call of a form of inputs (dtypes, ranks, devices, which sizes are 1, order of strides) runs the function
/// on symbolic buffers and fuses what it did; later calls with other sizes reuse that, and one launch a kernel is all
/// they cost. Results are those of eager calls, bit for bit.
///
/// # Examples
/// See [`Compiled::call`].
pub fn compile<const N: usize, R, F>(function: F) -> Compiled<N, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    Compiled {
        function,
        fusion: Fusion::On,
        forms: RwLock::default(),
        counts: Counts::default(),
        returned: PhantomData,
    }
}

/// A function that is traced and fused; made by [`compile()`].
pub struct Compiled<const N: usize, R, F> {
    function: F,
    fusion: Fusion,
    forms: RwLock<Vec<Arc<Form>>>,
    counts: Counts,
    returned: PhantomData<fn() -> R>,
}

/// What calls of a compiled function did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Runs of the function on symbolic buffers.
    pub traces: u64,
    /// Calls that found their form.
    pub hits: u64,
    /// Calls that ran op by op because inputs shared memory.
    pub unfused: u64,
}

#[derive(Debug, Default)]
struct Counts {
    traces: AtomicU64,
    hits: AtomicU64,
    unfused: AtomicU64,
}

/// What a trace of one form of inputs gave.
pub(super) struct Form {
    /// The inputs as they were described.
    pub(super) inputs: Vec<Meta<Dim>>,
    pub(super) guards: Guards,
    pub(super) graph: Graph,
    pub(super) results: Vec<View>,
    pub(super) kernels: Vec<Kernel>,
}

/// What a function did with inputs of one form.
pub(super) struct Recording {
    /// The inputs as they were described.
    pub(super) inputs: Vec<Meta<Dim>>,
    pub(super) guards: Guards,
    pub(super) graph: Graph,
    pub(super) results: Vec<View>,
}

impl<const N: usize, R, F> Compiled<N, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    /// The same function with ops joined or not; forms traced so far are forgotten.
    #[must_use]
    pub fn with_fusion(self, fusion: Fusion) -> Self {
        Compiled { fusion, forms: RwLock::default(), ..self }
    }

    /// Calls the function.
    ///
    /// # Errors
    /// The function's own; a returned buffer that does not come from the inputs; a device that fails.
    pub fn call(&self, inputs: [&StridedBuffer; N]) -> Result<R::Real> {
        let (form, values) = self.form(&inputs)?;
        if run::inputs_are_entangled(&form.graph, &inputs) {
            self.counts.unfused.fetch_add(1, Ordering::Relaxed);
        }
        R::rebuild(form.run(&values, &inputs)?)
    }

    /// The form of these inputs with the sizes of the call, traced if it is new.
    fn form(&self, inputs: &[&StridedBuffer; N]) -> Result<(Arc<Form>, Values)> {
        if let Some(found) = self.find(inputs) {
            self.counts.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(found);
        }
        self.counts.traces.fetch_add(1, Ordering::Relaxed);
        let form = Arc::new(self.trace(inputs)?);
        self.forms.write().unwrap_or_else(PoisonError::into_inner).push(form);
        self.find(inputs).ok_or_else(guards_of_the_trace_fail)
    }

    fn find(&self, inputs: &[&StridedBuffer; N]) -> Option<(Arc<Form>, Values)> {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        forms.iter().find_map(|form| form.bind(inputs).map(|values| (form.clone(), values)))
    }

    fn trace(&self, inputs: &[&StridedBuffer; N]) -> Result<Form> {
        Form::trace(inputs, self.fusion, |inputs| {
            let inputs = inputs.try_into().map_err(|_| Error::new(ErrorKind::Value, "inputs"))?;
            (self.function)(inputs)
        })
    }

    /// What the calls did so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            traces: count(&self.counts.traces),
            hits: count(&self.counts.hits),
            unfused: count(&self.counts.unfused),
        }
    }

    /// The graph of these inputs as text.
    ///
    /// # Errors
    /// As a call.
    pub fn graph(&self, inputs: [&StridedBuffer; N]) -> Result<String> {
        Ok(self.form(&inputs)?.0.graph.to_string())
    }

    /// The kernels of these inputs: what was joined, what was not and why, and the guards.
    ///
    /// # Errors
    /// As a call.
    pub fn explain(&self, inputs: [&StridedBuffer; N]) -> Result<String> {
        Ok(explain::explain(&self.form(&inputs)?.0))
    }

    /// The CUDA C++ of every kernel for inputs of these sizes, as fresh allocations would be aligned.
    ///
    /// # Errors
    /// As a call.
    pub fn cuda_sources(&self, inputs: [&StridedBuffer; N]) -> Result<Vec<String>> {
        let (form, values) = self.form(&inputs)?;
        let mut memories = Memories::new(&form.graph, &values, &inputs);
        form.kernels.iter().map(|kernel| Ok(run::source(kernel, &mut memories)?.text)).collect()
    }
}

/// Traces a function of any number of inputs, fuses it and runs it once.
///
/// # Errors
/// As [`Compiled::call`].
pub fn trace_and_run(
    inputs: &[&StridedBuffer],
    fusion: Fusion,
    function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<Vec<SymbolicBuffer>>,
) -> Result<Vec<StridedBuffer>> {
    let form = Form::trace(inputs, fusion, function)?;
    let values = form.bind(inputs).ok_or_else(guards_of_the_trace_fail)?;
    form.run(&values, inputs)
}

pub(super) fn guards_of_the_trace_fail() -> Error {
    let message =
        "the guards of a trace do not hold for the inputs that were traced; this is a fault of gems";
    Error::new(ErrorKind::Guard, message)
}

impl Form {
    /// Runs a function on symbolic buffers like these inputs, and fuses what it did.
    fn trace<R: Returned>(
        inputs: &[&StridedBuffer],
        fusion: Fusion,
        function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<R>,
    ) -> Result<Form> {
        Ok(Form::fused(Recording::new(inputs, |index| format!("x{index}"), function)?, fusion))
    }

    /// A recording as kernels.
    pub(super) fn fused(recording: Recording, fusion: Fusion) -> Form {
        let Recording { inputs, guards, graph, results } = recording;
        let kernels = fuse::kernels(&graph, &results, fusion);
        tracing::debug!("traced {} ops into {} kernels", graph.ops().len(), kernels.len());
        Form { inputs, guards, graph, results, kernels }
    }

    /// Runs the kernels; op by op where inputs share memory that is written.
    pub(super) fn run(&self, values: &Values, inputs: &[&StridedBuffer]) -> Result<Vec<StridedBuffer>> {
        let mut memories = Memories::new(&self.graph, values, inputs);
        if run::inputs_are_entangled(&self.graph, inputs) {
            run::one_by_one(&self.graph, &mut memories)?;
        } else {
            self.kernels.iter().try_for_each(|kernel| run::kernel(kernel, &mut memories))?;
        }
        self.results.iter().map(|view| memories.view(view)).collect()
    }
}
impl Recording {
    /// Runs a function on symbolic buffers like these inputs.
    pub(super) fn new<R: Returned>(
        inputs: &[&StridedBuffer],
        name: impl Fn(usize) -> String,
        function: impl FnOnce(Vec<SymbolicBuffer>) -> Result<R>,
    ) -> Result<Recording> {
        let scope = Scope::new(Policy::Guard);
        let recorder = Recorder::default();
        let mut metas = Vec::new();
        let mut traced = Vec::new();
        for (index, input) in inputs.iter().enumerate() {
            let meta = input.meta();
            // Where an input lies in its storage changes nothing about the function.
            let layout = Layout::new(meta.layout.shape(), meta.layout.strides(), 0)?;
            let name = name(index);
            let symbolic = SymbolicBuffer::like_symbolic(&Meta { layout, ..meta.clone() }, &name, &scope)?;
            metas.push(symbolic.meta().clone());
            traced.push(symbolic.into_input(&recorder, index, &name));
        }
        let returned = function(traced)?;
        let result = |buffer: &SymbolicBuffer| match buffer.traced() {
            Some(traced) => Ok(View { memory: traced.memory, layout: buffer.meta().layout.clone() }),
            None => {
                let message =
                    format!("the returned {buffer} does not come from the inputs, so it has no value");
                Err(Error::new(ErrorKind::Value, message))
            }
        };
        let results = returned.flatten().into_iter().map(result).collect::<Result<Vec<_>>>()?;
        Ok(Recording { inputs: metas, guards: scope.guards()?, graph: recorder.snapshot(), results })
    }
}

impl Bind for Form {
    fn bind(&self, inputs: &[&StridedBuffer]) -> Option<Values> {
        let same = |(described, actual): (&Meta<Dim>, &&StridedBuffer)| {
            described.dtype == actual.dtype() && described.device == actual.device()
        };
        if !self.inputs.iter().zip(inputs).all(same) {
            return None;
        }
        let described: smallvec::SmallVec<[&Layout<Dim>; 8]> =
            self.inputs.iter().map(|meta| &meta.layout).collect();
        let actual: smallvec::SmallVec<[&Layout; 8]> =
            inputs.iter().map(|input| &input.meta().layout).collect();
        let bindings = self.guards.bind(&described, &actual)?;
        self.guards.check(&bindings).ok()?;
        Some(self.guards.values(&bindings))
    }
}

impl<const N: usize, R, F> fmt::Debug for Compiled<N, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "a compiled function of {N} inputs, traced for {} forms", forms.len())
    }
}
