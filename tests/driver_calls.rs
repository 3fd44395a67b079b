//! What warm calls on a GPU cost, on a driver that counts: exactly one driver call, and no heap memory but the handle of a
//! new output.
#![cfg(all(feature = "host-run", feature = "nvrtc", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Builds the counting driver into a folder.
fn build_driver(folder: &Path) {
    let source = folder.join("driver.cpp");
    std::fs::write(&source, include_str!("host/driver.cpp")).unwrap();
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let built = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-o"])
        .args([folder.join("libcuda.so.1"), source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Runs the program that counts; its output.
fn run(folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_count_driver_calls"))
        .env("LD_LIBRARY_PATH", folder)
        .env("GEMS_CACHE_DIR", folder.join("cache"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_warm_call_is_one_call_of_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    build_driver(folder.path());
    let output = run(folder.path());
    let counts: BTreeMap<&str, (u64, u64)> = output
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0], (words[1].parse().unwrap(), words[2].parse().unwrap()))
        })
        .collect();
    let expected = BTreeMap::from([
        ("add_out", (1, 0)),
        ("add_row_out", (1, 0)),
        ("add_number_inplace", (1, 0)),
        // The handle of the new output.
        ("add", (1, 1)),
        ("tanh", (1, 1)),
        ("fused", (1, 1)),
    ]);
    assert_eq!(counts, expected);
}
