//! Numbers with what the roundings of a formula may have done to them.
//!
//! Guarantees that a computation which rounds every step is within `error` of `value`, as long as each function keeps
//! its own bound (running error analysis: the errors of the operands, carried through the step, and that of the step).

use super::super::exact::Real;
use super::super::points::Format;

/// The value without any rounding, and how far a rounded computation may be from it.
#[derive(Clone, Debug)]
pub(in super::super) struct Tracked {
    pub(in super::super) value: Real,
    pub(in super::super) error: Real,
    /// Of the dtype that it is computed in.
    pub(super) format: Format,
}

/// Why a point says nothing: the rounded computation may take another branch, or overflow on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Undecided;

pub(super) type Decided<T> = Result<T, Undecided>;

/// Half an ulp: a step that rounds to nearest.
const HALF: f64 = 0.5;

impl Tracked {
    /// Free of errors.
    pub(in super::super) fn exact(value: Real, format: Format) -> Tracked {
        Tracked { value, error: Real::of(0.0), format }
    }

    /// A step with this exact value, of operands that make it so uncertain, and of so many ulps.
    fn step(value: Real, carried: Real, ulps: f64, format: Format) -> Decided<Tracked> {
        if carried.is_zero() && (!value.is_finite() || ulps <= HALF && format.holds(&value)) {
            return Ok(Tracked::exact(value, format));
        }
        let size = value.abs() + &carried;
        if !size.is_finite() || size.exponent() > format.greatest.into() {
            return Err(Undecided);
        }
        let error = carried + Real::of(ulps).scaled(format.ulp(&size));
        Ok(Tracked { value, error, format })
    }

    /// Rounded to another format.
    pub(in super::super) fn rounded(self, format: Format) -> Decided<Tracked> {
        Tracked::step(self.value, self.error, HALF, format)
    }

    fn both(&self, other: &Tracked, value: Real, carried: Real) -> Decided<Tracked> {
        let format = if self.format.mantissa < other.format.mantissa { other.format } else { self.format };
        Tracked::step(value, carried, HALF, format)
    }

    pub(super) fn add(&self, other: &Tracked) -> Decided<Tracked> {
        self.both(other, &self.value + &other.value, &self.error + &other.error)
    }

    pub(super) fn sub(&self, other: &Tracked) -> Decided<Tracked> {
        self.add(&other.negated())
    }

    pub(super) fn mul(&self, other: &Tracked) -> Decided<Tracked> {
        let value = &self.value * &other.value;
        if self.is_certain() && other.is_certain() {
            return self.both(other, value, Real::of(0.0));
        }
        let carried = (self.value.abs() + &self.error) * &other.error + other.value.abs() * &self.error;
        self.both(other, value, carried)
    }

    pub(super) fn div(&self, other: &Tracked) -> Decided<Tracked> {
        let value = &self.value / &other.value;
        if self.is_certain() && other.is_certain() {
            return self.both(other, value, Real::of(0.0));
        }
        let least = other.value.abs() - &other.error;
        if !Real::of(0.0).less(&least) {
            return Err(Undecided);
        }
        let carried = (&self.error + value.abs() * &other.error) / least;
        self.both(other, value, carried)
    }

    /// A function of one number that is monotone nearby, with so many ulps of its own.
    pub(super) fn apply(&self, ulps: f64, function: impl Fn(&Real) -> Real) -> Decided<Tracked> {
        let value = function(&self.value);
        let mut carried = Real::of(0.0);
        if !self.is_certain() {
            for end in [&self.value - &self.error, &self.value + &self.error] {
                let change = (function(&end) - &value).abs();
                if !change.is_finite() {
                    return Err(Undecided);
                }
                carried = if carried.less(&change) { change } else { carried };
            }
        }
        Tracked::step(value, carried, ulps, self.format)
    }

    /// A function of two, monotone in each.
    pub(super) fn apply_both(
        &self,
        other: &Tracked,
        ulps: f64,
        function: impl Fn(&Real, &Real) -> Real,
    ) -> Decided<Tracked> {
        let first = self.apply(ulps, |x| function(x, &other.value))?;
        let second = other.apply(ulps, |y| function(&self.value, y))?;
        Ok(Tracked { error: first.error + second.error, ..second })
    }

    /// A function with steps, which has no error of its own, but where a step is near.
    pub(super) fn stepped(&self, function: impl Fn(&Real) -> Real) -> Decided<Tracked> {
        let [low, high] = [&self.value - &self.error, &self.value + &self.error].map(|end| function(&end));
        if self.is_certain() || (low - &high).is_zero() {
            return Ok(Tracked::exact(function(&self.value), self.format));
        }
        Err(Undecided)
    }

    pub(super) fn negated(&self) -> Tracked {
        Tracked { value: -&self.value, ..self.clone() }
    }

    pub(super) fn abs(&self) -> Tracked {
        Tracked { value: self.value.abs(), ..self.clone() }
    }

    /// The one that `takes_first` says, or an error as large as the larger of both.
    pub(super) fn either(&self, other: &Tracked, takes_first: bool) -> Tracked {
        let error = if self.error.less(&other.error) { &other.error } else { &self.error };
        let value = if takes_first { &self.value } else { &other.value };
        Tracked { value: value.clone(), error: error.clone(), format: self.format }
    }

    pub(super) fn is_certain(&self) -> bool {
        self.error.is_zero()
    }

    /// Whether the first is less: known only where the errors leave no doubt. Of NaN, nothing is true.
    pub(super) fn less(&self, other: &Tracked) -> Decided<bool> {
        self.decide(other, self.value.less(&other.value))
    }

    /// Whether both are equal.
    pub(super) fn equals(&self, other: &Tracked) -> Decided<bool> {
        let is_same = !self.value.less(&other.value) && !other.value.less(&self.value);
        self.decide(other, is_same && !self.value.is_nan() && !other.value.is_nan())
    }

    fn decide(&self, other: &Tracked, answer: bool) -> Decided<bool> {
        let doubt = &self.error + &other.error;
        let distance = (&self.value - &other.value).abs();
        if doubt.is_zero() || !distance.is_finite() || doubt.less(&distance) {
            Ok(answer)
        } else {
            Err(Undecided)
        }
    }
}
