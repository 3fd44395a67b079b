//! What must hold of sizes for the answers of a trace to hold.
//!
//! Guards are data: they print with their reason, and [`Guards::check`] takes no lock and, up to 32 symbols, no memory.

use super::dim::Dim;
use super::graph::all;
use super::monomial::Monomial;
use super::scope::Scope;
use super::state::{Fact, State};
use super::symbol::{Origin, Symbol};
use crate::layout::Layout;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;

/// How two sizes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// They differ.
    NotEqual,
    /// The first is less.
    Less,
    /// The first is not greater.
    AtMost,
}

impl Relation {
    /// Whether two numbers relate like this.
    #[must_use]
    pub const fn holds(self, lhs: isize, rhs: isize) -> bool {
        match self {
            Relation::Equal => lhs == rhs,
            Relation::NotEqual => lhs != rhs,
            Relation::Less => lhs < rhs,
            Relation::AtMost => lhs <= rhs,
        }
    }

    pub(super) const fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::AtMost => "<=",
        }
    }
}

/// What asked for a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The step of inference or the view.
    pub step: Cow<'static, str>,
    /// The axis, of a call's common shape or of a view's source.
    pub axis: Option<usize>,
    /// The parameter that the operand was passed for.
    pub operand: Option<Cow<'static, str>>,
    /// The op.
    pub op: Option<Cow<'static, str>>,
}

impl Why {
    pub(super) const fn new(step: &'static str) -> Why {
        Why { step: Cow::Borrowed(step), axis: None, operand: None, op: None }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.step)?;
        if let Some(axis) = self.axis {
            write!(f, " axis {axis}")?;
        }
        if let Some(operand) = &self.operand {
            write!(f, " of `{operand}`")?;
        }
        match &self.op {
            Some(op) => write!(f, " in {op}"),
            None => Ok(()),
        }
    }
}

/// A condition on sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    relation: Relation,
    lhs: Dim,
    rhs: Dim,
    why: Why,
}

impl Guard {
    fn new(fact: &Fact, scope: &Scope) -> Guard {
        let dim = |term: &Monomial| Dim::in_scope(term.clone(), scope);
        Guard { relation: fact.relation, lhs: dim(&fact.lhs), rhs: dim(&fact.rhs), why: fact.why.clone() }
    }

    /// How the two sizes must relate.
    #[must_use]
    pub const fn relation(&self) -> Relation {
        self.relation
    }

    /// The two sizes, as they were when the question came up.
    #[must_use]
    pub const fn dims(&self) -> (&Dim, &Dim) {
        (&self.lhs, &self.rhs)
    }

    /// What asked for it.
    #[must_use]
    pub const fn why(&self) -> &Why {
        &self.why
    }

    fn holds(&self, values: &Values) -> bool {
        self.relation.holds(values.of(&self.lhs), values.of(&self.rhs))
    }
}

impl fmt::Display for Guard {
    /// `n == m, from broadcasting axis 1 of `y` in gelu_and_mul`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lhs, rhs) = (self.lhs.text_as_asked(), self.rhs.text_as_asked());
        write!(f, "{lhs} {} {rhs}, from {}", self.relation.sign(), self.why)
    }
}

/// The sizes of a call, one a symbol that is given, in the order in which the symbols were made.
pub type Bindings = SmallVec<[usize; 16]>;

/// The guards of a scope at one moment.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// What holds by the choice of symbols: their bounds.
    assumptions: Vec<Guard>,
    guards: Vec<Guard>,
    symbols: Vec<Symbol>,
    n_given: usize,
}

impl Guards {
    pub(super) fn new(state: &State, scope: &Scope) -> Guards {
        let all = |facts: &[Fact]| facts.iter().map(|fact| Guard::new(fact, scope)).collect();
        let given = |symbol: &&Symbol| matches!(symbol.origin, Origin::Given { .. });
        Guards {
            assumptions: all(&state.assumptions),
            guards: all(&state.guards),
            symbols: state.symbols.clone(),
            n_given: state.symbols.iter().filter(given).count(),
        }
    }

    /// What holds by the choice of symbols.
    pub(super) fn assumptions(&self) -> &[Guard] {
        &self.assumptions
    }

