//! Memory in and out: allocation, host reads and writes, copies between devices.
#![expect(unsafe_code, reason = "copies raw memory under its lock")]

use crate::buffer::{self, Buffer, HostMemory, Meta, Storage, StridedBuffer};
use crate::device::Device;
use crate::dtype::{self, Element};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::ValueBytes;
use crate::layout::{self, Layout};
use crate::op::builtin::gradient_copy;
use std::sync::PoisonError;

/// Memory of unspecified content on a device.
pub(crate) fn allocate(device: Device, bytes: usize) -> Result<Storage> {
    match device {
        Device::Cpu => Storage::host_any(bytes),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => super::cuda::allocate(ordinal, bytes),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(super::no_cuda()),
    }
}

/// Gives back the memory that is kept for later results: on the CPU up to 512 MiB to the system, on a CUDA device all that
/// no buffer holds to the driver, after waiting for the streams that used it. Returns the bytes given back.
///
/// # Errors
/// No such device, or work that failed on it.
///
/// ```
/// use gems_runtime::{buffer::StridedBuffer, device::Device, dtype::DType, error::Error, trim};
///
/// drop(StridedBuffer::zeros(DType::F32, &[1 << 20], Device::Cpu)?);
/// println!("{} bytes given back", trim(Device::Cpu)?);
/// # Ok::<(), Error>(())
/// ```
pub fn trim(device: Device) -> Result<usize> {
    match device {
        Device::Cpu => Ok(buffer::trim_host()),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => crate::device::cuda::Context::get(ordinal)?.trim(),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(super::no_cuda()),
    }
}

/// Overwrites memory with zeros.
pub(crate) fn zero(storage: &Storage) -> Result<()> {
    match storage.device() {
        Device::Cpu => write_bytes(storage, 0, &zeros(storage.bytes())?),
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => super::cuda::zero(storage),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(super::no_cuda()),
    }
}

/// So many zeros to copy from or into.
fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros
        .try_reserve_exact(bytes)
        .map_err(|_| Error::new(ErrorKind::Memory, format!("cannot allocate {bytes} bytes on the host")))?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// The elements in row-major order.
pub(crate) fn read<T: Element>(buffer: &StridedBuffer) -> Result<Vec<T>> {
    let buffer = host_view(buffer)?;
    let n = buffer.numel();
    let mut elements: Vec<T> = Vec::new();
    elements.try_reserve_exact(n).map_err(|_| {
        Error::new(ErrorKind::Memory, format!("cannot allocate {n} elements of {}", T::DTYPE))
    })?;
    let Some(memory) = buffer.storage().as_host() else { return Ok(elements) };
    let _shared = memory.lock.read().unwrap_or_else(PoisonError::into_inner);
    let gather = dtype::gather(T::DTYPE, T::DTYPE);
    let target = elements.as_mut_ptr().cast::<u8>();
    for_each_run(&buffer, memory, |pointer, stride, done, n| {
        // SAFETY: the run lies in the buffer's memory, which is locked; the vector has room for all elements.
        unsafe { gather(pointer, stride, target.add(done * size_of::<T>()), n) };
    });
    // SAFETY: the runs cover every index once, so n elements are initialized.
    unsafe { elements.set_len(n) };
    Ok(elements)
}

/// Overwrites the elements, in row-major order; the caller has checked dtype and count.
pub(crate) fn write<T: Element>(buffer: &StridedBuffer, elements: &[T]) -> Result<()> {
    if layout::has_internal_overlap(&buffer.meta().layout) {
        let message =
            format!("elements of {} share memory; write to a buffer without overlap", buffer.meta());
        return Err(Error::new(ErrorKind::Overlap, message));
    }
    if buffer.device() != Device::Cpu && has_gaps(buffer) {
        // What lies between the elements may be written by others meanwhile, so only the device may place them.
        let staged = to_device(&StridedBuffer::from_slice(elements, buffer.shape())?, buffer.device())?;
        return StridedBuffer::call_out(gradient_copy::DEF, &[(&staged).into()], &mut [&mut buffer.clone()]);
    }
    let host = host_view(buffer)?;
    if let Some(memory) = host.storage().as_host() {
        let _exclusive = memory.lock.write().unwrap_or_else(PoisonError::into_inner);
        let scatter = dtype::scatter(T::DTYPE, T::DTYPE);
        let source = elements.as_ptr().cast::<u8>();
        for_each_run(&host, memory, |pointer, stride, done, n| {
            // SAFETY: the run lies in the buffer's memory, which is locked; there is an element for each index.
            unsafe { scatter(source.add(done * size_of::<T>()), pointer, stride, n) };
        });
    }
    if buffer.device() == Device::Cpu { Ok(()) } else { upload(&host, buffer) }
}

