//! The caching allocator of a device: blocks by stream and size class.
//!
//! Guarantees: a block is handed out again on the stream of its last use, where the stream's order keeps the uses apart
//! and no driver call is needed, or on another stream behind an event; a block that was allocated during a graph capture
//! stays with that graph until the graph is gone; when the device is full the cache is given back before an allocation
//! fails.
//! Does not split or merge blocks: a size class wastes at most an eighth, above 1 GiB a thirty-second.
#![expect(unsafe_code, reason = "calls the driver, and gives it a pointer to keep in a graph")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::context::Context;
use super::driver::Handle;
use super::stream::{Capture, Event, Inner, Stream, Timing};
use crate::error::{Error, ErrorKind, Result};

/// The smallest block and the unit of all sizes, in bytes; the driver aligns to no less.
const UNIT: usize = 512;
/// Above it, size classes are four times as fine.
const LARGE: usize = 1 << 30;

/// Memory from the driver; `bytes` is a size class.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: usize,
    /// The capture during which it was allocated.
    capture: Option<Arc<CapturePool>>,
}

/// Free blocks by size class.
#[derive(Debug, Default)]
pub(super) struct FreeLists {
    /// Size class and address of the block that came last: the one that a loop asks for next.
    last: Option<(usize, u64)>,
    lists: BTreeMap<usize, Vec<u64>>,
}

impl FreeLists {
    fn push(&mut self, bytes: usize, address: u64) {
        if let Some((bytes, address)) = self.last.replace((bytes, address)) {
            self.lists.entry(bytes).or_default().push(address);
        }
    }

    fn pop(&mut self, bytes: usize) -> Option<u64> {
        match self.last.take_if(|(class, _)| *class == bytes) {
            Some((_, address)) => Some(address),
            None => self.lists.get_mut(&bytes)?.pop(),
        }
    }

    fn drain(&mut self) -> impl Iterator<Item = (usize, u64)> + use<> {
        let FreeLists { last, lists } = std::mem::take(self);
        let listed = lists
            .into_iter()
            .flat_map(|(bytes, addresses)| addresses.into_iter().map(move |address| (bytes, address)));
        listed.chain(last)
    }
}

/// The memory that calls a stream home.
#[derive(Debug, Default)]
pub(super) struct HomeMemory {
    free: FreeLists,
    /// Bytes in live buffers.
    used_bytes: usize,
    /// Allocations so far.
    allocations: u64,
}

impl HomeMemory {
    fn allocated(&mut self, bytes: usize) {
        self.used_bytes += bytes;
        self.allocations += 1;
    }
}

/// A free block that no stream calls its own.
#[derive(Debug)]
struct Orphan {
    address: u64,
    /// Behind its last use; `None` if that is known to be done.
    last_use: Option<Arc<Event>>,
}

/// The blocks of one capture.
#[derive(Debug)]
pub(super) struct CapturePool {
    id: u64,
    ctx: &'static Context,
    state: Mutex<CaptureState>,
}

#[derive(Debug, Default)]
struct CaptureState {
    /// Whether the graph and all that was made of it are destroyed.
    graph_is_gone: bool,
    /// Free blocks by the stream of their last use.
    free: BTreeMap<Handle, FreeLists>,
}

/// Cached memory and counters of one device.
#[derive(Debug, Default)]
pub(super) struct Allocator {
    streams: Mutex<Vec<Weak<Inner>>>,
    orphans: Mutex<BTreeMap<usize, Vec<Orphan>>>,
    captures: Mutex<Vec<Weak<CapturePool>>>,
    reserved_bytes: AtomicUsize,
    /// Allocations on streams that have ended.
    ended_allocations: AtomicU64,
    driver_allocations: AtomicU64,
}

/// What the allocator of a device holds and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes taken from the driver.
    pub reserved_bytes: usize,
    /// Bytes of these in live buffers, rounded up to size classes.
    pub used_bytes: usize,
    /// Allocations since the process began.
    pub allocations: u64,
    /// Those of them that needed the driver.
    pub driver_allocations: u64,
}

/// The size class of so many bytes: eight steps per power of two, 32 above 1 GiB.
fn size_class(bytes: usize) -> Option<usize> {
    let steps = if bytes > LARGE { 32 } else { 8 };
    let octave = bytes.checked_next_power_of_two()? / 2;
    let step = (octave / steps).max(UNIT);
    bytes.max(1).checked_next_multiple_of(step)
}

