//! Streams and events.
//!
//! Guarantees: a stream of ours lives as long as a handle to it or memory that calls it home; a borrowed one keeps its
//! owner alive as long; waiting for another stream never blocks the host.
//! Does not accept the per-thread default stream: it is another stream on every thread, and memory that it used could
//! be reused too early.
#![expect(unsafe_code, reason = "calls the driver")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::allocator::HomeMemory;
use super::context::Context;
use super::driver::{Handle, NOT_READY, SUCCESS};
use crate::error::{Error, ErrorKind, Result};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// `CU_STREAM_LEGACY`, another name of the null stream.
const LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: usize = 2;

/// A queue of work on a device; a clone is another handle to the same queue.
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

pub(super) struct Inner {
    pub(super) ctx: &'static Context,
    pub(super) raw: Handle,
    /// `None` for a stream of ours, which is destroyed at the end.
    owner: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether somebody may capture this stream, so that the driver has to be asked.
    watched: AtomicBool,
    pub(super) memory: Mutex<HomeMemory>,
}

thread_local! {
    /// Whether a [`Stream::scope`] is open on this thread: what each call asks, without touching the list.
    static IN_SCOPE: Cell<bool> = const { Cell::new(false) };
    /// The streams of the open scopes, innermost last.
    static SCOPES: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// The stream on which calls of a thread are queued.
#[derive(Clone, Debug)]
pub(crate) enum Current {
    /// The one of the context.
    Default(&'static Stream),
    /// That of a scope.
    Scoped(Stream),
}

impl Deref for Current {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        match self {
            Current::Default(stream) => stream,
            Current::Scoped(stream) => stream,
        }
    }
}

impl Current {
    /// The stream of the innermost scope of this thread on the context of `default`, or `default`.
    pub(crate) fn or(default: &'static Stream) -> Current {
        if !IN_SCOPE.get() {
            return Current::Default(default);
        }
        let is_here = |stream: &&Stream| stream.context() == default.context();
        let scoped = SCOPES.with_borrow(|scopes| scopes.iter().rev().find(is_here).cloned());
        scoped.map_or(Current::Default(default), Current::Scoped)
    }
}

/// Ends a scope, also when the thread unwinds.
struct ScopeEnd;

impl Drop for ScopeEnd {
    fn drop(&mut self) {
        let (ended, open) = SCOPES.with_borrow_mut(|scopes| (scopes.pop(), !scopes.is_empty()));
        IN_SCOPE.set(open);
        // Outside the borrow: its end may run code of the stream's owner.
        drop(ended);
    }
}

/// A capture in progress on a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    /// Number that no other capture of the process has.
    pub(super) id: u64,
    /// The graph that is being built.
    pub(super) graph: Handle,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.0.owner.is_some() { "borrowed stream" } else { "stream" };
        write!(f, "{kind} {:p} of cuda:{}", self.0.raw.0, self.0.ctx.ordinal())
    }
}

/// The same queue, whatever the handle.
impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.raw == other.0.raw && self.0.ctx == other.0.ctx)
    }
}

impl Eq for Stream {}

impl Stream {
    /// A new stream that does not wait for the legacy default stream.
    ///
    /// # Errors
    /// The driver refuses to make one.
    pub fn new(ctx: &'static Context) -> Result<Stream> {
        let mut raw = Handle::NULL;
        // SAFETY: the pointer is to a live handle.
        ctx.call_outside_captures("cuStreamCreate", |functions| unsafe {
            (functions.stream_create)(&mut raw, NON_BLOCKING)
        })?;
        Ok(Stream::with(ctx, raw, None))
    }

