//! Products of symbols with an integer coefficient.
//!
//! Arithmetic only: what a symbol is, its bounds and its value live elsewhere. Numbers are cut off where they do not fit.

use smallvec::SmallVec;

/// Position of a symbol in the table of its scope.
pub(super) type SymbolId = u32;

/// `coefficient · symbol · symbol · …`; a number if there is no symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Monomial {
    pub(super) coefficient: isize,
    /// Ascending; a square names its symbol twice. Empty if the coefficient is 0.
    pub(super) symbols: SmallVec<[SymbolId; 4]>,
}

impl Monomial {
    pub(super) fn number(number: isize) -> Monomial {
        Monomial { coefficient: number, symbols: SmallVec::new() }
    }

    pub(super) fn symbol(id: SymbolId) -> Monomial {
        Monomial { coefficient: 1, symbols: SmallVec::from_slice(&[id]) }
    }

    pub(super) fn as_number(&self) -> Option<isize> {
        self.symbols.is_empty().then_some(self.coefficient)
    }

    /// The symbol, if this is nothing but one.
    pub(super) fn as_symbol(&self) -> Option<SymbolId> {
        match self.symbols.as_slice() {
            &[symbol] if self.coefficient == 1 => Some(symbol),
            _ => None,
        }
    }

    pub(super) fn times(&self, other: &Monomial) -> Monomial {
        let coefficient = self.coefficient.saturating_mul(other.coefficient);
        if coefficient == 0 {
            return Monomial::number(0);
        }
        let mut symbols = self.symbols.clone();
        symbols.extend_from_slice(&other.symbols);
        symbols.sort_unstable();
        Monomial { coefficient, symbols }
    }

    /// With some symbols replaced by terms.
    pub(super) fn replaced<'a>(&self, by: impl Fn(SymbolId) -> Option<&'a Monomial>) -> Monomial {
        if !self.symbols.iter().any(|&symbol| by(symbol).is_some()) {
            return self.clone();
        }
        self.symbols.iter().fold(Monomial::number(self.coefficient), |product, &symbol| match by(symbol) {
            Some(term) => product.times(term),
            None => product.times(&Monomial::symbol(symbol)),
        })
    }

    pub(super) fn negated(&self) -> Monomial {
        Monomial { coefficient: self.coefficient.saturating_neg(), symbols: self.symbols.clone() }
    }

    /// The quotient, if it is a product of symbols too.
    pub(super) fn divided_by(&self, divisor: &Monomial) -> Option<Monomial> {
        if divisor.coefficient == 0 || self.coefficient.checked_rem(divisor.coefficient)? != 0 {
            return None;
        }
        let (symbols, missing) = without_common(&self.symbols, &divisor.symbols);
        let coefficient = self.coefficient.checked_div(divisor.coefficient)?;
        missing.is_empty().then_some(Monomial { coefficient, symbols })
    }

    /// Both without their common positive factors; their order stays.
    pub(super) fn cancel(a: &Monomial, b: &Monomial) -> (Monomial, Monomial) {
        let (of_a, of_b) = without_common(&a.symbols, &b.symbols);
        let divisor = gcd(a.coefficient.unsigned_abs(), b.coefficient.unsigned_abs());
        let divisor = isize::try_from(divisor).unwrap_or(1).max(1);
        (
            Monomial { coefficient: a.coefficient / divisor, symbols: of_a },
            Monomial { coefficient: b.coefficient / divisor, symbols: of_b },
        )
    }

    /// The value for these values of all symbols.
    pub(super) fn value(&self, values: &[isize]) -> isize {
        let of = |&symbol: &SymbolId| values.get(symbol as usize).copied().unwrap_or(0);
        self.symbols.iter().map(of).fold(self.coefficient, isize::saturating_mul)
    }
}

/// Two sorted lists without what they share, each occurrence counted.
fn without_common(a: &[SymbolId], b: &[SymbolId]) -> (SmallVec<[SymbolId; 4]>, SmallVec<[SymbolId; 4]>) {
    let mut rest: SmallVec<[SymbolId; 4]> = SmallVec::from_slice(b);
    let own = a.iter().copied().filter(|symbol| match rest.iter().position(|other| other == symbol) {
        Some(found) => {
            rest.remove(found);
            false
        }
        None => true,
    });
    let own = own.collect();
    (own, rest)
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(coefficient: isize, symbols: &[SymbolId]) -> Monomial {
        Monomial { coefficient, symbols: SmallVec::from_slice(symbols) }
    }

    #[test]
    fn products_are_sorted_and_zero_has_no_symbol() {
        assert_eq!(term(2, &[1, 3]).times(&term(-3, &[2, 3])), term(-6, &[1, 2, 3, 3]));
        assert_eq!(term(2, &[1]).times(&term(0, &[])), term(0, &[]));
        assert_eq!(term(isize::MAX, &[]).times(&term(2, &[0])), term(isize::MAX, &[0]));
    }

    #[test]
    fn division_is_exact_or_refused() {
        assert_eq!(term(6, &[1, 1, 2]).divided_by(&term(3, &[1])), Some(term(2, &[1, 2])));
        assert_eq!(term(6, &[1]).divided_by(&term(4, &[1])), None);
        assert_eq!(term(6, &[1]).divided_by(&term(3, &[2])), None);
        assert_eq!(term(6, &[1]).divided_by(&term(0, &[])), None);
        assert_eq!(term(isize::MIN, &[]).divided_by(&term(-1, &[])), None);
    }

    #[test]
    fn common_factors_cancel() {
        assert_eq!(
            Monomial::cancel(&term(4, &[0, 0, 1]), &term(6, &[0, 2])),
            (term(2, &[0, 1]), term(3, &[2]))
        );
        assert_eq!(Monomial::cancel(&term(5, &[0]), &term(0, &[])), (term(1, &[0]), term(0, &[])));
    }

    #[test]
    fn values_multiply() {
        assert_eq!(term(-2, &[0, 1, 1]).value(&[3, 5]), -150);
        assert_eq!(term(7, &[]).value(&[]), 7);
    }
}
