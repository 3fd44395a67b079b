//! Types of the scalar language, and which traits of the runtime's `math` they have.
//!
//! Guarantees: `T::Real` is written as `T` wherever the bound makes them the same type.
//! Does not infer anything; see `infer`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;

use crate::dtype::{Category, DType};
use crate::errors::{Errors, choices};

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// The type parameter.
    Generic,
    /// `T::Real`, where `T` may be complex.
    Real,
    /// `T::Complex`.
    Complex,
    /// bool, an integer, f32 or f64.
    Fixed(DType),
    /// usize: counts and array positions.
    Index,
    /// Several values: results, or what a call gave before it is taken apart.
    Tuple(Vec<Type>),
    /// No value: statements.
    Unit,
    /// Not known yet; only while a body is being read.
    Var(usize),
    /// Wrong, and reported already.
    Error,
}

/// What is said of a tuple of one, as a type, a value or a pattern.
pub(crate) const TUPLE_OF_ONE: &str = "a tuple of one is not supported here; remove `(` and `,)`";

/// The type `bool`.
pub(crate) const BOOL: Type = Type::Fixed(DType::Bool);

/// A trait that a type parameter may be bounded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trait {
    Element,
    Number,
    Real,
    Int,
    Analytic,
    Float,
    Bits,
}

impl Trait {
    /// Every bound, with its name.
    pub(crate) const NAMES: [(&'static str, Trait); 7] = [
        ("Element", Trait::Element),
        ("Number", Trait::Number),
        ("Real", Trait::Real),
        ("Int", Trait::Int),
        ("Analytic", Trait::Analytic),
        ("Float", Trait::Float),
        ("Bits", Trait::Bits),
    ];

    pub(crate) fn name(self) -> &'static str {
        Trait::NAMES.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    pub(crate) fn from_name(name: &str) -> Option<Trait> {
        Trait::NAMES.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// Direct supertraits.
    fn supertraits(self) -> &'static [Trait] {
        match self {
            Trait::Element => &[],
            Trait::Number | Trait::Bits => &[Trait::Element],
            Trait::Real | Trait::Analytic => &[Trait::Number],
            Trait::Int => &[Trait::Real],
            Trait::Float => &[Trait::Real, Trait::Analytic],
        }
    }

    /// Whether every type with this trait has the other one too.
    pub(crate) fn implies(self, other: Trait) -> bool {
        self == other || self.supertraits().iter().any(|above| above.implies(other))
    }

    /// Whether `T::Real` is another type than `T` for some `T` with this bound.
    pub(crate) fn may_be_complex(self) -> bool {
        matches!(self, Trait::Number | Trait::Analytic)
    }

    /// Whether elements of this dtype have the trait.
    pub(crate) fn has(self, dtype: DType) -> bool {
        let computes = dtype.op_math() == dtype;
        match (self, dtype.category()) {
            (Trait::Element, _) | (Trait::Bits, Category::Int | Category::Float) => true,
            (Trait::Number, _) => computes,
            (Trait::Real, category) => computes && category != Category::Complex,
            (Trait::Int, category) => matches!(category, Category::Bool | Category::Int),
            (Trait::Analytic, category) => computes && category >= Category::Float,
            (Trait::Float, category) => computes && category == Category::Float,
            (Trait::Bits, Category::Bool | Category::Complex) => false,
        }
    }

    /// The groups that an op of this bound accepts unless it says otherwise.
    pub(crate) fn default_groups(self) -> &'static [Category] {
        use Category::{Bool, Complex, Float, Int};
        match self {
            Trait::Element => &[Bool, Int, Float, Complex],
            Trait::Number => &[Int, Float, Complex],
            Trait::Real | Trait::Bits => &[Int, Float],
            Trait::Int => &[Int],
            Trait::Analytic => &[Float, Complex],
            Trait::Float => &[Float],
        }
    }
}

