//! The CUDA device layer on a real device: memory, streams, kernels, captures and borrowed objects.
//!
//! Behind the feature `gpu`; with it, a missing device or NVRTC is a failure.
#![cfg(feature = "gpu")]
#![expect(unsafe_code, reason = "launches kernels, and counts allocations")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]
#![expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "the numbers are small")]

use std::alloc::{GlobalAlloc, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, result, sys};
use gems_runtime::compile::{Arch, Binary, BinaryKind, Nvrtc, Target};
use gems_runtime::device::cuda::{self, Context, DeviceMemory, Driver, Event, Function, Stream, Timing};
use gems_runtime::error::ErrorKind;
use gems_runtime::interop;

const SOURCE: &str = r#"
__device__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
}
extern "C" __global__ void fill(float *to, float value, long long count, long long cycles) {
    spin(cycles);
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) to[i] = value;
}
extern "C" __global__ void scale(float *to, const float *from, float factor, long long count, long long cycles) {
    spin(cycles);
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] * factor;
}
"#;

/// About 20 ms on a GPU of 1 to 2 GHz: long enough that a missing wait shows.
const SLOW: i64 = 30_000_000;
const COUNT: usize = 1 << 18;
const BYTES: usize = COUNT * 4;

/// Held for writing by tests that disturb others: those that empty caches, fill the device or capture.
static QUIET: RwLock<()> = RwLock::new(());

fn ctx() -> &'static Context {
    Context::get(0).expect("these tests need a CUDA device")
}

fn function(entry: &str) -> Function {
    let binary = gems_runtime::compile::binary(SOURCE, entry, ctx().arch()).unwrap();
    Function::load(ctx(), &binary, entry).unwrap()
}

fn new_stream() -> Stream {
    Stream::new(ctx()).unwrap()
}

fn alloc(stream: &Stream) -> DeviceMemory {
    DeviceMemory::alloc(BYTES, stream).unwrap()
}

const GRID: [u32; 3] = [COUNT.div_ceil(256) as u32, 1, 1];
const BLOCK: [u32; 3] = [256, 1, 1];

fn pointer<T>(value: &mut T) -> *mut c_void {
    (&raw mut *value).cast()
}

fn fill(function: &Function, to: &DeviceMemory, mut value: f32, mut cycles: i64, stream: &Stream) {
    to.before_write(stream).unwrap();
    let (mut address, mut count) = (to.address(), (to.bytes() / 4) as i64);
    let args = [pointer(&mut address), pointer(&mut value), pointer(&mut count), pointer(&mut cycles)];
    // SAFETY: the arguments are those of `fill`, and the memory has `count` floats.
    unsafe { function.launch(stream, GRID, BLOCK, 0, &args) }.unwrap();
}

fn scale(
    function: &Function,
    (to, from): (&DeviceMemory, &DeviceMemory),
    mut factor: f32,
    mut cycles: i64,
    stream: &Stream,
) {
    from.before_read(stream).unwrap();
    to.before_write(stream).unwrap();
    let (mut to, mut from, mut count) = (to.address(), from.address(), COUNT as i64);
    let args = [
        pointer(&mut to),
        pointer(&mut from),
        pointer(&mut factor),
        pointer(&mut count),
        pointer(&mut cycles),
    ];
    // SAFETY: the arguments are those of `scale`, and both memories have `count` floats.
    unsafe { function.launch(stream, GRID, BLOCK, 0, &args) }.unwrap();
}

#[track_caller]
fn check(memory: &DeviceMemory, value: f32, stream: &Stream) {
    let mut bytes = vec![0; memory.bytes()];
    memory.copy_to_host(0, &mut bytes, stream).unwrap();
    let wrong = bytes.chunks_exact(4).position(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]) != value);
    assert_eq!(wrong, None, "expected {value} everywhere");
}

