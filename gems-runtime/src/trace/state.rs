//! What a scope knows of its symbols, and how it answers questions.
//!
//! A question is settled by cancelling common factors, by the ranges of symbols and by earlier guards. Else the answer
//! is the one of the sizes seen, and is remembered as a guard. Every answer agrees with the sizes seen.

use super::guard::{Relation, Why};
use super::monomial::{Monomial, SymbolId};
use super::orders::{ANY, EQUAL, GREATER, LESS, Orders};
use super::scope::Policy;
use super::symbol::{Definition, Origin, Range, Symbol, id};
use crate::error::{Error, ErrorKind};
use crate::layout::Place;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A guard in terms of the table.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) relation: Relation,
    pub(super) lhs: Monomial,
    pub(super) rhs: Monomial,
    pub(super) why: Why,
}

/// The call that is being inferred: its op, and the parameters that are buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) op: Option<&'static str>,
    pub(super) operands: SmallVec<[&'static str; 8]>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) policy: Policy,
    pub(super) symbols: Vec<Symbol>,
    /// Values of all symbols in the run that is traced.
    pub(super) seen: Vec<isize>,
    /// What holds by the choice of symbols.
    pub(super) assumptions: Vec<Fact>,
    /// What was asked for.
    pub(super) guards: Vec<Fact>,
    pub(super) frame: Frame,
    /// The first guard that could not be made.
    pub(super) refusal: Option<Error>,
    slots: usize,
}

/// Most factors of what a symbol equals. Shapes have far fewer; those of a text could double line by line.
const MOST_FACTORS: usize = 64;

impl State {
    pub(super) fn new(policy: Policy) -> State {
        State {
            policy,
            symbols: Vec::new(),
            seen: Vec::new(),
            assumptions: Vec::new(),
            guards: Vec::new(),
            frame: Frame::default(),
            refusal: None,
            slots: 0,
        }
    }

    /// A new symbol for a size that callers give.
    pub(super) fn given(&mut self, name: String, seen: isize, range: Range) -> Monomial {
        let slot = self.slots;
        self.slots += 1;
        let symbol = self.push(Symbol { seen, range, origin: Origin::Given { slot, name }, equals: None });
        let why = Why::new("the bounds of the symbol");
        let mut assume = |lhs, rhs| {
            self.assumptions.push(Fact { relation: Relation::AtMost, lhs, rhs, why: why.clone() });
        };
        assume(Monomial::number(range.low), symbol.clone());
        assume(symbol.clone(), Monomial::number(range.high));
        symbol
    }

    /// A new symbol for what follows from earlier ones, as a graph that is read defines it.
    pub(super) fn defined(&mut self, definition: Definition) -> Monomial {
        let (seen, range) = (definition.value(&self.seen), self.range_of(&definition));
        self.push(Symbol { seen, range, origin: Origin::Derived(definition), equals: None })
    }

    fn push(&mut self, symbol: Symbol) -> Monomial {
        let id = id(self.symbols.len());
        self.seen.push(symbol.seen);
        self.symbols.push(symbol);
        Monomial::symbol(id)
    }

    pub(super) fn get(&self, symbol: SymbolId) -> Option<&Symbol> {
        self.symbols.get(symbol as usize)
    }

    /// With symbols replaced by what they are known to equal.
    pub(super) fn resolve(&self, term: &Monomial) -> Monomial {
        term.replaced(|symbol| self.get(symbol)?.equals.as_ref())
    }

    pub(super) fn equals(&mut self, a: &Monomial, b: &Monomial, place: Place) -> bool {
        self.ask(EQUAL, a, b, place)
    }

    pub(super) fn at_most(&mut self, a: &Monomial, b: &Monomial, place: Place) -> bool {
        self.ask(LESS | EQUAL, a, b, place)
    }

