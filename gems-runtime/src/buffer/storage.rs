//! Memory behind buffers: on the host or on a device, owned or borrowed, shared by all views of it.
//!
//! Host memory carries a lock that executors take for the duration of a call, so safe code on several threads can
//! share a buffer without a data race. Knows no dtype and no layout.
#![expect(unsafe_code, reason = "owns raw host allocations")]

use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use std::alloc;
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Alignment of owned host memory in bytes: a cache line, and every vector register.
const HOST_ALIGN: usize = 64;

/// Shared handle of a block of memory.
#[derive(Clone, Debug)]
pub struct Storage(Arc<Memory>);

#[derive(Debug)]
enum Memory {
    Host(HostMemory),
    #[cfg(feature = "cuda")]
    Cuda(crate::device::cuda::DeviceMemory),
}

impl Storage {
    /// Zeroed host memory.
    ///
    /// # Errors
    /// `Memory` if the allocator refuses.
    pub fn host_zeroed(bytes: usize) -> Result<Storage> {
        Ok(Storage(Arc::new(Memory::Host(HostMemory::zeroed(bytes)?))))
    }

    /// Host memory of unspecified content, for results that are written in full.
    ///
    /// # Errors
    /// `Memory` if the allocator refuses.
    pub(crate) fn host_any(bytes: usize) -> Result<Storage> {
        Ok(Storage(Arc::new(Memory::Host(HostMemory::any(bytes)?))))
    }

