//! Ops by name and formula.
//!
//! A name does not tell an op: the forms of an op for integers and for complex numbers have its name, and so may have the derivative that was derived
//! from its formula and one that was written by hand. A fingerprint does, and it tells whether the formula is still the
//! one that a text was written with.

use crate::error::{Error, ErrorKind, Result};
use crate::op::{BUILTIN, DeviceFn, OpDef, Piece, VjpDef};
use std::collections::BTreeMap;

/// Ops that a graph may name.
pub(super) struct Ops(BTreeMap<&'static str, Vec<&'static OpDef>>);

impl Ops {
    /// These ops and those of gradients, with their other forms and their derivatives.
    pub(super) fn new(ops: impl IntoIterator<Item = &'static OpDef>) -> Ops {
        let mut known = Ops(BTreeMap::new());
        ops.into_iter().chain(BUILTIN.iter()).for_each(|op| known.add(op));
        known
    }

    fn add(&mut self, op: &'static OpDef) {
        let same_name = self.0.entry(op.name).or_default();
        if same_name.iter().any(|known| std::ptr::eq(*known, op)) {
            return;
        }
        same_name.push(op);
        let backward = |vjp: &'static VjpDef| vjp.backward;
        let vjp = op.vjp.as_ref();
        let behind = [
            op.complex,
            op.integers,
            vjp.and_then(backward),
            vjp.and_then(|vjp| vjp.with_numbers).and_then(backward),
        ];
        behind.into_iter().flatten().for_each(|op| self.add(op));
    }

    /// The only op of a name.
    ///
    /// # Errors
    /// `Value` if there is none, or more than one.
    pub(super) fn named(&self, name: &str) -> Result<&'static OpDef> {
        match self.all(name)? {
            [only] => Ok(only),
            _ => Err(wrong(format!("several ops are called `{name}`; add a line `op {name} = FINGERPRINT`"))),
        }
    }

    /// The op of a name and a fingerprint.
    ///
    /// # Errors
    /// `Value` if no op of this name was given, or none with this formula.
    pub(super) fn known(&self, name: &str, print: &str) -> Result<&'static OpDef> {
        self.all(name)?.iter().find(|op| fingerprint(op) == print).copied().ok_or_else(|| {
            wrong(format!(
                "op `{name}` has another formula than the one that was written down ({print}); trace the function again"
            ))
        })
    }

    fn all(&self, name: &str) -> Result<&[&'static OpDef]> {
        self.0.get(name).map(Vec::as_slice).ok_or_else(|| {
            wrong(format!(
                "op `{name}` is not among those given; add its `DEF`, as in `REGISTRY.iter().chain([{name}::DEF])`"
            ))
        })
    }
}

/// Sixteen digits that change with the signature and the formula of an op, and not with the place of its source.
pub(super) fn fingerprint(op: &OpDef) -> String {
    let mut hasher = blake3::Hasher::new();
    let signature = format!("{} {:?} {:?} {:?} {:?}", op.name, op.params, op.outputs, op.promote, op.dtypes);
    hasher.update(signature.as_bytes());
    hash_function(op.device, &mut hasher);
    hasher.finalize().to_hex()[..16].to_owned()
}

fn hash_function(function: &DeviceFn, hasher: &mut blake3::Hasher) {
    hasher.update(function.name.as_bytes());
    for piece in function.pieces {
        match piece {
            Piece::Text(text) => {
                hasher.update(text.as_bytes());
            }
            Piece::Call(callee) => {
                hasher.update(&callee.to_le_bytes());
            }
            Piece::Name | Piece::Line(_) => {}
        }
    }
    function.calls.iter().for_each(|callee| hash_function(callee, hasher));
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Value, message)
}
