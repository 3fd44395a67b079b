//! Prelude functions that a kernel needs.

use crate::dtype::DType;
use std::collections::BTreeSet;

/// Name and overload types of a prelude function.
pub type Need = (&'static str, Vec<DType>);

/// The prelude functions that a kernel calls, and those that it may call.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    required: BTreeSet<Need>,
    offered: BTreeSet<Need>,
}

impl FromIterator<Need> for Uses {
    /// Everything is required.
    fn from_iter<I: IntoIterator<Item = Need>>(needs: I) -> Uses {
        Uses { required: needs.into_iter().collect(), offered: BTreeSet::new() }
    }
}

impl Uses {
    /// No needs.
    #[must_use]
    pub fn new() -> Uses {
        Uses::default()
    }

    /// The kernel calls this overload.
    pub fn require(&mut self, name: &'static str, types: impl IntoIterator<Item = DType>) {
        self.required.insert((name, types.into_iter().collect()));
    }

    /// The kernel may call this overload, if there is one.
    pub fn offer(&mut self, name: &'static str, types: impl IntoIterator<Item = DType>) {
        self.offered.insert((name, types.into_iter().collect()));
    }

    /// All that another kernel part calls, too.
    pub(crate) fn extend(&mut self, other: &Uses) {
        self.required.extend(other.required.iter().cloned());
        self.offered.extend(other.offered.iter().cloned());
    }

    /// Overloads that must exist.
    pub fn required(&self) -> impl Iterator<Item = &Need> {
        self.required.iter()
    }

    /// Overloads that are added where they exist.
    pub fn offered(&self) -> impl Iterator<Item = &Need> {
        self.offered.difference(&self.required)
    }
}
