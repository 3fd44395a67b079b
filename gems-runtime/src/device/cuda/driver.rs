//! The CUDA driver through our own table of its functions.
//!
//! Guarantees: a missing, too old or incomplete driver is an error that says what was tried and the way out, never a
//! panic; nothing is loaded before the first call of [`Driver::get`]; every failing call becomes a typed error with the
//! driver's own text.
//! Does not choose contexts or streams: callers make the right context current first.
#![expect(unsafe_code, reason = "calls into a C library that is loaded at run time")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::compile::library::{functions, open};
use crate::error::{Error, ErrorKind, Result};

/// `CUresult`; 0 is success.
pub(crate) type Status = c_int;

/// A pointer to an object of the driver: a context, stream, event, module or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) *mut c_void);

// SAFETY: the driver's objects may be used from every thread; only the current context is a thread's own, and it is
// asked for before each call.
unsafe impl Send for Handle {}
// SAFETY: as above; a handle is a number that is never dereferenced here.
unsafe impl Sync for Handle {}

impl Handle {
    pub(crate) const NULL: Handle = Handle(ptr::null_mut());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// The status of success.
pub(crate) const SUCCESS: Status = 0;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: Status = 2;
/// `CUDA_ERROR_STUB_LIBRARY`.
const STUB: Status = 34;
/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: Status = 100;
/// `CUDA_ERROR_NOT_READY`.
pub(crate) const NOT_READY: Status = 600;

/// The oldest driver that we accept, as the driver writes it: CUDA 12.0.
const OLDEST: u32 = 12_000;

/// Names under which the driver is installed, the loader's path first.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "libcuda.so"]
};

functions! {
    init: "cuInit" = fn(c_uint) -> Status;
    driver_version: "cuDriverGetVersion" = fn(*mut c_int) -> Status;
    error_name: "cuGetErrorName" = fn(Status, *mut *const c_char) -> Status;
    error_string: "cuGetErrorString" = fn(Status, *mut *const c_char) -> Status;

    device_count: "cuDeviceGetCount" = fn(*mut c_int) -> Status;
    device_get: "cuDeviceGet" = fn(*mut c_int, c_int) -> Status;
    device_name: "cuDeviceGetName" = fn(*mut c_char, c_int, c_int) -> Status;
    device_attribute: "cuDeviceGetAttribute" = fn(*mut c_int, c_int, c_int) -> Status;
    device_total_mem: "cuDeviceTotalMem_v2" = fn(*mut usize, c_int) -> Status;

    primary_ctx_retain: "cuDevicePrimaryCtxRetain" = fn(*mut Handle, c_int) -> Status;
    ctx_get_current: "cuCtxGetCurrent" = fn(*mut Handle) -> Status;
    ctx_set_current: "cuCtxSetCurrent" = fn(Handle) -> Status;
    ctx_synchronize: "cuCtxSynchronize" = fn() -> Status;

    stream_create: "cuStreamCreate" = fn(*mut Handle, c_uint) -> Status;
    stream_destroy: "cuStreamDestroy_v2" = fn(Handle) -> Status;
    stream_synchronize: "cuStreamSynchronize" = fn(Handle) -> Status;
    stream_query: "cuStreamQuery" = fn(Handle) -> Status;
    stream_wait_event: "cuStreamWaitEvent" = fn(Handle, Handle, c_uint) -> Status;
    stream_get_ctx: "cuStreamGetCtx" = fn(Handle, *mut Handle) -> Status;
    stream_capture_info: "cuStreamGetCaptureInfo_v2"
        = fn(Handle, *mut c_int, *mut u64, *mut Handle, *mut *const Handle, *mut usize) -> Status;
    thread_capture_mode: "cuThreadExchangeStreamCaptureMode" = fn(*mut c_int) -> Status;

    user_object_create: "cuUserObjectCreate"
        = fn(*mut Handle, *mut c_void, unsafe extern "C" fn(*mut c_void), c_uint, c_uint) -> Status;
    user_object_release: "cuUserObjectRelease" = fn(Handle, c_uint) -> Status;
    graph_retain_user_object: "cuGraphRetainUserObject" = fn(Handle, Handle, c_uint, c_uint) -> Status;

    event_create: "cuEventCreate" = fn(*mut Handle, c_uint) -> Status;
    event_record: "cuEventRecord" = fn(Handle, Handle) -> Status;
    event_query: "cuEventQuery" = fn(Handle) -> Status;
    event_synchronize: "cuEventSynchronize" = fn(Handle) -> Status;
    event_elapsed: "cuEventElapsedTime" = fn(*mut f32, Handle, Handle) -> Status;
    event_destroy: "cuEventDestroy_v2" = fn(Handle) -> Status;

    mem_alloc: "cuMemAlloc_v2" = fn(*mut u64, usize) -> Status;
    mem_free: "cuMemFree_v2" = fn(u64) -> Status;
    mem_info: "cuMemGetInfo_v2" = fn(*mut usize, *mut usize) -> Status;
    copy_to_device: "cuMemcpyHtoDAsync_v2" = fn(u64, *const c_void, usize, Handle) -> Status;
    copy_to_host: "cuMemcpyDtoHAsync_v2" = fn(*mut c_void, u64, usize, Handle) -> Status;
    copy_on_device: "cuMemcpyDtoDAsync_v2" = fn(u64, u64, usize, Handle) -> Status;
    copy_to_peer: "cuMemcpyPeerAsync" = fn(u64, Handle, u64, Handle, usize, Handle) -> Status;
    set_bytes: "cuMemsetD8Async" = fn(u64, u8, usize, Handle) -> Status;

    module_load: "cuModuleLoadDataEx"
        = fn(*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void) -> Status;
    module_function: "cuModuleGetFunction" = fn(*mut Handle, Handle, *const c_char) -> Status;
    function_attribute: "cuFuncGetAttribute" = fn(*mut c_int, c_int, Handle) -> Status;
    function_set_attribute: "cuFuncSetAttribute" = fn(Handle, c_int, c_int) -> Status;
    occupancy: "cuOccupancyMaxActiveBlocksPerMultiprocessor" = fn(*mut c_int, Handle, c_int, usize) -> Status;
    launch_kernel: "cuLaunchKernel" = fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    ) -> Status;
    launch_kernel_ex: "cuLaunchKernelEx" =
        fn(*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void) -> Status;
}