#[test]
fn a_device_has_plausible_properties_and_one_context() {
    assert!(cuda::device_count().unwrap() >= 1);
    assert!(std::ptr::eq(ctx(), Context::get(0).unwrap()));
    let properties = ctx().properties();
    assert!(properties.arch >= Arch::from_number(50) && properties.sm_count >= 1);
    assert!(properties.max_grid[0] >= 65_535 && properties.max_threads_per_block >= 1024);
    assert!(
        properties.smem_per_block_optin >= properties.smem_per_block && properties.smem_per_block >= 48 << 10
    );
    assert!(
        properties.max_threads_per_sm >= 1024 && properties.l2_bytes > 0 && properties.total_bytes > 1 << 30
    );
    let missing = Context::get(1000).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Device);
}

#[test]
fn copies_go_there_and_back_and_check_their_bounds() {
    let _quiet = QUIET.read();
    let stream = new_stream();
    let memory = DeviceMemory::alloc(1000, &stream).unwrap();
    let bytes: Vec<u8> = (0..1000_usize).map(|i| (i % 251) as u8).collect();
    memory.copy_from_host(0, &bytes, &stream).unwrap();
    memory.copy_from_host(10, &[7; 5], &stream).unwrap();
    let copy = DeviceMemory::alloc(500, &stream).unwrap();
    copy.copy_from(100, &memory, 5, 400, &stream).unwrap();
    copy.set_bytes(0, 100, 9, &stream).unwrap();
    let mut back = vec![0; 500];
    copy.copy_to_host(0, &mut back, &stream).unwrap();
    let mut expected = vec![9; 100];
    expected.extend_from_slice(&bytes[5..405]);
    expected[105..110].fill(7);
    assert_eq!(back, expected);

    for result in [
        memory.copy_from_host(996, &[0; 5], &stream),
        memory.copy_to_host(usize::MAX, &mut [0; 2], &stream),
        memory.copy_from(0, &copy, 1, 500, &stream),
        memory.set_bytes(1000, 1, 0, &stream),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Value);
    }
    assert_eq!(memory.copy_from(5, &memory, 0, 10, &stream).unwrap_err().kind(), ErrorKind::Overlap);
    let empty = DeviceMemory::alloc(0, &stream).unwrap();
    assert_eq!((empty.address(), empty.bytes()), (0, 0));
    empty.copy_from_host(0, &[], &stream).unwrap();
}

#[test]
fn freed_memory_is_handed_out_again_on_its_stream() {
    let _quiet = QUIET.read();
    let stream = new_stream();
    let first = alloc(&stream);
    let address = first.address();
    assert_eq!(address % 256, 0);
    drop(first);
    let second = DeviceMemory::alloc(BYTES - 100, &stream).unwrap();
    assert_eq!(second.address(), address, "a size of the same class takes the block");
    assert_ne!(alloc(&stream).address(), address);
    assert_ne!(alloc(&new_stream()).address(), address);
}

#[test]
fn a_read_on_another_stream_waits_for_the_write() {
    let _quiet = QUIET.read();
    let (fill_kernel, scale_kernel) = (function("fill"), function("scale"));
    let (a, b) = (new_stream(), new_stream());
    let (x, y) = (alloc(&a), alloc(&b));
    fill(&fill_kernel, &x, 1.0, 0, &a);
    fill(&fill_kernel, &x, 3.0, SLOW, &a);
    scale(&scale_kernel, (&y, &x), 2.0, 0, &b);
    // And a write at home waits for the read elsewhere.
    scale(&scale_kernel, (&y, &x), 2.0, SLOW, &b);
    fill(&fill_kernel, &x, 5.0, 0, &a);
    check(&y, 6.0, &b);
    check(&x, 5.0, &b);
    // A write elsewhere, and then a read at home.
    fill(&fill_kernel, &x, 7.0, SLOW, &b);
    check(&x, 7.0, &a);
}

