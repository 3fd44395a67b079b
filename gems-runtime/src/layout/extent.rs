//! What layouts ask of sizes and strides.
//!
//! Layout code is generic over [`Extent`] and learns of a size only through these methods. Over plain integers they are
//! the operators they are named after. A size that a trace leaves open ([`Dim`](crate::trace::Dim)) answers from what is
//! known, and where that is not enough it answers for the size seen and records a guard.
//!
//! **Invariant:** the traits do not include `PartialEq`, so generic code cannot compare without asking.

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;

/// Where a question comes up; becomes the reason of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is being done, as in "from *broadcasting*".
    pub step: &'static str,
    /// Which buffer of a call is looked at.
    pub operand: Option<usize>,
    /// Which axis is looked at.
    pub axis: Option<usize>,
}

impl Place {
    /// No particular operand or axis.
    #[must_use]
    pub const fn new(step: &'static str) -> Place {
        Place { step, operand: None, axis: None }
    }

    /// This axis.
    #[must_use]
    pub const fn axis(self, axis: usize) -> Place {
        Place { axis: Some(axis), ..self }
    }

    /// This operand.
    #[must_use]
    pub const fn operand(self, operand: usize) -> Place {
        Place { operand: Some(operand), ..self }
    }
}

/// Questions to an extent or a stride.
pub trait Quantity: Clone + fmt::Debug {
    /// Whether this is 0 or this is 1. Never a question: open sizes are at least 2.
    fn is(&self, value: u8) -> bool;

    /// Whether two quantities are equal.
    fn equals(&self, other: &Self, place: Place) -> bool;

    /// Whether this one is not greater.
    fn at_most(&self, other: &Self, place: Place) -> bool;

    /// The order of two quantities.
    fn compare(&self, other: &Self, place: Place) -> Ordering;
}

/// The size of an axis, in elements.
pub trait Extent: Quantity + From<usize> {
    /// A signed distance between elements.
    type Stride: Stride;
    /// The place of the first element in its storage.
    type Offset: Clone + fmt::Debug + Default;

    /// The product; cut off where it does not fit.
    #[must_use]
    fn times(&self, other: &Self) -> Self;

    /// The sum; cut off where it does not fit.
    #[must_use]
    fn plus(&self, other: &Self, place: Place) -> Self;

    /// The difference, or 0 if the other is greater.
    #[must_use]
    fn minus(&self, other: &Self, place: Place) -> Self;

    /// The smaller of two.
    #[must_use]
    fn least(&self, other: &Self, place: Place) -> Self;

    /// The quotient by a divisor that is not 0, rounded up.
    #[must_use]
    fn div_ceil(&self, divisor: &Self, place: Place) -> Self;

    /// The number itself, for what has to be counted.
    fn number(&self, place: Place) -> usize;

    /// The number seen, for checks and texts that decide nothing about the result.
    fn seen(&self) -> usize;

    /// Whether the number seen is one that an axis can have: not below 0.
    fn is_size(&self) -> bool;

    /// The stride of an axis around one with this size and `inner` stride; cut off where it does not fit.
    fn step_over(&self, inner: &Self::Stride) -> Self::Stride;

    /// Whether `outer` is the stride of an axis around one with this size and `inner` stride.
    fn steps_to(&self, inner: &Self::Stride, outer: &Self::Stride, place: Place) -> bool;

    /// The offset of an index on an axis of this stride.
    fn offset_at(offset: &Self::Offset, index: &Self, stride: &Self::Stride) -> Self::Offset;

    /// The offset of the last index on an axis of this size, which is not 0.
    fn offset_of_last(&self, offset: &Self::Offset, stride: &Self::Stride) -> Self::Offset;

    /// The offset seen, for checks and texts.
    fn seen_offset(offset: &Self::Offset) -> isize;

    /// A copy of these sizes; plain ones are copied as bytes, which is cheaper than one by one.
    fn copy_of(sizes: &[Self]) -> SmallVec<[Self; 6]> {
        sizes.iter().cloned().collect()
    }
}

