//! A program on a machine without driver, device or compiler: it asks for each and prints what it is told.
//!
//! Guarantees: any panic, also one that is caught, ends it by abort; before the first question no NVIDIA library may be
//! in the process.
#![expect(clippy::print_stdout, reason = "its output is what the tests read")]

use gems_runtime::compile::{self, Arch, Compiler, Nvrtc};
use gems_runtime::device::cuda::{self, Context, Driver};

fn main() {
    std::panic::set_hook(Box::new(|_| std::process::abort()));
    // What a program does that never launches.
    let arch = Arch { major: 9, minor: 0 };
    println!("settings: {:?}", Compiler::get().stats());
    println!("libraries before: {}", nvidia_libraries().join(" "));

    // Twice each: the first failure must not make the second one a panic.
    for _ in 0..2 {
        say("driver", Driver::get().map(|_| ()));
        say("device count", cuda::device_count().map(|_| ()));
        say("context", Context::get(0).map(|_| ()));
        say("no such context", Context::get(u32::MAX).map(|_| ()));
        say("nvrtc", Nvrtc::get().map(|_| ()));
        say("binary", compile::binary("extern \"C\" __global__ void f() {}", "f", arch).map(|_| ()));
    }
    println!("end");
}

fn say(what: &str, result: gems_runtime::error::Result<()>) {
    match result {
        Ok(()) => println!("{what}: ok"),
        Err(error) => println!("{what}: {:?}: {}", error.kind(), error.to_string().replace('\n', " ")),
    }
}

/// Files of driver and NVRTC that are mapped into this process; none where the system does not tell.
fn nvidia_libraries() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let mut files: Vec<_> = files
        .filter(|file| file.contains("libcuda") || file.contains("libnvrtc"))
        .map(str::to_owned)
        .collect();
    files.dedup();
    files
}
