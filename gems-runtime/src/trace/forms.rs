//! The forms of one function, found by the inputs of a call.

use crate::buffer::StridedBuffer;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{self, Results};
use crate::trace::{Form, Stats, Values};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// What was traced so far, one entry a form of inputs.
pub(super) struct Forms<T> {
    forms: RwLock<Vec<Arc<T>>>,
    calls: Calls,
    traces: AtomicU64,
    hits: AtomicU64,
}

/// Something traced for one form of inputs.
pub(super) trait Bind {
    /// The sizes of a call whose inputs have this form.
    fn bind(&self, inputs: &[&StridedBuffer]) -> Option<Values>;
}

/// Calls of one function, by a number that no other function of the process has.
#[derive(Debug)]
pub(super) struct Calls(u64);

impl<T> Default for Forms<T> {
    fn default() -> Self {
        let (traces, hits) = Default::default();
        Forms { forms: RwLock::default(), calls: Calls::default(), traces, hits }
    }
}

impl Default for Calls {
    fn default() -> Calls {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Calls(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Calls {
    /// Runs a call again whose layouts this thread has seen before; `sizes` are those that the layouts do not tell.
    pub(super) fn again(
        &self,
        sizes: &[isize],
        inputs: &[&StridedBuffer],
        results: &mut Results,
    ) -> Option<Result<()>> {
        let mut key = exec::Key::default();
        exec::describe_replay(&mut key, self.0, sizes, inputs).then(|| exec::replay(&key, inputs, results))?
    }

    /// Runs a form, and keeps what was planned for calls of the same layouts and `sizes`.
    pub(super) fn first(
        &self,
        form: &Form,
        values: &Values,
        sizes: &[isize],
        inputs: &[&StridedBuffer],
    ) -> Result<Results> {
        let run = form.run_for(values, inputs)?;
        let mut key = exec::Key::default();
        if let Some(replay) = run.replay
            && exec::describe_replay(&mut key, self.0, sizes, inputs)
        {
            replay.keep(&key);
        }
        Ok(run.results.into())
    }
}

impl<T: Bind> Forms<T> {
    pub(super) fn add(&self, form: T) {
        self.forms.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(form));
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.forms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The form of these inputs with the sizes of the call, traced if it is new.
    pub(super) fn get(
        &self,
        inputs: &[&StridedBuffer],
        trace: impl FnOnce() -> Result<T>,
    ) -> Result<(Arc<T>, Values)> {
        if let Some(found) = self.find(inputs) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(found);
        }
        self.traces.fetch_add(1, Ordering::Relaxed);
        let form = Arc::new(trace()?);
        let mut forms = self.forms.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have traced it in the meantime.
        if let Some(found) = bound(&forms, inputs) {
            return Ok(found);
        }
        let values = form.bind(inputs).ok_or_else(|| {
            let message =
                "the guards of a trace do not hold for the inputs that were traced; this is a fault of gems";
            Error::new(ErrorKind::Guard, message)
        })?;
        forms.push(form.clone());
        Ok((form, values))
    }

    pub(super) fn find(&self, inputs: &[&StridedBuffer]) -> Option<(Arc<T>, Values)> {
        bound(&self.forms.read().unwrap_or_else(PoisonError::into_inner), inputs)
    }

    pub(super) fn stats(&self) -> Stats {
        let (traces, hits) = (self.traces.load(Ordering::Relaxed), self.hits.load(Ordering::Relaxed));
        Stats { traces, hits, unfused: 0 }
    }
}

/// The first form of these inputs, with the sizes of the call.
fn bound<T: Bind>(forms: &[Arc<T>], inputs: &[&StridedBuffer]) -> Option<(Arc<T>, Values)> {
    forms.iter().find_map(|form| form.bind(inputs).map(|values| (form.clone(), values)))
}

impl Forms<Form> {
    /// Runs a call again whose layouts this thread has seen before.
    pub(super) fn again(&self, inputs: &[&StridedBuffer], results: &mut Results) -> Option<Result<()>> {
        let done = self.calls.again(&[], inputs, results);
        self.hits.fetch_add(u64::from(done.is_some()), Ordering::Relaxed);
        done
    }

    /// Runs a form for the first time on inputs of these layouts.
    pub(super) fn first(&self, form: &Form, values: &Values, inputs: &[&StridedBuffer]) -> Result<Results> {
        self.calls.first(form, values, &[], inputs)
    }

    /// Runs the function on these inputs, traced if their form is new.
    pub(super) fn call(
        &self,
        inputs: &[&StridedBuffer],
        trace: impl FnOnce() -> Result<Form>,
    ) -> Result<Results> {
        let mut results = Results::new();
        if let Some(done) = self.again(inputs, &mut results) {
            return done.map(|()| results);
        }
        let (form, values) = self.get(inputs, trace)?;
        self.first(&form, &values, inputs)
    }
}

impl<T> fmt::Debug for Forms<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "{} forms", forms.len())
    }
}
