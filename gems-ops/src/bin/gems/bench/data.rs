//! Operands of a case on a device: memory for written operands, and random values.

use crate::failure::Outcome;
use crate::notation::{self, Written};
use gems_ops::buffer::{Meta, StridedBuffer, Views};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::layout::Layout;
use gems_ops::op::Operand;

/// Random elements that are made on the host; the rest of a buffer repeats them. Larger than any cache of a GPU, with
/// the buffers that repeat it.
const BLOCK: usize = 1 << 22;

/// An operand with memory, or a number.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Buffer(StridedBuffer),
    Number(Scalar),
}

impl Argument {
    pub(crate) fn operand(&self) -> Operand<'_, StridedBuffer> {
        match self {
            Argument::Buffer(buffer) => Operand::Buffer(buffer),
            Argument::Number(number) => Operand::Scalar(*number),
        }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn buffer(&self) -> Option<&StridedBuffer> {
        match self {
            Argument::Buffer(buffer) => Some(buffer),
            Argument::Number(_) => None,
        }
    }
}

/// An operand from its notation, with random values.
pub(crate) fn argument(text: &str, device: Device, seed: u64) -> Outcome<Argument> {
    match notation::parse(text)? {
        Written::Number(number) => Ok(Argument::Number(number)),
        Written::Buffer(symbolic) => random(&symbolic, device, seed).map(Argument::Buffer),
    }
}

/// A buffer of this description with values from −2 to 2: of all integers from −100 to 100.
fn random(meta: &Meta, device: Device, seed: u64) -> Outcome<StridedBuffer> {
    let elements = meta.layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
    let whole = repeated(meta.dtype, elements, device, seed)?;
    Ok(whole.as_strided(meta.layout.shape(), meta.layout.strides(), meta.layout.offset())?)
}

fn repeated(dtype: DType, elements: usize, device: Device, seed: u64) -> Outcome<StridedBuffer> {
    let block = values(dtype, elements.min(BLOCK), seed)?.to_device(device)?;
    if elements <= BLOCK {
        return Ok(block);
    }
    let whole = StridedBuffer::zeros(dtype, &[elements], device)?;
    let mut done = 0;
    let mut from = block;
    while done < elements {
        // What is there already is copied behind itself, so the number of copies is small.
        let n = from.numel().min(elements - done);
        let mut part = whole.narrow(0, done.cast_signed(), n)?;
        gems_ops::copy::out(&from.narrow(0, 0, n)?, &mut part)?;
        done += n;
        from = whole.narrow(0, 0, done)?;
    }
    Ok(whole)
}

/// Random values on the host.
#[expect(clippy::cast_precision_loss, reason = "random values")]
fn values(dtype: DType, n: usize, seed: u64) -> Outcome<StridedBuffer> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    if dtype == DType::Bool {
        let values: Vec<bool> = (0..n).map(|_| next() & 1 == 1).collect();
        return Ok(StridedBuffer::from_slice(&values, &[n])?);
    }
    let scale = if dtype.is_int() { 100.0 } else { 2.0 };
    let unit = |bits: u64| (bits >> 40) as f32 / (1_u64 << 24) as f32;
    let values: Vec<f32> = (0..n).map(|_| (unit(next()) * 2.0 - 1.0) * scale).collect();
    Ok(gems_ops::cast(&StridedBuffer::from_slice(&values, &[n])?, dtype)?)
}

/// A buffer of this description whose bytes are a pattern that no result has.
pub(crate) fn poisoned(meta: &Meta, device: Device) -> Outcome<StridedBuffer> {
    let elements = meta.layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
    let bytes = elements * meta.dtype.size();
    let raw = StridedBuffer::full(DType::U8, &[bytes.min(1 << 20)], 0xa5_i64, device)?;
    let whole = StridedBuffer::zeros(DType::U8, &[bytes], device)?;
    let mut done = 0;
    while done < bytes {
        let n = raw.numel().min(bytes - done);
        let mut part = whole.narrow(0, done.cast_signed(), n)?;
        gems_ops::copy::out(&raw.narrow(0, 0, n)?, &mut part)?;
        done += n;
    }
    Ok(StridedBuffer::from_storage(whole.storage().clone(), meta.dtype, meta.layout.clone())?)
}

/// Contiguous elements of a shape, on the device.
pub(crate) fn contiguous(dtype: DType, shape: &[usize], device: Device) -> Outcome<Meta> {
    Ok(Meta { dtype, device, layout: Layout::contiguous(shape)? })
}
