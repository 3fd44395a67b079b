//! A size or stride that may be open.

use super::monomial::Monomial;
use super::scope::Scope;
use super::state::State;
use crate::layout::{Extent, Layout, Place, Quantity, Stride};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;

/// A number, or a product of symbols with a coefficient: the size or the stride of an axis.
///
/// Open sizes are at least 2. `==` means *known to be equal* and asks nothing, so two sizes that differ now may be equal
/// after a guard.
#[derive(Clone)]
pub struct Dim {
    term: Monomial,
    /// Where the symbols are; none for a number.
    scope: Option<Scope>,
}

impl Dim {
    pub(super) fn in_scope(term: Monomial, scope: &Scope) -> Dim {
        let scope = term.as_number().is_none().then(|| scope.clone());
        Dim { term, scope }
    }

    pub(super) const fn term(&self) -> &Monomial {
        &self.term
    }

    /// As it is known now, so that what the scope learns later changes nothing.
    pub(super) fn settled(&self) -> Dim {
        match &self.scope {
            None => self.clone(),
            Some(scope) => {
                let term = scope.state().resolve(&self.term);
                Dim::in_scope(term, scope)
            }
        }
    }

    /// Whether both are known to be equal by all that was found out, not only where that made them one. Asks nothing.
    pub(super) fn is_known_to_equal(&self, other: &Dim) -> bool {
        match Scope::common(self, other) {
            None => self.term == other.term,
            Some(scope) => scope.state().are_equal(&self.term, &other.term),
        }
    }

    /// Whether both are the same product of the same places of their tables of symbols.
    pub(super) fn is_same_term(&self, other: &Dim) -> bool {
        self.term == other.term
    }

    /// The scope of the symbols; none for a number.
    #[must_use]
    pub const fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The number, if it is one or is known to equal one.
    #[must_use]
    pub fn as_number(&self) -> Option<isize> {
        match &self.scope {
            None => Some(self.term.coefficient),
            Some(scope) => scope.state().resolve(&self.term).as_number(),
        }
    }

    /// The number in the run that is traced. Asks nothing, so what is decided with it holds for that run only.
    #[must_use]
    pub fn seen(&self) -> isize {
        match &self.scope {
            None => self.term.coefficient,
            Some(scope) => self.term.value(&scope.state().seen),
        }
    }

    /// As it was before equalities were found.
    pub(super) fn text_as_asked(&self) -> String {
        match &self.scope {
            None => self.term.coefficient.to_string(),
            Some(scope) => scope.state().text(&self.term),
        }
    }

    /// Puts a question about two sizes to their scope, or to `numbers` where both are one.
    fn ask<T>(
        &self,
        other: &Dim,
        numbers: impl FnOnce(isize, isize) -> T,
        open: impl FnOnce(&mut State, &Monomial, &Monomial) -> T,
    ) -> T {
        match Scope::common(self, other) {
            None => numbers(self.term.coefficient, other.term.coefficient),
            Some(scope) => open(&mut scope.state(), &self.term, &other.term),
        }
    }

    fn compute(
        &self,
        other: &Dim,
        numbers: impl FnOnce(isize, isize) -> isize,
        open: impl FnOnce(&mut State, &Monomial, &Monomial) -> Monomial,
    ) -> Dim {
        match Scope::common(self, other) {
            None => Dim::from(numbers(self.term.coefficient, other.term.coefficient)),
            Some(scope) => {
                let term = open(&mut scope.state(), &self.term, &other.term);
                Dim::in_scope(term, scope)
            }
        }
    }

    fn product(&self, other: &Dim) -> Dim {
        self.compute(other, isize::saturating_mul, |_, a, b| a.times(b))
    }

    fn opposite(&self) -> Dim {
        Dim { term: self.term.negated(), scope: self.scope.clone() }
    }
}

impl From<isize> for Dim {
    fn from(number: isize) -> Dim {
        Dim { term: Monomial::number(number), scope: None }
    }
}

impl From<usize> for Dim {
    fn from(number: usize) -> Dim {
        Dim::from(isize::try_from(number).unwrap_or(isize::MAX))
    }
}

impl PartialEq for Dim {
    fn eq(&self, other: &Dim) -> bool {
        match (&self.scope, &other.scope) {
            (None, None) => self.term == other.term,
            (Some(scope), None) | (None, Some(scope)) => {
                let state = scope.state();
                state.resolve(&self.term) == state.resolve(&other.term)
            }
            (Some(a), Some(b)) if a.is_same(b) => {
                let state = a.state();
                state.resolve(&self.term) == state.resolve(&other.term)
            }
            (Some(_), Some(_)) => false,
        }
    }
}

impl Eq for Dim {}

