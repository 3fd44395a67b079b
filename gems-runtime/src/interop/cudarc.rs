//! Contexts, streams and memory of cudarc, borrowed.
//!
//! Guarantees: what is borrowed stays alive as long as our handle; nothing is copied, and neither side's settings (event
//! tracking, memory pools) change.
//! Does not tell cudarc's events of our work: uses on other streams than the slice's own are ordered by our own events,
//! and the slice's stream is ordered behind all of them before the slice is let go.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use cudarc::driver::CudaContext;
//! use gems_runtime::interop;
//!
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let slice = Arc::new(stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0])?);
//! let x = interop::cudarc::buffer(slice, &[2, 2])?;
//! assert_eq!(x.shape(), [2, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![expect(unsafe_code, reason = "borrows raw handles whose owners are kept alive")]

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};

use crate::buffer::{Storage, StridedBuffer};
use crate::device::cuda::{Context, DeviceMemory, Stream};
use crate::dtype::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Layout;

/// Our context of the same device.
///
/// # Errors
/// A context of cudarc that is not the primary one of its device.
pub fn context(ctx: &CudaContext) -> Result<&'static Context> {
    let ordinal = u32::try_from(ctx.ordinal()).unwrap_or(u32::MAX);
    let ours = Context::get(ordinal)?;
    if ours.as_raw() == ctx.cu_ctx().cast() {
        return Ok(ours);
    }
    let message = format!(
        "the cudarc context is not the primary one of cuda:{ordinal}; make it with `CudaContext::new({ordinal})`"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// A stream of cudarc. Keep the result for later calls: memory is cached by handle.
///
/// # Errors
/// A stream of a context that is not the primary one; the per-thread default stream.
pub fn stream(stream: &Arc<CudaStream>) -> Result<Stream> {
    let ctx = context(stream.context())?;
    let owner: Arc<dyn Any + Send + Sync> = Arc::clone(stream) as _;
    // SAFETY: the raw stream lives as long as the `CudaStream`, which `owner` keeps alive.
    unsafe { Stream::borrowed(ctx, stream.cu_stream().cast(), owner) }
}

/// Memory of cudarc; its home is the slice's own stream.
///
/// The bytes may be written through the result, so `T` is a type for which all bytes are values. Other holders of the
/// `Arc` see the writes; they order their work by the slice's stream.
///
/// # Errors
/// As [`stream`].
pub fn memory<T: bytemuck::Pod + Send + Sync>(slice: Arc<CudaSlice<T>>) -> Result<DeviceMemory> {
    let home = stream(slice.stream())?;
    let (address, bytes) = {
        // Orders the slice's stream behind the last write that cudarc knows of. The guard would tell cudarc of a later
        // read on this stream, which the stream's order does anyway.
        let (address, _guard) = slice.device_ptr(slice.stream());
        (address, slice.num_bytes())
    };
    let owner: Arc<dyn Any + Send + Sync> = slice;
    // SAFETY: the slice holds `bytes` at `address` until it is dropped, which `owner` prevents, and frees them in the
    // order of its stream, our home stream.
    Ok(unsafe { DeviceMemory::borrowed(address, bytes, &home, owner) })
}

/// A contiguous buffer over memory of cudarc, as [`memory`].
///
/// # Errors
/// As [`stream`]; a shape with more elements than the slice.
pub fn buffer<T: Element + bytemuck::Pod>(
    slice: Arc<CudaSlice<T>>,
    shape: &[usize],
) -> Result<StridedBuffer> {
    StridedBuffer::from_storage(Storage::cuda(memory(slice)?), T::DTYPE, Layout::contiguous(shape)?)
}
