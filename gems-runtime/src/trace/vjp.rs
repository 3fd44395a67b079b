//! Gradients of traced functions, by reverse mode over what they record.
//!
//! [`vjp`] takes the gradients of a function's results, [`grad`] stands for ones. Forward and backward are one graph, so
//! they fuse as any other ops do; [`Vjp::forward`] and [`Vjp::backward`] cut it in two.

use super::compile::{Form, Recording};
use super::explain;
use super::forms::Forms;
use super::record::{Recorder, Traced};
use super::reverse::{self, Differentiated};
use super::run::{self, Memories};
use super::saving::Saving;
use super::split::{Joint, Saved, Split};
use crate::buffer::{Buffer, Meta, StridedBuffer, SymbolicBuffer};
use crate::dtype::Category;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Layout, Stride};
use crate::trace::{Dim, Fusion, Returned, Stats};
use std::fmt;
use std::marker::PhantomData;

/// Makes a function of buffers one that gives the gradients of its inputs, from those of its results.
///
/// The function is traced as by [`compile()`](crate::trace::compile()). Its inputs are floats or complex, or
/// [`Vjp::wrt`] names those that are.
///
/// # Examples
/// See [`Vjp::gradients`].
pub fn vjp<const N: usize, R, F>(function: F) -> Vjp<N, N, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    Vjp { reverse: Reverse::new(function), splits: Forms::default(), saving: Saving::default() }
}

/// Makes a function of buffers one that gives the gradients of its inputs: those of the sum of all elements of its
/// results.
///
/// # Examples
/// See [`Grad::call`].
pub fn grad<const N: usize, R, F>(function: F) -> Grad<N, N, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    Grad { reverse: Reverse::new(function) }
}

/// A function that gives the gradients of its `M` inputs that were asked for; made by [`vjp`].
pub struct Vjp<const N: usize, const M: usize, R, F> {
    reverse: Reverse<N, M, R, F>,
    splits: Forms<Split>,
    saving: Saving,
}

/// A function that gives the gradients of the sum of its results; made by [`grad`].
pub struct Grad<const N: usize, const M: usize, R, F> {
    reverse: Reverse<N, M, R, F>,
}

/// What both have.
struct Reverse<const N: usize, const M: usize, R, F> {
    function: F,
    wrt: [usize; M],
    fusion: Fusion,
    gradients: Forms<Form>,
    /// With the results of the function in front.
    all: Forms<Form>,
    returned: PhantomData<fn() -> R>,
}

/// What a call gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Gradients,
    All,
}

impl<const N: usize, R, F> Reverse<N, N, R, F> {
    fn new(function: F) -> Self {
        Reverse {
            function,
            wrt: std::array::from_fn(|i| i),
            fusion: Fusion::On,
            gradients: Forms::default(),
            all: Forms::default(),
            returned: PhantomData,
        }
    }
}

