//! Generated kernels through NVRTC, without a driver: what is emitted is CUDA C++ that compiles.
//!
//! The case list is compiled for every architecture that we claim. Every op of the library is compiled for each dtype
//! that it takes: flat into machine code where its formula is that dtype's own, else into PTX, and strided into PTX, since
//! what differs is the conversions, loads and stores, whose machine code the case list has. These are some 6,500 kernels,
//! several in one program.
//! Behind the feature `nvrtc`; with it, a missing library is a failure. Runs nothing.
#![cfg(feature = "nvrtc")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::REGISTRY;
use gems_runtime::compile::{Arch, BinaryKind, Nvrtc, Target};
use gems_runtime::dtype::DType;
use gems_runtime::emit;
use gems_tests::cases::{self, View};
use gems_tests::{batch, sweep};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The oldest architecture that we claim, and the two that we measure on.
const ARCHS: [u32; 3] = [80, 90, 100];
/// Kernels in one program of the sweep: its fixed cost is a third of that of one kernel.
const BATCH: usize = 16;

/// A kernel's text with its name, and what it is compiled for.
#[derive(Debug)]
struct Job {
    source: emit::Source,
    target: Target,
}

/// Compiles all on every core, and reports every failure in full.
#[track_caller]
fn compile_all(jobs: &[Job]) {
    let nvrtc = Nvrtc::get().expect("these tests need NVRTC");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(Job { source, target }) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = nvrtc.compile_for(&source.text, &source.entry, *target) {
                        failures.lock().unwrap().push(error.to_string());
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {} kernels:\n\n{}",
        failures.len(),
        jobs.len(),
        failures.join("\n\n")
    );
}

#[test]
fn every_kernel_of_the_case_list_compiles_for_every_architecture() {
    let mut jobs = Vec::new();
    for case in cases::all() {
        let plan = case.plan().unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let source = emit::source(&plan.spec).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let target = |arch| Target { arch: Arch::from_number(arch), kind: BinaryKind::Cubin };
        jobs.extend(ARCHS.map(|arch| Job { source: source.clone(), target: target(arch) }));
    }
    compile_all(&jobs);
}

/// Whether a dtype is computed by the formulas of a larger one, whose machine code has all but the conversions. Those of
/// bf16 have short forms of their own.
fn is_widened(dtype: DType) -> bool {
    matches!(dtype, DType::F8E4M3FN | DType::F8E5M2 | DType::F16 | DType::C32)
}

/// Which dtypes a sweep takes.
type Taken = fn(DType) -> bool;

/// To machine code where the formula is the dtype's own; other kernels stop at PTX, before the assembler.
#[test]
fn every_op_compiles_for_the_dtypes_that_it_takes() {
    let sources = |view: View, is_taken: Taken| {
        let mut texts = BTreeMap::new();
        for op in REGISTRY.iter() {
            for dtype in op.dtypes.iter().filter(|&dtype| is_taken(dtype)) {
                let context = format!("{} of {dtype} {view:?}", op.name);
                let plan = sweep::plan(op, dtype, view).unwrap_or_else(|error| panic!("{context}: {error}"));
                let source = emit::source(&plan.spec).unwrap_or_else(|error| panic!("{context}: {error}"));
                texts.insert(source.text, source.entry);
            }
        }
        texts.into_iter().map(|(text, entry)| emit::Source { entry, text }).collect::<Vec<_>>()
    };
    let kinds: [(View, Taken, BinaryKind); 3] = [
        (View::Contiguous, |dtype| !is_widened(dtype), BinaryKind::Cubin),
        (View::Contiguous, is_widened, BinaryKind::Ptx),
        (View::Stepped, |_| true, BinaryKind::Ptx),
    ];
    let jobs = kinds.into_iter().flat_map(|(view, is_taken, kind)| {
        let job = |kernels: &[emit::Source]| {
            let names: Vec<_> = kernels.iter().map(|kernel| kernel.entry.as_str()).collect();
            Job {
                source: emit::Source { entry: names.join(", "), text: batch::program(kernels) },
                target: Target { arch: Arch::from_number(90), kind },
            }
        };
        sources(view, is_taken).chunks(BATCH).map(job).collect::<Vec<_>>()
    });
    compile_all(&jobs.collect::<Vec<_>>());
}
