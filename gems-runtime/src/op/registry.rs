//! Ops by name.

use super::OpDef;

/// An explicit list of ops, searchable by name.
///
/// Nothing runs before `main`: the list is a constant of the crate that owns the ops.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    ops: &'static [&'static OpDef],
}

impl Registry {
    /// A registry of these ops, in display order.
    #[must_use]
    pub const fn new(ops: &'static [&'static OpDef]) -> Registry {
        Registry { ops }
    }

    /// The op of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'static OpDef> {
        self.iter().find(|op| op.name == name)
    }

    /// All ops in display order.
    pub fn iter(&self) -> impl Iterator<Item = &'static OpDef> + use<> {
        self.ops.iter().copied()
    }
}
