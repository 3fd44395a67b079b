//! A number as an operand: exact, untyped until it meets a computation dtype.

use super::{Category, DType};
use num_complex::Complex;
use std::fmt;

/// A host number given where an op takes an operand or a parameter.
///
/// Integers stay integers (i64 beyond 2^53 and all of u64 are exact), so nothing is lost before the computation dtype is known.
#[derive(Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// Any integer that fits i64.
    I64(i64),
    /// An integer above `i64::MAX`.
    U64(u64),
    /// A float.
    F64(f64),
    /// A complex number.
    C128(Complex<f64>),
}

impl Scalar {
    /// Bool, int, float or complex: what the number brings to promotion.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::I64(_) | Scalar::U64(_) => Category::Int,
            Scalar::F64(_) => Category::Float,
            Scalar::C128(_) => Category::Complex,
        }
    }

    /// The dtype that the number brings to promotion: bool, i64, f32 or c64.
    #[must_use]
    pub const fn default_dtype(self) -> DType {
        match self.category() {
            Category::Bool => DType::Bool,
            Category::Int => DType::I64,
            Category::Float => DType::F32,
            Category::Complex => DType::C64,
        }
    }

    /// −1 if the number lies below every value of the integer dtype, 1 if above, else 0.
    #[must_use]
    pub fn side_of(self, dtype: DType) -> i8 {
        let value: i128 = match self {
            Scalar::Bool(v) => v.into(),
            Scalar::I64(v) => v.into(),
            Scalar::U64(v) => v.into(),
            Scalar::F64(_) | Scalar::C128(_) => return 0,
        };
        let (low, high) = int_range(dtype);
        i8::from(value > high) - i8::from(value < low)
    }

    /// The lowest (`side` < 0) or highest finite value of a dtype, of a complex one's parts.
    #[must_use]
    pub fn limit(dtype: DType, side: i8) -> Scalar {
        let highest = match dtype.real() {
            DType::F8E4M3FN => 448.0,
            DType::F8E5M2 => 57344.0,
            DType::F16 => half::f16::MAX.to_f64(),
            DType::BF16 => half::bf16::MAX.to_f64(),
            DType::F32 => f32::MAX.into(),
            DType::F64 => f64::MAX,
            _ => return Scalar::int_limit(dtype, side),
        };
        Scalar::F64(if side < 0 { -highest } else { highest })
    }

    fn int_limit(dtype: DType, side: i8) -> Scalar {
        let (low, high) = int_range(dtype);
        let value = if side < 0 { low } else { high };
        u64::try_from(value)
            .map_or_else(|_| Scalar::I64(i64::try_from(value).unwrap_or(i64::MIN)), Scalar::from)
    }

    /// The value as f64; the real part of a complex number. Integers beyond 2^53 are rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the rounding is documented")]
    pub const fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::I64(v) => v as f64,
            Scalar::U64(v) => v as f64,
            Scalar::F64(v) => v,
            Scalar::C128(v) => v.re,
        }
    }
}

/// Lowest and highest value of an integer dtype.
fn int_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.size() * 8;
    if dtype.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

macro_rules! from_number {
    ($($ty:ty => $variant:ident as $wide:ty),* $(,)?) => {$(
        impl From<$ty> for Scalar {
            fn from(value: $ty) -> Scalar {
                Scalar::$variant(<$wide>::from(value))
            }
        }
    )*};
}

from_number! {
    bool => Bool as bool, u8 => I64 as i64, i8 => I64 as i64, u16 => I64 as i64, i16 => I64 as i64,
    u32 => I64 as i64, i32 => I64 as i64, i64 => I64 as i64, f32 => F64 as f64, f64 => F64 as f64,
    half::f16 => F64 as f64, half::bf16 => F64 as f64, Complex<f64> => C128 as Complex<f64>,
}

impl From<u64> for Scalar {
    fn from(value: u64) -> Scalar {
        i64::try_from(value).map_or(Scalar::U64(value), Scalar::I64)
    }
}

impl From<usize> for Scalar {
    fn from(value: usize) -> Scalar {
        Scalar::from(value as u64)
    }
}

impl From<isize> for Scalar {
    fn from(value: isize) -> Scalar {
        Scalar::I64(value as i64)
    }
}

impl From<Complex<f32>> for Scalar {
    fn from(value: Complex<f32>) -> Scalar {
        Scalar::C128(Complex::new(value.re.into(), value.im.into()))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => write!(f, "{v}"),
            Scalar::I64(v) => write!(f, "{v}"),
            Scalar::U64(v) => write!(f, "{v}"),
            Scalar::F64(v) => write!(f, "{v:?}"),
            Scalar::C128(v) => write!(f, "{v}"),
        }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_stored_exactly_and_their_doubles_are_not_finite() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            let highest = Scalar::limit(dtype, 1);
            let stored = |value: f64| {
                let bytes = super::super::convert_value(dtype, Scalar::F64(value).store(dtype), DType::F64);
                f64::from_le_bytes(bytes[..8].try_into().unwrap())
            };
            assert_eq!(Scalar::F64(stored(highest.to_f64())), highest, "{dtype}");
            // The one dtype without infinity saturates.
            let beyond = if dtype == DType::F8E4M3FN { 448.0 } else { f64::INFINITY };
            assert_eq!(stored(highest.to_f64() * 2.0), beyond, "{dtype}");
            assert_eq!(Scalar::limit(dtype, -1).to_f64(), -highest.to_f64());
        }
        assert_eq!(Scalar::limit(DType::U64, 1), Scalar::U64(u64::MAX));
        assert_eq!(Scalar::limit(DType::I8, -1), Scalar::I64(-128));
    }
}