impl<const N: usize, const M: usize, R, F> Reverse<N, M, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    fn changed<const K: usize>(self, wrt: [usize; K], fusion: Fusion) -> Reverse<N, K, R, F> {
        let Reverse { function, returned, .. } = self;
        Reverse { function, wrt, fusion, gradients: Forms::default(), all: Forms::default(), returned }
    }

    /// Records the function on traced inputs and its gradients behind it.
    fn record(
        &self,
        inputs: &[SymbolicBuffer],
        seed: impl FnOnce(&[SymbolicBuffer]) -> Result<Vec<SymbolicBuffer>>,
    ) -> Result<Differentiated> {
        let recorder = inputs.first().and_then(SymbolicBuffer::traced).ok_or_else(reverse::untraced)?;
        let function = |inputs: Vec<SymbolicBuffer>| {
            let inputs = inputs.try_into().map_err(|_| Error::new(ErrorKind::Value, "inputs"))?;
            Ok((self.function)(inputs)?.flatten().into_iter().cloned().collect())
        };
        reverse::differentiate(&recorder.recorder.clone(), inputs, &self.wrt, function, seed)
    }

    /// The form of a call; `seeds` are inputs behind those of the function, ones where there are none.
    fn form(
        &self,
        wanted: Wanted,
        inputs: &[&StridedBuffer],
        seeds: Option<usize>,
    ) -> Result<(std::sync::Arc<Form>, crate::trace::Values)> {
        let forms = if wanted == Wanted::All { &self.all } else { &self.gradients };
        forms.get(inputs, || {
            let recording = Recording::new(inputs, name::<N>, |mut all| {
                let given = all.split_off(N);
                let seed = |results: &[SymbolicBuffer]| match seeds {
                    Some(_) => Ok(given),
                    None => results.iter().map(|result| result.filled(1.0)).collect(),
                };
                let Differentiated { mut results, gradients, .. } = self.record(&all, seed)?;
                if wanted == Wanted::Gradients {
                    results.clear();
                }
                results.extend(gradients);
                Ok(results)
            })?;
            Ok(Form::fused(recording, self.fusion))
        })
    }

    fn gradients(&self, inputs: &[&StridedBuffer], seeds: Option<usize>) -> Result<[StridedBuffer; M]> {
        let (form, values) = self.form(Wanted::Gradients, inputs, seeds)?;
        exact(form.run(&values, inputs)?)
    }

    fn all(&self, inputs: &[&StridedBuffer], seeds: Option<usize>) -> Result<(R::Real, [StridedBuffer; M])> {
        let (form, values) = self.form(Wanted::All, inputs, seeds)?;
        let mut results = form.run(&values, inputs)?;
        let gradients = results.split_off(results.len().saturating_sub(M));
        Ok((R::rebuild(results)?, exact(gradients)?))
    }

    fn explain(&self, inputs: &[&StridedBuffer], seeds: Option<usize>) -> Result<String> {
        Ok(explain::explain(&self.form(Wanted::Gradients, inputs, seeds)?.0))
    }

    fn cuda_sources(&self, inputs: &[&StridedBuffer], seeds: Option<usize>) -> Result<Vec<String>> {
        let (form, values) = self.form(Wanted::Gradients, inputs, seeds)?;
        let mut memories = Memories::new(&form.graph, &values, inputs);
        form.kernels.iter().map(|kernel| Ok(run::source(kernel, &mut memories)?.text)).collect()
    }

    /// The gradients of buffers of a running trace, recorded there; outside of a trace what they would be.
    fn traced(
        &self,
        inputs: [&SymbolicBuffer; N],
        seed: impl FnOnce(&[SymbolicBuffer]) -> Result<Vec<SymbolicBuffer>>,
    ) -> Result<[SymbolicBuffer; M]> {
        let inputs = inputs.map(SymbolicBuffer::clone);
        exact(self.record(&inputs, seed)?.gradients)
    }

    fn stats(&self) -> Stats {
        let (gradients, all) = (self.gradients.stats(), self.all.stats());
        Stats { traces: gradients.traces + all.traces, hits: gradients.hits + all.hits, unfused: 0 }
    }
}

/// `x0`, `x1` for the inputs of a function, then `dz0`, `dz1` for the gradients of its results.
fn name<const N: usize>(index: usize) -> String {
    match index.checked_sub(N) {
        None => format!("x{index}"),
        Some(result) => format!("dz{result}"),
    }
}

fn exact<T: fmt::Debug, const M: usize>(buffers: Vec<T>) -> Result<[T; M]> {
    buffers.try_into().map_err(|buffers: Vec<T>| {
        let message = format!("there are {} gradients, {M} were asked for", buffers.len());
        Error::new(ErrorKind::Value, message)
    })
}

