//! Compilation with a real NVRTC, which needs neither driver nor GPU.
//!
//! Behind the feature `nvrtc`; with it, a missing library is a failure.
#![cfg(feature = "nvrtc")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use gems_runtime::compile::{Arch, BinaryKind, Compiler, DiskStats, Nvrtc, Target, Version};
use gems_runtime::config::{CacheMode, Config};
use gems_runtime::error::ErrorKind;
use tempfile::TempDir;

const SCALE: &str = r#"
extern "C" __global__ void scale(float *x, float factor, long long count) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) x[i] = x[i] * factor + 1.0f;
}
"#;

fn nvrtc() -> &'static Nvrtc {
    Nvrtc::get().expect("these tests need NVRTC")
}

fn compiler(folder: &TempDir, cache: CacheMode) -> Compiler {
    Compiler::new(&Config { cache, cache_dir: Some(folder.path().to_owned()), ..Config::get().clone() })
}

/// The files below a folder that have this ending, or all.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { files(&path, ending) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

#[test]
fn the_library_tells_its_version_and_archs() {
    assert!(nvrtc().version() >= Version { major: 12, minor: 0 });
    assert!(nvrtc().supported_archs().is_sorted());
    assert!(nvrtc().supported_archs().contains(&Arch::from_number(90)));
}

#[test]
fn each_supported_arch_gets_machine_code_that_is_the_same_every_time() {
    for arch in nvrtc().supported_archs() {
        let binary = nvrtc().compile(SCALE, "scale", *arch).unwrap();
        assert_eq!(binary.kind, BinaryKind::Cubin, "{arch}");
        assert!(binary.bytes.starts_with(b"\x7fELF"), "{arch}");
        assert_eq!(nvrtc().compile(SCALE, "scale", *arch).unwrap(), binary, "{arch}");
    }
}

#[test]
fn a_device_newer_than_the_compiler_gets_text() {
    let newest = nvrtc().supported_archs().last().unwrap();
    let binary = nvrtc().compile(SCALE, "scale", Arch { major: newest.major + 1, minor: 0 }).unwrap();
    assert_eq!(binary.kind, BinaryKind::Ptx);
    let text = String::from_utf8(binary.bytes).unwrap();
    assert!(text.contains(&format!(".target {newest}")) && text.contains(".entry scale("), "{text}");
}