    pub(super) fn compare(&mut self, a: &Monomial, b: &Monomial, place: Place) -> Ordering {
        let (a, b) = self.normal(a, b);
        let seen = a.value(&self.seen).cmp(&b.value(&self.seen));
        let possible = self.possible(&a, &b);
        debug_assert!(possible.0 & Orders::only(seen).0 != 0, "{a:?} and {b:?} were seen otherwise");
        if possible != Orders::only(seen) {
            self.assume(Orders::only(seen).0, a, b, place);
        }
        seen
    }

    /// Whether two terms are known to be equal; asks nothing.
    pub(super) fn are_equal(&self, a: &Monomial, b: &Monomial) -> bool {
        let (a, b) = self.normal(a, b);
        self.possible(&a, &b) == Orders(EQUAL)
    }

    /// Whether the order of two terms is one of these.
    fn ask(&mut self, orders: u8, a: &Monomial, b: &Monomial, place: Place) -> bool {
        let (a, b) = self.normal(a, b);
        let seen = Orders::only(a.value(&self.seen).cmp(&b.value(&self.seen))).0;
        let possible = self.possible(&a, &b);
        debug_assert!(possible.0 & seen != 0, "{a:?} and {b:?} were seen otherwise");
        let answer = seen & orders != 0;
        if !possible.settle(orders) {
            self.assume(if answer { orders } else { !orders & ANY }, a, b, place);
        }
        answer
    }

    /// The smaller of two terms; asks only if both may be.
    pub(super) fn least(&mut self, a: &Monomial, b: &Monomial, place: Place) -> Monomial {
        let (of_a, of_b) = self.normal(a, b);
        let b_is_least = self.possible(&of_a, &of_b).0 & LESS == 0;
        if b_is_least || !self.at_most(a, b, place) { b.clone() } else { a.clone() }
    }

    fn normal(&self, a: &Monomial, b: &Monomial) -> (Monomial, Monomial) {
        Monomial::cancel(&self.resolve(a), &self.resolve(b))
    }

    /// The orders that two normal terms can have.
    fn possible(&self, a: &Monomial, b: &Monomial) -> Orders {
        let (of_a, of_b) = (self.split(a), self.split(b));
        if of_a.0 == of_b.0 {
            return Orders::only(of_a.1.cmp(&of_b.1));
        }
        let mut orders = Orders::by_range(self.range(a), self.range(b)).0;
        for fact in &self.guards {
            let (lhs, rhs) = self.normal(&fact.lhs, &fact.rhs);
            let known = Orders::by_relation(fact.relation);
            if (&lhs, &rhs) == (a, b) {
                orders &= known.0;
            } else if (&rhs, &lhs) == (a, b) {
                orders &= known.reversed().0;
            }
        }
        Orders(orders)
    }

    /// A term as another one, none for a number, plus a number.
    fn split(&self, term: &Monomial) -> (Option<Monomial>, isize) {
        if let Some(number) = term.as_number() {
            return (None, number);
        }
        if let ([symbol], 1 | -1) = (term.symbols.as_slice(), term.coefficient)
            && let Some(Symbol { origin: Origin::Derived(Definition::Sum(base, number)), .. }) =
                self.get(*symbol)
            && let Some(number) = number.as_number()
        {
            let sign = Monomial::number(term.coefficient);
            return (Some(self.resolve(base).times(&sign)), number.saturating_mul(term.coefficient));
        }
        (Some(term.clone()), 0)
    }

    fn range(&self, term: &Monomial) -> Range {
        let of = |&symbol: &SymbolId| self.get(symbol).map_or(Range::exactly(0), |symbol| symbol.range);
        let term = self.resolve(term);
        term.symbols.iter().map(of).fold(Range::exactly(term.coefficient), Range::times)
    }

    fn range_of(&self, definition: &Definition) -> Range {
        match definition {
            Definition::Sum(a, b) => self.range(a).plus(self.range(b)),
            Definition::Quotient(a, b) => self.range(a).divided_up(self.range(b)),
        }
    }