impl Allocator {
    pub(super) fn stats(&self) -> MemoryStats {
        let mut stats = MemoryStats {
            reserved_bytes: self.reserved_bytes.load(Ordering::Relaxed),
            used_bytes: 0,
            allocations: self.ended_allocations.load(Ordering::Relaxed),
            driver_allocations: self.driver_allocations.load(Ordering::Relaxed),
        };
        for stream in self.live_streams() {
            let home = lock(&stream.memory);
            stats.used_bytes += home.used_bytes;
            stats.allocations += home.allocations;
        }
        stats
    }

    /// Notes a stream, so that `trim` finds its free blocks.
    pub(super) fn register(&self, stream: &Arc<Inner>) {
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// A handle of each stream that has not ended, for use without the list's lock.
    fn live_streams(&self) -> Vec<Arc<Inner>> {
        lock(&self.streams).iter().filter_map(Weak::upgrade).collect()
    }

    /// A block of at least so many bytes, to be used first on `stream`.
    pub(super) fn alloc(&self, bytes: usize, stream: &Stream) -> Result<Block> {
        let ctx = stream.context();
        let class = size_class(bytes).ok_or_else(|| out_of_memory(ctx, bytes))?;
        let capture = stream.capture()?;
        let home = &stream.inner().memory;
        if capture.is_none() {
            let mut home = lock(home);
            if let Some(address) = home.free.pop(class) {
                home.allocated(class);
                return Ok(Block { address, bytes: class, capture: None });
            }
        }
        let block = match capture {
            None => self.alloc_elsewhere(class, bytes, stream)?,
            Some(capture) => self.alloc_captured(class, bytes, stream, capture)?,
        };
        lock(home).allocated(class);
        Ok(block)
    }

    /// Takes a block back; all its uses are behind those queued on `home` so far.
    pub(super) fn free(&self, block: Block, home: &Stream) {
        let mut memory = lock(&home.inner().memory);
        memory.used_bytes -= block.bytes;
        if let Some(pool) = &block.capture {
            let mut state = lock(&pool.state);
            if !state.graph_is_gone {
                state.free.entry(home.raw()).or_default().push(block.bytes, block.address);
                return;
            }
        }
        memory.free.push(block.bytes, block.address);
    }

    /// Takes over the free blocks of a stream that ends.
    pub(super) fn retire(&self, stream: &Inner) {
        let (allocations, blocks) = {
            let mut memory = lock(&stream.memory);
            (memory.allocations, memory.free.drain())
        };
        self.ended_allocations.fetch_add(allocations, Ordering::Relaxed);
        let mut blocks = blocks.peekable();
        if blocks.peek().is_none() {
            return;
        }
        let recorded = || match stream.capture()? {
            Some(_) => Err(Error::new(ErrorKind::Driver, "it ended while it was captured")),
            None => {
                let event = Event::new(stream.ctx, Timing::Off)?;
                event.record_inner(stream)?;
                Ok(Arc::new(event))
            }
        };
        let event = match recorded() {
            Ok(event) => event,
            // Without an event nobody can know when the blocks may be used again, so they stay unused.
            Err(error) => return tracing::warn!("memory of a stream is lost: {error}"),
        };
        let mut orphans = lock(&self.orphans);
        for (bytes, address) in blocks {
            orphans.entry(bytes).or_default().push(Orphan { address, last_use: Some(Arc::clone(&event)) });
        }
    }

    /// Gives back to the driver what no live buffer holds; returns the bytes.
    pub(super) fn trim(&self, ctx: &'static Context) -> Result<usize> {
        let mut released = 0;
        for stream in self.live_streams() {
            if stream.capture()?.is_some() {
                continue;
            }
            // Taken first and waited for then: what is freed meanwhile goes to the emptied lists.
            let mut blocks: Vec<_> = lock(&stream.memory).free.drain().collect();
            let result = self.release_behind(&stream, &mut blocks);
            let mut memory = lock(&stream.memory);
            blocks.into_iter().for_each(|(bytes, address)| memory.free.push(bytes, address));
            released += result?;
        }
        while let Some((bytes, orphan)) = self.pop_orphan() {
            let waited = orphan.last_use.as_ref().map_or(Ok(()), |event| event.synchronize());
            if let Err(error) = waited.and_then(|()| self.release(ctx, bytes, orphan.address)) {
                lock(&self.orphans).entry(bytes).or_default().push(orphan);
                return Err(error);
            }
            released += bytes;
        }
        Ok(released)
    }

    fn pop_orphan(&self) -> Option<(usize, Orphan)> {
        lock(&self.orphans).iter_mut().find_map(|(&bytes, orphans)| Some((bytes, orphans.pop()?)))
    }

    /// A block that has no home, or a new one.
    fn alloc_elsewhere(&self, class: usize, bytes: usize, stream: &Stream) -> Result<Block> {
        let block = |address| Block { address, bytes: class, capture: None };
        let orphan = lock(&self.orphans).get_mut(&class).and_then(Vec::pop);
        if let Some(orphan) = orphan {
            if let Some(event) = &orphan.last_use {
                stream.wait(event)?;
            }
            return Ok(block(orphan.address));
        }
        self.alloc_new(class, bytes, stream.context()).map(block)
    }

    fn alloc_captured(&self, class: usize, bytes: usize, stream: &Stream, capture: Capture) -> Result<Block> {
        let ctx = stream.context();
        let pool = self.pool_of(ctx, capture)?;
        let free = lock(&pool.state).free.get_mut(&stream.raw()).and_then(|lists| lists.pop(class));
        let address = match free {
            Some(address) => address,
            None => self.alloc_new(class, bytes, ctx)?,
        };
        Ok(Block { address, bytes: class, capture: Some(pool) })
    }

    /// Memory from the driver, after giving the cache back if that is needed.
    fn alloc_new(&self, class: usize, bytes: usize, ctx: &'static Context) -> Result<u64> {
        let mut address = 0;
        let mut try_once = || {
            // SAFETY: the pointer is to a live integer.
            ctx.call_outside_captures("cuMemAlloc", |functions| unsafe {
                (functions.mem_alloc)(&mut address, class)
            })
        };
        let mut result = try_once();
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Memory) {
            match self.trim(ctx) {
                Ok(released) => tracing::debug!("gave {released} cached bytes back to make room for {class}"),
                Err(error) => tracing::warn!("cached memory could not be given back: {error}"),
            }
            result = try_once();
        }
        match result {
            Ok(()) => {
                self.driver_allocations.fetch_add(1, Ordering::Relaxed);
                self.reserved_bytes.fetch_add(class, Ordering::Relaxed);
                Ok(address)
            }
            Err(error) if error.kind() == ErrorKind::Memory => {
                Err(out_of_memory(ctx, bytes).with_source(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives blocks of a stream back once its work is done; returns the bytes. After a failure the rest is in `blocks`.
    fn release_behind(&self, stream: &Inner, blocks: &mut Vec<(usize, u64)>) -> Result<usize> {
        if blocks.is_empty() {
            return Ok(0);
        }
        // SAFETY: the stream is live.
        stream.ctx.call_outside_captures("cuStreamSynchronize", |functions| unsafe {
            (functions.stream_synchronize)(stream.raw)
        })?;
        let mut released = 0;
        while let Some(&(bytes, address)) = blocks.last() {
            self.release(stream.ctx, bytes, address)?;
            blocks.pop();
            released += bytes;
        }
        Ok(released)
    }

    fn release(&self, ctx: &Context, bytes: usize, address: u64) -> Result<()> {
        // SAFETY: the block came from `cuMemAlloc`, is in no list any more, and its last use is done.
        ctx.call_outside_captures("cuMemFree", |functions| unsafe { (functions.mem_free)(address) })?;
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// The pool of this capture; a new one is tied to the graph, which tells when it is gone.
    fn pool_of(&self, ctx: &'static Context, capture: Capture) -> Result<Arc<CapturePool>> {
        let mut captures = lock(&self.captures);
        captures.retain(|pool| pool.strong_count() > 0);
        let known = captures.iter().filter_map(Weak::upgrade).find(|pool| pool.id == capture.id);
        if let Some(pool) = known {
            return Ok(pool);
        }
        let pool = Arc::new(CapturePool { id: capture.id, ctx, state: Mutex::default() });
        tie_to_graph(Arc::clone(&pool), capture.graph)?;
        captures.push(Arc::downgrade(&pool));
        Ok(pool)
    }
}

/// Makes the graph own one count of the pool, and call [`graph_is_gone`] when the graph and all its copies are destroyed.
fn tie_to_graph(pool: Arc<CapturePool>, graph: Handle) -> Result<()> {
    /// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, the only choice.
    const NO_SYNC: u32 = 1;
    /// `CU_GRAPH_USER_OBJECT_MOVE`: the graph takes our count over.
    const MOVE: u32 = 1;
    let ctx = pool.ctx;
    let pointer = Arc::into_raw(pool);
    let mut object = Handle::NULL;
    let created = ctx.call("cuUserObjectCreate", |functions| {
        // SAFETY: the pointer carries one count of the pool, which the callback takes back, once.
        unsafe {
            (functions.user_object_create)(&mut object, pointer.cast_mut().cast(), graph_is_gone, 1, NO_SYNC)
        }
    });
    if let Err(error) = created {
        // SAFETY: no object was made, so the count that `into_raw` gave away is still ours.
        drop(unsafe { Arc::from_raw(pointer) });
        return Err(error);
    }
    let retained = ctx.call("cuGraphRetainUserObject", |functions| {
        // SAFETY: the driver gave both handles just now, and we hold the one count of the object.
        unsafe { (functions.graph_retain_user_object)(graph, object, 1, MOVE) }
    });
    if retained.is_err() {
        // SAFETY: the graph did not take the count over; giving it up calls the callback.
        ctx.call_in_drop("cuUserObjectRelease", |functions| unsafe {
            (functions.user_object_release)(object, 1)
        });
    }
    retained
}

/// Called by the driver, on a thread of its own, when no graph uses the blocks of a pool any more. Makes no driver call,
/// which would be forbidden here.
unsafe extern "C" fn graph_is_gone(pointer: *mut c_void) {
    // SAFETY: the pointer comes from `Arc::into_raw` in `tie_to_graph`, and the driver calls this once.
    let pool = unsafe { Arc::from_raw(pointer.cast_const().cast::<CapturePool>()) };
    let free = {
        let mut state = lock(&pool.state);
        state.graph_is_gone = true;
        std::mem::take(&mut state.free)
    };
    let mut orphans = lock(&pool.ctx.allocator.orphans);
    for (bytes, address) in free.into_values().flat_map(|mut lists| lists.drain()) {
        orphans.entry(bytes).or_default().push(Orphan { address, last_use: None });
    }
}

fn out_of_memory(ctx: &Context, bytes: usize) -> Error {
    let used = ctx.allocator.stats().used_bytes;
    let state = match ctx.memory_info() {
        Ok((free, total)) => format!("{free} of {total} bytes are free and live buffers hold {used}"),
        Err(_) => format!("live buffers hold {used} bytes"),
    };
    let message = format!(
        "cannot allocate {bytes} bytes on cuda:{}: {state}; drop buffers that are not needed, or work in parts",
        ctx.ordinal()
    );
    Error::new(ErrorKind::Memory, message)
}

/// Locks; a panic elsewhere leaves nothing half-done behind these locks, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_holds_its_bytes_and_wastes_little() {
        for bytes in (1..5000)
            .chain((12..40).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, 3 << (bit - 1)]))
        {
            let class = size_class(bytes).unwrap();
            assert!(class >= bytes && class.is_multiple_of(UNIT), "{bytes}");
            assert_eq!(size_class(class), Some(class), "{bytes} is not in its own class");
            let waste = class - bytes;
            assert!(waste < UNIT || waste <= bytes / 8, "{bytes}: {waste}");
            assert!(bytes <= LARGE || waste <= bytes / 32, "{bytes}: {waste}");
        }
        assert_eq!(size_class(usize::MAX), None);
    }

    #[test]
    fn size_classes_grow_with_the_bytes() {
        let classes: Vec<_> = (1..1 << 20).step_by(97).map(|bytes| size_class(bytes).unwrap()).collect();
        assert!(classes.is_sorted());
        let distinct: std::collections::BTreeSet<_> = classes.iter().collect();
        assert!(distinct.len() < 80, "{}", distinct.len());
    }

    #[test]
    fn free_lists_give_back_the_block_that_came_last() {
        let mut lists = FreeLists::default();
        for (bytes, address) in [(512, 1), (512, 2), (1024, 3)] {
            lists.push(bytes, address);
        }
        assert_eq!((lists.pop(512), lists.pop(2048)), (Some(2), None));
        assert_eq!(lists.drain().collect::<Vec<_>>(), [(512, 1), (1024, 3)]);
        assert_eq!(lists.drain().count(), 0);
    }
}
