//! One context per device: the primary one, which the other CUDA libraries of the process use too.
//!
//! Guarantees: one [`Context`] per ordinal, made at the first use and kept until the process ends; properties of the
//! device are asked once; a call that needs the context current restores what was current before.
//! Does not use contexts that somebody made with `cuCtxCreate`: memory of one context is no memory of another.
#![expect(unsafe_code, reason = "calls the driver")]

use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::allocator::{Allocator, MemoryStats};
use super::driver::{Driver, Functions, Handle, Status};
use super::stream::{Current, Event, Stream, Timing};
use crate::compile::{Arch, SingleFlight};
use crate::error::{Error, ErrorKind, Result};

/// The primary context of one device.
pub struct Context {
    driver: &'static Driver,
    ordinal: u32,
    raw: Handle,
    properties: Properties,
    default_stream: OnceLock<Stream>,
    /// The event that orders one stream behind another; an event is free again once the wait is queued.
    order: Mutex<Option<Event>>,
    pub(super) allocator: Allocator,
}

/// What planning needs to know of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Name, as the driver writes it.
    pub name: String,
    /// Compute capability.
    pub arch: Arch,
    /// Number of streaming multiprocessors.
    pub sm_count: u32,
    /// Highest grid along x, y and z, in blocks.
    pub max_grid: [u32; 3],
    /// Highest block, in threads.
    pub max_threads_per_block: u32,
    /// Highest number of resident threads on one multiprocessor.
    pub max_threads_per_sm: u32,
    /// Shared memory that a block gets without asking, in bytes.
    pub smem_per_block: u32,
    /// Shared memory that a block can ask for, in bytes.
    pub smem_per_block_optin: u32,
    /// Shared memory of one multiprocessor, in bytes.
    pub smem_per_sm: u32,
    /// Second-level cache, in bytes.
    pub l2_bytes: u32,
    /// Memory of the device, in bytes.
    pub total_bytes: usize,
}

/// `CUdevice_attribute` by name.
mod attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub(super) const MAX_GRID: [i32; 3] = [5, 6, 7];
    pub(super) const SMEM_PER_BLOCK: i32 = 8;
    pub(super) const SM_COUNT: i32 = 16;
    pub(super) const L2_BYTES: i32 = 38;
    pub(super) const MAX_THREADS_PER_SM: i32 = 39;
    pub(super) const ARCH: [i32; 2] = [75, 76];
    pub(super) const SMEM_PER_SM: i32 = 81;
    pub(super) const SMEM_PER_BLOCK_OPTIN: i32 = 97;
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} ({}, {})", self.ordinal, self.properties.name, self.properties.arch)
    }
}

