//! CUDA devices: driver, contexts, streams, memory and kernels.
//!
//! Guarantees: nothing here panics because a library, a device or memory is missing; the caller's current context is
//! the same after a call as before; each object makes its own context current; every failing driver call is an error or,
//! in a destructor, a warning.
//! Does not plan and knows no dtypes: memory is bytes and a kernel is a function with pointers to arguments.
//!
//! # Streams
//!
//! Work is ordered by streams. Memory has a home stream; [`DeviceMemory::before_read`] and
//! [`DeviceMemory::before_write`] are called with the stream of each piece of work that uses it, and order that stream
//! behind earlier uses on other streams. On the home stream alone they cost one atomic load.
//!
//! Calls of ops run on the device's default stream, or on that of a [`Stream::scope`].
//!
//! # Graph capture
//!
//! Launches, copies on the device and allocations may be captured, on streams of ours and on borrowed ones. Memory that
//! is allocated while a stream is captured belongs to the graph as well as to its [`DeviceMemory`]: it is reused only
//! within the same capture, and by others only after the graph and all that was instantiated from it are destroyed.
//! Memory that was allocated before the capture must outlive the graph, and what was queued for it on other streams must
//! be finished when the capture begins. Copies to and from the host, [`Context::trim`] and synchronizing are no part of
//! a capture.

mod allocator;
mod context;
mod driver;
#[cfg(test)]
mod fake;
mod memory;
mod module;
mod stream;
#[cfg(test)]
mod tests;

pub use allocator::MemoryStats;
pub use context::{Context, Properties};
pub use driver::Driver;
pub use memory::DeviceMemory;
pub use module::{Function, Resources};
pub(crate) use stream::Current;
pub use stream::{Event, Stream, Timing};

/// Number of CUDA devices; 0 if the driver sees none.
///
/// # Errors
/// No driver, or one that does not start.
pub fn device_count() -> crate::error::Result<u32> {
    Driver::device_count()
}