    /// A stream that belongs to somebody else. Keep the handle: memory is cached by handle, not by `raw`.
    ///
    /// # Errors
    /// A stream of a context that is not the primary one of its device, or the per-thread default stream.
    ///
    /// # Safety
    /// `raw` is a `CUstream` that stays valid as long as `owner` lives; null is the legacy default stream.
    pub unsafe fn borrowed(
        ctx: &'static Context,
        raw: *mut c_void,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Stream> {
        let unsupported = |message: &str| Err(Error::new(ErrorKind::Unsupported, message));
        let raw = match raw.addr() {
            PER_THREAD => {
                return unsupported("the per-thread default stream cannot be borrowed; create a stream");
            }
            LEGACY => Handle::NULL,
            _ => Handle(raw),
        };
        let mut stream_ctx = Handle::NULL;
        // SAFETY: the caller promises a valid stream; the pointer is to a live handle.
        ctx.call("cuStreamGetCtx", |functions| unsafe { (functions.stream_get_ctx)(raw, &mut stream_ctx) })?;
        if stream_ctx != ctx.raw() {
            return unsupported(
                "the stream belongs to another context than the primary one of the device; borrow a stream of that one",
            );
        }
        let stream = Stream::with(ctx, raw, Some(owner));
        stream.watch();
        Ok(stream)
    }

    fn with(ctx: &'static Context, raw: Handle, owner: Option<Arc<dyn Any + Send + Sync>>) -> Stream {
        let stream = Stream(Arc::new(Inner {
            ctx,
            raw,
            owner,
            watched: AtomicBool::new(false),
            memory: Mutex::default(),
        }));
        ctx.allocator.register(&stream.0);
        stream
    }

    /// Runs `f` and queues on this stream what it does on this thread for the stream's device: calls of ops, new
    /// buffers, copies. Scopes nest; the innermost one of a device counts. Without one it is the device's
    /// [default stream](Context::default_stream).
    ///
    /// Work of other streams on the same buffers is waited for by the device, never by the host, so a scope changes no
    /// result.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        SCOPES.with_borrow_mut(|scopes| scopes.push(self.clone()));
        IN_SCOPE.set(true);
        let _end = ScopeEnd;
        f()
    }

    /// The context of the stream.
    #[must_use]
    pub fn context(&self) -> &'static Context {
        self.0.ctx
    }

    /// The `CUstream`; it must not be destroyed, and lives as long as this handle.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        // From now on somebody else may begin a capture.
        self.watch();
        self.0.raw.0
    }

    /// Waits until all work queued so far is done.
    ///
    /// # Errors
    /// Work that failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is live.
        self.0.ctx.call_outside_captures("cuStreamSynchronize", |functions| unsafe {
            (functions.stream_synchronize)(self.0.raw)
        })
    }

    /// Whether all work queued so far is done.
    ///
    /// # Errors
    /// Work that failed.
    pub fn is_idle(&self) -> Result<bool> {
        let mut status = SUCCESS;
        self.0.ctx.call_outside_captures("cuStreamQuery", |functions| {
            // SAFETY: the stream is live.
            status = unsafe { (functions.stream_query)(self.0.raw) };
            if status == NOT_READY { SUCCESS } else { status }
        })?;
        Ok(status == SUCCESS)
    }

    /// Orders later work on this stream behind the work queued so far on `other`; the host does not wait.
    ///
    /// # Errors
    /// The driver fails.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        if self == other { Ok(()) } else { other.0.ctx.order(other, self) }
    }

    /// Orders later work on this stream behind `event`.
    ///
    /// # Errors
    /// The driver fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        if event.watched.load(Ordering::Relaxed) {
            // Waiting for captured work makes this stream part of the capture.
            self.watch();
        }
        // SAFETY: stream and event are live; the driver accepts events of other devices.
        self.0.ctx.call("cuStreamWaitEvent", |functions| unsafe {
            (functions.stream_wait_event)(self.0.raw, event.raw, 0)
        })
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(super) fn raw(&self) -> Handle {
        self.0.raw
    }

    fn watch(&self) {
        // The legacy default stream cannot be captured.
        self.0.watched.store(!self.0.raw.is_null(), Ordering::Relaxed);
    }

    /// The capture of which this stream is a part; without a driver call for a stream that nobody can have captured.
    pub(super) fn capture(&self) -> Result<Option<Capture>> {
        self.0.capture()
    }

    /// The number of that capture.
    pub(super) fn capture_id(&self) -> Result<Option<u64>> {
        Ok(self.capture()?.map(|capture| capture.id))
    }
}