/// The type parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Generic {
    pub(crate) ident: syn::Ident,
    pub(crate) bound: Trait,
    /// Further type parameters; reported, so their uses are not.
    pub(crate) others: Vec<syn::Ident>,
}

impl Type {
    /// Whether the type depends on the type parameter.
    pub(crate) fn is_generic(&self) -> bool {
        matches!(self, Type::Generic | Type::Real | Type::Complex)
    }

    /// The strongest trait of the type, given the bound of the type parameter.
    pub(crate) fn traits(&self, generic: Option<&Generic>) -> Option<Trait> {
        match self {
            Type::Generic => generic.map(|generic| generic.bound),
            Type::Real => Some(Trait::Real),
            Type::Complex => Some(Trait::Analytic),
            Type::Fixed(dtype) => Some(match dtype.category() {
                Category::Bool | Category::Int => Trait::Int,
                Category::Float => Trait::Float,
                Category::Complex => Trait::Analytic,
            }),
            Type::Index | Type::Tuple(_) | Type::Unit | Type::Var(_) | Type::Error => None,
        }
    }

    /// Whether the type has the trait; wrong types have every trait, so that one mistake is reported once.
    pub(crate) fn has(&self, wanted: Trait, generic: Option<&Generic>) -> bool {
        *self == Type::Error || self.traits(generic).is_some_and(|own| own.implies(wanted))
    }

    /// The types that the type is made of, in order: those of tuples inside a tuple too.
    pub(crate) fn leaves(&self) -> Vec<&Type> {
        match self {
            Type::Tuple(members) => members.iter().flat_map(Type::leaves).collect(),
            one => vec![one],
        }
    }

