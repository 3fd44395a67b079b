//! Loaded kernels and their launch.
//!
//! Guarantees: a kernel is loaded completely when [`Function::load`] returns, so that a launch, also one in a capture,
//! never loads; a launch is one call of the driver, without lock or allocation.
//! Does not unload: a graph may hold a kernel longer than we can know, and a program has few kernels.
#![expect(unsafe_code, reason = "calls the driver and launches kernels")]

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr;

use super::context::Context;
use super::driver::{Functions, Handle, LaunchAttribute, LaunchConfig, SUCCESS, Status};
use super::stream::Stream;
use crate::compile::{Binary, BinaryKind};
use crate::error::{Error, ErrorKind, Result};

/// Statuses of a driver that wants a context current: not initialized on this thread, invalid or destroyed context, invalid
/// handle.
const WANTS_CONTEXT: [Status; 4] = [3, 201, 400, 709];

/// A kernel on one device.
#[derive(Clone, Copy)]
pub struct Function {
    ctx: &'static Context,
    raw: Handle,
    resources: Resources,
}

/// What a kernel takes from a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Local memory of a thread, in bytes: spilled registers and local arrays.
    pub local_bytes: u32,
    /// Static shared memory of a block, in bytes.
    pub smem_bytes: u32,
    /// Highest block that can be launched, in threads.
    pub max_threads_per_block: u32,
}

/// `CUfunction_attribute` by name.
mod attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: i32 = 0;
    pub(super) const SMEM_BYTES: i32 = 1;
    pub(super) const LOCAL_BYTES: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
    pub(super) const MAX_DYNAMIC_SMEM_BYTES: i32 = 8;
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {:p} of cuda:{}, {:?}", self.raw.0, self.ctx.ordinal(), self.resources)
    }
}