impl Inner {
    pub(super) fn capture(&self) -> Result<Option<Capture>> {
        /// `CU_STREAM_CAPTURE_STATUS_NONE`.
        const NONE: c_int = 0;
        if !self.watched.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (mut status, mut id, mut graph) = (NONE, 0, Handle::NULL);
        // SAFETY: the stream is live and the pointers are to live values; the optional results are not asked for.
        self.ctx.call("cuStreamGetCaptureInfo", |functions| unsafe {
            (functions.stream_capture_info)(
                self.raw,
                &mut status,
                &mut id,
                &mut graph,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        Ok((status != NONE).then_some(Capture { id, graph }))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ctx.allocator.retire(self);
        if self.owner.is_none() {
            // SAFETY: the stream is ours and this is its last use; queued work still runs to its end.
            self.ctx
                .call_in_drop("cuStreamDestroy", |functions| unsafe { (functions.stream_destroy)(self.raw) });
        }
    }
}

/// Whether an event keeps the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// For [`Event::elapsed_ms`].
    On,
    /// For ordering only, which is cheaper.
    Off,
}

/// A point in a stream's work.
pub struct Event {
    ctx: &'static Context,
    raw: Handle,
    /// Whether the stream on which it was recorded last was watched.
    watched: AtomicBool,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {:p} of cuda:{}", self.raw.0, self.ctx.ordinal())
    }
}

impl Event {
    /// An event that is not recorded yet.
    ///
    /// # Errors
    /// The driver refuses to make one.
    pub fn new(ctx: &'static Context, timing: Timing) -> Result<Event> {
        let flags = match timing {
            Timing::On => 0,
            Timing::Off => 2,
        };
        let mut raw = Handle::NULL;
        // SAFETY: the pointer is to a live handle.
        ctx.call_outside_captures("cuEventCreate", |functions| unsafe {
            (functions.event_create)(&mut raw, flags)
        })?;
        Ok(Event { ctx, raw, watched: AtomicBool::new(false) })
    }

    /// Puts the event behind all work queued so far on a stream of the same device.
    ///
    /// # Errors
    /// A stream of another device.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.record_inner(stream.inner())
    }

    pub(super) fn record_inner(&self, stream: &Inner) -> Result<()> {
        self.watched.store(stream.watched.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: event and stream are live.
        self.ctx.call("cuEventRecord", |functions| unsafe { (functions.event_record)(self.raw, stream.raw) })
    }

    /// Waits until the work before the event is done.
    ///
    /// # Errors
    /// Work that failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is live.
        self.ctx.call_outside_captures("cuEventSynchronize", |functions| unsafe {
            (functions.event_synchronize)(self.raw)
        })
    }

    /// Whether the work before the event is done.
    ///
    /// # Errors
    /// Work that failed.
    pub fn is_done(&self) -> Result<bool> {
        let mut status = SUCCESS;
        self.ctx.call_outside_captures("cuEventQuery", |functions| {
            // SAFETY: the event is live.
            status = unsafe { (functions.event_query)(self.raw) };
            if status == NOT_READY { SUCCESS } else { status }
        })?;
        Ok(status == SUCCESS)
    }

    /// Milliseconds from this event to a later one; both keep the time, were recorded, and are done.
    ///
    /// # Errors
    /// An event without time, not recorded, or not done.
    pub fn elapsed_ms(&self, later: &Event) -> Result<f32> {
        let mut ms = 0.0;
        self.ctx.call("cuEventElapsedTime", |functions| {
            // SAFETY: the pointer is to a live number and both events are live.
            unsafe { (functions.event_elapsed)(&mut ms, self.raw, later.raw) }
        })?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is ours and this is its last use; the driver keeps what queued waits need.
        self.ctx.call_in_drop("cuEventDestroy", |functions| unsafe { (functions.event_destroy)(self.raw) });
    }
}