    /// How many values each member of a tuple is made of.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let members = if let Type::Tuple(members) = self { members } else { std::slice::from_ref(self) };
        members.iter().map(|member| member.leaves().len()).collect()
    }

    /// As the user writes it.
    pub(crate) fn describe(&self, generic: Option<&Generic>) -> String {
        let name = generic.map_or_else(|| "T".to_owned(), |generic| generic.ident.to_string());
        match self {
            Type::Generic => name,
            Type::Real => format!("{name}::Real"),
            Type::Complex => format!("{name}::Complex"),
            Type::Fixed(dtype) => dtype.name().to_owned(),
            Type::Index => "usize".to_owned(),
            Type::Tuple(members) => {
                let members: Vec<_> = members.iter().map(|member| member.describe(generic)).collect();
                format!("({})", members.join(", "))
            }
            Type::Unit => "()".to_owned(),
            Type::Var(_) | Type::Error => "_".to_owned(),
        }
    }

    /// The Rust spelling with absolute paths.
    pub(crate) fn rust(&self, generic: Option<&Generic>, private: &TokenStream) -> TokenStream {
        let ident = generic.map(|generic| &generic.ident);
        match self {
            Type::Generic => quote!(#ident),
            Type::Real => quote!(<#ident as #private::math::Number>::Real),
            Type::Complex => quote!(<#ident as #private::math::Float>::Complex),
            Type::Fixed(dtype) => dtype.rust_type(private),
            Type::Index => quote!(::core::primitive::usize),
            Type::Tuple(members) => {
                let members = members.iter().map(|member| member.rust(generic, private));
                quote!((#(#members,)*))
            }
            Type::Unit => quote!(()),
            Type::Var(_) | Type::Error => quote!(_),
        }
    }

    /// The runtime's `TypeRef` for a type of one value.
    pub(crate) fn type_ref(&self, private: &TokenStream) -> TokenStream {
        let name = match self {
            Type::Real => quote!(Real),
            Type::Complex => quote!(Complex),
            Type::Fixed(dtype) => {
                let dtype = dtype.variant();
                quote!(Fixed(#private::DType::#dtype))
            }
            Type::Index => quote!(Fixed(#private::DType::U64)),
            _ => quote!(Generic),
        };
        quote!(#private::TypeRef::#name)
    }
}

/// Reads a type that the user wrote.
pub(crate) fn parse(ty: &syn::Type, generic: Option<&Generic>, errors: &Errors) -> Type {
    match ty {
        syn::Type::Path(path) if path.qself.is_none() => parse_path(&path.path, generic, errors),
        syn::Type::Paren(inner) => parse(&inner.elem, generic, errors),
        syn::Type::Group(inner) => parse(&inner.elem, generic, errors),
        syn::Type::Tuple(tuple) if tuple.elems.len() == 1 => {
            errors.at(ty, TUPLE_OF_ONE);
            Type::Error
        }
        syn::Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            Type::Tuple(tuple.elems.iter().map(|elem| parse(elem, generic, errors)).collect())
        }
        syn::Type::Reference(_) => {
            errors.at(ty, "references are not supported here; scalars are passed by value");
            Type::Error
        }
        syn::Type::Array(_) | syn::Type::Slice(_) => {
            errors.at(ty, "arrays are only supported as `const` items inside a `#[device_fn]`");
            Type::Error
        }
        _ => unsupported(ty, generic, errors),
    }
}

fn parse_path(path: &syn::Path, generic: Option<&Generic>, errors: &Errors) -> Type {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let is_parameter = |name: &str| generic.is_some_and(|generic| generic.ident == name);
    match names.as_slice() {
        [name] if is_parameter(name) => Type::Generic,
        [name, "Real"] if is_parameter(name) => {
            if generic.is_some_and(|generic| generic.bound.may_be_complex()) {
                Type::Real
            } else {
                Type::Generic
            }
        }
        [name, "Complex"] if is_parameter(name) => Type::Complex,
        [name, ..] if generic.is_some_and(|generic| generic.others.iter().any(|other| other == name)) => {
            Type::Error
        }
        ["usize"] => Type::Index,
        ["isize"] => {
            errors.at(path, "`isize` is not supported here; use `i64`");
            Type::Error
        }
        [.., "f16" | "bf16" | "F8E4M3FN" | "F8E5M2"] => {
            errors.at(
                path,
                "storage types are not computed with; take `T: Float`, which is f32 for 1- and 2-byte floats",
            );
            Type::Error
        }
        [name] => match DType::from_name(name) {
            Some(dtype) if dtype.is_scalar_type() => Type::Fixed(dtype),
            _ => unsupported(path, generic, errors),
        },
        _ => unsupported(path, generic, errors),
    }
}

fn unsupported(at: impl Spanned + quote::ToTokens, generic: Option<&Generic>, errors: &Errors) -> Type {
    let own = generic.map(|generic| generic.ident.to_string());
    let mut names: Vec<&str> = own.as_deref().into_iter().collect();
    for dtype in DType::all().filter(|dtype| dtype.is_scalar_type()) {
        names.push(dtype.name());
    }
    errors.at(at, format_args!("this type is not supported here; expected {}", choices(names)));
    Type::Error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_follow_the_hierarchy() {
        assert!(Trait::Float.implies(Trait::Element));
        assert!(Trait::Float.implies(Trait::Analytic));
        assert!(!Trait::Int.implies(Trait::Analytic));
        assert!(!Trait::Bits.implies(Trait::Number));
    }

    #[test]
    fn half_types_compute_only_as_bits_and_elements() {
        for (name, bound) in Trait::NAMES {
            let expected = matches!(bound, Trait::Element | Trait::Bits);
            assert_eq!(bound.has(DType::F16), expected, "{name}");
        }
    }

    #[test]
    fn real_is_the_parameter_itself_unless_it_may_be_complex() {
        let errors = Errors::default();
        let ty = syn::parse_quote!(T::Real);
        let generic = |bound| Generic { ident: syn::parse_quote!(T), bound, others: Vec::new() };
        assert_eq!(parse(&ty, Some(&generic(Trait::Float)), &errors), Type::Generic);
        assert_eq!(parse(&ty, Some(&generic(Trait::Number)), &errors), Type::Real);
    }
}
