//! The elements of a buffer on the host, one by one, for comparison and for files.
//!
//! Reads the whole memory behind the buffer once; nothing is allocated for each element.

use gems_ops::buffer::{Buffer, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, F8E4M3FN, F8E5M2, Scalar};
use gems_ops::error::Result;
use gems_ops::layout::Layout;
use half::{bf16, f16};

/// An element without its dtype: every integer, float and complex number of any dtype is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// bool is 0 or 1.
    Int(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Value {
    /// A number as an element of `dtype`.
    pub(crate) fn of(number: Scalar, dtype: DType) -> Value {
        decode(&number.store(dtype)[..dtype.size()], dtype)
    }

    /// Whether both are the same bits, or both NaN.
    pub(crate) fn is_same(self, other: Value) -> bool {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Real(a), Value::Real(b)) => same(a, b),
            (Value::Complex(a, b), Value::Complex(c, d)) => same(a, c) && same(b, d),
            _ => false,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Complex(re, im) => {
                write!(f, "{re:?}{}{im:?}i", if im.is_sign_negative() { "" } else { "+" })
            }
        }
    }
}

/// The elements of a buffer in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    storage: Vec<u8>,
    dtype: DType,
    layout: Layout,
    /// Row-major without gaps, so that an index is an offset.
    contiguous: bool,
}

impl Elements {
    /// Copies the memory behind a buffer to the host; waits for its device.
    pub(crate) fn of(buffer: &StridedBuffer) -> Result<Elements> {
        let raw = Layout::contiguous(&[buffer.storage().bytes()])?;
        let raw = StridedBuffer::from_storage(buffer.storage().clone(), DType::U8, raw)?;
        let storage = raw.to_device(Device::Cpu)?.to_vec::<u8>()?;
        Ok(Elements::new(storage, buffer.dtype(), buffer.meta().layout.clone()))
    }

    /// The elements that a layout selects from these bytes, little endian.
    pub(crate) fn new(storage: Vec<u8>, dtype: DType, layout: Layout) -> Elements {
        let contiguous = layout.is_contiguous();
        Elements { storage, dtype, layout, contiguous }
    }

    pub(crate) fn count(&self) -> usize {
        self.layout.numel()
    }

    /// The bytes of the element with this row-major index; empty if there is none.
    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        let size = self.dtype.size();
        let start = usize::try_from(self.offset(index)).ok().and_then(|offset| offset.checked_mul(size));
        start.and_then(|start| self.storage.get(start..start.checked_add(size)?)).unwrap_or_default()
    }

    /// The element with this row-major index; NaN or 0 if there is none.
    pub(crate) fn value(&self, index: usize) -> Value {
        decode(self.bytes(index), self.dtype)
    }

    fn offset(&self, mut index: usize) -> isize {
        if self.contiguous {
            return self.layout.offset() + index.cast_signed();
        }
        let mut offset = self.layout.offset();
        for (&extent, &stride) in self.layout.shape().iter().zip(self.layout.strides()).rev() {
            let extent = extent.max(1);
            offset += (index % extent).cast_signed() * stride;
            index /= extent;
        }
        offset
    }
}

/// An element from its bytes, little endian.
fn decode(bytes: &[u8], dtype: DType) -> Value {
    let (low, high) = bytes.split_at(bytes.len() / 2);
    match dtype {
        DType::Bool => Value::Int((bits(bytes) != 0).into()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Value::Int(bits(bytes).into()),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            let unused = 64 - 8 * u32::try_from(dtype.size()).unwrap_or(8);
            Value::Int((bits(bytes).cast_signed() << unused >> unused).into())
        }
        DType::C32 | DType::C64 | DType::C128 => {
            Value::Complex(real(low, dtype.real()), real(high, dtype.real()))
        }
        _ => Value::Real(real(bytes, dtype)),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the dtype says how many bits there are")]
fn real(bytes: &[u8], dtype: DType) -> f64 {
    let bits = bits(bytes);
    match dtype {
        DType::F8E4M3FN => F8E4M3FN::from_bits(bits as u8).to_f32().into(),
        DType::F8E5M2 => F8E5M2::from_bits(bits as u8).to_f32().into(),
        DType::F16 => f16::from_bits(bits as u16).into(),
        DType::BF16 => bf16::from_bits(bits as u16).into(),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F64 => f64::from_bits(bits),
        _ => f64::NAN,
    }
}

/// Up to 8 bytes as a number.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_is_decoded() {
        for (dtype, bytes, value) in [
            (DType::Bool, &[2u8][..], Value::Int(1)),
            (DType::U8, &[255], Value::Int(255)),
            (DType::I8, &[0x80], Value::Int(-128)),
            (DType::I16, &[0xff, 0xff], Value::Int(-1)),
            (DType::U64, &[255; 8], Value::Int(u64::MAX.into())),
            (DType::I64, &[0, 0, 0, 0, 0, 0, 0, 0x80], Value::Int(i64::MIN.into())),
            (DType::F8E4M3FN, &[0x38], Value::Real(1.0)),
            (DType::F8E5M2, &[0x3c], Value::Real(1.0)),
            (DType::F16, &[0x00, 0x3e], Value::Real(1.5)),
            (DType::BF16, &[0x80, 0xbf], Value::Real(-1.0)),
            (DType::F32, &[0, 0, 0x80, 0x7f], Value::Real(f64::INFINITY)),
            (DType::F64, &[0, 0, 0, 0, 0, 0, 0, 0x40], Value::Real(2.0)),
            (DType::C64, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], Value::Complex(1.0, -2.0)),
        ] {
            assert_eq!(decode(bytes, dtype), value, "{dtype}");
        }
    }

    #[test]
    fn elements_of_a_view_come_in_row_major_order() {
        let x = StridedBuffer::from_vec(vec![0i32, 1, 2, 3, 4, 5], &[6]).unwrap();
        let elements = Elements::of(&x.as_strided(&[3, 2], &[-1, 3], 2).unwrap()).unwrap();
        let values: Vec<_> = (0..elements.count()).map(|i| elements.value(i)).collect();
        assert_eq!(values, [2, 5, 1, 4, 0, 3].map(Value::Int));
    }

    #[test]
    fn complex_numbers_show_one_sign() {
        assert_eq!(Value::Complex(1.0, -0.0).to_string(), "1.0-0.0i");
        assert_eq!(Value::Complex(1.0, f64::NAN).to_string(), "1.0+NaNi");
    }
}