/// The only element of a host buffer, as bytes.
pub(super) fn read_element(buffer: &StridedBuffer) -> Result<ValueBytes> {
    let mut value = [0; 16];
    let host = host_view(buffer)?;
    if let Some(memory) = host.storage().as_host() {
        let _shared = memory.lock.read().unwrap_or_else(PoisonError::into_inner);
        let gather = dtype::gather(host.dtype(), host.dtype());
        for_each_run(&host, memory, |pointer, stride, _, n| {
            // SAFETY: the run is the one element of a 0-d buffer, in locked memory; 16 bytes hold any element.
            unsafe { gather(pointer, stride, value.as_mut_ptr(), n.min(1)) };
        });
    }
    Ok(value)
}

/// A copy of the memory that a view spans, under the same strides.
pub(crate) fn copy_span(buffer: &StridedBuffer) -> Result<StridedBuffer> {
    let Some((low, _)) = buffer.meta().layout.span() else { return Ok(buffer.clone()) };
    let bytes = span_bytes(buffer);
    let storage = allocate(buffer.device(), bytes.len())?;
    match buffer.device() {
        Device::Cpu => {
            let mut copy = zeros(bytes.len())?;
            read_bytes(buffer.storage(), bytes.start, &mut copy);
            write_bytes(&storage, 0, &copy)?;
        }
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => super::cuda::copy(buffer.storage(), bytes, &storage)?,
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => return Err(super::no_cuda()),
    }
    StridedBuffer::from_storage(storage, buffer.dtype(), shifted(buffer, low)?)
}

/// The layout of a view relative to another first element.
fn shifted(buffer: &StridedBuffer, by: isize) -> Result<Layout> {
    let layout = &buffer.meta().layout;
    Layout::new(layout.shape(), layout.strides(), layout.offset() - by)
}

/// The same elements on another device, contiguous there.
pub(crate) fn to_device(buffer: &StridedBuffer, device: Device) -> Result<StridedBuffer> {
    let host = host_view(buffer)?;
    if device == Device::Cpu && host.meta().layout.is_contiguous() {
        return Ok(host);
    }
    let layout = Layout::contiguous(buffer.shape())?;
    let target = StridedBuffer::allocate(&Meta { dtype: buffer.dtype(), device, layout })?;
    let mut bytes = zeros(target.storage().bytes())?;
    if let Some(memory) = host.storage().as_host() {
        let _shared = memory.lock.read().unwrap_or_else(PoisonError::into_inner);
        let (gather, size) = (dtype::gather(host.dtype(), host.dtype()), host.dtype().size());
        for_each_run(&host, memory, |pointer, stride, done, n| {
            // SAFETY: the run lies in locked memory; the vector has room for all elements.
            unsafe { gather(pointer, stride, bytes.as_mut_ptr().add(done * size), n) };
        });
    }
    write_bytes(target.storage(), 0, &bytes)?;
    Ok(target)
}

/// Copies bytes into memory, from byte `at` on.
pub(crate) fn write_bytes(storage: &Storage, at: usize, bytes: &[u8]) -> Result<()> {
    debug_assert!(at + bytes.len() <= storage.bytes());
    match storage.as_host() {
        Some(memory) => {
            let _exclusive = memory.lock.write().unwrap_or_else(PoisonError::into_inner);
            let n = bytes.len().min(memory_left(storage, at));
            // SAFETY: the block is locked and has n bytes from `at` on; `bytes` is other memory.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.pointer().wrapping_add(at), n) };
            Ok(())
        }
        #[cfg(feature = "cuda")]
        None => super::cuda::upload(storage, at, bytes),
        #[cfg(not(feature = "cuda"))]
        None => Err(super::no_cuda()),
    }
}