/// `CUlaunchConfig`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) smem_bytes: c_uint,
    pub(super) stream: Handle,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) n_attributes: c_uint,
}

/// `CUlaunchAttribute`: a number that names it, and 64 bytes of value.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    pad: u32,
    value: [c_int; 16],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the kernel waits by itself for the one before it.
    pub(super) const OVERLAPPING: LaunchAttribute = {
        let mut value = [0; 16];
        value[0] = 1;
        LaunchAttribute { id: 6, pad: 0, value }
    };
}

/// What helps against some errors of the driver, by status.
const HINTS: &[(Status, &str)] = &[
    (46, "the device is busy or in exclusive use"),
    (100, "no CUDA device is visible; see CUDA_VISIBLE_DEVICES, or use Device::Cpu"),
    (209, "the binary is for another architecture; clear the kernel cache"),
    (222, "NVRTC is newer than the driver; update the driver or set GEMS_NVRTC to an NVRTC of its version"),
    (700, "a kernel accessed memory outside its buffers; CUDA works again after the process restarts"),
    (702, "a kernel ran too long for the display driver"),
    (709, "the context was destroyed by somebody else"),
    (716, "a kernel accessed a misaligned address; CUDA works again after the process restarts"),
    (719, "a kernel failed; CUDA works again after the process restarts"),
    (803, "the driver's kernel module and library differ in version; restart the machine"),
    (900, "the stream is being captured; do this before or after the capture"),
    (906, "the stream is being captured; do this before or after the capture"),
];

/// The driver of this process; it stays loaded until the process ends.
pub struct Driver {
    functions: Functions,
    version: u32,
    /// The status of `cuInit`: a driver without a device is loaded and can say its version.
    init: Status,
}

static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA driver {}.{}", self.version / 1000, self.version % 1000 / 10)
    }
}

