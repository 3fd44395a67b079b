//! Generated CUDA C++ run on the host: the same text, built by the host's C++ compiler with a shim for the built-ins.
//!
//! Guarantees that what runs is the text that NVRTC gets, in a namespace. Libraries are kept for the process; one holds
//! one kernel, or several that were built ahead, and runs one at a time: they share what stands for the built-ins.
#![expect(unsafe_code, reason = "loads the library that it has built and calls into it")]

use crate::batch;
use gems_runtime::emit;
use gems_runtime::error::{Error, ErrorKind, Result};
use gems_runtime::exec::{BackEnds, Call, SumCall};
use libloading::Library;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

/// `launch(arguments, blocks, threads)`.
type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

const SHIM: &str = include_str!("../host/shim.h");

/// Kernels in one library that is built ahead.
const BATCH: usize = 64;

/// A kernel in a library, which is its n-th.
#[derive(Clone, Debug)]
struct Kernel {
    library: Arc<Mutex<Library>>,
    position: usize,
}

/// By the text of the kernel.
static BUILT: Mutex<BTreeMap<String, Kernel>> = Mutex::new(BTreeMap::new());

/// A back end for [`gems_runtime::exec::call_on`] that runs the kernel of a plan on the host.
///
/// # Errors
/// `Compile` if the host compiler is missing or rejects the kernel.
pub fn back_end(call: &Call<'_>) -> Result<()> {
    let spec = &call.plan.spec;
    let kernel = kernel(&emit::source(spec)?)?;
    launch(&kernel, &call.pack(), call.plan.args.blocks, spec.class.threads())
}

/// The same for [`gems_runtime::exec::sum_to_on`].
///
/// # Errors
/// As [`back_end`].
pub fn sum_back_end(call: &SumCall<'_>) -> Result<()> {
    let kernel = kernel(&emit::sum_source(&call.plan.spec)?)?;
    let packed = emit::pack_sum(call.plan, call.from.address(), call.to.address());
    launch(&kernel, &packed, call.plan.blocks(), call.plan.spec.threads)
}

/// [`back_end`] and [`sum_back_end`].
pub const BACK_ENDS: BackEnds = BackEnds { kernel: back_end, sum: sum_back_end };

thread_local! {
    static NOTED: RefCell<Vec<emit::Source>> = const { RefCell::new(Vec::new()) };
}

/// The kernels that something would run: it gets back ends that note them and compute nothing.
///
/// # Errors
/// Those of `run`, and of kernels that have no text.
pub fn kernels_of<T>(run: impl FnOnce(BackEnds) -> Result<T>) -> Result<Vec<emit::Source>> {
    fn note(source: Result<emit::Source>) -> Result<()> {
        let source = source?;
        NOTED.with_borrow_mut(|noted| noted.push(source));
        Ok(())
    }
    let done = run(BackEnds {
        kernel: |call| note(emit::source(&call.plan.spec)),
        sum: |call| note(emit::sum_source(&call.plan.spec)),
    });
    let noted = NOTED.take();
    done.map(|_| noted)
}

/// Builds kernels ahead, several in one library, on every core.
///
/// # Errors
/// As [`back_end`].
pub fn prepare(kernels: &[emit::Source]) -> Result<()> {
    let distinct: BTreeMap<&str, &emit::Source> =
        kernels.iter().map(|kernel| (kernel.text.as_str(), kernel)).collect();
    let kernels: Vec<_> = distinct.into_values().cloned().collect();
    let batches: Vec<_> = kernels.chunks(BATCH).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let library = Arc::new(Mutex::new(build(batch)?));
            let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            for (position, source) in batch.iter().enumerate() {
                built.insert(source.text.clone(), Kernel { library: library.clone(), position });
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn launch(kernel: &Kernel, packed: &emit::Packed, blocks: u64, threads: u32) -> Result<()> {
    let mut pointers = packed.pointers();
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    let name = format!("gems_launch_{}", kernel.position);
    let library = kernel.library.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the library was built by `build` below and has this symbol of this type.
    let launch = unsafe { library.get::<Launch>(name.as_bytes()) }.map_err(failed)?;
    // SAFETY: the arguments are packed for this very kernel, and the buffers they point to outlive the call.
    unsafe { launch(pointers.as_mut_ptr(), blocks, threads) };
    Ok(())
}

fn kernel(source: &emit::Source) -> Result<Kernel> {
    let built = || BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kernel) = built().get(&source.text) {
        return Ok(kernel.clone());
    }
    // Not under the lock: other threads build other kernels.
    let kernel = Kernel { library: Arc::new(Mutex::new(build(std::slice::from_ref(source))?)), position: 0 };
    built().insert(source.text.clone(), kernel.clone());
    Ok(kernel)
}

/// Options of the compiler: those of its header must be the same.
const OPTIONS: [&str; 7] =
    ["-std=c++17", "-O0", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-builtin", "-w"];

fn compiler() -> Command {
    let mut command = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    command.args(OPTIONS);
    command
}

/// The shim as a header, parsed once a process where the compiler can keep what it has parsed.
fn header() -> Result<&'static Path> {
    static HEADER: LazyLock<Result<tempfile::TempDir>> = LazyLock::new(|| {
        let folder = tempfile::tempdir().map_err(failed)?;
        let header = folder.path().join("shim.h");
        std::fs::write(&header, SHIM).map_err(failed)?;
        // A compiler that cannot do this includes the text itself.
        compiler().args(["-x", "c++-header"]).arg(&header).output().map_err(failed)?;
        Ok(folder)
    });
    HEADER.as_ref().map(tempfile::TempDir::path).map_err(Clone::clone)
}

fn build(kernels: &[emit::Source]) -> Result<Library> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let (unit, object) = (folder.path().join("kernel.cpp"), folder.path().join("kernel.so"));
    let launcher = |(i, source): (usize, &emit::Source)| {
        format!(
            "extern \"C\" void gems_launch_{i}(void** arguments, unsigned blocks, unsigned threads) {{\n  \
             launch(k{i}::{}, arguments, blocks, threads, {});\n}}\n",
            source.entry,
            source.text.contains("__syncthreads")
        )
    };
    let launchers: String = kernels.iter().enumerate().map(launcher).collect();
    // Kernels of one name may meet in a program; a namespace keeps apart what has no C linkage.
    let program = batch::program(kernels).replace("extern \"C\" __global__", "__global__");
    let text = format!("{program}\n{launchers}");
    std::fs::write(&unit, &text).map_err(failed)?;
    let output = compiler()
        .args(["-shared", "-include"])
        .arg(header()?.join("shim.h"))
        .arg("-o")
        .arg(&object)
        .arg(&unit)
        .output()
        .map_err(failed)?;
    if !output.status.success() {
        let message = format!(
            "the host compiler rejected {}:\n{}\n{text}",
            kernels.iter().map(|source| source.entry.as_str()).collect::<Vec<_>>().join(", "),
            String::from_utf8_lossy(&output.stderr),
        );
        return Err(Error::new(ErrorKind::Compile, message));
    }
    // SAFETY: the library was just built from generated code, which has no initializers.
    unsafe { Library::new(&object) }.map_err(failed)
}

fn failed(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Compile, format!("cannot run a kernel on the host: {cause}")).with_source(cause)
}