    /// Records that the order of two normal terms is one of these, or refuses to.
    fn assume(&mut self, orders: u8, a: Monomial, b: Monomial, place: Place) {
        const EITHER: u8 = LESS | GREATER;
        const NOT_LESS: u8 = EQUAL | GREATER;
        const NOT_GREATER: u8 = LESS | EQUAL;
        let (relation, lhs, rhs) = match orders {
            EQUAL => (Relation::Equal, a, b),
            EITHER => (Relation::NotEqual, a, b),
            LESS => (Relation::Less, a, b),
            GREATER => (Relation::Less, b, a),
            NOT_GREATER => (Relation::AtMost, a, b),
            NOT_LESS => (Relation::AtMost, b, a),
            _ => return,
        };
        let operand = place.operand.and_then(|operand| self.frame.operands.get(operand).copied());
        let why = Why {
            step: Cow::Borrowed(place.step),
            axis: place.axis,
            operand: operand.map(Cow::Borrowed),
            op: self.frame.op.map(Cow::Borrowed),
        };
        if self.policy == Policy::Strict {
            let message = format!(
                "the trace holds only if {} {} {} ({} and {} in this run), from {why}; give sizes that must agree the same symbol, \
                 make the size a number, or trace with Policy::Guard",
                self.text(&lhs),
                relation.sign(),
                self.text(&rhs),
                lhs.value(&self.seen),
                rhs.value(&self.seen),
            );
            self.refuse(Error::new(ErrorKind::Guard, message));
        }
        self.guarded(Fact { relation, lhs, rhs, why });
    }

    /// Takes a guard for true.
    pub(super) fn guarded(&mut self, fact: Fact) {
        self.learn(fact.relation, &fact.lhs, &fact.rhs);
        self.guards.push(fact);
    }

    pub(super) fn refuse(&mut self, error: Error) {
        self.refusal.get_or_insert(error);
    }

    /// Draws what follows from a guard of any terms; those of a text need not be normal.
    fn learn(&mut self, relation: Relation, lhs: &Monomial, rhs: &Monomial) {
        let (lhs, rhs) = &self.normal(lhs, rhs);
        if relation == Relation::Equal {
            return self.identify(lhs, rhs);
        }
        let gap = isize::from(relation == Relation::Less);
        let unbounded = Range { low: isize::MIN, high: isize::MAX };
        match (lhs.as_number(), rhs.as_number(), lhs.symbols.as_slice(), rhs.symbols.as_slice()) {
            _ if relation == Relation::NotEqual => {}
            (Some(number), None, _, &[symbol]) if rhs.coefficient > 0 => {
                let low = number.saturating_add(gap);
                let low = low.div_euclid(rhs.coefficient) + isize::from(low.rem_euclid(rhs.coefficient) > 0);
                self.narrow(symbol, Range { low, ..unbounded });
            }
            (None, Some(number), &[symbol], _) if lhs.coefficient > 0 => {
                let high = number.saturating_sub(gap).div_euclid(lhs.coefficient);
                self.narrow(symbol, Range { high, ..unbounded });
            }
            _ => {}
        }
    }

    /// Makes two equal normal terms one, where one of them is a symbol.
    ///
    /// **Invariant:** what a symbol equals names no symbol that equals something itself, and has few factors; equalities
    /// that would change that stay guards alone.
    fn identify(&mut self, lhs: &Monomial, rhs: &Monomial) {
        let (symbol, other) = match (lhs.as_symbol(), rhs.as_symbol()) {
            (Some(a), Some(b)) if a < b => (b, lhs),
            (Some(a), _) => (a, rhs),
            (None, Some(b)) => (b, lhs),
            (None, None) => return,
        };
        let with_other = |(place, known): (usize, &Symbol)| {
            let term = known.equals.as_ref().filter(|term| term.symbols.contains(&symbol))?;
            Some((place, term.replaced(|factor| (factor == symbol).then_some(other))))
        };
        let changed: Vec<(usize, Monomial)> =
            self.symbols.iter().enumerate().filter_map(with_other).collect();
        if changed.iter().map(|(_, term)| term).chain([other]).any(|term| term.symbols.len() > MOST_FACTORS) {
            return;
        }
        for (place, term) in changed {
            self.symbols[place].equals = Some(term);
        }
        let Some(known) = self.symbols.get_mut(symbol as usize) else { return };
        known.equals = Some(other.clone());
        let range = known.range;
        if let Some(kept) = other.as_symbol() {
            self.narrow(kept, range);
        }
    }