#[test]
fn memory_that_another_stream_still_reads_is_not_overwritten_after_its_drop() {
    let _quiet = QUIET.read();
    let (fill_kernel, scale_kernel) = (function("fill"), function("scale"));
    let (a, b) = (new_stream(), new_stream());
    let (x, y) = (alloc(&a), alloc(&b));
    let address = x.address();
    fill(&fill_kernel, &x, 1.0, 0, &a);
    scale(&scale_kernel, (&y, &x), 2.0, SLOW, &b);
    drop(x);
    let again = alloc(&a);
    assert_eq!(again.address(), address);
    fill(&fill_kernel, &again, 9.0, 0, &a);
    check(&y, 2.0, &b);
    check(&again, 9.0, &a);
}

#[test]
fn memory_of_a_stream_that_ended_is_reused_behind_its_last_use() {
    // Alone, since orphans belong to nobody.
    let _quiet = QUIET.write();
    ctx().trim().unwrap();
    let (fill_kernel, scale_kernel) = (function("fill"), function("scale"));
    let (a, b, c) = (new_stream(), new_stream(), new_stream());
    let (x, y) = (alloc(&a), alloc(&b));
    let (address, target) = (x.address(), y.address());
    fill(&fill_kernel, &x, 1.0, 0, &a);
    let (mut to, mut from, mut factor, mut count, mut cycles) =
        (target, address, 2.0_f32, COUNT as i64, SLOW);
    let args = [
        pointer(&mut to),
        pointer(&mut from),
        pointer(&mut factor),
        pointer(&mut count),
        pointer(&mut cycles),
    ];
    // SAFETY: the arguments are those of `scale`; `y` is not used otherwise before the device is synchronized.
    unsafe { scale_kernel.launch(&a, GRID, BLOCK, 0, &args) }.unwrap();
    drop(x);
    drop(a);
    let again = alloc(&c);
    assert_eq!(again.address(), address);
    fill(&fill_kernel, &again, 9.0, 0, &c);
    ctx().synchronize().unwrap();
    check(&y, 2.0, &b);
}

#[test]
fn trim_gives_the_cache_back_and_live_memory_stays() {
    let _quiet = QUIET.write();
    let stream = new_stream();
    let live = alloc(&stream);
    fill(&function("fill"), &live, 4.0, 0, &stream);
    drop(alloc(&stream));
    let before = ctx().memory_stats();
    let released = ctx().trim().unwrap();
    let after = ctx().memory_stats();
    assert!(released >= BYTES);
    assert_eq!(before.reserved_bytes - released, after.reserved_bytes);
    assert_eq!(after.used_bytes, before.used_bytes);
    check(&live, 4.0, &stream);
}