impl<const N: usize, const M: usize, R, F> Vjp<N, M, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    /// The same with gradients of these inputs only, by position; forms traced so far are forgotten.
    #[must_use]
    pub fn wrt<const K: usize>(self, inputs: [usize; K]) -> Vjp<N, K, R, F> {
        let fusion = self.reverse.fusion;
        Vjp { reverse: self.reverse.changed(inputs, fusion), splits: Forms::default(), saving: self.saving }
    }

    /// The same with ops joined or not; forms traced so far are forgotten.
    #[must_use]
    pub fn with_fusion(self, fusion: Fusion) -> Self {
        let wrt = self.reverse.wrt;
        Vjp { reverse: self.reverse.changed(wrt, fusion), splits: Forms::default(), ..self }
    }

    /// The same with another choice of what [`Vjp::forward`] saves; forms traced so far are forgotten.
    #[must_use]
    pub fn with_saving(self, saving: Saving) -> Self {
        Vjp { splits: Forms::default(), saving, ..self }
    }

    /// The gradients of the inputs; `cotangents` are those of the results, one each, of their shape and dtype. That of a
    /// bool or an integer is not looked at.
    ///
    /// # Shapes
    /// A gradient has the shape and the dtype of its input; it is 0 where nothing depends on the input.
    ///
    /// # Errors
    /// The function's own; `Unsupported` for an op without derivative, which is named, or for a function that writes into
    /// its inputs; `DType` for an input that is a bool or an integer; `Shape` or `DType` for a cotangent unlike its result;
    /// a device that fails.
    ///
    /// # Examples
    /// ```
    /// use gems_runtime::buffer::{Buffer, StridedBuffer, SymbolicBuffer, Views};
    /// use gems_runtime::trace::vjp;
    ///
    /// let mirrored = vjp(|[x]: [SymbolicBuffer; 1]| x.flip(&[0]));
    /// let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0], &[3])?;
    /// let dz = StridedBuffer::from_vec(vec![10.0f32, 20.0, 30.0], &[3])?;
    /// let [dx] = mirrored.gradients(&[&dz], [&x])?;
    /// assert_eq!(dx.to_vec::<f32>()?, [30.0, 20.0, 10.0]);
    /// # Ok::<(), gems_runtime::error::Error>(())
    /// ```
    pub fn gradients(
        &self,
        cotangents: &[&StridedBuffer],
        inputs: [&StridedBuffer; N],
    ) -> Result<[StridedBuffer; M]> {
        self.reverse.gradients(&joined(&inputs, cotangents), Some(cotangents.len()))
    }

    /// The results of the function and the gradients, in one pass.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    pub fn call(
        &self,
        cotangents: &[&StridedBuffer],
        inputs: [&StridedBuffer; N],
    ) -> Result<(R::Real, [StridedBuffer; M])> {
        self.reverse.all(&joined(&inputs, cotangents), Some(cotangents.len()))
    }

    /// The results of the function, and what [`Vjp::backward`] needs to go on from there.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    pub fn forward(&self, inputs: [&StridedBuffer; N]) -> Result<(R::Real, Saved)> {
        let (split, values) = self.splits.get(&inputs, || self.split(&inputs))?;
        let (results, saved) = split.run(values, &inputs)?;
        Ok((R::rebuild(results)?, saved))
    }

    /// The gradients of the inputs of a [`Vjp::forward`].
    ///
    /// A cotangent that is laid out otherwise than its result is copied first.
    ///
    /// # Errors
    /// `Value`, `Shape`, `DType` or `Device` for cotangents unlike the results; a device that fails.
    pub fn backward(&self, cotangents: &[&StridedBuffer], saved: &Saved) -> Result<[StridedBuffer; M]> {
        exact(saved.backward(cotangents)?)
    }

    /// Traces both passes.
    fn split(&self, inputs: &[&StridedBuffer]) -> Result<Split> {
        let (mut n_results, mut forward_end, mut cotangents) = (0, 0, Vec::new());
        let recording = Recording::new(inputs, name::<N>, |inputs| {
            let recorder = inputs
                .first()
                .and_then(SymbolicBuffer::traced)
                .ok_or_else(reverse::untraced)?
                .recorder
                .clone();
            let seed = |results: &[SymbolicBuffer]| {
                let seeds = results.iter().enumerate().map(|(i, result)| cotangent(&recorder, N, i, result));
                let seeds = seeds.collect::<Result<Vec<_>>>()?;
                let is_new = |(seed, result): (&SymbolicBuffer, &SymbolicBuffer)| {
                    seed.traced().filter(|_| is_float(result)).map(|traced| traced.memory)
                };
                cotangents = seeds.iter().zip(results).map(is_new).collect();
                Ok(seeds)
            };
            let Differentiated { mut results, gradients, forward_end: end } =
                self.reverse.record(&inputs, seed)?;
            (n_results, forward_end) = (results.len(), end);
            results.extend(gradients);
            Ok(results)
        })?;
        let joint = Joint { recording, n_results, forward_end, cotangents };
        Ok(Split::new(joint, self.reverse.fusion, self.saving))
    }

    /// The gradients of buffers of a running trace, recorded there, so that they can be differentiated again.
    ///
    /// # Errors
    /// As [`Vjp::gradients`]; `Value` outside of a trace.
    pub fn traced(
        &self,
        cotangents: &[&SymbolicBuffer],
        inputs: [&SymbolicBuffer; N],
    ) -> Result<[SymbolicBuffer; M]> {
        self.reverse.traced(inputs, |_| Ok(cotangents.iter().map(|&cotangent| cotangent.clone()).collect()))
    }

    /// The kernels of [`Vjp::gradients`]: what was joined, what was not and why, and the guards.
    ///
    /// # Errors
    /// As `gradients`.
    pub fn explain(&self, cotangents: &[&StridedBuffer], inputs: [&StridedBuffer; N]) -> Result<String> {
        self.reverse.explain(&joined(&inputs, cotangents), Some(cotangents.len()))
    }

    /// The kernels of [`Vjp::forward`] and [`Vjp::backward`], what is saved between them, and how many bytes that moves.
    ///
    /// # Errors
    /// As `forward`.
    pub fn explain_passes(&self, inputs: [&StridedBuffer; N]) -> Result<String> {
        let (split, _) = self.splits.get(&inputs, || self.split(&inputs))?;
        let [forward, backward] = [&split.forward, &split.backward].map(explain::explain);
        Ok(format!("{}\nforward: {forward}\nbackward: {backward}", split.choice))
    }

    /// The CUDA C++ of every kernel of [`Vjp::gradients`], as fresh allocations would be aligned.
    ///
    /// # Errors
    /// As `gradients`.
    pub fn cuda_sources(
        &self,
        cotangents: &[&StridedBuffer],
        inputs: [&StridedBuffer; N],
    ) -> Result<Vec<String>> {
        self.reverse.cuda_sources(&joined(&inputs, cotangents), Some(cotangents.len()))
    }

    /// What the calls did so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let (passes, splits) = (self.reverse.stats(), self.splits.stats());
        Stats { traces: passes.traces + splits.traces, hits: passes.hits + splits.hits, unfused: 0 }
    }
}

