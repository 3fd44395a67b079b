//! Orthogonal polynomials, by their recurrences.

use super::Real;

/// A family: its second member, and the next member from n and the last two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) first: fn(&Real) -> Real,
    pub(crate) next: fn(f64, &Real, &Real, &Real) -> Real,
}

/// The member of that degree at x.
pub(crate) fn polynomial(family: Family, x: &Real, degree: &Real) -> Real {
    let degree = degree.trunc().to_f64();
    if degree < 0.0 {
        return Real::of(0.0);
    }
    let x = x.at(2 * x.bits);
    let (mut before, mut last) = (Real::of(1.0), (family.first)(&x));
    if degree == 0.0 {
        return before;
    }
    let mut n = 1.0;
    while n < degree {
        let next = (family.next)(n, &x, &last, &before);
        (before, last) = (last, next);
        n += 1.0;
    }
    last
}