#[test]
fn a_full_device_is_an_error_with_numbers_and_the_cache_makes_room_first() {
    let _quiet = QUIET.write();
    let stream = new_stream();
    ctx().trim().unwrap();
    let (free, total) = ctx().memory_info().unwrap();
    let error = DeviceMemory::alloc(total * 2, &stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let text = error.to_string();
    assert!(text.contains(&format!("cannot allocate {} bytes on cuda:0", total * 2)), "{text}");
    assert!(text.contains(&format!("of {total} bytes are free")), "{text}");
    assert_eq!(DeviceMemory::alloc(usize::MAX, &stream).unwrap_err().kind(), ErrorKind::Memory);
    // Two sizes of different classes that do not fit at the same time.
    for tenths in [6, 5, 7] {
        drop(DeviceMemory::alloc(free / 10 * tenths, &stream).unwrap());
    }
    ctx().trim().unwrap();
}

#[test]
fn a_binary_that_is_none_and_a_kernel_that_is_missing_are_errors() {
    let garbage = Binary { kind: BinaryKind::Ptx, bytes: b"not a program".to_vec() };
    let error = Function::load(ctx(), &garbage, "f").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Driver);
    assert!(error.to_string().contains("does not take kernel f"), "{error}");
    let binary = gems_runtime::compile::binary(SOURCE, "fill", ctx().arch()).unwrap();
    let error = Function::load(ctx(), &binary, "absent").unwrap_err();
    assert!(error.to_string().contains("no kernel absent in its binary"), "{error}");
    assert_eq!(Function::load(ctx(), &binary, "a\0b").unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn a_launch_that_the_device_refuses_is_an_error_and_the_next_one_works() {
    let _quiet = QUIET.read();
    let (kernel, stream) = (function("fill"), new_stream());
    let memory = alloc(&stream);
    let (mut to, mut value, mut count, mut cycles) = (memory.address(), 1.0_f32, COUNT as i64, 0_i64);
    let args = [pointer(&mut to), pointer(&mut value), pointer(&mut count), pointer(&mut cycles)];
    for (grid, block) in [([1, 1, 1], [4096, 1, 1]), ([0, 1, 1], [32, 1, 1]), ([1, u32::MAX, 1], [32, 1, 1])]
    {
        // SAFETY: the arguments are those of `fill`; the launch does not take place.
        let error = unsafe { kernel.launch(&stream, grid, block, 0, &args) }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Driver);
        assert!(error.to_string().contains("cuLaunchKernel"), "{error}");
    }
    fill(&kernel, &memory, 2.0, 0, &stream);
    check(&memory, 2.0, &stream);
}

#[test]
fn a_kernel_tells_its_resources() {
    let kernel = function("scale");
    let resources = kernel.resources();
    assert!(resources.registers > 0 && resources.registers < 64, "{resources:?}");
    assert_eq!((resources.local_bytes, resources.smem_bytes), (0, 0));
    assert!(resources.max_threads_per_block >= 256);
    assert!(kernel.blocks_per_sm(256, 0).unwrap() >= 1);
    kernel.allow_smem(ctx().properties().smem_per_block_optin).unwrap();
    assert!(kernel.allow_smem(u32::MAX).is_err());
}

#[test]
fn text_for_an_older_device_is_loaded_or_refused_with_the_reason() {
    let nvrtc = Nvrtc::get().unwrap();
    let target = Target { arch: nvrtc.supported_archs()[0], kind: BinaryKind::Ptx };
    let binary = nvrtc.compile_for(SOURCE, "fill", target).unwrap();
    let driver = Driver::get().unwrap().version();
    let newer_than_driver = nvrtc.version().major * 1000 + nvrtc.version().minor * 10 > driver;
    match Function::load(ctx(), &binary, "fill") {
        Ok(kernel) => {
            let _quiet = QUIET.read();
            let stream = new_stream();
            let memory = alloc(&stream);
            fill(&kernel, &memory, 3.0, 0, &stream);
            check(&memory, 3.0, &stream);
        }
        Err(error) => assert!(newer_than_driver && error.to_string().contains("NVRTC is newer"), "{error}"),
    }
}

#[test]
fn events_measure_time_and_streams_tell_whether_they_are_idle() {
    let _quiet = QUIET.read();
    let (kernel, stream) = (function("fill"), new_stream());
    let memory = alloc(&stream);
    let (begin, end) = (Event::new(ctx(), Timing::On).unwrap(), Event::new(ctx(), Timing::On).unwrap());
    begin.record(&stream).unwrap();
    fill(&kernel, &memory, 1.0, SLOW, &stream);
    end.record(&stream).unwrap();
    assert!(!stream.is_idle().unwrap() && !end.is_done().unwrap());
    end.synchronize().unwrap();
    assert!(end.is_done().unwrap() && stream.is_idle().unwrap());
    let ms = begin.elapsed_ms(&end).unwrap();
    assert!((5.0..1000.0).contains(&ms), "{ms}");
    assert!(Event::new(ctx(), Timing::Off).unwrap().elapsed_ms(&end).is_err());
}

#[test]
fn eight_threads_with_streams_of_their_own_keep_their_values() {
    let _quiet = QUIET.read();
    let (fill_kernel, scale_kernel) = (function("fill"), function("scale"));
    let shared = new_stream();
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let (fill_kernel, scale_kernel, shared) = (&fill_kernel, &scale_kernel, &shared);
            scope.spawn(move || {
                let own = new_stream();
                let mut ring = std::collections::VecDeque::new();
                for step in 0..100_usize {
                    let value = (thread * 1000 + step) as f32;
                    let x = alloc(if step % 3 == 0 { shared } else { &own });
                    fill(fill_kernel, &x, value, 0, &own);
                    let y = alloc(&own);
                    scale(scale_kernel, (&y, &x), 2.0, 0, if step % 2 == 0 { shared } else { &own });
                    drop(x);
                    ring.push_back((y, value));
                    if ring.len() > 8 {
                        let (y, value) = ring.pop_front().unwrap();
                        check(&y, 2.0 * value, &own);
                    }
                }
            });
        }
    });
}