impl<const N: usize, const M: usize, R, F> Grad<N, M, R, F>
where
    R: Returned,
    F: Fn([SymbolicBuffer; N]) -> Result<R>,
{
    /// The same with gradients of these inputs only, by position; forms traced so far are forgotten.
    #[must_use]
    pub fn wrt<const K: usize>(self, inputs: [usize; K]) -> Grad<N, K, R, F> {
        let fusion = self.reverse.fusion;
        Grad { reverse: self.reverse.changed(inputs, fusion) }
    }

    /// The same with ops joined or not; forms traced so far are forgotten.
    #[must_use]
    pub fn with_fusion(self, fusion: Fusion) -> Self {
        let wrt = self.reverse.wrt;
        Grad { reverse: self.reverse.changed(wrt, fusion) }
    }

    /// The gradients of the inputs: how the sum of all elements of all float results changes with them.
    ///
    /// # Shapes
    /// A gradient has the shape and the dtype of its input.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    ///
    /// # Examples
    /// ```
    /// use gems_runtime::buffer::{Buffer, StridedBuffer, SymbolicBuffer, Views};
    /// use gems_runtime::trace::grad;
    ///
    /// let every_other = grad(|[x]: [SymbolicBuffer; 1]| x.slice(0, 0, isize::MAX, 2));
    /// let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0], &[3])?;
    /// assert_eq!(every_other.call([&x])?[0].to_vec::<f32>()?, [1.0, 0.0, 1.0]);
    /// # Ok::<(), gems_runtime::error::Error>(())
    /// ```
    pub fn call(&self, inputs: [&StridedBuffer; N]) -> Result<[StridedBuffer; M]> {
        self.reverse.gradients(&inputs, None)
    }

    /// The results of the function and the gradients, in one pass.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    pub fn with_results(&self, inputs: [&StridedBuffer; N]) -> Result<(R::Real, [StridedBuffer; M])> {
        self.reverse.all(&inputs, None)
    }

    /// The gradients of buffers of a running trace, recorded there, so that they can be differentiated again.
    ///
    /// # Errors
    /// As [`Vjp::gradients`]; `Value` outside of a trace.
    pub fn traced(&self, inputs: [&SymbolicBuffer; N]) -> Result<[SymbolicBuffer; M]> {
        self.reverse.traced(inputs, |results| results.iter().map(|result| result.filled(1.0)).collect())
    }

    /// The kernels: what was joined, what was not and why, and the guards.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    pub fn explain(&self, inputs: [&StridedBuffer; N]) -> Result<String> {
        self.reverse.explain(&inputs, None)
    }

    /// The CUDA C++ of every kernel, as fresh allocations would be aligned.
    ///
    /// # Errors
    /// As [`Vjp::gradients`].
    pub fn cuda_sources(&self, inputs: [&StridedBuffer; N]) -> Result<Vec<String>> {
        self.reverse.cuda_sources(&inputs, None)
    }

    /// What the calls did so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.reverse.stats()
    }
}

