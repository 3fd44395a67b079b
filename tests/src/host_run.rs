//! Generated CUDA C++ run on the host: the same text, built by the host's C++ compiler with a shim for the built-ins.
//!
//! Guarantees that what runs is the text that NVRTC gets, byte for byte. One library a kernel, kept for the process.
#![expect(unsafe_code, reason = "loads the library that it has built and calls into it")]

use gems_runtime::compile::SingleFlight;
use gems_runtime::emit;
use gems_runtime::error::{Error, ErrorKind, Result};
use gems_runtime::exec::{Call, SumCall};
use libloading::Library;
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};

/// `launch(arguments, blocks, threads)`.
type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

const SHIM: &str = include_str!("../host/shim.h");

static BUILT: SingleFlight<String, Arc<Library>> = SingleFlight::new();

/// A back end for [`gems_runtime::exec::call_on`] that runs the kernel of a plan on the host.
///
/// # Errors
/// `Compile` if the host compiler is missing or rejects the kernel.
pub fn back_end(call: &Call<'_>) -> Result<()> {
    let spec = &call.plan.spec;
    let library = library(&emit::source(spec)?)?;
    launch(&library, &mut call.pack(), call.plan.args.blocks, spec.class.threads())
}

/// The same for [`gems_runtime::exec::sum_to_on`].
///
/// # Errors
/// As [`back_end`].
pub fn sum_back_end(call: &SumCall<'_>) -> Result<()> {
    let library = library(&emit::sum_source(&call.plan.spec)?)?;
    let mut packed = emit::pack_sum(call.plan, call.from.address(), call.to.address());
    launch(&library, &mut packed, call.plan.blocks(), call.plan.spec.threads)
}

fn launch(library: &Library, packed: &mut emit::Packed, blocks: u64, threads: u32) -> Result<()> {
    let mut pointers = packed.pointers();
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    // SAFETY: the library was built by `build` below and has this symbol of this type.
    let launch = unsafe { library.get::<Launch>(b"gems_launch") }.map_err(failed)?;
    // SAFETY: the arguments are packed for this very kernel, and the buffers they point to outlive the call.
    unsafe { launch(pointers.as_mut_ptr(), blocks, threads) };
    Ok(())
}

fn library(source: &emit::Source) -> Result<Arc<Library>> {
    BUILT.get_or_build(&source.text, || build(source).map(Arc::new))
}

/// Options of the compiler: those of its header must be the same.
const OPTIONS: [&str; 7] =
    ["-std=c++17", "-O1", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-builtin", "-w"];

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

fn build(source: &emit::Source) -> Result<Library> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let (unit, object) = (folder.path().join("kernel.cpp"), folder.path().join("kernel.so"));
    let text = format!(
        "{}\nextern \"C\" void gems_launch(void** arguments, unsigned blocks, unsigned threads) {{\n  \
         launch({}, arguments, blocks, threads, {});\n}}\n",
        source.text,
        source.entry,
        source.text.contains("__syncthreads")
    );
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
            "the host compiler rejected {}:\n{}\n{}",
            source.entry,
            String::from_utf8_lossy(&output.stderr),
            source.text
        );
        return Err(Error::new(ErrorKind::Compile, message));
    }
    // SAFETY: the library was just built from generated code, which has no initializers.
    unsafe { Library::new(&object) }.map_err(failed)
}

fn failed(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Compile, format!("cannot run a kernel on the host: {cause}")).with_source(cause)
}
