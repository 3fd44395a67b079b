//! The forms of one function, found by the inputs of a call.

use crate::buffer::StridedBuffer;
use crate::error::Result;
use crate::exec;
use crate::trace::{Form, Values};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Forms, with a number that no other function of the process has.
#[derive(Debug)]
pub(super) struct Forms {
    number: u64,
    forms: RwLock<Vec<Arc<Form>>>,
}

/// Buffers that a call returns.
pub(super) type Results = SmallVec<[StridedBuffer; 4]>;

impl Default for Forms {
    fn default() -> Forms {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Forms { number: NEXT.fetch_add(1, Ordering::Relaxed), forms: RwLock::default() }
    }
}

impl Forms {
    pub(super) fn add(&self, form: Form) {
        self.forms.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(form));
    }

    pub(super) fn count(&self) -> usize {
        self.forms.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn all(&self) -> Vec<Arc<Form>> {
        self.forms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The form of these inputs, with the sizes of the call.
    pub(super) fn find(&self, inputs: &[&StridedBuffer]) -> Option<(Arc<Form>, Values)> {
        let forms = self.forms.read().unwrap_or_else(PoisonError::into_inner);
        forms.iter().find_map(|form| form.bind(inputs).map(|values| (form.clone(), values)))
    }

    /// Runs a call again whose layouts this thread has seen before.
    pub(super) fn replay(&self, inputs: &[&StridedBuffer]) -> Option<Result<Results>> {
        let mut key = exec::Key::default();
        exec::describe_replay(&mut key, self.number, inputs).then(|| exec::replay(&key, inputs))?
    }

    /// Runs a form, and keeps what was planned for calls of the same layouts.
    pub(super) fn run(&self, form: &Form, values: &Values, inputs: &[&StridedBuffer]) -> Result<Results> {
        let run = form.run_for(values, inputs)?;
        if let Some(replay) = run.replay {
            let mut key = exec::Key::default();
            if exec::describe_replay(&mut key, self.number, inputs) {
                replay.keep(&key);
            }
        }
        Ok(run.results.into())
    }
}