fn read_bytes(storage: &Storage, at: usize, bytes: &mut [u8]) {
    if let Some(memory) = storage.as_host() {
        let _shared = memory.lock.read().unwrap_or_else(PoisonError::into_inner);
        let n = bytes.len().min(memory_left(storage, at));
        // SAFETY: the block is locked and has n bytes from `at` on; `bytes` is other memory.
        unsafe { std::ptr::copy_nonoverlapping(memory.pointer().wrapping_add(at), bytes.as_mut_ptr(), n) };
    }
}

fn memory_left(storage: &Storage, at: usize) -> usize {
    storage.bytes().saturating_sub(at)
}

/// Whether a view without overlap spans elements that are not its own.
fn has_gaps(buffer: &StridedBuffer) -> bool {
    let span = buffer.meta().layout.span();
    span.is_some_and(|(low, high)| high.abs_diff(low) + 1 != buffer.numel())
}

/// The bytes of the storage that a view spans.
fn span_bytes(buffer: &StridedBuffer) -> std::ops::Range<usize> {
    let size = buffer.dtype().size();
    buffer
        .meta()
        .layout
        .span()
        .map_or(0..0, |(low, high)| low.unsigned_abs() * size..(high.unsigned_abs() + 1) * size)
}

/// The buffer itself if it is on the host, else a host copy of the memory it spans.
fn host_view(buffer: &StridedBuffer) -> Result<StridedBuffer> {
    match buffer.device() {
        Device::Cpu => Ok(buffer.clone()),
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => {
            let Some((low, _)) = buffer.meta().layout.span() else {
                return StridedBuffer::from_storage(
                    Storage::host_zeroed(0)?,
                    buffer.dtype(),
                    shifted(buffer, 0)?,
                );
            };
            let range = span_bytes(buffer);
            let mut bytes = zeros(range.len())?;
            super::cuda::download(buffer.storage(), range.start, &mut bytes)?;
            let storage = Storage::host_zeroed(bytes.len())?;
            write_bytes(&storage, 0, &bytes)?;
            StridedBuffer::from_storage(storage, buffer.dtype(), shifted(buffer, low)?)
        }
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(super::no_cuda()),
    }
}

/// Copies back what `host_view` brought.
fn upload(host: &StridedBuffer, buffer: &StridedBuffer) -> Result<()> {
    let range = span_bytes(buffer);
    let mut bytes = zeros(range.len())?;
    read_bytes(host.storage(), 0, &mut bytes);
    write_bytes(buffer.storage(), range.start, &bytes)
}

/// Calls `visit(pointer, stride in bytes, elements before, elements)` for each innermost run, in row-major order.
fn for_each_run(
    buffer: &StridedBuffer,
    memory: &HostMemory,
    mut visit: impl FnMut(*mut u8, isize, usize, usize),
) {
    let layout = &buffer.meta().layout;
    let size = buffer.dtype().size().cast_signed();
    if layout.numel() == 0 {
        return;
    }
    let base = memory.pointer().wrapping_offset(buffer.meta().offset_bytes());
    let (outer, inner, stride) = match (layout.shape().split_last(), layout.strides().split_last()) {
        (Some((&inner, outer)), Some((&stride, _))) => (outer, inner, stride.wrapping_mul(size)),
        _ => (&[] as &[usize], 1, size),
    };
    let runs: usize = outer.iter().product();
    for run in 0..runs {
        let mut rest = run;
        let mut offset = 0;
        for (axis, &extent) in outer.iter().enumerate().rev() {
            offset += (rest % extent).cast_signed() * layout.strides()[axis];
            rest /= extent;
        }
        visit(base.wrapping_offset(offset * size), stride, run * inner, inner);
    }
}
