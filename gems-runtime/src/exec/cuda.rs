//! The CUDA back end: the plan's kernel, found or compiled, and one launch on the current stream.
#![expect(unsafe_code, reason = "launches kernels on raw device memory")]

use super::planned::value;
use super::{Call, SumCall};
use crate::buffer::{Storage, StridedBuffer};
use crate::compile::{self, Arch, Binary, SingleFlight};
use crate::device::Device;
use crate::device::cuda::{Context, Current, DeviceMemory, Function, Stream};
use crate::emit::{self, Packed, Parameter};
use crate::error::{Error, ErrorKind, Result};
use crate::op::Operand;
use crate::plan::policy::{self, Machine};
use crate::plan::{KernelSpec, Plan, ReduceSpec};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::ffi::c_void;
use std::ops::Range;

/// Loaded kernels by device ordinal and spec.
static KERNELS: SingleFlight<(u32, KernelSpec), Function> = SingleFlight::new();

/// Loaded kernels of sums by device ordinal and spec.
static SUMS: SingleFlight<(u32, ReduceSpec), Function> = SingleFlight::new();

/// Runs a planned call on device memory; the host does not wait.
pub(super) fn run(call: &Call<'_>, ordinal: u32) -> Result<()> {
    let ctx = Context::get(ordinal)?;
    let stream = ctx.current_stream()?;
    let spec = &call.plan.spec;
    let function = KERNELS.get_or_build(&(ordinal, spec.clone()), || load(ctx, spec))?;
    order(call, &stream)?;
    let packed = call.pack();
    let arguments = packed.pointers();
    let (grid, block) = shape(call.plan);
    // SAFETY: the arguments are packed for this very spec; the plan keeps every access inside the operands, whose
    // memory goes back to the allocator in stream order behind this launch; the kernel begins with a wait.
    unsafe { function.launch_overlapping(&stream, grid, block, &arguments) }
}

/// Orders the stream behind earlier uses of all operands.
fn order(call: &Call<'_>, stream: &Stream) -> Result<()> {
    for input in call.inputs.iter().flatten() {
        memory(input.storage())?.before_read(stream)?;
    }
    for output in call.outputs {
        memory(output.storage())?.before_write(stream)?;
    }
    Ok(())
}

fn shape(plan: &Plan) -> ([u32; 3], [u32; 3]) {
    let blocks = u32::try_from(plan.args.blocks).unwrap_or(u32::MAX);
    ([blocks, 1, 1], [plan.spec.class.threads(), 1, 1])
}

/// A launch of which only addresses and numbers change.
#[derive(Debug)]
pub(super) struct Launch {
    function: Function,
    /// The default stream of the device.
    stream: &'static Stream,
    packed: Packed,
    /// Pointers into `packed`, to which nothing is pushed any more.
    arguments: SmallVec<[*mut c_void; 20]>,
    parameters: SmallVec<[Parameter; 12]>,
    grid: [u32; 3],
    block: [u32; 3],
}

impl Launch {
    /// The launch of a plan whose kernel is loaded.
    pub(super) fn new(ordinal: u32, plan: &Plan) -> Option<Launch> {
        let function = KERNELS.get(&(ordinal, plan.spec.clone()))?;
        let stream = Context::get(ordinal).ok()?.default_stream().ok()?;
        let inputs = plan.spec.inputs.len();
        let packed = emit::pack(
            &plan.spec,
            &plan.args,
            &vec![[0; 16]; inputs],
            &vec![0; inputs],
            &vec![0; plan.spec.outputs.len()],
        );
        let (grid, block) = shape(plan);
        let parameters = emit::parameters(&plan.spec).collect();
        let arguments = packed.pointers();
        Some(Launch { function, stream, packed, arguments, parameters, grid, block })
    }

    /// Memory for an output, without looking up the device.
    pub(super) fn allocate(&self, bytes: usize) -> Result<Storage> {
        Ok(Storage::cuda(DeviceMemory::alloc_on(bytes, Current::or(self.stream))?))
    }

    /// Launches with the operands of a call of the same plan.
    pub(super) fn run(
        &self,
        spec: &KernelSpec,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[impl Borrow<StridedBuffer>],
    ) -> Result<()> {
        let stream = Current::or(self.stream);
        for (position, parameter) in self.parameters.iter().enumerate() {
            match *parameter {
                Parameter::Value(i) => {
                    self.packed.set_bytes(position, &value(&operands[i], spec.inputs[i].lane)?);
                }
                Parameter::Input(i) => {
                    let Operand::Buffer(buffer) = operands[i] else { continue };
                    memory(buffer.storage())?.before_read(&stream)?;
                    self.packed.set(position, buffer.address());
                }
                Parameter::Output(i) => {
                    let output = outputs[i].borrow();
                    memory(output.storage())?.before_write(&stream)?;
                    self.packed.set(position, output.address());
                }
                Parameter::Axes | Parameter::Lead | Parameter::Total => {}
            }
        }
        // SAFETY: as in `run`; what is packed differs from the planned call in addresses and numbers only.
        unsafe { self.function.launch_overlapping(&stream, self.grid, self.block, &self.arguments) }
    }
}