#[test]
fn a_device_older_than_the_compiler_is_an_error_that_says_so() {
    let error = nvrtc().compile(SCALE, "scale", Arch::from_number(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    assert!(error.to_string().contains("not for sm_20; set GEMS_NVRTC to an older NVRTC"), "{error}");
}

#[test]
fn arithmetic_is_neither_contracted_nor_approximated() {
    let source = r#"
extern "C" __global__ void f(float *x, double *y) {
    x[0] = x[0] * x[1] + x[2];
    x[3] = x[4] / x[5];
    x[6] = sqrtf(x[7]);
    y[0] = y[0] * y[1] + y[2];
}
"#;
    let target = Target { arch: Arch::from_number(90), kind: BinaryKind::Ptx };
    let text = String::from_utf8(nvrtc().compile_for(source, "f", target).unwrap().bytes).unwrap();
    for present in ["mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32", "mul.rn.f64", "add.rn.f64"] {
        assert!(text.contains(present), "{present} in {text}");
    }
    for absent in ["fma.", "ftz", "approx"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}

#[test]
fn a_rejected_source_is_an_error_with_kernel_arch_log_line_and_kept_source() {
    let folder = TempDir::new().unwrap();
    let source =
        "#line 41 \"src/act.rs\"\nextern \"C\" __global__ void gelu_f32(float *x) { x[0] = erfx(x[0]); }\n";
    let error =
        compiler(&folder, CacheMode::On).binary(source, "gelu_f32", Arch::from_number(90)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    let text = error.to_string();
    for part in ["rejected gelu_f32 for sm_90", "src/act.rs(41)", "identifier \"erfx\" is undefined"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let path = text.rsplit("the source is kept in ").next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), source);

    let error =
        compiler(&folder, CacheMode::Off).binary(source, "gelu_f32", Arch::from_number(90)).unwrap_err();
    assert!(error.to_string().contains("is kept when the kernel cache is on"), "{error}");
}

#[test]
fn a_zero_byte_in_a_source_is_an_error() {
    let error = nvrtc().compile("\0", "f", Arch::from_number(90)).unwrap_err();
    assert!(error.to_string().contains("its source holds a zero byte"), "{error}");
}

#[test]
fn a_source_is_compiled_once_and_then_found_in_memory_and_on_disk() {
    let folder = TempDir::new().unwrap();
    let (first, second) = (compiler(&folder, CacheMode::On), compiler(&folder, CacheMode::On));
    let arch = Arch::from_number(90);
    let built = first.binary(SCALE, "scale", arch).unwrap();
    assert!(Arc::ptr_eq(&built, &first.binary(SCALE, "scale", arch).unwrap()));
    assert_eq!(first.stats().disk, DiskStats { misses: 1, stores: 1, ..DiskStats::default() });
    assert_eq!(second.binary(SCALE, "scale", arch).unwrap(), built);
    assert_eq!(second.stats().disk, DiskStats { hits: 1, ..DiskStats::default() });
    // Another source, and another architecture, are other entries.
    second.binary(&SCALE.replace("1.0f", "2.0f"), "scale", arch).unwrap();
    second.binary(SCALE, "scale", nvrtc().supported_archs()[0]).unwrap();
    assert_eq!(second.stats().disk.misses, 2);
}

#[test]
fn verify_mode_agrees_with_an_honest_cache() {
    let folder = TempDir::new().unwrap();
    let arch = Arch::from_number(90);
    compiler(&folder, CacheMode::On).binary(SCALE, "scale", arch).unwrap();
    let verifying = compiler(&folder, CacheMode::Verify);
    verifying.binary(SCALE, "scale", arch).unwrap();
    assert_eq!(verifying.stats().disk, DiskStats { hits: 1, ..DiskStats::default() });
}

#[test]
fn eight_threads_compile_one_source_once_and_eight_sources_at_the_same_time() {
    let folder = TempDir::new().unwrap();
    let compiler = compiler(&folder, CacheMode::On);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let compiler = &compiler;
            scope.spawn(move || {
                let own = SCALE.replace("1.0f", &format!("{thread}.5f"));
                for source in [SCALE, &own] {
                    compiler.binary(source, "scale", Arch::from_number(90)).unwrap();
                }
            });
        }
    });
    assert_eq!(compiler.stats().disk.misses, 9);
    assert_eq!(compiler.stats().in_memory, 9);
}

#[test]
fn a_damaged_entry_is_compiled_again() {
    let folder = TempDir::new().unwrap();
    let arch = Arch::from_number(90);
    let built = compiler(&folder, CacheMode::On).binary(SCALE, "scale", arch).unwrap();
    let [entry] = &files(folder.path(), "bin")[..] else { panic!("one entry") };
    let mut bytes = std::fs::read(entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(entry, bytes).unwrap();
    let again = compiler(&folder, CacheMode::On);
    assert_eq!(again.binary(SCALE, "scale", arch).unwrap(), built);
    assert_eq!(again.stats().disk, DiskStats { misses: 1, faults: 1, stores: 1, ..DiskStats::default() });
}

#[test]
fn a_cache_that_is_only_read_gets_no_file() {
    let folder = TempDir::new().unwrap();
    let reader = compiler(&folder, CacheMode::ReadOnly);
    reader.binary(SCALE, "scale", Arch::from_number(90)).unwrap();
    let written = files(folder.path(), "");
    assert!(written.is_empty(), "{written:?}");
}

#[test]
fn a_shipped_cache_serves_a_machine_without_the_compiler() {
    let folder = TempDir::new().unwrap();
    let run = |mode: &str, nvrtc: Option<&str>| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_absent"));
        program.env("GEMS_CACHE_DIR", folder.path()).env("GEMS_CACHE", mode);
        if let Some(nvrtc) = nvrtc {
            program.env("GEMS_NVRTC", nvrtc);
        }
        String::from_utf8(program.output().unwrap().stdout).unwrap()
    };
    assert!(run("readonly", Some("/nonexistent")).contains("binary: Compile: no NVRTC"));
    assert!(run("on", None).contains("binary: ok"));
    let text = run("readonly", Some("/nonexistent"));
    assert!(text.contains("nvrtc: Compile: no NVRTC") && text.contains("binary: ok"), "{text}");
}
