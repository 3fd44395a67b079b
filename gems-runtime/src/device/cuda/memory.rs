//! Device memory: owned or borrowed, with the order of its uses.
//!
//! Guarantees: owned memory goes back to the allocator behind all uses that were announced; borrowed memory keeps its
//! owner alive as long; the owner is let go after its stream was ordered behind our uses; copies check their bounds.
//! Does not synchronize the host, except in copies to and from it.
#![expect(unsafe_code, reason = "calls the driver")]

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::allocator::Block;
use super::context::Context;
use super::stream::{Current, Stream};
use crate::error::{Error, ErrorKind, Result};

/// A range of memory of one device.
pub struct DeviceMemory {
    address: u64,
    bytes: usize,
    home: Current,
    backing: Backing,
    /// Whether it was ever used off its home stream; set before `uses` is changed.
    is_shared: AtomicBool,
    uses: Mutex<Uses>,
}

/// Who gets the memory back; taken in the destructor.
enum Backing {
    Empty,
    Cached(Block),
    Borrowed(Arc<dyn Any + Send + Sync>),
}

/// The uses that later ones have to wait for.
#[derive(Default)]
struct Uses {
    /// The last write; `None` is one on the home stream.
    writer: Option<Use>,
    /// Those that were ordered behind the last write and may still read.
    readers: Vec<Use>,
}

/// The first of the uses on one stream.
struct Use {
    stream: Stream,
    /// The capture that it was part of.
    capture: Option<u64>,
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.backing {
            Backing::Empty => "empty",
            Backing::Cached(_) => "owned",
            Backing::Borrowed(_) => "borrowed",
        };
        write!(f, "{} bytes at {:#x} on cuda:{} ({kind})", self.bytes, self.address, self.context().ordinal())
    }
}

impl DeviceMemory {
    /// Memory of so many bytes with unknown contents, to be used first on `stream`, its home. Aligned to 256 bytes.
    ///
    /// # Errors
    /// The device is full.
    pub fn alloc(bytes: usize, stream: &Stream) -> Result<DeviceMemory> {
        DeviceMemory::alloc_on(bytes, Current::Scoped(stream.clone()))
    }

    /// As [`DeviceMemory::alloc`], without another count of a stream that never ends.
    pub(crate) fn alloc_on(bytes: usize, stream: Current) -> Result<DeviceMemory> {
        let (address, backing) = if bytes == 0 {
            (0, Backing::Empty)
        } else {
            let block = stream.context().allocator.alloc(bytes, &stream)?;
            (block.address, Backing::Cached(block))
        };
        Ok(DeviceMemory::with(address, bytes, stream, backing))
    }

    /// Memory that belongs to somebody else, whose work on it is ordered by `stream`.
    ///
    /// # Safety
    /// `address` is `bytes` of memory that kernels on the stream's device can access, valid as long as `owner` lives.
    /// Kernels may also read, and drop, the rest of the 16-byte lines at its ends: the driver's allocations have those.
    /// The owner may free it in the order of `stream`, but not before its uses there are done.
    pub unsafe fn borrowed(
        address: u64,
        bytes: usize,
        stream: &Stream,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> DeviceMemory {
        DeviceMemory::with(address, bytes, Current::Scoped(stream.clone()), Backing::Borrowed(owner))
    }

    fn with(address: u64, bytes: usize, home: Current, backing: Backing) -> DeviceMemory {
        let (is_shared, uses) = (AtomicBool::new(false), Mutex::default());
        DeviceMemory { address, bytes, home, backing, is_shared, uses }
    }

    /// Device address; 0 if there are no bytes.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The stream on which it was allocated, or by which its owner orders its work.
    #[must_use]
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The context of its device.
    #[must_use]
    pub fn context(&self) -> &'static Context {
        self.home.context()
    }

