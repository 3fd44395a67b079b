//! What was traced so far, one entry a form of inputs.

use crate::buffer::StridedBuffer;
use crate::error::Result;
use crate::trace::compile::guards_of_the_trace_fail;
use crate::trace::{Stats, Values};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Traces that are kept for calls of the same form.
pub(super) struct Forms<T> {
    forms: RwLock<Vec<Arc<T>>>,
    traces: AtomicU64,
    hits: AtomicU64,
}

/// Something traced for one form of inputs.
pub(super) trait Bind {
    /// The sizes of a call whose inputs have this form.
    fn bind(&self, inputs: &[&StridedBuffer]) -> Option<Values>;
}

impl<T> Default for Forms<T> {
    fn default() -> Self {
        Forms { forms: RwLock::default(), traces: AtomicU64::default(), hits: AtomicU64::default() }
    }
}

impl<T: Bind> Forms<T> {
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
        let values = form.bind(inputs).ok_or_else(guards_of_the_trace_fail)?;
        self.forms.write().unwrap_or_else(PoisonError::into_inner).push(form.clone());
        Ok((form, values))
    }

    fn find(&self, inputs: &[&StridedBuffer]) -> Option<(Arc<T>, Values)> {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        forms.iter().find_map(|form| form.bind(inputs).map(|values| (form.clone(), values)))
    }

    pub(super) fn stats(&self) -> Stats {
        let (traces, hits) = (self.traces.load(Ordering::Relaxed), self.hits.load(Ordering::Relaxed));
        Stats { traces, hits, unfused: 0 }
    }
}

impl<T> fmt::Debug for Forms<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "{} forms", forms.len())
    }
}
