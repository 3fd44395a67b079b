//! A driver of Rust functions that write down what they are asked, one per thread and so one per test.
//!
//! Knows of each call as much as the tests need: the current context, free memory, captures and the objects that graphs
//! keep. Runs no kernel and moves no byte.
#![expect(unsafe_code, reason = "writes results through the pointers of the C interface")]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "all rely on one thing: each pointer is to a live value of the caller"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use super::context::Context;
use super::driver::{Driver, Functions, Handle, LaunchConfig, OUT_OF_MEMORY, SUCCESS, Status};

/// What a test sees and sets.
#[derive(Default)]
pub(super) struct Fake {
    /// Calls since the last look, without those that ask for the current context.
    pub(super) log: Vec<String>,
    pub(super) current: Option<Handle>,
    pub(super) free_bytes: usize,
    /// The number of the capture on each captured stream.
    pub(super) captures: BTreeMap<Handle, u64>,
    /// The status that a call returns in place of success, by name.
    pub(super) failures: BTreeMap<&'static str, Status>,
    blocks: BTreeMap<u64, usize>,
    objects: Vec<(Handle, *mut c_void, Callback)>,
    handles: usize,
    addresses: u64,
    mode: c_int,
}

type Callback = unsafe extern "C" fn(*mut c_void);

thread_local! {
    static FAKE: RefCell<Fake> = RefCell::default();
}

/// Looks at or changes the state of this thread's driver.
pub(super) fn with<T>(use_it: impl FnOnce(&mut Fake) -> T) -> T {
    FAKE.with_borrow_mut(use_it)
}

/// The calls since the last look.
pub(super) fn calls() -> Vec<String> {
    with(|fake| std::mem::take(&mut fake.log))
}

/// A new context of this thread's driver, with so many bytes of memory.
pub(super) fn context(free_bytes: usize) -> &'static Context {
    with(|fake| fake.free_bytes = free_bytes);
    let driver = Box::leak(Box::new(Driver::of(functions())));
    let ctx = Box::leak(Box::new(Context::on(driver, 0).unwrap()));
    calls();
    ctx
}

/// Destroys the graphs of all captures, as the driver would after the last copy is gone.
pub(super) fn destroy_graphs() {
    for (_, pointer, callback) in with(|fake| std::mem::take(&mut fake.objects)) {
        // SAFETY: each object is taken out of the list, so its callback runs once, with its own pointer.
        unsafe { callback(pointer) };
    }
}

impl Fake {
    /// Writes a call down; its status.
    fn call(&mut self, name: &'static str, arguments: &str) -> Status {
        self.log.push(if arguments.is_empty() { name.to_owned() } else { format!("{name} {arguments}") });
        self.failures.get(name).copied().unwrap_or(SUCCESS)
    }

    fn handle(&mut self) -> Handle {
        self.handles += 1;
        Handle(ptr::without_provenance_mut(self.handles * 16))
    }
}

/// Shown in the log as its number.
fn n(handle: Handle) -> usize {
    handle.0.addr() / 16
}

/// Writes a result; every pointer in the interface is to a live value of the caller.
unsafe fn put<T>(target: *mut T, value: T) -> Status {
    if !target.is_null() {
        // SAFETY: the callers in this crate pass pointers to live values.
        unsafe { target.write(value) };
    }
    SUCCESS
}

/// Defines the functions and the table of them.
macro_rules! fake {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $body:block)*) => {
        $(unsafe extern "C" fn $name($($arg: $ty),*) -> Status $body)*

        fn functions() -> Functions {
            Functions { $($name),* }
        }
    };
}

/// Makes a new object and hands it out, unless the call is set to fail.
unsafe fn create(name: &'static str, out: *mut Handle) -> Status {
    let (status, handle) = with(|fake| {
        let handle = fake.handle();
        (fake.call(name, &n(handle).to_string()), handle)
    });
    // SAFETY: as in `put`.
    if status == SUCCESS { unsafe { put(out, handle) } } else { status }
}

