//! Which orders of two quantities are possible: less, equal, greater, or several of them.

use super::guard::Relation;
use super::symbol::Range;
use std::cmp::Ordering;

/// The orders of two quantities that are possible, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Orders(pub(super) u8);

pub(super) const LESS: u8 = 1;
pub(super) const EQUAL: u8 = 2;
pub(super) const GREATER: u8 = 4;
pub(super) const ANY: u8 = LESS | EQUAL | GREATER;

impl Orders {
    pub(super) fn only(order: Ordering) -> Orders {
        Orders(match order {
            Ordering::Less => LESS,
            Ordering::Equal => EQUAL,
            Ordering::Greater => GREATER,
        })
    }

    pub(super) fn by_range(a: Range, b: Range) -> Orders {
        let mut orders = 0;
        if a.low < b.high {
            orders |= LESS;
        }
        if a.low <= b.high && b.low <= a.high {
            orders |= EQUAL;
        }
        if a.high > b.low {
            orders |= GREATER;
        }
        Orders(orders)
    }

    pub(super) fn by_relation(relation: Relation) -> Orders {
        Orders(match relation {
            Relation::Equal => EQUAL,
            Relation::NotEqual => LESS | GREATER,
            Relation::Less => LESS,
            Relation::AtMost => LESS | EQUAL,
        })
    }

    pub(super) fn reversed(self) -> Orders {
        let [less, greater] = [self.0 & LESS, self.0 & GREATER];
        Orders(self.0 & EQUAL | less << 2 | greater >> 2)
    }

    /// Whether it is settled if the order is one of these.
    pub(super) fn settle(self, orders: u8) -> bool {
        self.0 & orders == 0 || self.0 & !orders == 0
    }
}
