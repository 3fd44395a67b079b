//! The dtypes as the macro sees them: names in options, Rust and C++ spelling, where arithmetic happens.
//!
//! Mirrors the runtime's dtype table; the runtime's own table is the authority for everything else.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// A dtype tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DType {
    Bool,
    U8,
    I8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F8E4M3FN,
    F8E5M2,
    F16,
    BF16,
    F32,
    F64,
    C32,
    C64,
    C128,
}

/// Category of a dtype, and the name of a whole group in the option `dtypes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Category {
    Bool,
    Int,
    Float,
    Complex,
}

use DType::*;

/// One row a dtype: tag, variant of the runtime's enum, name, category, dtype of arithmetic.
const TABLE: [(DType, &str, &str, Category, DType); 18] = [
    (Bool, "Bool", "bool", Category::Bool, Bool),
    (U8, "U8", "u8", Category::Int, U8),
    (I8, "I8", "i8", Category::Int, I8),
    (I16, "I16", "i16", Category::Int, I16),
    (U16, "U16", "u16", Category::Int, U16),
    (I32, "I32", "i32", Category::Int, I32),
    (U32, "U32", "u32", Category::Int, U32),
    (I64, "I64", "i64", Category::Int, I64),
    (U64, "U64", "u64", Category::Int, U64),
    (F8E4M3FN, "F8E4M3FN", "f8e4m3fn", Category::Float, F32),
    (F8E5M2, "F8E5M2", "f8e5m2", Category::Float, F32),
    (F16, "F16", "f16", Category::Float, F32),
    (BF16, "BF16", "bf16", Category::Float, F32),
    (F32, "F32", "f32", Category::Float, F32),
    (F64, "F64", "f64", Category::Float, F64),
    (C32, "C32", "c32", Category::Complex, C64),
    (C64, "C64", "c64", Category::Complex, C64),
    (C128, "C128", "c128", Category::Complex, C128),
];

/// Floats, each with the complex dtype whose parts it is.
const COMPLEX: [(DType, DType); 3] = [(F16, C32), (F32, C64), (F64, C128)];

impl DType {
    /// All dtypes, in table order.
    pub(crate) fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (DType, &'static str, &'static str, Category, DType) {
        &TABLE[self as usize]
    }

    /// The name in options, text and C++.
    pub(crate) fn name(self) -> &'static str {
        self.row().2
    }

    pub(crate) fn category(self) -> Category {
        self.row().3
    }

    /// The dtype in which arithmetic on this one is done.
    pub(crate) fn op_math(self) -> DType {
        self.row().4
    }

    /// The complex dtype with parts of this one.
    pub(crate) fn complex(self) -> Option<DType> {
        COMPLEX.iter().find(|row| row.0 == self).map(|row| row.1)
    }

    /// The dtype of the parts of a complex one; any other itself.
    pub(crate) fn real(self) -> DType {
        COMPLEX.iter().find(|row| row.1 == self).map_or(self, |row| row.0)
    }

    pub(crate) fn from_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// Whether a scalar function may name this type: bool, the integers, f32 and f64.
    pub(crate) fn is_scalar_type(self) -> bool {
        matches!(self, F32 | F64) || matches!(self.category(), Category::Bool | Category::Int)
    }

    pub(crate) fn is_int(self) -> bool {
        self.category() == Category::Int
    }

    pub(crate) fn is_float(self) -> bool {
        self.category() == Category::Float
    }

    /// Of an integer, whether it has a sign, and its bits.
    pub(crate) fn integer(self) -> Option<(bool, u32)> {
        let name = self.name();
        self.is_int().then(|| Some((name.starts_with('i'), name[1..].parse().ok()?))).flatten()
    }

    /// The variant of the runtime's enum: `F32`.
    pub(crate) fn variant(self) -> Ident {
        Ident::new(self.row().1, Span::call_site())
    }

    /// The Rust type of an element; `private` is the path of the runtime's `__private`.
    pub(crate) fn rust_type(self, private: &TokenStream) -> TokenStream {
        let part = match self {
            F16 | BF16 => {
                let name = Ident::new(self.name(), Span::call_site());
                return quote!(#private::#name);
            }
            F8E4M3FN | F8E5M2 => {
                let name = self.variant();
                return quote!(#private::#name);
            }
            C32 => F16,
            C64 => F32,
            C128 => F64,
            _ => {
                let name = Ident::new(self.name(), Span::call_site());
                return quote!(::core::primitive::#name);
            }
        };
        let part = part.rust_type(private);
        quote!(#private::Complex<#part>)
    }
}

impl Category {
    /// All groups with their names in options.
    pub(crate) const NAMES: [(&'static str, Category); 4] = [
        ("bool", Category::Bool),
        ("int", Category::Int),
        ("float", Category::Float),
        ("complex", Category::Complex),
    ];

    pub(crate) fn from_name(name: &str) -> Option<Category> {
        Category::NAMES.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

/// A set of dtypes in table order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DTypeSet(Vec<DType>);

impl DTypeSet {
    pub(crate) fn all() -> DTypeSet {
        DType::all().collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = DType> + '_ {
        self.0.iter().copied()
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, dtype: DType) -> bool {
        self.0.contains(&dtype)
    }

    /// A constant expression of the runtime's `DTypeSet`.
    pub(crate) fn tokens(&self, private: &TokenStream) -> TokenStream {
        if self.0.len() == TABLE.len() {
            return quote!(#private::DTypeSet::ALL);
        }
        let variants = self.iter().map(DType::variant);
        quote!(#private::DTypeSet::EMPTY #(.with(#private::DType::#variants))*)
    }
}

impl FromIterator<DType> for DTypeSet {
    fn from_iter<I: IntoIterator<Item = DType>>(dtypes: I) -> DTypeSet {
        let mut list: Vec<DType> = dtypes.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        DTypeSet(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_of_the_tags() {
        for (i, dtype) in DType::all().enumerate() {
            assert_eq!(dtype as usize, i);
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
    }

    #[test]
    fn types_are_spelled_with_absolute_paths() {
        let private = quote!(::gems::__private);
        assert_eq!(F32.rust_type(&private).to_string(), quote!(::core::primitive::f32).to_string());
        assert_eq!(
            C32.rust_type(&private).to_string(),
            quote!(::gems::__private::Complex<::gems::__private::f16>).to_string()
        );
    }
}
