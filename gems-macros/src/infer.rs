//! Types of literals and calls, found from their uses.
//!
//! The rule is Rust's: a literal has the type of whatever it meets. One that meets nothing is `T` if it is a float in
//! a function over floats, else f64 or i32. A call whose result meets nothing has the type of its first argument.
//! A type that must be known at once (the receiver of a method) is decided at once, by the same rule.
//! Two types that differ are not reported: rustc says that better.

use crate::dtype::DType;
use crate::types::{Generic, Trait, Type};

/// What an unknown type stands for.
#[derive(Clone, Debug)]
enum Slot {
    Int,
    Float,
    /// The result of a call, with the type that it has if nothing decides.
    Call(Option<Type>),
    Known(Type),
}

/// The unknown types of one body.
pub(crate) struct Infer<'a> {
    generic: Option<&'a Generic>,
    slots: Vec<Slot>,
}

impl<'a> Infer<'a> {
    pub(crate) fn new(generic: Option<&'a Generic>) -> Infer<'a> {
        Infer { generic, slots: Vec::new() }
    }

    /// The type of an integer literal.
    pub(crate) fn int(&mut self) -> Type {
        self.slot(Slot::Int)
    }

    /// The type of a float literal.
    pub(crate) fn float(&mut self) -> Type {
        self.slot(Slot::Float)
    }

    /// The type of a call's result.
    pub(crate) fn call(&mut self, default: Option<Type>) -> Type {
        self.slot(Slot::Call(default))
    }

    fn slot(&mut self, slot: Slot) -> Type {
        self.slots.push(slot);
        Type::Var(self.slots.len() - 1)
    }

    /// What is known of the type so far.
    pub(crate) fn look(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        while let Type::Var(id) = ty {
            match &self.slots[id] {
                Slot::Known(known) => ty = known.clone(),
                _ => break,
            }
        }
        match ty {
            Type::Tuple(members) => Type::Tuple(members.iter().map(|member| self.look(member)).collect()),
            other => other,
        }
    }

    /// The type that an open result of a call has if nothing decides.
    pub(crate) fn default_of(&self, ty: &Type) -> Option<Type> {
        match self.look(ty) {
            Type::Var(id) => match &self.slots[id] {
                Slot::Call(default) => default.clone(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type, decided by the default rule if it must be.
    pub(crate) fn decide(&mut self, ty: &Type) -> Type {
        match self.look(ty) {
            Type::Var(id) => {
                let decided = match self.slots[id].clone() {
                    Slot::Int => Type::Fixed(DType::I32),
                    Slot::Float
                        if self.generic.is_some_and(|generic| generic.bound.implies(Trait::Analytic)) =>
                    {
                        Type::Generic
                    }
                    Slot::Float => Type::Fixed(DType::F64),
                    Slot::Call(None) => return Type::Var(id),
                    Slot::Call(Some(default)) => {
                        // Without a default of its own, a call that is its own argument cannot go round in circles.
                        self.slots[id] = Slot::Call(None);
                        self.decide(&default)
                    }
                    Slot::Known(known) => known,
                };
                self.slots[id] = Slot::Known(decided.clone());
                decided
            }
            Type::Tuple(members) => Type::Tuple(members.iter().map(|member| self.decide(member)).collect()),
            other => other,
        }
    }

    /// Gives a literal in front of `as` the target's type, where Rust would or where the target is generic.
    pub(crate) fn adopt(&mut self, literal: &Type, target: &Type) {
        let Type::Var(id) = self.look(literal) else { return };
        let fits = match (&self.slots[id], target) {
            (Slot::Int | Slot::Float, Type::Generic | Type::Real | Type::Complex)
            | (Slot::Int, Type::Index) => true,
            (Slot::Int, Type::Fixed(dtype)) => dtype.is_int(),
            (Slot::Float, Type::Fixed(dtype)) => dtype.is_float(),
            _ => false,
        };
        if fits {
            self.unify(literal, target);
        }
    }

    /// Makes two types one, as far as they are open.
    pub(crate) fn unify(&mut self, a: &Type, b: &Type) {
        match (self.look(a), self.look(b)) {
            (Type::Var(a), Type::Var(b)) if a == b => {}
            (Type::Var(a), Type::Var(b)) => {
                // The slot that says more stays.
                let (keep, drop) = match (&self.slots[a], &self.slots[b]) {
                    (Slot::Float, _) | (Slot::Int, Slot::Call(_)) => (a, b),
                    _ => (b, a),
                };
                self.slots[drop] = Slot::Known(Type::Var(keep));
            }
            (Type::Var(id), ty) | (ty, Type::Var(id)) => {
                let fits = matches!(self.slots[id], Slot::Call(_))
                    || !matches!(ty, Type::Fixed(DType::Bool) | Type::Tuple(_) | Type::Unit);
                if fits {
                    self.slots[id] = Slot::Known(ty);
                }
            }
            (Type::Tuple(a), Type::Tuple(b)) => a.iter().zip(&b).for_each(|(a, b)| self.unify(a, b)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float() -> Generic {
        Generic { ident: syn::parse_quote!(T), bound: Trait::Float, others: Vec::new() }
    }

    #[test]
    fn a_literal_has_the_type_that_it_meets() {
        let generic = float();
        let mut infer = Infer::new(Some(&generic));
        let (a, b) = (infer.int(), infer.float());
        infer.unify(&a, &b);
        infer.unify(&Type::Fixed(DType::F32), &a);
        assert_eq!(infer.decide(&b), Type::Fixed(DType::F32));
    }

    #[test]
    fn a_literal_that_meets_nothing_has_a_default() {
        let generic = float();
        let mut infer = Infer::new(Some(&generic));
        let (a, b) = (infer.int(), infer.float());
        assert_eq!(infer.decide(&a), Type::Fixed(DType::I32));
        assert_eq!(infer.decide(&b), Type::Generic);
        let mut infer = Infer::new(None);
        let b = infer.float();
        assert_eq!(infer.decide(&b), Type::Fixed(DType::F64));
    }

    #[test]
    fn a_call_has_the_type_of_its_first_argument_unless_it_meets_another() {
        let generic = float();
        let mut infer = Infer::new(Some(&generic));
        let (a, b) = (infer.call(Some(Type::Generic)), infer.call(Some(Type::Generic)));
        infer.unify(&b, &Type::Fixed(DType::Bool));
        assert_eq!(infer.decide(&a), Type::Generic);
        assert_eq!(infer.decide(&b), Type::Fixed(DType::Bool));
    }
}
