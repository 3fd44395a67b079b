//! What each op should compute, and where that is measured.

mod activation;
pub(super) mod complex;
pub(super) mod composed;
mod elementary;
mod special;

use super::exact::Real;
use super::points::{Draw, Points};

/// The exact value of an op for operands and numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) op: &'static str,
    /// Parameters that are always numbers, by name.
    pub(super) numbers: &'static [(&'static str, f64)],
    pub(super) points: Points<'static>,
    /// Of one operand: the results at −∞ and ∞.
    pub(super) ends: [f64; 2],
    /// From the operands that are no such numbers.
    pub(super) exact: fn(&[Real]) -> Real,
    /// Whether a value takes so long that a tenth of the points must do.
    pub(super) is_special: bool,
}

impl Row {
    /// `polygamma(n=2)`.
    pub(super) fn name(&self) -> String {
        let numbers: Vec<_> = self.numbers.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if numbers.is_empty() { self.op.to_owned() } else { format!("{}({})", self.op, numbers.join(", ")) }
    }

    const fn with(self, numbers: &'static [(&'static str, f64)]) -> Row {
        Row { numbers, ..self }
    }

    const fn special(self) -> Row {
        Row { is_special: true, ..self }
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// An op of one operand.
const fn line(op: &'static str, near: &'static [f64], ends: [f64; 2], exact: fn(&[Real]) -> Real) -> Row {
    Row { op, numbers: &[], points: Points::Line(near), ends, exact, is_special: false }
}

/// An op of several operands.
const fn drawn(op: &'static str, draw: fn(&mut Draw) -> Vec<f64>, exact: fn(&[Real]) -> Real) -> Row {
    Row { op, numbers: &[], points: Points::Drawn(draw), ends: [NAN; 2], exact, is_special: false }
}

/// All rows.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [elementary::ROWS, activation::ROWS, special::ROWS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::bounds;
    use super::*;
    use gems_ops::dtype::DType;

    #[test]
    fn every_row_has_a_bound() {
        for row in rows() {
            assert!(bounds::bound(row.op, DType::F64).is_some(), "{}", row.op);
        }
    }
}
