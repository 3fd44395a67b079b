//! A traced function as something to call: traced once a form of its inputs, fused, run for any sizes.

use crate::buffer::{StridedBuffer, SymbolicBuffer};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Results;
use crate::trace::forms::Forms;
use crate::trace::{Form, Fusion, Graph, Options, Returned, Rounding, Values, form, loaded, run};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a function of buffers one that is traced and fused.
///
/// The first call of a form of inputs (dtypes, ranks, devices, which sizes are 1, order of strides) runs the function
/// on symbolic buffers and fuses what it did; later calls with other sizes reuse that, and one launch a kernel is all
/// they cost. Results are those of eager calls, bit for bit, unless [`Compiled::with_rounding`] says otherwise.
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
        options: Options::default(),
        forms: Forms::default(),
        unfused: AtomicU64::default(),
        returned: PhantomData,
    }
}

/// A function that is traced and fused; made by [`compile()`].
pub struct Compiled<const N: usize, R, F> {
    function: F,
    options: Options,
    forms: Forms<Form>,
    unfused: AtomicU64,
    returned: PhantomData<fn() -> R>,
}

/// What calls of a compiled function did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Runs of the function on symbolic buffers.
    pub traces: u64,
    /// Calls that found their form; `explain`, `graph` and `cuda_sources` ask for it as calls do.
    pub hits: u64,
    /// Calls that ran op by op because inputs shared memory.
    pub unfused: u64,
}

impl<const N: usize, R, F> Compiled<N, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    /// The same function with ops joined or not; forms traced so far are forgotten.
    #[must_use]
    pub fn with_fusion(self, fusion: Fusion) -> Self {
        Compiled { options: Options { fusion, ..self.options }, forms: Forms::default(), ..self }
    }

    /// The same function with intermediates rounded as eager calls do, or not; forms traced so far are forgotten.
    #[must_use]
    pub fn with_rounding(self, rounding: Rounding) -> Self {
        Compiled { options: Options { rounding, ..self.options }, forms: Forms::default(), ..self }
    }

    /// Calls the function.
    ///
    /// # Errors
    /// The function's own; a returned buffer that does not come from the inputs; a device that fails.
    pub fn call(&self, inputs: [&StridedBuffer; N]) -> Result<R::Real> {
        let mut results = Results::new();
        if let Some(done) = self.forms.again(&inputs, &mut results) {
            done?;
            return R::rebuild(results.drain(..));
        }
        let (form, values) = self.form(&inputs)?;
        if run::inputs_are_entangled(&form.graph, &inputs) {
            self.unfused.fetch_add(1, Ordering::Relaxed);
        }
        R::rebuild(self.forms.first(&form, &values, &inputs)?.into_iter())
    }

    /// The form of these inputs with the sizes of the call, traced if it is new.
    fn form(&self, inputs: &[&StridedBuffer; N]) -> Result<(Arc<Form>, Values)> {
        self.forms.get(inputs, || self.trace(inputs))
    }

    fn trace(&self, inputs: &[&StridedBuffer; N]) -> Result<Form> {
        form::trace(inputs, self.options, |inputs| {
            let inputs = inputs.try_into().map_err(|_| Error::new(ErrorKind::Value, "inputs"))?;
            (self.function)(inputs)
        })
    }

    /// Writes what was traced so far to a file, in one step: graphs, guards, and the kernels that ran, with their binaries
    /// if they ran on a GPU. [`Loaded`](crate::trace::Loaded) runs it in another process.
    ///
    /// # Errors
    /// `Value` if the function was not called yet; `Io` if the file can't be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let forms = self.forms.all();
        loaded::save(&forms.iter().map(|form| &**form).collect::<Vec<_>>(), path.as_ref())
    }

    /// What the calls did so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { unfused: self.unfused.load(Ordering::Relaxed), ..self.forms.stats() }
    }

    /// The graph of these inputs, without dead and repeated ops.
    ///
    /// # Errors
    /// As a call.
    pub fn graph(&self, inputs: [&StridedBuffer; N]) -> Result<Graph> {
        Ok(self.form(&inputs)?.0.graph.clone())
    }

    /// The kernels of these inputs: what was joined, what was not and why, and the guards.
    ///
    /// # Errors
    /// As a call.
    pub fn explain(&self, inputs: [&StridedBuffer; N]) -> Result<String> {
        Ok(self.form(&inputs)?.0.explain())
    }

    /// The CUDA C++ of every kernel for inputs of these sizes, as fresh allocations would be aligned.
    ///
    /// # Errors
    /// As a call.
    pub fn cuda_sources(&self, inputs: [&StridedBuffer; N]) -> Result<Vec<String>> {
        self.form(&inputs)?.0.cuda_sources(&inputs)
    }
}

impl<const N: usize, R, F> fmt::Debug for Compiled<N, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a compiled function of {N} inputs, traced for {:?}", self.forms)
    }
}