    /// Host memory that belongs to `owner`.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `bytes` initialized bytes for as long as `owner` lives, and nothing
    /// but the returned storage accesses it while a handle of that exists.
    #[must_use]
    pub unsafe fn host_borrowed(
        pointer: NonNull<u8>,
        bytes: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Storage {
        let owner = Owner::Borrowed(owner);
        Storage(Arc::new(Memory::Host(HostMemory { pointer, bytes, owner, lock: RwLock::new(()) })))
    }

    /// Device memory.
    #[cfg(feature = "cuda")]
    #[must_use]
    pub fn cuda(memory: crate::device::cuda::DeviceMemory) -> Storage {
        Storage(Arc::new(Memory::Cuda(memory)))
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &*self.0 {
            Memory::Host(memory) => memory.bytes,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.bytes(),
        }
    }

    /// Where the memory is.
    #[must_use]
    pub fn device(&self) -> Device {
        match &*self.0 {
            Memory::Host(_) => Device::Cpu,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => Device::Cuda(memory.context().ordinal()),
        }
    }

    /// Address of the first byte, as a plain number: for planning and for comparison.
    #[must_use]
    pub fn address(&self) -> u64 {
        match &*self.0 {
            Memory::Host(memory) => memory.pointer.as_ptr() as u64,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.address(),
        }
    }

    /// Whether both handles are of the same block.
    #[must_use]
    pub fn is_same(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The host memory, if it is on the host.
    pub(crate) fn as_host(&self) -> Option<&HostMemory> {
        match &*self.0 {
            Memory::Host(memory) => Some(memory),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => None,
        }
    }

    /// The device memory, if it is on a CUDA device: for work of one's own on it, which says so by
    /// [`before_read`](crate::device::cuda::DeviceMemory::before_read) and
    /// [`before_write`](crate::device::cuda::DeviceMemory::before_write).
    #[cfg(feature = "cuda")]
    #[must_use]
    pub fn as_cuda(&self) -> Option<&crate::device::cuda::DeviceMemory> {
        match &*self.0 {
            Memory::Host(_) => None,
            Memory::Cuda(memory) => Some(memory),
        }
    }
}

/// Gives the host memory back that is kept for later results; its bytes.
pub(crate) fn trim_host() -> usize {
    SPARE.trim()
}

/// A block of host memory with the lock that guards its bytes.
pub(crate) struct HostMemory {
    pointer: NonNull<u8>,
    bytes: usize,
    owner: Owner,
    /// Shared while a call reads the bytes, exclusive while one writes them.
    pub(crate) lock: RwLock<()>,
}

enum Owner {
    Heap(alloc::Layout),
    Empty,
    Borrowed(#[expect(dead_code, reason = "kept alive, not used")] Arc<dyn Any + Send + Sync>),
}

// SAFETY: the bytes are reached only under `lock` (executors and copies in this crate), and the block is plain memory
// that any thread may free.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    fn zeroed(bytes: usize) -> Result<HostMemory> {
        let lock = RwLock::new(());
        if bytes == 0 {
            return Ok(HostMemory { pointer: aligned_dangling(), bytes, owner: Owner::Empty, lock });
        }
        let refused = || {
            let message =
                format!("cannot allocate {bytes} bytes of host memory; free buffers or split the call");
            Error::new(ErrorKind::Memory, message)
        };
        let layout = alloc::Layout::from_size_align(bytes, HOST_ALIGN).map_err(|_| refused())?;
        // SAFETY: the layout's size is not zero.
        let allocate = || NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        let pointer = match allocate() {
            None if SPARE.trim() > 0 => allocate(),
            pointer => pointer,
        };
        let pointer = pointer.ok_or_else(refused)?;
        Ok(HostMemory { pointer, bytes, owner: Owner::Heap(layout), lock })
    }

    /// As [`HostMemory::zeroed`], but for large blocks that were freed before, which keep their content.
    fn any(bytes: usize) -> Result<HostMemory> {
        match SPARE.take(bytes) {
            Some((pointer, layout)) => {
                Ok(HostMemory { pointer, bytes, owner: Owner::Heap(layout), lock: RwLock::new(()) })
            }
            None => HostMemory::zeroed(bytes),
        }
    }

    /// The first byte. Whoever uses it holds `lock`.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }
}

/// A well-aligned pointer for blocks of no bytes.
fn aligned_dangling() -> NonNull<u8> {
    NonNull::<Aligned>::dangling().cast()
}

#[repr(align(64))]
struct Aligned;

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Owner::Heap(layout) = self.owner
            && !SPARE.keep(self.pointer, layout)
        {
            // SAFETY: allocated in `zeroed` with this layout, freed once, here.
            unsafe { alloc::dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}

/// Freed blocks for the next result of the same size: the pages of a new block cost more than most ops on it.
struct Spare(Mutex<Vec<(Block, alloc::Layout)>>);

/// The first byte of a block that nobody uses.
struct Block(NonNull<u8>);

// SAFETY: a block in the list has no user; whoever takes it out is its only one.
unsafe impl Send for Block {}

static SPARE: Spare = Spare(Mutex::new(Vec::new()));

impl Spare {
    /// Smaller blocks are left to the allocator, which keeps their pages itself.
    const LEAST: usize = 1 << 20;
    /// Bytes that are kept at most; the block that was freed longest ago goes first.
    const MOST: usize = 512 << 20;

    /// A kept block of exactly this size.
    fn take(&self, bytes: usize) -> Option<(NonNull<u8>, alloc::Layout)> {
        if bytes < Self::LEAST {
            return None;
        }
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = blocks.iter().rposition(|(_, layout)| layout.size() == bytes)?;
        let (Block(pointer), layout) = blocks.remove(position);
        Some((pointer, layout))
    }

    /// Keeps a block, unless it is small or larger than all that may be kept.
    fn keep(&self, pointer: NonNull<u8>, layout: alloc::Layout) -> bool {
        if !(Self::LEAST..=Self::MOST).contains(&layout.size()) {
            return false;
        }
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept: usize = blocks.iter().map(|(_, layout)| layout.size()).sum();
        while kept + layout.size() > Self::MOST {
            kept -= Self::free(blocks.remove(0));
        }
        blocks.push((Block(pointer), layout));
        true
    }

    /// Gives all kept blocks back; their bytes.
    fn trim(&self) -> usize {
        let blocks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        blocks.into_iter().map(Self::free).sum()
    }

    /// Gives a block back that was taken out of the list; its bytes.
    fn free((Block(pointer), layout): (Block, alloc::Layout)) -> usize {
        // SAFETY: allocated in `zeroed` with this layout; it was in the list, so nobody uses it, and it is no more.
        unsafe { alloc::dealloc(pointer.as_ptr(), layout) };
        layout.size()
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = match self.owner {
            Owner::Heap(_) | Owner::Empty => "owned",
            Owner::Borrowed(_) => "borrowed",
        };
        write!(f, "{} bytes of {owner} host memory", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_serves_the_next_result_of_its_size() {
        const BYTES: usize = (3 << 20) + 4096;
        let first = Storage::host_any(BYTES).unwrap();
        let address = first.address();
        drop(first);
        assert_ne!(Storage::host_any(BYTES + 1).unwrap().address(), address);
        let second = Storage::host_any(BYTES).unwrap();
        assert_eq!((second.address(), second.bytes()), (address, BYTES));
        drop(second);
        assert!(trim_host() >= BYTES);
    }
}
