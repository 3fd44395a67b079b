//! What a caller passes for one argument: a buffer or a number.

use crate::buffer::Buffer;
use crate::dtype::Scalar;

/// A buffer or a number.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a, B> {
    /// A view of memory, or its symbolic form.
    Buffer(&'a B),
    /// A host number; for promotion it is a wrapped number.
    Scalar(Scalar),
}

impl<'a, B: Buffer> From<&'a B> for Operand<'a, B> {
    fn from(buffer: &'a B) -> Self {
        Operand::Buffer(buffer)
    }
}

impl<B> From<Scalar> for Operand<'_, B> {
    fn from(value: Scalar) -> Self {
        Operand::Scalar(value)
    }
}

macro_rules! from_number {
    ($($ty:ty),* $(,)?) => {$(
        impl<B> From<$ty> for Operand<'_, B> {
            fn from(value: $ty) -> Self {
                Operand::Scalar(Scalar::from(value))
            }
        }
    )*};
}

from_number! {
    bool, u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, half::f16, half::bf16,
    num_complex::Complex<f32>, num_complex::Complex<f64>,
}
