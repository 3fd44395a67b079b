//! The symbols and guards of one trace, behind a handle that can be shared.

use super::dim::Dim;
use super::guard::Guards;
use super::state::{Frame, State};
use super::symbol::{Origin, Range, Symbol};
use crate::error::{Error, ErrorKind, Result};
use smallvec::SmallVec;
use std::fmt;
use std::mem;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens where an answer depends on an open size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The answer for the size seen is taken, and a guard recorded.
    #[default]
    Guard,
    /// The call fails, naming the sizes; so does all that follows in this scope.
    Strict,
}

/// The symbols and guards of one trace.
///
/// A handle: clones are the same scope.
///
/// # Examples
/// ```
/// use gems_runtime::buffer::{Buffer, SymbolicBuffer, Views};
/// use gems_runtime::device::Device;
/// use gems_runtime::dtype::DType;
/// use gems_runtime::trace::{Policy, Scope};
///
/// let scope = Scope::new(Policy::Guard);
/// let (n, m) = (scope.symbol("n", 64), scope.symbol("m", 256));
/// let x = SymbolicBuffer::symbolic(DType::F32, &[n, m], Device::Cpu)?;
/// assert_eq!(x.t()?.to_string(), "f32[m, n]@(1, m)");
/// assert!(scope.guards()?.is_empty());
///
/// assert_eq!(x.narrow(0, 0, 10)?.to_string(), "f32[10, m]");
/// assert_eq!(scope.guards()?.to_string(), "10 <= n, from narrowing axis 0");
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Scope(Arc<Mutex<State>>);

impl Scope {
    /// A scope without symbols.
    #[must_use]
    pub fn new(policy: Policy) -> Scope {
        Scope(Arc::new(Mutex::new(State::new(policy))))
    }

    /// An open size of at least 2, which is `seen` in the run that is traced; 0 and 1 are not open but numbers, because
    /// they change how sizes broadcast. So is `isize::MAX`, which stands for "to the end".
    #[must_use]
    pub fn symbol(&self, name: &str, seen: usize) -> Dim {
        self.open(name, seen, Range { low: 2, high: isize::MAX - 1 })
    }

    /// An open size within bounds, of which the lower one counts as at least 2.
    ///
    /// # Errors
    /// `Value` if `seen` is outside.
    pub fn symbol_within(&self, name: &str, seen: usize, bounds: RangeInclusive<usize>) -> Result<Dim> {
        if !bounds.contains(&seen) {
            let message =
                format!("{seen} is not within {bounds:?}; give symbol `{name}` a size inside its bounds");
            return Err(Error::new(ErrorKind::Value, message));
        }
        let number = |size: usize| isize::try_from(size).unwrap_or(isize::MAX).min(isize::MAX - 1);
        let range = Range { low: number(*bounds.start()).max(2), high: number(*bounds.end()) };
        Ok(self.open(name, seen, range))
    }

    /// The sizes that a text names, as they are in the run that is traced: a remark behind it, or nothing.
    pub(super) fn sizes_in(&self, text: &str) -> String {
        let state = self.state();
        let size = |symbol: &Symbol| match &symbol.origin {
            Origin::Given { name, .. } if text.contains(&**name) => {
                Some(format!("{name} is {}", symbol.seen))
            }
            _ => None,
        };
        let sizes: Vec<String> = state.symbols.iter().filter_map(size).collect();
        if sizes.is_empty() { String::new() } else { format!("; in this run {}", sizes.join(", ")) }
    }

    /// A symbol, or a number where no symbol has that size.
    fn open(&self, name: &str, seen: usize, range: Range) -> Dim {
        let seen = isize::try_from(seen).unwrap_or(isize::MAX);
        if seen < range.low || range.high < seen {
            return Dim::from(seen);
        }
        let term = self.state().given(name.to_owned(), seen, range);
        Dim::in_scope(term, self)
    }

    /// The guards so far.
    ///
    /// # Errors
    /// `Guard` if one could not be made.
    pub fn guards(&self) -> Result<Guards> {
        let state = self.state();
        match &state.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(Guards::new(&state, self)),
        }
    }

    /// Whether two handles are the same scope.
    #[must_use]
    pub fn is_same(&self, other: &Scope) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Runs a part of a trace whose questions come from `op`, with these parameters as operands.
    ///
    /// # Errors
    /// Its own, or a guard that could not be made, now or before.
    pub(crate) fn in_op<T>(
        &self,
        op: &'static str,
        operands: SmallVec<[&'static str; 8]>,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let outer = mem::replace(&mut self.state().frame, Frame { op: Some(op), operands });
        let answer = run();
        self.state().frame = outer;
        self.settled(answer).map_err(|error| error.in_op(op))
    }

    /// The answer, unless a guard could not be made.
    pub(crate) fn settled<T>(&self, answer: Result<T>) -> Result<T> {
        match &self.state().refusal {
            Some(refusal) => Err(refusal.clone()),
            None => answer,
        }
    }

    /// The one scope of two sizes; none for two numbers. Sizes of two scopes have no guard that could relate them, so
    /// both scopes fail from here on.
    pub(super) fn common<'a>(a: &'a Dim, b: &'a Dim) -> Option<&'a Scope> {
        let (a, b) = match (a.scope(), b.scope()) {
            (Some(a), Some(b)) => (a, b),
            (one, other) => return one.or(other),
        };
        if !a.is_same(b) {
            let message = "sizes of two scopes meet; make all symbols of a trace in one scope";
            for scope in [a, b] {
                scope.state().refuse(Error::new(ErrorKind::Guard, message));
            }
        }
        Some(a)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "scope of {} symbols and {} guards", state.symbols.len(), state.guards.len())
    }
}