fn joined<'a>(inputs: &[&'a StridedBuffer], cotangents: &[&'a StridedBuffer]) -> Vec<&'a StridedBuffer> {
    inputs.iter().chain(cotangents).copied().collect()
}

fn is_float(buffer: &SymbolicBuffer) -> bool {
    buffer.dtype().category() >= Category::Float
}

/// A new input for the gradient of a result, laid out as it if that leaves no gap, else row-major. Results without a
/// gradient stand for themselves: nothing looks at them.
fn cotangent(
    recorder: &Recorder,
    n_inputs: usize,
    position: usize,
    result: &SymbolicBuffer,
) -> Result<SymbolicBuffer> {
    if !is_float(result) {
        return Ok(result.clone());
    }
    let Meta { dtype, device, layout } = result.meta();
    let forward = !layout.strides().iter().any(Stride::is_negative);
    let layout: Layout<Dim> = if forward && layout.seen().is_dense() {
        Layout::from_parts(layout.shape().into(), layout.strides().into(), crate::trace::Start::default())?
    } else {
        Layout::row_major(layout.shape())?
    };
    let meta = Meta { dtype: *dtype, device: *device, layout };
    let Traced { recorder, memory } = recorder.input(n_inputs + position, &format!("dz{position}"), &meta);
    Ok(SymbolicBuffer::recorded(meta, Traced { recorder, memory }))
}

impl<const N: usize, const M: usize, R, F> fmt::Debug for Vjp<N, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the gradients of a function by {M} of its {N} inputs, {:?}", self.reverse.gradients)
    }
}

impl<const N: usize, const M: usize, R, F> fmt::Debug for Grad<N, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the gradients of a function by {M} of its {N} inputs, {:?}", self.reverse.gradients)
    }
}
