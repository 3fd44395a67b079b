//! What a symbol stands for: a size given from outside, or one computed from others.

use super::monomial::{Monomial, SymbolId};

/// An open size.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    /// The value in the run that is traced.
    pub(super) seen: isize,
    /// Lowest and highest value under the guards so far.
    pub(super) range: Range,
    pub(super) origin: Origin,
    /// What it is known to equal.
    pub(super) equals: Option<Monomial>,
}

/// Where the value of a symbol comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The caller: the place among the values that are bound, and the name in texts.
    Given { slot: usize, name: String },
    /// Symbols before this one.
    Derived(Definition),
}

/// How a size follows from others where a product can't say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// The sum; of a difference, the second term is negative.
    Sum(Monomial, Monomial),
    /// The quotient, rounded up.
    Quotient(Monomial, Monomial),
}

impl Definition {
    /// A sum with what is taken away behind; a number stays behind too.
    pub(super) fn sum(a: Monomial, b: Monomial) -> Definition {
        let swap = b.as_number().is_none() && a.coefficient < 0 && b.coefficient > 0;
        if swap { Definition::Sum(b, a) } else { Definition::Sum(a, b) }
    }

    pub(super) fn value(&self, values: &[isize]) -> isize {
        match self {
            Definition::Sum(a, b) => a.value(values).saturating_add(b.value(values)),
            Definition::Quotient(a, b) => divide_up(a.value(values), b.value(values)),
        }
    }

    /// Whether the order of the two does not matter and is the other way round.
    pub(super) fn is_same(&self, other: &Definition) -> bool {
        match (self, other) {
            (Definition::Sum(a, b), Definition::Sum(c, d)) => (a, b) == (c, d) || (a, b) == (d, c),
            _ => self == other,
        }
    }
}

/// The quotient rounded up; 0 where there is none.
pub(super) fn divide_up(a: isize, b: isize) -> isize {
    match (a.checked_div(b), a.checked_rem(b)) {
        (Some(quotient), Some(rest)) if rest != 0 && (rest > 0) == (b > 0) => quotient + 1,
        (Some(quotient), _) => quotient,
        (None, _) => 0,
    }
}

/// An interval, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: isize,
    pub(super) high: isize,
}

impl Range {
    pub(super) const fn exactly(value: isize) -> Range {
        Range { low: value, high: value }
    }

    pub(super) fn and(self, other: Range) -> Range {
        Range { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    pub(super) fn plus(self, other: Range) -> Range {
        Range { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    pub(super) fn times(self, other: Range) -> Range {
        let ends = |end: isize| [end.saturating_mul(other.low), end.saturating_mul(other.high)];
        let [a, b] = ends(self.low);
        let [c, d] = ends(self.high);
        Range { low: a.min(b).min(c).min(d), high: a.max(b).max(c).max(d) }
    }

    /// The quotients, rounded up; any number where a divisor may be less than 1, which traces never have.
    pub(super) fn divided_up(self, divisor: Range) -> Range {
        if divisor.low < 1 {
            return Range { low: isize::MIN, high: isize::MAX };
        }
        let by = |end: isize| [divide_up(end, divisor.low), divide_up(end, divisor.high)];
        let ([a, b], [c, d]) = (by(self.low), by(self.high));
        Range { low: a.min(b), high: c.max(d) }
    }
}

/// The id of a symbol at this place of the table.
pub(super) fn id(place: usize) -> SymbolId {
    SymbolId::try_from(place).unwrap_or(SymbolId::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_round_up() {
        for (a, b, expected) in [(7, 2, 4), (6, 2, 3), (-7, 2, -3), (7, -2, -3), (1, 0, 0), (0, 5, 0)] {
            assert_eq!(divide_up(a, b), expected, "{a} / {b}");
        }
    }

    #[test]
    fn ranges_hold_every_result() {
        let ranges = [(-3, 2), (0, 4), (2, 5), (3, 3)].map(|(low, high)| Range { low, high });
        let inside = |range: Range, value: isize| range.low <= value && value <= range.high;
        for a in ranges {
            for b in ranges {
                for x in a.low..=a.high {
                    for y in b.low..=b.high {
                        assert!(inside(a.plus(b), x + y));
                        assert!(inside(a.times(b), x * y));
                        assert!(inside(a.divided_up(b), divide_up(x, y)));
                    }
                }
            }
        }
    }
}