#[test]
fn a_warm_allocation_and_launch_take_no_heap_memory() {
    let _quiet = QUIET.read();
    let (kernel, stream) = (function("fill"), new_stream());
    for _ in 0..2 {
        fill(&kernel, &alloc(&stream), 1.0, 0, &stream);
    }
    let before = ALLOCATIONS.get();
    for _ in 0..10 {
        fill(&kernel, &alloc(&stream), 1.0, 0, &stream);
    }
    assert_eq!(ALLOCATIONS.get(), before);
    stream.synchronize().unwrap();
}

/// A context beside the primary one; not every version of cudarc has a function for it.
fn other_context() -> Arc<CudaContext> {
    type Create = unsafe extern "C" fn(*mut sys::CUcontext, u32, sys::CUdevice) -> i32;
    let theirs = CudaContext::new(0).unwrap();
    // SAFETY: the driver is loaded already.
    let library = unsafe { libloading::Library::new("libcuda.so.1") }.unwrap();
    // SAFETY: the type is that of the function in cuda.h.
    let create = unsafe { library.get::<Create>(b"cuCtxCreate_v2") }.unwrap();
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is to a live pointer and the device is valid.
    assert_eq!(unsafe { create(&mut raw, 0, theirs.cu_device()) }, 0);
    // SAFETY: the context was created just now for this device, and nobody else destroys it.
    unsafe { CudaContext::from_raw_context(0, theirs.cu_device(), raw) }.unwrap()
}