/// Launches the kernel of a call so many times, with the context made current once.
pub(super) fn launch_raw(call: &Call<'_>, times: usize) -> Result<()> {
    let Some(Device::Cuda(ordinal)) = call.outputs.first().map(|output| output.device()) else {
        return Err(Error::new(ErrorKind::Unsupported, "a raw launch needs a CUDA device"));
    };
    let ctx = Context::get(ordinal)?;
    let spec = &call.plan.spec;
    let function = KERNELS.get_or_build(&(ordinal, spec.clone()), || load(ctx, spec))?;
    let packed = call.pack();
    let arguments = packed.pointers();
    let (grid, block) = shape(call.plan);
    // SAFETY: as in `run`.
    unsafe { function.launch_times(ctx.default_stream()?, grid, block, 0, &arguments, times) }
}

/// What planning needs to know of a device.
pub(super) fn machine(ordinal: u32) -> Result<Machine> {
    let properties = Context::get(ordinal)?.properties();
    Ok(Machine {
        sm_count: properties.sm_count,
        threads_per_sm: properties.max_threads_per_sm,
        bytes_in_flight: policy::bytes_in_flight(properties.arch.major),
        ..Machine::default()
    })
}

/// Compiles and loads the kernels of these plans, several at a time.
pub(super) fn warm(ordinal: u32, plans: &[Plan]) -> Result<()> {
    let ctx = Context::get(ordinal)?;
    let load_one = |plan: &Plan| {
        let spec = &plan.spec;
        KERNELS.get_or_build(&(ordinal, spec.clone()), || load(ctx, spec)).map(|_| ())
    };
    let results: Vec<Result<()>> = plans.par_iter().map(load_one).collect();
    results.into_iter().collect()
}

/// The binary that a device runs of a source.
pub(super) fn binary(ordinal: u32, source: &emit::Source) -> Result<(Arch, Binary)> {
    let arch = Context::get(ordinal)?.arch();
    let binary = compile::binary(&source.text, &source.entry, arch)?;
    Ok((arch, Binary::clone(&binary)))
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
    Ok(Storage::cuda(DeviceMemory::alloc_on(bytes, ctx.current_stream()?)?))
}

/// Copies host bytes into device memory, from byte `at` on, and waits.
pub(super) fn upload(storage: &Storage, at: usize, bytes: &[u8]) -> Result<()> {
    let memory = memory(storage)?;
    memory.copy_from_host(at, bytes, &*memory.context().current_stream()?)
}

/// Copies device memory from byte `at` on to the host, and waits.
pub(super) fn download(storage: &Storage, at: usize, bytes: &mut [u8]) -> Result<()> {
    let memory = memory(storage)?;
    memory.copy_to_host(at, bytes, &*memory.context().current_stream()?)
}

/// Copies a range of device memory to the start of another.
pub(super) fn copy(from: &Storage, range: Range<usize>, to: &Storage) -> Result<()> {
    let (source, target) = (memory(from)?, memory(to)?);
    target.copy_from(0, source, range.start, range.len(), &*target.context().current_stream()?)
}

/// Queues the driver's copy of a buffer's memory into another: for measuring.
///
/// # Errors
/// Host memory; a target that is too small; the driver fails.
pub fn copy_to_memory(from: &StridedBuffer, to: &DeviceMemory) -> Result<()> {
    let source = memory(from.storage())?;
    to.copy_from(0, source, 0, source.bytes(), &*to.context().current_stream()?)
}

/// Sets device memory to zeros.
pub(super) fn zero(storage: &Storage) -> Result<()> {
    let memory = memory(storage)?;
    memory.set_bytes(0, memory.bytes(), 0, &*memory.context().current_stream()?)
}

/// Runs a planned sum on device memory; the host does not wait.
pub(super) fn sum(call: &SumCall<'_>, ordinal: u32) -> Result<()> {
    let ctx = Context::get(ordinal)?;
    let stream = ctx.current_stream()?;
    let spec = &call.plan.spec;
    let function = SUMS.get_or_build(&(ordinal, *spec), || {
        let source = emit::sum_source(spec)?;
        let binary = compile::binary(&source.text, &source.entry, ctx.arch())?;
        Function::load(ctx, &binary, &source.entry)
    })?;
    memory(call.from.storage())?.before_read(&stream)?;
    memory(call.to.storage())?.before_write(&stream)?;
    let packed = emit::pack_sum(call.plan, call.from.address(), call.to.address());
    let arguments = packed.pointers();
    let blocks = u32::try_from(call.plan.blocks()).unwrap_or(u32::MAX);
    // SAFETY: the arguments are packed for this very spec; the plan keeps every access inside the operands, whose
    // memory goes back to the allocator in stream order behind this launch; the kernel begins with a wait.
    unsafe { function.launch_overlapping(&stream, [blocks, 1, 1], [spec.threads, 1, 1], &arguments) }
}
