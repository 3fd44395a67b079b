//! The Rust types of elements.

use super::{DType, F8E4M3FN, F8E5M2};
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;

/// Rust type of an element of a buffer.
///
/// Sealed: a new element type needs a dtype, prelude functions and conversions.
pub trait Element: Copy + PartialEq + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The tag of this type.
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($ty:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

element! {
    bool => Bool, u8 => U8, i8 => I8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    F8E4M3FN => F8E4M3FN, F8E5M2 => F8E5M2, f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
    Complex<f16> => C32, Complex<f32> => C64, Complex<f64> => C128,
}