#[test]
fn the_current_context_of_the_caller_is_the_same_after_a_call() {
    let _quiet = QUIET.write();
    let other = other_context();
    other.bind_to_thread().unwrap();
    let stream = new_stream();
    alloc(&stream).set_bytes(0, BYTES, 0, &stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(result::ctx::get_current().unwrap(), Some(other.cu_ctx()));
    assert_eq!(interop::cudarc::context(&other).unwrap_err().kind(), ErrorKind::Unsupported);
    let foreign = interop::cudarc::stream(&other.new_stream().unwrap());
    assert_eq!(foreign.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn the_per_thread_default_stream_is_refused_and_the_legacy_one_works() {
    let _quiet = QUIET.read();
    // SAFETY: both numbers are always valid streams.
    let borrowed =
        |raw: usize| unsafe { Stream::borrowed(ctx(), std::ptr::without_provenance_mut(raw), Arc::new(())) };
    assert_eq!(borrowed(2).unwrap_err().kind(), ErrorKind::Unsupported);
    let (null, legacy) = (borrowed(0).unwrap(), borrowed(1).unwrap());
    assert_eq!(null, legacy);
    let memory = alloc(&null);
    fill(&function("fill"), &memory, 1.0, 0, &legacy);
    check(&memory, 1.0, &null);
}

#[test]
fn memory_and_streams_of_cudarc_are_used_in_place_and_kept_alive() {
    let _quiet = QUIET.write();
    let theirs = CudaContext::new(0).unwrap();
    assert!(std::ptr::eq(interop::cudarc::context(&theirs).unwrap(), ctx()));
    let their_stream = theirs.new_stream().unwrap();
    let slice = Arc::new(their_stream.clone_htod(&vec![3.0_f32; COUNT]).unwrap());
    let stream = interop::cudarc::stream(&their_stream).unwrap();
    let x = interop::cudarc::memory(Arc::clone(&slice)).unwrap();
    assert_eq!((x.bytes(), x.home()), (BYTES, &stream));
    let scale_kernel = function("scale");
    // Both ways: our write is seen by cudarc, and the slice outlives its last handle there.
    scale(&scale_kernel, (&x, &x), 2.0, 0, &stream);
    assert!(their_stream.clone_dtoh(&*slice).unwrap().iter().all(|value| *value == 6.0));
    let (held, own) = (Arc::downgrade(&slice), new_stream());
    drop(slice);
    assert!(held.upgrade().is_some());
    let y = alloc(&own);
    scale(&scale_kernel, (&y, &x), 2.0, SLOW, &own);
    drop(x);
    assert!(held.upgrade().is_none());
    // cudarc may now hand the memory out again, on its stream, which waits for our read.
    let again = their_stream.clone_htod(&vec![0.0_f32; COUNT]).unwrap();
    check(&y, 12.0, &own);
    drop(again);
}

#[test]
fn a_capture_keeps_its_memory_to_itself_until_the_graph_is_gone() {
    let _quiet = QUIET.write();
    ctx().trim().unwrap();
    let (fill_kernel, scale_kernel) = (function("fill"), function("scale"));
    let theirs = CudaContext::new(0).unwrap();
    let their_stream = theirs.new_stream().unwrap();
    let stream = interop::cudarc::stream(&their_stream).unwrap();
    let x = alloc(&stream);
    fill(&fill_kernel, &x, 1.0, 0, &stream);
    drop(alloc(&stream));
    stream.synchronize().unwrap();

    their_stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
    let inner = alloc(&stream);
    let inner_address = inner.address();
    scale(&scale_kernel, (&inner, &x), 2.0, 0, &stream);
    let y = alloc(&stream);
    scale(&scale_kernel, (&y, &inner), 2.0, 0, &stream);
    drop(inner);
    let reused = alloc(&stream);
    assert_eq!(reused.address(), inner_address, "a capture reuses its own memory");
    fill(&fill_kernel, &reused, 7.0, 0, &stream);
    drop(reused);
    // Another thread allocates, loads and launches while the capture goes on.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let own = new_stream();
            let memory = DeviceMemory::alloc(3 * BYTES, &own).unwrap();
            fill(&function("fill"), &memory, 1.0, 0, &own);
        });
    });
    let refused = x.copy_to_host(0, &mut [0; 4], &stream).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let no_flags = sys::CUgraphInstantiate_flags_enum(0);
    let graph = their_stream.end_capture(no_flags).unwrap().expect("a graph");

    let graph_addresses = [inner_address, y.address()];
    let eager: Vec<_> = (0..4).map(|_| alloc(&stream)).collect();
    for (i, memory) in eager.iter().enumerate() {
        assert!(!graph_addresses.contains(&memory.address()));
        fill(&fill_kernel, memory, i as f32, 0, &stream);
    }
    for start in [1.0, 10.0] {
        fill(&fill_kernel, &x, start, 0, &stream);
        graph.launch().unwrap();
        check(&y, 4.0 * start, &stream);
    }
    for (i, memory) in eager.iter().enumerate() {
        check(memory, i as f32, &stream);
    }
    drop(y);
    let more: Vec<_> = (0..4).map(|_| alloc(&stream)).collect();
    assert!(more.iter().all(|memory| !graph_addresses.contains(&memory.address())));
    graph.launch().unwrap();
    stream.synchronize().unwrap();

    drop(graph);
    // The driver tells of the end of a graph on a thread of its own.
    let (begin, mut kept) = (Instant::now(), Vec::new());
    loop {
        kept.push(DeviceMemory::alloc(BYTES, &stream).unwrap());
        if kept.iter().any(|memory| memory.address() == inner_address) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "the graph's memory did not come back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