impl Driver {
    /// The driver, loaded and initialized at the first call; a failure is remembered too.
    ///
    /// # Errors
    /// No driver, one older than CUDA 12, or one that does not start.
    pub fn get() -> Result<&'static Driver> {
        let driver = DRIVER.get_or_init(Driver::load).as_ref().map_err(Clone::clone)?;
        driver.check(driver.init, "cuInit")?;
        Ok(driver)
    }

    /// The driver if it was loaded before; loads nothing.
    pub fn loaded() -> Option<&'static Driver> {
        DRIVER.get()?.as_ref().ok()
    }

    /// The CUDA version that it supports: 12080 for 12.8.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Number of devices; 0 if the driver sees none.
    ///
    /// # Errors
    /// No driver, or one that does not start.
    pub fn device_count() -> Result<u32> {
        let loaded = DRIVER.get_or_init(Driver::load).as_ref().map_err(Clone::clone)?;
        if loaded.init == NO_DEVICE {
            return Ok(0);
        }
        let driver = Driver::get()?;
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        driver.check(unsafe { (driver.functions.device_count)(&mut count) }, "cuDeviceGetCount")?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// A driver that consists of these functions.
    #[cfg(test)]
    pub(super) fn of(functions: Functions) -> Driver {
        Driver { functions, version: OLDEST, init: SUCCESS }
    }

    /// The table of functions.
    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }

    fn load() -> Result<Driver> {
        let mut tried = Vec::new();
        for name in NAMES {
            match open(Path::new(name)).map_err(|error| error.to_string()).and_then(Driver::start) {
                Ok(driver) => return Ok(driver),
                Err(reason) => tried.push(format!("{name}: {reason}")),
            }
        }
        let message = format!(
            "no CUDA driver; install the NVIDIA driver (CUDA 12.0 or later), or use Device::Cpu; tried\n  {}",
            tried.join("\n  ")
        );
        Err(Error::new(ErrorKind::Driver, message))
    }

    fn start(library: Library) -> Result<Driver, String> {
        let functions = Functions::of(&library).map_err(|error| format!("the driver is too old: {error}"))?;
        let mut number = 0;
        // SAFETY: the pointer is to a live integer; this call is allowed before `cuInit`.
        let status = unsafe { (functions.driver_version)(&mut number) };
        if status == STUB {
            return Err("it is the toolkit's stub and no driver".to_owned());
        }
        let version = u32::try_from(number).unwrap_or(0);
        if status != SUCCESS || version < OLDEST {
            return Err(format!(
                "it supports CUDA {}.{}, and 12.0 is needed",
                version / 1000,
                version % 1000 / 10
            ));
        }
        // SAFETY: 0 is the only flag word that is defined.
        let init = unsafe { (functions.init)(0) };
        // Never closed: the table points into the library for ever.
        std::mem::forget(library);
        Ok(Driver { functions, version, init })
    }

    /// An error for a status that is no success; `call` is the function's name in the driver.
    pub(crate) fn check(&self, status: Status, call: &str) -> Result<()> {
        if status == SUCCESS { Ok(()) } else { Err(self.error(status, call)) }
    }

    /// As [`Driver::check`], for places that cannot return an error.
    pub(crate) fn trace(&self, status: Status, call: &str) {
        if status != SUCCESS {
            tracing::warn!("{}", self.error(status, call));
        }
    }

    #[cold]
    fn error(&self, status: Status, call: &str) -> Error {
        let text = self.text(self.functions.error_string, status).unwrap_or_else(|| "unknown error".into());
        let name = self.text(self.functions.error_name, status).unwrap_or_else(|| status.to_string());
        let kind = if status == OUT_OF_MEMORY { ErrorKind::Memory } else { ErrorKind::Driver };
        let hint = HINTS
            .iter()
            .find(|(known, _)| *known == status)
            .map_or(String::new(), |row| format!("; {}", row.1));
        Error::new(kind, format!("{call} failed: {text} ({name}){hint}"))
    }

    fn text(
        &self,
        ask: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
        status: Status,
    ) -> Option<String> {
        let mut text = ptr::null();
        // SAFETY: the pointer is to a live pointer, which the driver sets to a static string or null.
        if unsafe { ask(status, &mut text) } != SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: not null, and the driver's error strings are static and end with a zero byte.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_driver_is_an_error_that_says_what_was_tried() {
        // A machine with a driver has nothing to show here; the text is then made by hand from the same parts.
        match Driver::get() {
            Ok(driver) => assert!(driver.version() >= OLDEST),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Driver);
                let text = error.to_string();
                assert!(NAMES.iter().all(|name| text.contains(name)) || text.contains("cuInit"), "{text}");
                assert!(text.contains("Device::Cpu"), "{text}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_is_no_driver_is_an_error() {
        // The C library is a library without any of the symbols.
        let library = open(Path::new("libc.so.6")).unwrap();
        let reason = Driver::start(library).unwrap_err();
        assert!(reason.contains("cuInit"), "{reason}");
    }

    #[test]
    fn hints_are_in_order_and_once() {
        assert!(HINTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