    /// The table of symbols.
    pub(super) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Whether both say the same of tables of the same symbols.
    pub(super) fn is_same(&self, other: &Guards) -> bool {
        let guard = |a: &Guard, b: &Guard| {
            (a.relation, &a.why) == (b.relation, &b.why)
                && a.lhs.is_same_term(&b.lhs)
                && a.rhs.is_same_term(&b.rhs)
        };
        let symbol = |a: &Symbol, b: &Symbol| (a.seen, &a.origin) == (b.seen, &b.origin);
        all(&self.assumptions, &other.assumptions, guard)
            && all(&self.guards, &other.guards, guard)
            && all(&self.symbols, &other.symbols, symbol)
    }

    /// The guards in the order in which they came up; bounds of symbols are not among them.
    pub fn iter(&self) -> std::slice::Iter<'_, Guard> {
        self.guards.iter()
    }

    /// Number of guards.
    #[must_use]
    pub fn len(&self) -> usize {
        self.guards.len()
    }

    /// Whether the trace holds for all sizes within the bounds of its symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// Whether sizes are within the bounds of their symbols and satisfy every guard. A size that is missing counts as 0.
    ///
    /// # Errors
    /// The first guard that fails.
    pub fn check(&self, bindings: &[usize]) -> Result<(), &Guard> {
        let values = self.values(bindings);
        match self.assumptions.iter().chain(&self.guards).find(|guard| !guard.holds(&values)) {
            Some(failed) => Err(failed),
            None => Ok(()),
        }
    }

    /// The values of all sizes for these of the given symbols.
    #[must_use]
    pub fn values(&self, bindings: &[usize]) -> Values {
        let mut values = SmallVec::with_capacity(self.symbols.len());
        for symbol in &self.symbols {
            values.push(match &symbol.origin {
                Origin::Given { slot, .. } => {
                    bindings.get(*slot).map_or(0, |&size| isize::try_from(size).unwrap_or(isize::MAX))
                }
                Origin::Derived(definition) => definition.value(&values),
            });
        }
        Values(values)
    }

    /// The sizes of a call with these layouts in place of the `described` ones; none if the layouts are of another form:
    /// rank, sizes that are numbers, and strides.
    #[must_use]
    pub fn bind(&self, described: &[&Layout<Dim>], actual: &[&Layout]) -> Option<Bindings> {
        const UNBOUND: usize = usize::MAX;
        let same_rank = |(described, actual): (&&Layout<Dim>, &&Layout)| described.rank() == actual.rank();
        if described.len() != actual.len() || !described.iter().zip(actual).all(same_rank) {
            return None;
        }
        let axes = || {
            described.iter().zip(actual).flat_map(|(described, actual)| {
                let sizes = actual.shape().iter().map(|&size| isize::try_from(size).unwrap_or(isize::MAX));
                let sizes = described.shape().iter().zip(sizes);
                sizes.chain(described.strides().iter().zip(actual.strides().iter().copied()))
            })
        };
        let mut bindings = Bindings::from_elem(UNBOUND, self.n_given);
        for (dim, size) in axes() {
            if let Some((sign, slot)) = self.slot(dim)
                && bindings[slot] == UNBOUND
            {
                bindings[slot] = usize::try_from(size.checked_mul(sign)?).ok()?;
            }
        }
        let values = self.values(&bindings);
        let fits = !bindings.contains(&UNBOUND) && axes().all(|(dim, size)| values.of(dim) == size);
        fits.then_some(bindings)
    }

    /// The place among the bindings of a given symbol that stands alone, and its sign.
    fn slot(&self, dim: &Dim) -> Option<(isize, usize)> {
        let (&[symbol], sign @ (1 | -1)) = (dim.term().symbols.as_slice(), dim.term().coefficient) else {
            return None;
        };
        match &self.symbols.get(symbol as usize)?.origin {
            Origin::Given { slot, .. } => Some((sign, *slot)),
            Origin::Derived(_) => None,
        }
    }
}

impl<'a> IntoIterator for &'a Guards {
    type Item = &'a Guard;
    type IntoIter = std::slice::Iter<'a, Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Guards {
    /// One guard a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, guard) in self.guards.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{guard}")?;
        }
        Ok(())
    }
}

/// A number for every symbol of a scope.
#[derive(Clone, Debug)]
pub struct Values(SmallVec<[isize; 32]>);

impl Values {
    /// One a symbol.
    pub(super) fn all(&self) -> &[isize] {
        &self.0
    }

    /// The number that a size or a stride of the scope is.
    #[must_use]
    pub fn of(&self, dim: &Dim) -> isize {
        dim.term().value(&self.0)
    }
}