fn plain(name: &'static str, arguments: &str) -> Status {
    with(|fake| fake.call(name, arguments))
}

fake! {
    fn init(_flags: c_uint) { SUCCESS }
    fn driver_version(out: *mut c_int) { unsafe { put(out, 12_000) } }
    fn error_name(_status: Status, out: *mut *const c_char) { unsafe { put(out, c"CUDA_ERROR_FAKE".as_ptr()) } }
    fn error_string(_status: Status, out: *mut *const c_char) { unsafe { put(out, c"set to fail".as_ptr()) } }

    fn device_count(out: *mut c_int) { unsafe { put(out, 1) } }
    fn device_get(out: *mut c_int, _ordinal: c_int) { unsafe { put(out, 0) } }
    fn device_name(out: *mut c_char, _bytes: c_int, _device: c_int) { unsafe { put(out, 0) } }
    fn device_attribute(out: *mut c_int, attribute: c_int, _device: c_int) { unsafe { put(out, attribute) } }
    fn device_total_mem(out: *mut usize, _device: c_int) { unsafe { put(out, 1 << 40) } }

    fn primary_ctx_retain(out: *mut Handle, _device: c_int) { unsafe { create("retain", out) } }
    fn ctx_get_current(out: *mut Handle) {
        unsafe { put(out, with(|fake| fake.current).unwrap_or(Handle::NULL)) }
    }
    fn ctx_set_current(ctx: Handle) { with(|fake| fake.current = Some(ctx)); plain("current", &n(ctx).to_string()) }
    fn ctx_synchronize() { plain("synchronize", "") }

    fn stream_create(out: *mut Handle, _flags: c_uint) { unsafe { create("stream", out) } }
    fn stream_destroy(stream: Handle) { plain("destroy stream", &n(stream).to_string()) }
    fn stream_synchronize(stream: Handle) { plain("wait for stream", &n(stream).to_string()) }
    fn stream_query(_stream: Handle) { SUCCESS }
    fn stream_wait_event(stream: Handle, event: Handle, _flags: c_uint) {
        plain("wait", &format!("{} for {}", n(stream), n(event)))
    }
    fn stream_get_ctx(_stream: Handle, out: *mut Handle) {
        unsafe { put(out, with(|fake| fake.current).unwrap_or(Handle::NULL)) }
    }
    fn stream_capture_info(
        stream: Handle,
        status: *mut c_int,
        id: *mut u64,
        graph: *mut Handle,
        _nodes: *mut *const Handle,
        _count: *mut usize
    ) {
        let capture = with(|fake| fake.captures.get(&stream).copied());
        unsafe { put(status, c_int::from(capture.is_some())) };
        unsafe { put(id, capture.unwrap_or(0)) };
        unsafe { put(graph, stream) }
    }
    fn thread_capture_mode(mode: *mut c_int) {
        let new = unsafe { mode.read() };
        unsafe { put(mode, with(|fake| std::mem::replace(&mut fake.mode, new))) }
    }

    fn user_object_create(
        out: *mut Handle,
        pointer: *mut c_void,
        callback: Callback,
        _count: c_uint,
        _flags: c_uint
    ) {
        let mut handle = Handle::NULL;
        let status = unsafe { create("object", &mut handle) };
        if status == SUCCESS {
            with(|fake| fake.objects.push((handle, pointer, callback)));
        }
        unsafe { put(out, handle) };
        status
    }
    fn user_object_release(object: Handle, _count: c_uint) {
        let released = with(|fake| {
            let index = fake.objects.iter().position(|(known, ..)| *known == object);
            index.map(|index| fake.objects.remove(index))
        });
        if let Some((_, pointer, callback)) = released {
            unsafe { callback(pointer) };
        }
        plain("release object", &n(object).to_string())
    }
    fn graph_retain_user_object(_graph: Handle, _object: Handle, _count: c_uint, _flags: c_uint) {
        plain("tie object", "")
    }

    fn event_create(out: *mut Handle, _flags: c_uint) { unsafe { create("event", out) } }
    fn event_record(event: Handle, stream: Handle) { plain("record", &format!("{} on {}", n(event), n(stream))) }
    fn event_query(_event: Handle) { SUCCESS }
    fn event_synchronize(event: Handle) { plain("wait for event", &n(event).to_string()) }
    fn event_elapsed(out: *mut f32, _begin: Handle, _end: Handle) { unsafe { put(out, 1.0) } }
    fn event_destroy(_event: Handle) { SUCCESS }

    fn mem_alloc(out: *mut u64, bytes: usize) {
        let address = with(|fake| {
            fake.call("alloc", &bytes.to_string());
            fake.free_bytes = fake.free_bytes.checked_sub(bytes)?;
            fake.addresses += 1 << 40;
            fake.blocks.insert(fake.addresses, bytes);
            Some(fake.addresses)
        });
        address.map_or(OUT_OF_MEMORY, |address| unsafe { put(out, address) })
    }
    fn mem_free(address: u64) {
        with(|fake| {
            let bytes = fake.blocks[&address];
            let status = fake.call("free", &bytes.to_string());
            if status == SUCCESS {
                fake.blocks.remove(&address);
                fake.free_bytes += bytes;
            }
            status
        })
    }
    fn mem_info(free: *mut usize, total: *mut usize) {
        unsafe { put(free, with(|fake| fake.free_bytes)) };
        unsafe { put(total, 1 << 40) }
    }
    fn copy_to_device(_to: u64, _from: *const c_void, _bytes: usize, stream: Handle) {
        plain("copy in", &format!("on {}", n(stream)))
    }
    fn copy_to_host(_to: *mut c_void, _from: u64, _bytes: usize, stream: Handle) {
        plain("copy out", &format!("on {}", n(stream)))
    }
    fn copy_on_device(_to: u64, _from: u64, _bytes: usize, stream: Handle) {
        plain("copy", &format!("on {}", n(stream)))
    }
    fn copy_to_peer(_to: u64, _to_ctx: Handle, _from: u64, _from_ctx: Handle, _bytes: usize, stream: Handle) {
        plain("copy to peer", &format!("on {}", n(stream)))
    }
    fn set_bytes(_to: u64, _value: u8, _bytes: usize, stream: Handle) { plain("set", &format!("on {}", n(stream))) }

    fn module_load(
        out: *mut Handle,
        _image: *const c_void,
        _count: c_uint,
        _options: *mut c_int,
        _values: *mut *mut c_void
    ) { unsafe { create("module", out) } }
    fn module_function(out: *mut Handle, _module: Handle, _name: *const c_char) { unsafe { create("function", out) } }
    fn function_attribute(out: *mut c_int, attribute: c_int, _function: Handle) { unsafe { put(out, attribute) } }
    fn function_set_attribute(_function: Handle, _attribute: c_int, _value: c_int) { plain("set attribute", "") }
    fn occupancy(out: *mut c_int, _function: Handle, _threads: c_int, _smem: usize) { unsafe { put(out, 1) } }
    fn launch_kernel(
        function: Handle,
        _grid_x: c_uint, _grid_y: c_uint, _grid_z: c_uint,
        _block_x: c_uint, _block_y: c_uint, _block_z: c_uint,
        _smem: c_uint, stream: Handle, _args: *mut *mut c_void, _extra: *mut *mut c_void
    ) { plain("launch", &format!("{} on {}", n(function), n(stream))) }
    fn launch_kernel_ex(
        config: *const LaunchConfig, function: Handle, _args: *mut *mut c_void, _extra: *mut *mut c_void
    ) { plain("launch overlapping", &format!("{} on {}", n(function), n(unsafe { (*config).stream }))) }
}
