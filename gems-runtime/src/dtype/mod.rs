//! Element types: their tags, the table of their properties, sets of them.
//!
//! Everything that differs between dtypes and is not arithmetic stands in one row of `DType::row`.
//! Knows no buffer, no device and no kernel.

mod cast;
mod element;
mod float8;
mod promote;
mod scalar;
mod set;

pub use cast::{Convert, Gather, Scatter, can_cast, convert_value, converter, gather, scatter};
pub use element::Element;
pub use float8::{F8E4M3FN, F8E5M2};
pub use promote::{Kind, Promotion, Tier, Tiered, compute_dtype, join, promotion, result_dtype, result_type};
pub use scalar::Scalar;
pub use set::DTypeSet;

use std::fmt;

/// Tag of an element type.
///
/// The order is the order of the table in the documentation; it has no other meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum DType {
    /// One byte, false if zero.
    Bool,
    /// Unsigned 8 bits.
    U8,
    /// Signed 8 bits.
    I8,
    /// Signed 16 bits.
    I16,
    /// Unsigned 16 bits.
    U16,
    /// Signed 32 bits.
    I32,
    /// Unsigned 32 bits.
    U32,
    /// Signed 64 bits.
    I64,
    /// Unsigned 64 bits.
    U64,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinity (OCP E4M3).
    F8E4M3FN,
    /// 8-bit float, 5 exponent and 2 mantissa bits (OCP E5M2).
    F8E5M2,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Pair of f16: real part, imaginary part.
    C32,
    /// Pair of f32.
    C64,
    /// Pair of f64.
    C128,
}

/// Category of a dtype, ordered as `out=` casts allow: bool < int < float < complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// bool.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// Real floats.
    Float,
    /// Complex numbers.
    Complex,
}

/// One row of the dtype table.
struct Row {
    name: &'static str,
    size: usize,
    category: Category,
    signed: bool,
    /// Spelling of the storage type in generated code.
    cuda: &'static str,
    /// The dtype in which arithmetic on this dtype is done.
    op_math: DType,
}

impl DType {
    /// All dtypes, in table order.
    pub const ALL: [DType; 18] = {
        use DType::*;
        [Bool, U8, I8, I16, U16, I32, U32, I64, U64, F8E4M3FN, F8E5M2, F16, BF16, F32, F64, C32, C64, C128]
    };

    const fn row(self) -> Row {
        use Category::{Complex, Float, Int};
        use DType::*;
        const fn row(
            name: &'static str,
            size: usize,
            category: Category,
            signed: bool,
            cuda: &'static str,
            op_math: DType,
        ) -> Row {
            Row { name, size, category, signed, cuda, op_math }
        }
        match self {
            Bool => row("bool", 1, Category::Bool, false, "bool", Bool),
            U8 => row("u8", 1, Int, false, "u8", U8),
            I8 => row("i8", 1, Int, true, "i8", I8),
            I16 => row("i16", 2, Int, true, "i16", I16),
            U16 => row("u16", 2, Int, false, "u16", U16),
            I32 => row("i32", 4, Int, true, "i32", I32),
            U32 => row("u32", 4, Int, false, "u32", U32),
            I64 => row("i64", 8, Int, true, "i64", I64),
            U64 => row("u64", 8, Int, false, "u64", U64),
            F8E4M3FN => row("f8e4m3fn", 1, Float, true, "f8e4m3fn", F32),
            F8E5M2 => row("f8e5m2", 1, Float, true, "f8e5m2", F32),
            F16 => row("f16", 2, Float, true, "f16", F32),
            BF16 => row("bf16", 2, Float, true, "bf16", F32),
            F32 => row("f32", 4, Float, true, "f32", F32),
            F64 => row("f64", 8, Float, true, "f64", F64),
            C32 => row("c32", 4, Complex, true, "c32", C64),
            C64 => row("c64", 8, Complex, true, "c64", C64),
            C128 => row("c128", 16, Complex, true, "c128", C128),
        }
    }

    /// The name used in text, file names and kernel names, such as `bf16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        self.row().size
    }

    /// Whether values are bool, integer, float or complex.
    #[must_use]
    pub const fn category(self) -> Category {
        self.row().category
    }

    /// Whether negative values exist.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        self.row().signed
    }

    /// Real float, of any width.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.category(), Category::Float)
    }

    /// Signed or unsigned integer; bool is none.
    #[must_use]
    pub const fn is_int(self) -> bool {
        matches!(self.category(), Category::Int)
    }

    /// Complex, of any width.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self.category(), Category::Complex)
    }

    /// Spelling of the type in generated CUDA C++.
    #[must_use]
    pub const fn cuda_name(self) -> &'static str {
        self.row().cuda
    }

    /// The dtype in which arithmetic on this dtype is done: f32 for the 1- and 2-byte floats, c64 for c32, itself otherwise.
    #[must_use]
    pub const fn op_math(self) -> DType {
        self.row().op_math
    }

    /// The dtype of the parts of a complex dtype; itself otherwise.
    #[must_use]
    pub const fn real(self) -> DType {
        match self {
            DType::C32 => DType::F16,
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex dtype whose parts can hold this float: f16 → c32, f64 → c128, every other → c64.
    #[must_use]
    pub const fn complex(self) -> DType {
        match self {
            DType::F16 | DType::C32 => DType::C32,
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// The dtype of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