impl Context {
    /// The context of the device with this ordinal.
    ///
    /// # Errors
    /// No driver, no such device, or a device that does not start.
    pub fn get(ordinal: u32) -> Result<&'static Context> {
        static CONTEXTS: SingleFlight<u32, &'static Context> = SingleFlight::new();
        CONTEXTS.get_or_build(&ordinal, || Context::new(ordinal).map(|ctx| &*Box::leak(Box::new(ctx))))
    }

    fn new(ordinal: u32) -> Result<Context> {
        let count = Driver::device_count()?;
        if ordinal >= count {
            let message = format!(
                "there is no device cuda:{ordinal}, the driver sees {count}; see CUDA_VISIBLE_DEVICES"
            );
            return Err(Error::new(ErrorKind::Device, message));
        }
        Context::on(Driver::get()?, ordinal)
    }

    /// The context of a device of this driver.
    pub(super) fn on(driver: &'static Driver, ordinal: u32) -> Result<Context> {
        let functions = driver.functions();
        let index = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let (mut device, mut raw) = (0, Handle::NULL);
        // SAFETY: the pointer is to a live integer.
        driver.check(unsafe { (functions.device_get)(&mut device, index) }, "cuDeviceGet")?;
        let properties = Properties::of(driver, device)?;
        // SAFETY: the pointer is to a live handle and `device` comes from the driver.
        let status = unsafe { (functions.primary_ctx_retain)(&mut raw, device) };
        driver.check(status, "cuDevicePrimaryCtxRetain")?;
        tracing::debug!("{driver:?} on cuda:{ordinal}: {properties:?}");
        Ok(Context {
            driver,
            ordinal,
            raw,
            properties,
            default_stream: OnceLock::new(),
            order: Mutex::new(None),
            allocator: Allocator::default(),
        })
    }

    /// Number of the device.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Properties of the device.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Compute capability of the device.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.properties.arch
    }

    /// The `CUcontext`; it must not be destroyed or released.
    #[must_use]
    pub fn as_raw(&self) -> *mut std::ffi::c_void {
        self.raw.0
    }

    /// The stream on which work runs unless the caller names another: one of our own, which does not wait for the
    /// legacy default stream.
    ///
    /// # Errors
    /// The driver refuses to make a stream.
    pub fn default_stream(&'static self) -> Result<&'static Stream> {
        if let Some(stream) = self.default_stream.get() {
            return Ok(stream);
        }
        // Of two threads that come here at the same time, one stream wins and the other is destroyed unused.
        let stream = Stream::new(self)?;
        Ok(self.default_stream.get_or_init(|| stream))
    }

    /// The stream on which calls of this thread run: that of the innermost [`Stream::scope`] of this device, or the
    /// default stream.
    pub(crate) fn current_stream(&'static self) -> Result<Current> {
        Ok(Current::or(self.default_stream()?))
    }

    /// Waits until all work on the device is done, also that of other libraries.
    ///
    /// # Errors
    /// Work that failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: takes no arguments; the context is current.
        self.call("cuCtxSynchronize", |functions| unsafe { (functions.ctx_synchronize)() })
    }

    /// Free and total memory of the device, in bytes.
    ///
    /// # Errors
    /// The driver fails.
    pub fn memory_info(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are to live integers.
        self.call_outside_captures("cuMemGetInfo", |functions| unsafe {
            (functions.mem_info)(&mut free, &mut total)
        })?;
        Ok((free, total))
    }

    /// What the allocator of this device holds.
    pub fn memory_stats(&self) -> MemoryStats {
        self.allocator.stats()
    }

    /// Gives cached memory back to the driver; waits for the streams that used it. Returns the bytes given back.
    ///
    /// # Errors
    /// Work that failed on one of these streams.
    pub fn trim(&'static self) -> Result<usize> {
        self.allocator.trim(self)
    }

    /// Orders later work on `behind` after the work queued so far on `first`, a stream of this context.
    pub(super) fn order(&'static self, first: &Stream, behind: &Stream) -> Result<()> {
        let mut event = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let event = match &mut *event {
            Some(event) => event,
            none => none.insert(Event::new(self, Timing::Off)?),
        };
        event.record(first)?;
        behind.wait(event)
    }

    pub(super) fn raw(&self) -> Handle {
        self.raw
    }

    /// Calls the driver with this context current; `name` is the function's name in the driver.
    pub(super) fn call(&self, name: &str, call: impl FnOnce(&Functions) -> Status) -> Result<()> {
        let _entered = self.enter()?;
        self.driver.check(call(self.driver.functions()), name)
    }

    /// As [`Context::call`], for what is no part of a capture and must not be refused because of one on some stream.
    pub(super) fn call_outside_captures(
        &self,
        name: &str,
        call: impl FnOnce(&Functions) -> Status,
    ) -> Result<()> {
        let _outside = self.outside_captures()?;
        self.call(name, call)
    }

    /// As [`Context::call_outside_captures`], in a destructor: a failure becomes a warning.
    pub(super) fn call_in_drop(&self, name: &str, call: impl FnOnce(&Functions) -> Status) {
        if let Err(error) = self.call_outside_captures(name, call) {
            tracing::warn!("{error}");
        }
    }

    /// Makes this context current on this thread until the result is dropped.
    pub(super) fn enter(&self) -> Result<Entered> {
        let functions = self.driver.functions();
        let mut previous = Handle::NULL;
        // SAFETY: the pointer is to a live handle.
        self.driver.check(unsafe { (functions.ctx_get_current)(&mut previous) }, "cuCtxGetCurrent")?;
        if previous == self.raw {
            return Ok(Entered { driver: self.driver, restore: None });
        }
        // SAFETY: the primary context is retained for ever.
        self.driver.check(unsafe { (functions.ctx_set_current)(self.raw) }, "cuCtxSetCurrent")?;
        // A thread that had none keeps ours: nobody can miss it, and the next call finds it.
        Ok(Entered { driver: self.driver, restore: Some(previous).filter(|previous| !previous.is_null()) })
    }

    /// Lets this thread make calls that a capture on some stream, also another library's, would forbid (allocations,
    /// module loads, queries), until the result is dropped. They are no part of the capture and do not disturb it.
    fn outside_captures(&self) -> Result<OutsideCaptures> {
        const RELAXED: c_int = 2;
        let mut mode = RELAXED;
        // SAFETY: the pointer is to a live integer that holds a mode; the driver leaves the former mode there.
        let status = unsafe { (self.driver.functions().thread_capture_mode)(&mut mode) };
        self.driver.check(status, "cuThreadExchangeStreamCaptureMode")?;
        Ok(OutsideCaptures { driver: self.driver, mode })
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Context {}

/// The time in which a context is current.
pub(super) struct Entered {
    driver: &'static Driver,
    restore: Option<Handle>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(previous) = self.restore {
            // SAFETY: it was current before, and contexts are not destroyed while they are in use.
            let status = unsafe { (self.driver.functions().ctx_set_current)(previous) };
            self.driver.trace(status, "cuCtxSetCurrent");
        }
    }
}