impl Function {
    /// Loads a binary and finds the kernel `entry` in it.
    ///
    /// # Errors
    /// A binary that the device or the driver does not take, with the driver's log; no such kernel.
    pub fn load(ctx: &'static Context, binary: &Binary, entry: &str) -> Result<Function> {
        let name = CString::new(entry).map_err(|_| {
            Error::new(ErrorKind::Value, format!("the kernel name {entry:?} holds a zero byte"))
        })?;
        let module = load_module(ctx, binary, entry)?;
        let mut raw = Handle::NULL;
        // SAFETY: the module is live, the name ends with a zero byte, and the pointer is to a live handle.
        ctx.call_outside_captures("cuModuleGetFunction", |functions| unsafe {
            (functions.module_function)(&mut raw, module, name.as_ptr())
        })
        .map_err(|error| Error::new(error.kind(), format!("no kernel {entry} in its binary: {error}")))?;
        let get = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: the function is live and the pointer is to a live integer. Asking loads the code, where the
            // driver would put that off until the first launch.
            ctx.call_outside_captures("cuFuncGetAttribute", |functions| unsafe {
                (functions.function_attribute)(&mut value, attribute, raw)
            })?;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
        };
        let resources = Resources {
            registers: get(attribute::REGISTERS)?,
            local_bytes: get(attribute::LOCAL_BYTES)?,
            smem_bytes: get(attribute::SMEM_BYTES)?,
            max_threads_per_block: get(attribute::MAX_THREADS_PER_BLOCK)?,
        };
        tracing::debug!("loaded {entry} on cuda:{}: {resources:?}", ctx.ordinal());
        Ok(Function { ctx, raw, resources })
    }

    /// The context in which it was loaded.
    #[must_use]
    pub fn context(&self) -> &'static Context {
        self.ctx
    }

    /// What it takes from a multiprocessor.
    #[must_use]
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// Allows launches with up to so many bytes of dynamic shared memory; needed above
    /// [`Properties::smem_per_block`](super::Properties::smem_per_block).
    ///
    /// # Errors
    /// More than the device has.
    pub fn allow_smem(&self, bytes: u32) -> Result<()> {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        self.ctx.call("cuFuncSetAttribute", |functions| {
            // SAFETY: the function is live.
            unsafe { (functions.function_set_attribute)(self.raw, attribute::MAX_DYNAMIC_SMEM_BYTES, bytes) }
        })
    }

    /// Blocks of so many threads that fit on one multiprocessor at a time; slow, so ask once.
    ///
    /// # Errors
    /// The driver fails.
    pub fn blocks_per_sm(&self, threads: u32, smem_bytes: u32) -> Result<u32> {
        let (mut blocks, threads) = (0, c_int::try_from(threads).unwrap_or(c_int::MAX));
        self.ctx.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", |functions| {
            // SAFETY: the function is live and the pointer is to a live integer.
            unsafe { (functions.occupancy)(&mut blocks, self.raw, threads, smem_bytes as usize) }
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Queues a launch on `stream`; the host does not wait.
    ///
    /// # Errors
    /// A stream of another device; a grid or block that the device does not take; an earlier failure on the device.
    ///
    /// # Safety
    /// `args` are pointers to one value for each parameter of the kernel, of the parameter's type and live during this
    /// call. The kernel with these arguments accesses only memory that stays valid until it is done, and the stream
    /// orders it against all other uses of that memory.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        smem_bytes: u32,
        args: &[*mut c_void],
    ) -> Result<()> {
        if stream.context() != self.ctx {
            return Err(self.elsewhere(stream));
        }
        // Function and stream name their context, so the driver needs no current one; where it wants one all the same, it
        // is asked again. The null stream is that of whichever context is current.
        if !stream.raw().is_null() {
            // SAFETY: function and stream are live and of one context; the caller promises the rest.
            let status = unsafe { self.queue(self.ctx.functions(), stream, grid, block, smem_bytes, args) };
            if !WANTS_CONTEXT.contains(&status) {
                return self.ctx.check(status, "cuLaunchKernel");
            }
        }
        // SAFETY: as above.
        unsafe { self.launch_times(stream, grid, block, smem_bytes, args, 1) }
    }

    /// As [`Function::launch`], where the launch may overlap the end of the kernel before it: from sm_90 on, which takes
    /// less time of the host and of the device.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there; and the kernel accesses no memory before it has waited for earlier kernels (`griddepcontrol.wait`).
    pub(crate) unsafe fn launch_overlapping(
        &self,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[*mut c_void],
    ) -> Result<()> {
        static ATTRIBUTE: LaunchAttribute = LaunchAttribute::OVERLAPPING;
        if self.ctx.arch().major >= 9 && stream.context() == self.ctx && !stream.raw().is_null() {
            let (attributes, n_attributes) = (&raw const ATTRIBUTE, 1);
            let config =
                LaunchConfig { grid, block, smem_bytes: 0, stream: stream.raw(), attributes, n_attributes };
            let args = args.as_ptr().cast_mut();
            // SAFETY: function and stream are live and of one context, the configuration is of this one attribute, which
            // the driver only reads; the caller promises the rest.
            let status =
                unsafe { (self.ctx.functions().launch_kernel_ex)(&config, self.raw, args, ptr::null_mut()) };
            if !WANTS_CONTEXT.contains(&status) {
                return self.ctx.check(status, "cuLaunchKernelEx");
            }
        }
        // SAFETY: the caller promises more than is needed.
        unsafe { self.launch(stream, grid, block, 0, args) }
    }

    fn elsewhere(&self, stream: &Stream) -> Error {
        let message = format!("{self:?} cannot run on {stream:?}; use a stream of its device");
        Error::new(ErrorKind::Device, message)
    }

    /// # Safety
    /// As [`Function::launch`], on a stream of this function's context.
    unsafe fn queue(
        &self,
        functions: &Functions,
        stream: &Stream,
        [grid_x, grid_y, grid_z]: [u32; 3],
        [block_x, block_y, block_z]: [u32; 3],
        smem_bytes: u32,
        args: &[*mut c_void],
    ) -> Status {
        // SAFETY: passed on.
        unsafe {
            (functions.launch_kernel)(
                self.raw,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                smem_bytes,
                stream.raw(),
                args.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        }
    }

    /// Queues the same launch so many times; the context is made current once.
    ///
    /// # Errors
    /// As [`Function::launch`].
    ///
    /// # Safety
    /// As [`Function::launch`].
    pub(crate) unsafe fn launch_times(
        &self,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        smem_bytes: u32,
        args: &[*mut c_void],
        times: usize,
    ) -> Result<()> {
        if stream.context() != self.ctx {
            return Err(self.elsewhere(stream));
        }
        self.ctx.call("cuLaunchKernel", |functions| {
            let mut status = SUCCESS;
            for _ in 0..times {
                // SAFETY: function and stream are live and of one context; the caller promises the rest.
                status = unsafe { self.queue(functions, stream, grid, block, smem_bytes, args) };
                if status != SUCCESS {
                    break;
                }
            }
            status
        })
    }
}

fn load_module(ctx: &Context, binary: &Binary, entry: &str) -> Result<Handle> {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const OPTIONS: [c_int; 2] = [5, 6];
    const LOG_BYTES: usize = 8192;
    let mut text;
    let image: &[u8] = match binary.kind {
        BinaryKind::Ptx if binary.bytes.last() != Some(&0) => {
            text = binary.bytes.clone();
            text.push(0);
            &text
        }
        BinaryKind::Ptx | BinaryKind::Cubin => &binary.bytes,
    };
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = OPTIONS;
    // The size is passed in the pointer itself, and comes back in it.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES)];
    let mut module = Handle::NULL;
    let loaded = ctx.call_outside_captures("cuModuleLoadDataEx", |functions| {
        // SAFETY: the image is machine code with its own length or text that ends with a zero byte; two options have
        // two values, and the log buffer has the length that is passed.
        unsafe {
            (functions.module_load)(
                &mut module,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        }
    });
    loaded.map_err(|error| {
        let log: Vec<u8> = log.iter().copied().take_while(|byte| *byte != 0).collect();
        let log = String::from_utf8_lossy(&log);
        let message = format!("{ctx:?} does not take kernel {entry} ({binary:?}): {error}\n{log}");
        Error::new(error.kind(), message.trim_end())
    })?;
    Ok(module)
}