    /// Call before queuing a read on `stream`: orders it behind the last write.
    ///
    /// # Errors
    /// The driver fails.
    pub fn before_read(&self, stream: &Stream) -> Result<()> {
        if self.is_at_home(stream) {
            return Ok(());
        }
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = uses.writer.as_ref().map_or(&*self.home, |last| &last.stream);
        if stream == writer || uses.readers.iter().any(|known| known.stream == *stream) {
            return Ok(());
        }
        let capture = order(writer, stream)?;
        self.is_shared.store(true, Ordering::Release);
        uses.readers.push(Use { stream: stream.clone(), capture });
        Ok(())
    }

    /// Call before queuing a write on `stream`: orders it behind all earlier uses.
    ///
    /// # Errors
    /// The driver fails.
    pub fn before_write(&self, stream: &Stream) -> Result<()> {
        if self.is_at_home(stream) {
            return Ok(());
        }
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = uses.writer.as_ref().map_or(&*self.home, |last| &last.stream);
        let mut capture = None;
        for earlier in uses.readers.iter().map(|reader| &reader.stream).chain([writer]) {
            capture = order(earlier, stream)?;
        }
        self.is_shared.store(true, Ordering::Release);
        // The home stream is ordered behind the writer by the next use there, or at the end.
        uses.writer = Some(Use { stream: stream.clone(), capture });
        uses.readers.clear();
        Ok(())
    }

    fn is_at_home(&self, stream: &Stream) -> bool {
        !self.is_shared.load(Ordering::Acquire) && *stream == *self.home
    }

