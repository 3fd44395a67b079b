//! The CUDA back end: the plan's kernel, found or compiled, and one launch on the device's stream.
#![expect(unsafe_code, reason = "launches kernels on raw device memory")]

use super::{Call, SumCall};
use crate::buffer::Storage;
use crate::compile::{self, SingleFlight};
use crate::device::cuda::{Context, DeviceMemory, Function};
use crate::emit;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{KernelSpec, ReduceSpec};
use std::ops::Range;

/// Loaded kernels by device ordinal and spec.
static KERNELS: SingleFlight<(u32, KernelSpec), Function> = SingleFlight::new();

/// Loaded kernels of sums by device ordinal and spec.
static SUMS: SingleFlight<(u32, ReduceSpec), Function> = SingleFlight::new();

/// Runs a planned call on device memory; the host does not wait.
pub(super) fn run(call: &Call<'_>, ordinal: u32) -> Result<()> {
    let ctx = Context::get(ordinal)?;
    let stream = ctx.default_stream()?;
    let spec = &call.plan.spec;
    let function = KERNELS.get_or_build(&(ordinal, spec.clone()), || load(ctx, spec))?;
    for input in call.inputs.iter().flatten() {
        memory(input.storage())?.before_read(stream)?;
    }
    for output in call.outputs {
        memory(output.storage())?.before_write(stream)?;
    }
    let mut packed = call.pack();
    let mut arguments = packed.pointers();
    let blocks = u32::try_from(call.plan.args.blocks).unwrap_or(u32::MAX);
    let threads = spec.class.threads();
    // SAFETY: the arguments are packed for this very spec; the plan keeps every access inside the operands, whose
    // memory goes back to the allocator in stream order behind this launch.
    unsafe { function.launch(stream, [blocks, 1, 1], [threads, 1, 1], 0, &mut arguments) }
}

/// Compiles and loads a kernel. Where NVRTC rejects it, the error points into the Rust source.
fn load(ctx: &'static Context, spec: &KernelSpec) -> Result<Function> {
    let source = emit::source(spec)?;
    let binary = compile::binary(&source.text, &source.entry, ctx.arch()).map_err(|error| {
        if error.kind() != ErrorKind::Compile {
            return error;
        }
        // Compile errors are rare, so the lines of the Rust source are added only now: they would make a new cache
        // entry each time that code above the function changes.
        match emit::source_with_lines(spec) {
            Ok(lined) => compile::binary(&lined.text, &lined.entry, ctx.arch()).err().unwrap_or(error),
            Err(_) => error,
        }
    })?;
    Function::load(ctx, &binary, &source.entry)
}

fn memory(storage: &Storage) -> Result<&DeviceMemory> {
    storage.as_cuda().ok_or_else(|| {
        Error::new(ErrorKind::Device, "an operand is in host memory; move it with `to_device`")
    })
}

/// Memory of unspecified content.
pub(super) fn allocate(ordinal: u32, bytes: usize) -> Result<Storage> {
    let ctx = Context::get(ordinal)?;
    Ok(Storage::cuda(DeviceMemory::alloc(bytes, ctx.default_stream()?)?))
}

/// Copies host bytes into device memory, from byte `at` on, and waits.
pub(super) fn upload(storage: &Storage, at: usize, bytes: &[u8]) -> Result<()> {
    let memory = memory(storage)?;
    memory.copy_from_host(at, bytes, memory.context().default_stream()?)
}

/// Copies device memory from byte `at` on to the host, and waits.
pub(super) fn download(storage: &Storage, at: usize, bytes: &mut [u8]) -> Result<()> {
    let memory = memory(storage)?;
    memory.copy_to_host(at, bytes, memory.context().default_stream()?)
}

/// Copies a range of device memory to the start of another.
pub(super) fn copy(from: &Storage, range: Range<usize>, to: &Storage) -> Result<()> {
    let (source, target) = (memory(from)?, memory(to)?);
    target.copy_from(0, source, range.start, range.len(), target.context().default_stream()?)
}

/// Sets device memory to zeros.
pub(super) fn zero(storage: &Storage) -> Result<()> {
    let memory = memory(storage)?;
    memory.set_bytes(0, memory.bytes(), 0, memory.context().default_stream()?)
}

/// Runs a planned sum on device memory; the host does not wait.
pub(super) fn sum(call: &SumCall<'_>, ordinal: u32) -> Result<()> {
    let ctx = Context::get(ordinal)?;
    let stream = ctx.default_stream()?;
    let spec = &call.plan.spec;
    let function = SUMS.get_or_build(&(ordinal, *spec), || {
        let source = emit::sum_source(spec)?;
        let binary = compile::binary(&source.text, &source.entry, ctx.arch())?;
        Function::load(ctx, &binary, &source.entry)
    })?;
    memory(call.from.storage())?.before_read(stream)?;
    memory(call.to.storage())?.before_write(stream)?;
    let mut packed = emit::pack_sum(call.plan, call.from.address(), call.to.address());
    let mut arguments = packed.pointers();
    let blocks = u32::try_from(call.plan.blocks()).unwrap_or(u32::MAX);
    // SAFETY: the arguments are packed for this very spec; the plan keeps every access inside the operands, whose
    // memory goes back to the allocator in stream order behind this launch.
    unsafe { function.launch(stream, [blocks, 1, 1], [spec.threads, 1, 1], 0, &mut arguments) }
}
