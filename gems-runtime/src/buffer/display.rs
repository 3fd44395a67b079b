//! Values of a buffer as text.

use crate::buffer::{StridedBuffer, Views};
use crate::dtype::{DType, Element, F8E4M3FN, F8E5M2};
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt;

/// Axes longer than this show their first and last `EDGE` entries.
const LONGEST: usize = 10;
const EDGE: usize = 3;

/// Writes `[[1.0, 2.0], [3.0, 4.0]]`; long axes are shortened with `…`.
pub(super) fn values(buffer: &StridedBuffer, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *buffer.shape() {
        [] => f.write_str(&element(buffer).unwrap_or_else(|error| format!("<{error}>"))),
        [extent, ..] => {
            let edges = if extent > LONGEST { [0..EDGE, extent - EDGE..extent] } else { [0..extent, 0..0] };
            f.write_str("[")?;
            for i in edges.into_iter().flatten() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                if extent > LONGEST && i == extent - EDGE {
                    f.write_str("…, ")?;
                }
                let entry = buffer.select(0, i.cast_signed()).map_err(|_| fmt::Error)?;
                values(&entry, f)?;
            }
            f.write_str("]")
        }
    }
}

/// The only element as text.
fn element(buffer: &StridedBuffer) -> crate::error::Result<String> {
    fn text<T: Element>(buffer: &StridedBuffer) -> crate::error::Result<String> {
        buffer.item::<T>().map(|value| format!("{value:?}"))
    }
    match buffer.dtype() {
        DType::Bool => text::<bool>(buffer),
        DType::U8 => text::<u8>(buffer),
        DType::I8 => text::<i8>(buffer),
        DType::I16 => text::<i16>(buffer),
        DType::U16 => text::<u16>(buffer),
        DType::I32 => text::<i32>(buffer),
        DType::U32 => text::<u32>(buffer),
        DType::I64 => text::<i64>(buffer),
        DType::U64 => text::<u64>(buffer),
        DType::F8E4M3FN => text::<F8E4M3FN>(buffer),
        DType::F8E5M2 => text::<F8E5M2>(buffer),
        DType::F16 => text::<f16>(buffer),
        DType::BF16 => text::<bf16>(buffer),
        DType::F32 => text::<f32>(buffer),
        DType::F64 => text::<f64>(buffer),
        DType::C32 => text::<Complex<f16>>(buffer),
        DType::C64 => text::<Complex<f32>>(buffer),
        DType::C128 => text::<Complex<f64>>(buffer),
    }
}