    /// Copies from the host to `offset` (bytes) and waits until the copy is done.
    ///
    /// # Errors
    /// Bytes outside this memory; a stream that is being captured; the driver fails.
    pub fn copy_from_host(&self, offset: usize, source: &[u8], stream: &Stream) -> Result<()> {
        let address = self.range(offset, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        self.begin(stream, "copy from the host")?;
        self.before_write(stream)?;
        let queued = self.context().call("cuMemcpyHtoDAsync", |functions| {
            // SAFETY: the range was checked, `source` is live, and both stay so until the wait below.
            unsafe { (functions.copy_to_device)(address, source.as_ptr().cast(), source.len(), stream.raw()) }
        });
        // Also after a failure: nothing may still read `source` when this returns.
        let waited = stream.synchronize();
        queued.and(waited)
    }

    /// Copies to the host from `offset` (bytes) and waits until the copy is done.
    ///
    /// # Errors
    /// Bytes outside this memory; a stream that is being captured; the driver fails, also in earlier work.
    pub fn copy_to_host(&self, offset: usize, target: &mut [u8], stream: &Stream) -> Result<()> {
        let address = self.range(offset, target.len())?;
        if target.is_empty() {
            return Ok(());
        }
        self.begin(stream, "copy to the host")?;
        self.before_read(stream)?;
        let queued = self.context().call("cuMemcpyDtoHAsync", |functions| {
            // SAFETY: the range was checked, `target` is live and ours alone, and both stay so until the wait below.
            unsafe {
                (functions.copy_to_host)(target.as_mut_ptr().cast(), address, target.len(), stream.raw())
            }
        });
        // Also after a failure: nothing may still write to `target` when this returns.
        let waited = stream.synchronize();
        queued.and(waited)
    }

    /// Queues a copy of `bytes` from `source_offset` of another memory to `offset` of this one, both in bytes; the two
    /// may be of different devices. The host does not wait.
    ///
    /// # Errors
    /// Bytes outside either memory; ranges of one memory that overlap; the driver fails.
    pub fn copy_from(
        &self,
        offset: usize,
        source: &DeviceMemory,
        source_offset: usize,
        bytes: usize,
        stream: &Stream,
    ) -> Result<()> {
        let (to, from) = (self.range(offset, bytes)?, source.range(source_offset, bytes)?);
        let same_device = self.context() == source.context();
        if same_device && to.abs_diff(from) < bytes as u64 {
            let message =
                format!("cannot copy {bytes} bytes between ranges that overlap; copy to other memory first");
            return Err(Error::new(ErrorKind::Overlap, message));
        }
        if bytes == 0 {
            return Ok(());
        }
        source.before_read(stream)?;
        self.before_write(stream)?;
        if same_device {
            // SAFETY: both ranges were checked and the stream orders the copy between earlier and later uses.
            stream.context().call("cuMemcpyDtoDAsync", |functions| unsafe {
                (functions.copy_on_device)(to, from, bytes, stream.raw())
            })
        } else {
            let (to_ctx, from_ctx) = (self.context().raw(), source.context().raw());
            // SAFETY: as above, and each context is the one of its memory.
            stream.context().call("cuMemcpyPeerAsync", |functions| unsafe {
                (functions.copy_to_peer)(to, to_ctx, from, from_ctx, bytes, stream.raw())
            })
        }
    }

    /// Queues the setting of `bytes` bytes from `offset` on to `value`. The host does not wait.
    ///
    /// # Errors
    /// Bytes outside this memory; the driver fails.
    pub fn set_bytes(&self, offset: usize, bytes: usize, value: u8, stream: &Stream) -> Result<()> {
        let address = self.range(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.before_write(stream)?;
        stream.context().call("cuMemsetD8Async", |functions| {
            // SAFETY: the range was checked and the stream orders the write between earlier and later uses.
            unsafe { (functions.set_bytes)(address, value, bytes, stream.raw()) }
        })
    }

    /// The address of a checked range.
    fn range(&self, offset: usize, bytes: usize) -> Result<u64> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset as u64),
            _ => {
                let message =
                    format!("{bytes} bytes at {offset} are outside a buffer of {} bytes", self.bytes);
                Err(Error::new(ErrorKind::Value, message))
            }
        }
    }

    /// Refuses what cannot be part of a capture, before the driver would end the capture for it.
    fn begin(&self, stream: &Stream, what: &str) -> Result<()> {
        if stream.context() != self.context() {
            let message = format!("{what} needs a stream of cuda:{}", self.context().ordinal());
            return Err(Error::new(ErrorKind::Device, message));
        }
        match stream.capture()? {
            None => Ok(()),
            Some(_) => {
                let message =
                    format!("{what} cannot be captured in a graph; do it before or after the capture");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Orders the home stream behind the uses on others, so that the next owner needs to know of none.
    fn end_uses(&mut self) -> Result<()> {
        if !*self.is_shared.get_mut() {
            return Ok(());
        }
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        let elsewhere = uses.writer.iter().chain(&uses.readers).filter(|known| known.stream != *self.home);
        for Use { stream, capture } in elsewhere {
            match (stream.capture_id()?, self.home.capture_id()?) {
                (None, None) => self.home.wait_for(stream)?,
                (now, home) if now.is_some() && now == *capture => {
                    // What belongs to a capture that the home stream is no part of is ordered by whoever launches the graph.
                    if home == now {
                        self.home.wait_for(stream)?;
                    }
                }
                // Neither stream can be asked about its work from before the capture.
                _ => {
                    let message = "it is dropped during a capture, and was used on another stream before; drop it before \
                                   the capture begins or after it ends";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
            }
        }
        Ok(())
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let ended = self.end_uses();
        let backing = std::mem::replace(&mut self.backing, Backing::Empty);
        match (backing, ended) {
            (Backing::Empty, _) => {}
            (Backing::Cached(block), Ok(())) => self.context().allocator.free(block, &self.home),
            // Nobody can say when it may be used again, so it stays unused.
            (Backing::Cached(_), Err(error)) => tracing::warn!("{self:?} is lost: {error}"),
            (Backing::Borrowed(owner), ended) => {
                if let Err(error) = ended {
                    tracing::warn!("the owner of {self:?} may free it too early: {error}");
                }
                // The owner may call the driver without making its context current.
                let _entered = self.context().enter();
                drop(owner);
            }
        }
    }
}

/// Orders `behind` after what is queued on `first`; the capture that `behind` is then part of. A capture cannot wait for
/// work outside of it, which has to be done before the capture begins; who waits for a capture joins it.
fn order(first: &Stream, behind: &Stream) -> Result<Option<u64>> {
    let (capture, captured) = (behind.capture_id()?, first.capture_id()?);
    if capture.is_none() || captured == capture {
        behind.wait_for(first)?;
    }
    Ok(capture.or(captured))
}