/// The time in which this thread may allocate beside a capture.
struct OutsideCaptures {
    driver: &'static Driver,
    mode: c_int,
}

impl Drop for OutsideCaptures {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a live integer that holds the mode that the driver gave.
        let status = unsafe { (self.driver.functions().thread_capture_mode)(&mut self.mode) };
        self.driver.trace(status, "cuThreadExchangeStreamCaptureMode");
    }
}

impl Properties {
    fn of(driver: &Driver, device: c_int) -> Result<Properties> {
        let functions = driver.functions();
        let get = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: the pointer is to a live integer, and both numbers are known to the driver.
            let status = unsafe { (functions.device_attribute)(&mut value, attribute, device) };
            driver.check(status, "cuDeviceGetAttribute")?;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
        };
        let mut total_bytes = 0;
        // SAFETY: the pointer is to a live integer.
        let status = unsafe { (functions.device_total_mem)(&mut total_bytes, device) };
        driver.check(status, "cuDeviceTotalMem")?;
        let [grid_x, grid_y, grid_z] = attribute::MAX_GRID;
        Ok(Properties {
            name: name_of(driver, device)?,
            arch: Arch { major: get(attribute::ARCH[0])?, minor: get(attribute::ARCH[1])? },
            sm_count: get(attribute::SM_COUNT)?,
            max_grid: [get(grid_x)?, get(grid_y)?, get(grid_z)?],
            max_threads_per_block: get(attribute::MAX_THREADS_PER_BLOCK)?,
            max_threads_per_sm: get(attribute::MAX_THREADS_PER_SM)?,
            smem_per_block: get(attribute::SMEM_PER_BLOCK)?,
            smem_per_block_optin: get(attribute::SMEM_PER_BLOCK_OPTIN)?,
            smem_per_sm: get(attribute::SMEM_PER_SM)?,
            l2_bytes: get(attribute::L2_BYTES)?,
            total_bytes,
        })
    }
}

fn name_of(driver: &Driver, device: c_int) -> Result<String> {
    const BYTES: c_int = 256;
    let mut buffer: [c_char; BYTES as usize] = [0; BYTES as usize];
    // SAFETY: the buffer has the length that is passed.
    let status = unsafe { (driver.functions().device_name)(buffer.as_mut_ptr(), BYTES, device) };
    driver.check(status, "cuDeviceGetName")?;
    // SAFETY: the driver ends the name with a zero byte, and the buffer was zero before.
    Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_exist_is_an_error() {
        // Without a driver the kind is `Driver`, with one it is `Device`; never a panic.
        let error = Context::get(u32::MAX).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Driver | ErrorKind::Device), "{error}");
    }
}