    /// Narrows a symbol, what it is computed from, and what is computed from it.
    fn narrow(&mut self, mut symbol: SymbolId, mut range: Range) {
        loop {
            let Some(known) = self.symbols.get_mut(symbol as usize) else { return };
            range = known.range.and(range);
            if range == known.range {
                return;
            }
            known.range = range;
            match &known.origin {
                Origin::Derived(Definition::Sum(base, number))
                    if let (Some(base), Some(number)) = (base.as_symbol(), number.as_number()) =>
                {
                    range = range.plus(Range::exactly(number.saturating_neg()));
                    symbol = base;
                }
                _ => break,
            }
        }
        for place in symbol as usize + 1..self.symbols.len() {
            if let Origin::Derived(definition) = &self.symbols[place].origin {
                let range = self.range_of(definition);
                self.symbols[place].range = self.symbols[place].range.and(range);
            }
        }
    }

    /// The sum of two terms.
    pub(super) fn sum(&mut self, a: &Monomial, b: &Monomial, place: Place) -> Monomial {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let ((of_a, number_a), (of_b, number_b)) = (self.split(&a), self.split(&b));
        let base = match (of_a, of_b) {
            (Some(a), Some(b)) if a.symbols == b.symbols => {
                match a.coefficient.saturating_add(b.coefficient) {
                    0 => None,
                    coefficient => Some(Monomial { coefficient, symbols: a.symbols }),
                }
            }
            (Some(base), None) | (None, Some(base)) => Some(base),
            (None, None) => None,
            (Some(_), Some(_)) => return self.derive(Definition::sum(a, b), place),
        };
        match (base, number_a.saturating_add(number_b)) {
            (None, number) => Monomial::number(number),
            (Some(base), 0) => base,
            (Some(base), number) => self.derive(Definition::Sum(base, Monomial::number(number)), place),
        }
    }

    /// The quotient of two terms, rounded up; the divisor is not 0.
    pub(super) fn quotient(&mut self, a: &Monomial, b: &Monomial, place: Place) -> Monomial {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match a.divided_by(&b) {
            Some(exact) => exact,
            None => self.derive(Definition::Quotient(a, b), place),
        }
    }

