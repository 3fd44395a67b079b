//! Sizes as people read them: what is computed from others is spelled out.
//!
//! Guarantees: a text is short. Where definitions go deep or many, those that are left have the names of
//! [`Graph`](super::graph::Graph)'s text.

use super::monomial::{Monomial, SymbolId};
use super::state::State;
use super::symbol::{Definition, Origin};
use std::fmt::Write as _;

/// Most definitions within definitions.
const DEEPEST: usize = 16;
/// Bytes of text behind which no definition is spelled out.
const LONGEST: usize = 400;

impl State {
    /// A term as texts show it.
    pub(super) fn text(&self, term: &Monomial) -> String {
        let mut text = String::new();
        self.write(&mut text, term, DEEPEST);
        text
    }

    fn write(&self, text: &mut String, term: &Monomial, levels: usize) {
        let _ = match (term.coefficient, term.symbols.is_empty()) {
            (1, false) => Ok(()),
            (-1, false) => write!(text, "-"),
            (number, _) => write!(text, "{number}"),
        };
        for (position, &symbol) in term.symbols.iter().enumerate() {
            if position > 0 || term.coefficient.unsigned_abs() != 1 {
                text.push('*');
            }
            self.write_symbol(text, symbol, term.symbols.len() > 1 || term.coefficient != 1, levels);
        }
    }

    fn write_symbol(&self, text: &mut String, symbol: SymbolId, is_factor: bool, levels: usize) {
        let inner = levels.checked_sub(1).filter(|_| text.len() <= LONGEST);
        match (self.get(symbol).map(|symbol| &symbol.origin), inner) {
            (Some(Origin::Given { name, .. }), _) => text.push_str(name),
            (Some(Origin::Derived(Definition::Quotient(a, b))), Some(inner)) => {
                text.push_str("ceil(");
                self.write(text, a, inner);
                text.push_str(" / ");
                self.write(text, b, inner);
                text.push(')');
            }
            (Some(Origin::Derived(Definition::Sum(a, b))), Some(inner)) => {
                let (sign, b) = if b.coefficient < 0 { (" - ", b.negated()) } else { (" + ", b.clone()) };
                let (open, close) = if is_factor { ("(", ")") } else { ("", "") };
                text.push_str(open);
                self.write(text, a, inner);
                text.push_str(sign);
                self.write(text, &b, inner);
                text.push_str(close);
            }
            (Some(Origin::Derived(_)), None) | (None, _) => {
                let _ = write!(text, "s{symbol}");
            }
        }
    }
}
