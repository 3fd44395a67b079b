//! A missing, broken or foreign NVRTC and a missing driver are typed errors, never a panic, also under `panic = "abort"`.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Runs the program with this NVRTC setting; returns its output, which is complete.
#[track_caller]
fn run(mut program: Command, nvrtc: &Path) -> String {
    let cache = TempDir::new().unwrap();
    let output = program
        .env("GEMS_NVRTC", nvrtc)
        .env("GEMS_CACHE_DIR", cache.path())
        .env_remove("GEMS_CACHE")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.ends_with("end\n"), "{}\n{text}\n{errors}", output.status);
    text
}

#[track_caller]
fn check_nvrtc(nvrtc: &Path, reason: &str) {
    let text = run(Command::new(env!("CARGO_BIN_EXE_absent")), nvrtc);
    for what in ["nvrtc", "binary"] {
        let lines: Vec<_> =
            text.lines().filter(|line| line.starts_with(&format!("{what}: Compile: no NVRTC"))).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for line in lines {
            assert!(line.contains("GEMS_NVRTC") && line.contains(&nvrtc.display().to_string()), "{line}");
            assert!(line.contains(reason), "{line}");
        }
    }
}

#[test]
fn an_absent_nvrtc_is_an_error_that_names_the_place() {
    check_nvrtc(Path::new("/nonexistent/libnvrtc.so.12"), "no library");
}

#[test]
fn a_file_that_is_no_library_is_an_error() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("libnvrtc.so.12");
    for contents in [&b""[..], b"not a library", b"\x7fELF"] {
        std::fs::write(&file, contents).unwrap();
        check_nvrtc(&file, "libnvrtc.so.12");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_without_the_symbols_is_an_error_that_names_one() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.split_whitespace().find(|word| word.contains("libc.so")).unwrap();
    check_nvrtc(Path::new(libc), "nvrtcVersion");
}

#[test]
fn a_program_that_never_launches_loads_no_library() {
    let text = run(Command::new(env!("CARGO_BIN_EXE_absent")), Path::new("/nonexistent"));
    assert!(text.contains("libraries before: \n"), "{text}");
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    let text = run(Command::new(env!("CARGO_BIN_EXE_absent")), Path::new("/nonexistent"));
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("no such context: D")).collect();
    assert_eq!(lines.len(), 2, "{text}");
}

#[test]
fn a_program_with_panic_abort_survives_absent_libraries() {
    let mut program = Command::new(env!("CARGO"));
    program.args(["run", "--quiet", "--profile", "abort", "--manifest-path"]);
    program.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/abort/Cargo.toml"));
    let text = run(program, Path::new("/nonexistent"));
    assert_eq!(text.matches("nvrtc: Compile: no NVRTC").count(), 2, "{text}");
}