    /// The symbol of this definition, or what it equals; open only if it is at least 2.
    fn derive(&mut self, definition: Definition, place: Place) -> Monomial {
        let seen = definition.value(&self.seen);
        if let (Definition::Sum(a, b), true) = (&definition, seen < 0) {
            let opposite = Definition::sum(a.negated(), b.negated());
            return self.derive(opposite, place).negated();
        }
        let same =
            |symbol: &Symbol| matches!(&symbol.origin, Origin::Derived(known) if known.is_same(&definition));
        let symbol = match self.symbols.iter().position(same) {
            Some(found) => Monomial::symbol(id(found)),
            None => self.defined(definition),
        };
        if seen < 2 {
            self.equals(&symbol, &Monomial::number(seen), place);
            return Monomial::number(seen);
        }
        self.at_most(&Monomial::number(2), &symbol, place);
        self.resolve(&symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place::new("testing");

    /// A state with symbols that were seen as these.
    fn state<const N: usize>(seen: [(&str, isize); N]) -> (State, [Monomial; N]) {
        let mut state = State::new(Policy::Guard);
        let open = Range { low: 2, high: isize::MAX - 1 };
        let symbols = seen.map(|(name, seen)| state.given(name.to_owned(), seen, open));
        (state, symbols)
    }

    fn number(number: isize) -> Monomial {
        Monomial::number(number)
    }

    #[test]
    fn what_bounds_decide_is_no_guard() {
        let (mut state, [n, m]) = state([("n", 5), ("m", 5)]);
        let product = n.times(&m);
        assert_eq!(state.compare(&product, &m, PLACE), Ordering::Greater);
        assert_eq!(state.compare(&n.times(&number(2)), &n, PLACE), Ordering::Greater);
        assert_eq!(state.compare(&n.times(&number(2)), &product, PLACE), Ordering::Less);
        assert!(!state.equals(&n, &number(1), PLACE));
        assert!(state.at_most(&number(4), &product, PLACE));
        assert!(!state.equals(&n.negated(), &m, PLACE));
        assert_eq!(state.guards.len(), 1, "only that m is not 2");
        let shorter = state.sum(&n, &number(-1), PLACE);
        let longer = state.sum(&n, &number(3), PLACE);
        assert!(!state.equals(&shorter, &n, PLACE) && state.at_most(&shorter.times(&m), &product, PLACE));
        assert_eq!(state.sum(&longer, &shorter.negated(), PLACE), number(4));
        assert_eq!(state.guards.len(), 2, "only that n - 1 is at least 2");
    }

    #[test]
    fn equal_terms_become_one() {
        let (mut state, [n, m, k]) = state([("n", 6), ("m", 6), ("k", 3)]);
        assert!(state.equals(&m.times(&k), &n.times(&k), PLACE));
        assert_eq!(state.resolve(&m), n);
        assert!(state.equals(&n, &k.times(&number(2)), PLACE));
        assert_eq!(state.text(&state.resolve(&m)), "2*k");
        assert!(state.equals(&k, &number(3), PLACE));
        assert_eq!(state.resolve(&m.times(&n)), number(36));
        let texts: Vec<String> =
            state.guards.iter().map(|g| format!("{} {}", state.text(&g.lhs), state.text(&g.rhs))).collect();
        assert_eq!(texts, ["m n", "n 2*k", "k 3"]);
    }

    #[test]
    fn an_answer_is_asked_for_once_and_bounds_later_ones() {
        let (mut state, [n, m]) = state([("n", 6), ("m", 9)]);
        assert!(!state.equals(&n, &m, PLACE));
        assert!(!state.equals(&m, &n, PLACE));
        assert_eq!(state.guards.len(), 1);
        assert_eq!(state.compare(&n, &m, PLACE), Ordering::Less);
        assert!(state.at_most(&n, &m, PLACE));
        assert_eq!(state.guards.len(), 2);
        assert!(state.at_most(&number(4), &n, PLACE));
        assert!(state.at_most(&number(3), &n, PLACE) && !state.equals(&n, &number(2), PLACE));
        assert!(state.at_most(&n.times(&number(2)), &number(13), PLACE));
        assert!(!state.at_most(&number(7), &n, PLACE));
        assert_eq!(state.guards.len(), 4);
    }

    #[test]
    fn derived_sizes_are_open_only_from_two_on() {
        let (mut state, [n]) = state([("n", 5)]);
        assert_eq!(state.sum(&n, &number(-4), PLACE), number(1));
        assert_eq!(state.quotient(&n, &number(9), PLACE), number(1));
        let half = state.quotient(&n, &number(2), PLACE);
        assert_eq!(state.text(&half), "ceil(n / 2)");
        assert_eq!(state.quotient(&n.times(&number(6)), &n, PLACE), number(6));
        let difference = state.sum(&half, &n.negated(), PLACE);
        assert_eq!(state.text(&difference), "-(n - ceil(n / 2))");
        assert_eq!(difference.value(&state.seen), -2);
    }
}
