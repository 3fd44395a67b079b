//! Traced functions on a GPU: the bits of eager calls there, and files that need no compiler.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::trace::{Options, trace};
use gems_tests::compare::{Bound, compare};
use gems_tests::dag::{Dag, Taste};
use gems_tests::random::Random;
use std::process::Command;

const GPU: Device = Device::Cuda(0);
const THREADS: u64 = 8;
const CASES_OF_A_THREAD: usize = 125;

/// The same view of other memory, on a device.
fn on(buffer: &StridedBuffer, device: Device) -> StridedBuffer {
    let elements = buffer.storage().bytes() / buffer.dtype().size();
    let whole = buffer.as_strided(&[elements], &[1], 0).unwrap();
    let whole =
        if buffer.device() == device { copy(&whole).unwrap() } else { whole.to_device(device).unwrap() };
    whole.as_strided(buffer.shape(), buffer.strides(), buffer.meta().layout.offset()).unwrap()
}

#[test]
fn random_functions_give_the_same_bits_eager_and_fused() {
    let check = |random: &mut Random, context: &str| {
        let dag = Dag::new(random, Taste { ops: 16, device: GPU, ..Taste::FEW });
        let given = dag.fill(random);
        let upload = || given.iter().map(|buffer| on(buffer, GPU)).collect::<Vec<_>>();
        let (eager_inputs, inputs) = (upload(), upload());
        let mut expected = dag.run(&eager_inputs).unwrap_or_else(|error| panic!("{context}: {error}"));
        expected.extend(eager_inputs);
        let references: Vec<&StridedBuffer> = inputs.iter().collect();
        let form = trace(&references, Options::default(), |inputs| dag.run(&inputs)).unwrap();
        let mut got = form.run(&references).unwrap_or_else(|error| panic!("{context}: {error}"));
        got.extend(inputs);
        assert_eq!(expected.len(), got.len());
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(expected.meta(), got.meta(), "{context}");
            let [expected, got] = [expected, got].map(|buffer| on(buffer, Device::Cpu));
            compare(&expected, &got, Bound::Exact)
                .unwrap_or_else(|found| panic!("{context}: {found}\n{}\n{}", form.graph(), form.explain()));
        }
    };
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            scope.spawn(move || {
                let mut random = Random::new(50 + seed);
                for turn in 0..CASES_OF_A_THREAD {
                    check(&mut random, &format!("thread {seed} turn {turn}"));
                }
            });
        }
    });
}

#[test]
fn a_saved_function_runs_where_there_is_no_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("function.gems");
    let values = |seed: f32| {
        let values: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37 + seed).sin()).collect();
        StridedBuffer::from_vec(values, &[1000]).unwrap().to_device(GPU).unwrap()
    };
    let f = compile(|[x, y]: [SymbolicBuffer; 2]| {
        // A kernel that runs on a copy of what it overwrites.
        let even = y.slice(0, 0, isize::MAX, 2)?;
        maximum::out(&even, -0.5, &mut even.flip(&[0])?)?;
        gelu_and_mul(&tanh(&y)?, &sub(&x, &y.flip(&[0])?)?)
    });
    let expected = f.call([&values(0.1), &values(0.2)]).unwrap();
    f.save(&path).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_run_saved"));
    program.arg(&path).arg("cuda").arg("1000").env("GEMS_NVRTC", "/nonexistent").env("GEMS_CACHE", "off");
    let output = program.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let bits: Vec<u32> = expected.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    assert_eq!(text, format!("{bits:?}\n{bits:?}\nNVRTC loaded: false\ndriver loaded: true\n"));
}

#[test]
fn calls_of_known_layouts_are_replayed() {
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        add::inplace(&mut x, &y)?;
        mul(&x.t()?, 2)
    });
    let mut random = Random::new(3);
    let [x, y] = [(); 2].map(|()| random.values(DType::BF16, 12, gems_tests::random::Range::All));
    let [x, y] = [x, y].map(|buffer| buffer.reshape(&[3, 4]).unwrap());
    let (gpu_x, gpu_y) = (on(&x, GPU), on(&y, GPU));
    for _ in 0..4 {
        let expected = f.call([&x, &y]).unwrap();
        let got = f.call([&gpu_x, &gpu_y]).unwrap();
        compare(&expected, &on(&got, Device::Cpu), Bound::Exact).unwrap();
        compare(&x, &on(&gpu_x, Device::Cpu), Bound::Exact).unwrap();
    }
    assert_eq!((f.stats().traces, f.stats().hits), (2, 6));
}