impl fmt::Display for Dim {
    /// `256`, `n`, `4*n*m`, `n - 3`, `ceil(n / 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            None => write!(f, "{}", self.term.coefficient),
            Some(scope) => {
                let text = {
                    let state = scope.state();
                    state.text(&state.resolve(&self.term))
                };
                f.write_str(&text)
            }
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Quantity for Dim {
    fn is(&self, value: u8) -> bool {
        self.term.as_number() == Some(isize::from(value))
    }

    fn equals(&self, other: &Dim, place: Place) -> bool {
        self.ask(other, |a, b| a == b, |state, a, b| state.equals(a, b, place))
    }

    fn at_most(&self, other: &Dim, place: Place) -> bool {
        self.ask(other, |a, b| a <= b, |state, a, b| state.at_most(a, b, place))
    }

    fn compare(&self, other: &Dim, place: Place) -> Ordering {
        self.ask(other, |a, b| a.cmp(&b), |state, a, b| state.compare(a, b, place))
    }
}

/// Where a view starts in its storage, in elements: a sum of products.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    terms: SmallVec<[Dim; 2]>,
}

impl Start {
    /// A place that is the same for all sizes.
    #[must_use]
    pub fn at(offset: isize) -> Start {
        Start::default().moved(Dim::from(offset))
    }

    /// In the run that is traced.
    #[must_use]
    pub fn seen(&self) -> isize {
        self.terms.iter().map(Dim::seen).fold(0, isize::saturating_add)
    }

    /// The products whose sum it is.
    #[must_use]
    pub fn terms(&self) -> &[Dim] {
        &self.terms
    }

    /// A sum of products.
    pub(super) fn sum(terms: impl IntoIterator<Item = Dim>) -> Start {
        terms.into_iter().fold(Start::default(), |start, term| start.moved(term))
    }

    /// As it is known now.
    pub(super) fn settled(&self) -> Start {
        Start::sum(self.terms.iter().map(Dim::settled))
    }

    /// Whether it is the same for all sizes.
    fn is_fixed(&self) -> bool {
        self.terms.iter().all(|term| term.as_number().is_some())
    }

    fn moved(&self, by: Dim) -> Start {
        let mut terms = self.terms.clone();
        // Numbers are summed up; there is one at most, and it is not 0.
        let known = terms.iter().position(|term| term.as_number().is_some());
        match (by.as_number(), known) {
            (Some(0), _) => {}
            (Some(step), Some(place)) => match terms.remove(place).seen().saturating_add(step) {
                0 => {}
                sum => terms.insert(place, Dim::from(sum)),
            },
            _ => terms.push(by),
        }
        Start { terms }
    }
}

impl Extent for Dim {
    type Stride = Dim;
    type Offset = Start;

    fn times(&self, other: &Dim) -> Dim {
        self.product(other)
    }

    fn plus(&self, other: &Dim, place: Place) -> Dim {
        self.joined(other, place)
    }

    fn minus(&self, other: &Dim, place: Place) -> Dim {
        if self.at_most(other, place) { Dim::from(0usize) } else { self.joined(&other.opposite(), place) }
    }

    fn least(&self, other: &Dim, place: Place) -> Dim {
        self.compute(other, isize::min, |state, a, b| state.least(a, b, place))
    }

    fn div_ceil(&self, divisor: &Dim, place: Place) -> Dim {
        self.compute(divisor, super::symbol::divide_up, |state, a, b| state.quotient(a, b, place))
    }

    fn number(&self, place: Place) -> usize {
        let seen = self.seen();
        self.equals(&Dim::from(seen), place);
        seen.unsigned_abs()
    }

    fn seen(&self) -> usize {
        Dim::seen(self).unsigned_abs()
    }

    fn is_size(&self) -> bool {
        Dim::seen(self) >= 0
    }

    fn step_over(&self, inner: &Dim) -> Dim {
        self.product(inner)
    }

    fn steps_to(&self, inner: &Dim, outer: &Dim, place: Place) -> bool {
        self.product(inner).equals(outer, place)
    }

    fn offset_at(offset: &Start, index: &Dim, stride: &Dim) -> Start {
        offset.moved(index.product(stride))
    }

    fn offset_of_last(&self, offset: &Start, stride: &Dim) -> Start {
        offset.moved(self.product(stride)).moved(stride.opposite())
    }

    fn seen_offset(offset: &Start) -> isize {
        offset.seen()
    }
}

impl Stride for Dim {
    fn is_negative(&self) -> bool {
        self.term.coefficient < 0
    }

    fn negated(&self) -> Dim {
        self.opposite()
    }

    fn seen(&self) -> isize {
        Dim::seen(self)
    }

    fn joined(&self, other: &Dim, place: Place) -> Dim {
        self.compute(other, isize::saturating_add, |state, a, b| state.sum(a, b, place))
    }
}

impl From<&Layout> for Layout<Dim> {
    fn from(fixed: &Layout) -> Layout<Dim> {
        fixed.converted(|&size| Dim::from(size), |&stride| Dim::from(stride), Start::at(fixed.offset()))
    }
}

impl PartialEq<Layout<Dim>> for Layout {
    /// Whether the other one is this one for any sizes.
    fn eq(&self, other: &Layout<Dim>) -> bool {
        let fixed = other.shape().iter().chain(other.strides()).all(|dim| dim.as_number().is_some());
        fixed && other.start().is_fixed() && *self == other.seen()
    }
}

impl PartialEq<Layout> for Layout<Dim> {
    fn eq(&self, other: &Layout) -> bool {
        other == self
    }
}