/// A signed distance between elements.
pub trait Stride: Quantity + From<isize> {
    /// A copy of these distances, as of sizes.
    fn copy_of(strides: &[Self]) -> SmallVec<[Self; 6]> {
        strides.iter().cloned().collect()
    }

    /// Whether it is below 0.
    fn is_negative(&self) -> bool;

    /// The opposite direction.
    #[must_use]
    fn negated(&self) -> Self;

    /// The distance without its direction.
    #[must_use]
    fn magnitude(&self) -> Self {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// The number seen, for checks and texts that decide nothing about the result.
    fn seen(&self) -> isize;

    /// The sum; cut off where it does not fit.
    #[must_use]
    fn joined(&self, other: &Self, place: Place) -> Self;
}

macro_rules! plain_quantity {
    ($ty:ty) => {
        impl Quantity for $ty {
            #[inline]
            fn is(&self, value: u8) -> bool {
                *self == <$ty>::from(value)
            }

            #[inline]
            fn equals(&self, other: &Self, _: Place) -> bool {
                self == other
            }

            #[inline]
            fn at_most(&self, other: &Self, _: Place) -> bool {
                self <= other
            }

            #[inline]
            fn compare(&self, other: &Self, _: Place) -> Ordering {
                self.cmp(other)
            }
        }
    };
}

plain_quantity!(usize);
plain_quantity!(isize);

impl Extent for usize {
    type Stride = isize;
    type Offset = isize;

    #[inline]
    fn copy_of(sizes: &[usize]) -> SmallVec<[usize; 6]> {
        SmallVec::from_slice(sizes)
    }

    #[inline]
    fn times(&self, other: &usize) -> usize {
        self.saturating_mul(*other)
    }

    #[inline]
    fn plus(&self, other: &usize, _: Place) -> usize {
        self.saturating_add(*other)
    }

    #[inline]
    fn minus(&self, other: &usize, _: Place) -> usize {
        self.saturating_sub(*other)
    }

    #[inline]
    fn least(&self, other: &usize, _: Place) -> usize {
        *self.min(other)
    }

    #[inline]
    fn div_ceil(&self, divisor: &usize, _: Place) -> usize {
        usize::div_ceil(*self, *divisor)
    }

    #[inline]
    fn number(&self, _: Place) -> usize {
        *self
    }

    #[inline]
    fn seen(&self) -> usize {
        *self
    }

    #[inline]
    fn is_size(&self) -> bool {
        true
    }

    #[inline]
    fn step_over(&self, inner: &isize) -> isize {
        inner.saturating_mul(as_stride(*self))
    }

    #[inline]
    fn steps_to(&self, inner: &isize, outer: &isize, _: Place) -> bool {
        inner.checked_mul(as_stride(*self)) == Some(*outer)
    }

    #[inline]
    fn offset_at(offset: &isize, index: &usize, stride: &isize) -> isize {
        offset + as_stride(*index) * stride
    }

    #[inline]
    fn offset_of_last(&self, offset: &isize, stride: &isize) -> isize {
        offset + as_stride(*self - 1) * stride
    }

    #[inline]
    fn seen_offset(offset: &isize) -> isize {
        *offset
    }
}

impl Stride for isize {
    #[inline]
    fn copy_of(strides: &[isize]) -> SmallVec<[isize; 6]> {
        SmallVec::from_slice(strides)
    }

    #[inline]
    fn is_negative(&self) -> bool {
        *self < 0
    }

    #[inline]
    fn negated(&self) -> isize {
        self.saturating_neg()
    }

    #[inline]
    fn seen(&self) -> isize {
        *self
    }

    #[inline]
    fn joined(&self, other: &isize, _: Place) -> isize {
        self.saturating_add(*other)
    }
}

/// An extent as a factor of strides.
pub(super) fn as_stride(extent: usize) -> isize {
    isize::try_from(extent).unwrap_or(isize::MAX)
}

/// Whether two shapes are equal.
pub(super) fn equal_shapes<Q: Quantity>(a: &[Q], b: &[Q], place: Place) -> bool {
    a.len() == b.len() && (0..).zip(a).zip(b).all(|((axis, a), b)| a.equals(b, place.axis(axis)))
}
