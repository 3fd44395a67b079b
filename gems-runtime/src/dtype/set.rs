//! A set of dtypes as bits, usable in constants.

use super::{Category, DType};
use std::fmt;

/// Set of dtypes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DTypeSet(u32);

impl DTypeSet {
    /// No dtype.
    pub const EMPTY: DTypeSet = DTypeSet(0);
    /// bool.
    pub const BOOL: DTypeSet = DTypeSet::EMPTY.with(DType::Bool);
    /// Every integer.
    pub const INT: DTypeSet = DTypeSet::of(Category::Int);
    /// Every real float.
    pub const FLOAT: DTypeSet = DTypeSet::of(Category::Float);
    /// Every complex dtype.
    pub const COMPLEX: DTypeSet = DTypeSet::of(Category::Complex);
    /// Every dtype.
    pub const ALL: DTypeSet =
        DTypeSet::BOOL.union(DTypeSet::INT).union(DTypeSet::FLOAT).union(DTypeSet::COMPLEX);

    const fn of(category: Category) -> DTypeSet {
        let mut set = DTypeSet::EMPTY;
        let mut i = 0;
        while i < DType::ALL.len() {
            if DType::ALL[i].category() as u8 == category as u8 {
                set = set.with(DType::ALL[i]);
            }
            i += 1;
        }
        set
    }

    /// The set with one more dtype.
    #[must_use]
    pub const fn with(self, dtype: DType) -> DTypeSet {
        DTypeSet(self.0 | 1 << dtype as u8)
    }

    /// The set without a dtype.
    #[must_use]
    pub const fn without(self, dtype: DType) -> DTypeSet {
        DTypeSet(self.0 & !(1 << dtype as u8))
    }

    /// The dtypes of either set.
    #[must_use]
    pub const fn union(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// The dtypes of both sets.
    #[must_use]
    pub const fn intersection(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 & other.0)
    }

    /// Whether the dtype is in the set.
    #[must_use]
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 >> dtype as u8 & 1 == 1
    }

    /// The dtypes, in table order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&dtype| self.contains(dtype))
    }
}

impl fmt::Display for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, dtype) in self.iter().enumerate() {
            write!(f, "{}{dtype}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
