//! Ops on several streams, in captured graphs, from many threads, and on kernels made ready ahead.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use std::sync::RwLock;

use cudarc::driver::{CudaContext, sys};
use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::compile::Compiler;
use gems_runtime::device::cuda::{Context, Stream};
use gems_runtime::interop;
use gems_runtime::layout::Layout;
use gems_runtime::op::Operand;
use gems_runtime::plan::{self, Argument};

const GPU: Device = Device::Cuda(0);
/// Large enough that a missing wait shows: a sum takes some 50 µs.
const LARGE: usize = 1 << 24;

/// Held for writing by tests that capture or count compilations.
static QUIET: RwLock<()> = RwLock::new(());

fn new_stream() -> Stream {
    Stream::new(Context::get(0).unwrap()).unwrap()
}

fn ones(numel: usize) -> StridedBuffer {
    StridedBuffer::full(DType::F32, &[numel], 1.0, GPU).unwrap()
}

/// That all elements are `value`, as the stream of the scope sees them.
#[track_caller]
fn check(buffer: &StridedBuffer, value: f32) {
    assert!(buffer.to_vec::<f32>().unwrap().iter().all(|element| *element == value), "{value}");
}

#[test]
fn calls_on_two_streams_wait_for_each_other_on_the_device() {
    let _quiet = QUIET.read();
    let (a, b) = (new_stream(), new_stream());
    let mut x = ones(LARGE);
    let mut expected = 1.0;
    for turn in 0..60 {
        // Read on one stream what the other just began to write, overwrite what the other just began to read, and
        // drop what both have used.
        let y = a.scope(|| add(&x, 1.0)).unwrap();
        let z = b.scope(|| mul(&y, 0.5)).unwrap();
        a.scope(|| add::inplace(&mut x, 1.0)).unwrap();
        drop(y);
        b.scope(|| sub::out(&z, -1.0, &mut x)).unwrap();
        expected = 0.5 * (expected + 1.0) + 1.0;
        if turn % 20 == 19 {
            check(&x, expected);
        }
    }
    a.scope(|| check(&x, expected));
}

/// Launches overlap the ends of the kernels before them: what those wrote last must be seen.
#[test]
fn a_kernel_sees_all_that_the_kernels_before_it_wrote() {
    let _quiet = QUIET.read();
    for numel in [1_usize, 1000, 1 << 18, LARGE].map(usize::cast_signed) {
        let last = |x: &StridedBuffer| x.slice(0, numel - 1, numel, 1).unwrap();
        let (mut x, mut lasts) = (ones(numel.cast_unsigned()), Vec::new());
        for turn in 0..300 {
            // A new result, one in place, and short kernels that want only what a long one writes last.
            x = add(&x, 1.0).unwrap();
            lasts.push((mul(&last(&x), 2.0).unwrap(), 2.0 * (2 * turn + 2) as f32));
            add::inplace(&mut x, 1.0).unwrap();
            lasts.push((neg(&last(&x)).unwrap(), -((2 * turn + 3) as f32)));
        }
        check(&x, 601.0);
        lasts.iter().for_each(|(last, value)| check(last, *value));
    }
}

#[test]
fn a_scope_ends_where_its_closure_ends_and_the_innermost_counts() {
    let _quiet = QUIET.read();
    let (a, b) = (new_stream(), new_stream());
    let home = |buffer: &StridedBuffer| buffer.storage().as_cuda().map(|memory| memory.home().clone());
    let default = Context::get(0).unwrap().default_stream().unwrap().clone();
    let x = ones(16);
    let (outer, inner, after) = a.scope(|| {
        let inner = b.scope(|| add(&x, 1.0).unwrap());
        (add(&x, 1.0).unwrap(), inner, add(&x, 1.0).unwrap())
    });
    assert_eq!([home(&outer), home(&inner), home(&after)], [Some(a.clone()), Some(b), Some(a.clone())]);
    assert_eq!(home(&add(&x, 1.0).unwrap()), Some(default));
}

#[test]
fn a_hundred_captured_calls_are_replayed_with_new_values() {
    let _quiet = QUIET.write();
    let theirs = CudaContext::new(0).unwrap();
    let their_stream = theirs.new_stream().unwrap();
    let stream = interop::cudarc::stream(&their_stream).unwrap();
    let hundred = |x: &StridedBuffer| {
        let mut y = add(x, 1.0)?;
        for turn in 0..33 {
            let z = mul(&y, 2.0)?;
            y = sub(&z, &y)?;
            if turn % 2 == 0 { add::inplace(&mut y, 1.0)? } else { neg::inplace(&mut y)? }
        }
        Ok::<_, Error>(y)
    };
    let mut x = stream.scope(|| ones(1 << 16));
    // Once outside: kernels are loaded and plans are known.
    let eager = stream.scope(|| hundred(&x)).unwrap();
    stream.scope(|| neg(&eager)).unwrap();
    their_stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    let captured = stream.scope(|| hundred(&x)).unwrap();
    let no_flags = sys::CUgraphInstantiate_flags_enum(0);
    let graph = their_stream.end_capture(no_flags).unwrap().expect("a graph");
    for start in [1.0, 5.0, -3.0] {
        stream.scope(|| {
            mul::inplace(&mut x, 0.0).unwrap();
            add::inplace(&mut x, start).unwrap();
        });
        graph.launch().unwrap();
        let expected = stream.scope(|| hundred(&x).unwrap().to_vec::<f32>().unwrap());
        assert_eq!(stream.scope(|| captured.to_vec::<f32>().unwrap()), expected, "start {start}");
    }
}

#[test]
fn threads_with_streams_of_their_own_share_inputs() {
    let _quiet = QUIET.read();
    let (x, y) = (ones(1 << 20), ones(1 << 20));
    std::thread::scope(|scope| {
        for thread in 0..16_u8 {
            let (x, y) = (&x, &y);
            scope.spawn(move || {
                new_stream().scope(|| {
                    let factor = f32::from(thread);
                    for _ in 0..50 {
                        let scaled = mul(x, factor).unwrap();
                        let sum = add(&scaled, y).unwrap();
                        drop(scaled);
                        check(&sum.narrow(0, 0, 1 << 10).unwrap(), factor + 1.0);
                    }
                });
            });
        }
    });
    check(&add(&x, &y).unwrap(), 2.0);
}

#[test]
fn warm_kernels_are_not_compiled_again() {
    let _quiet = QUIET.write();
    let meta = |dtype| Meta { dtype, device: GPU, layout: Layout::contiguous(&[1000]).unwrap() };
    let ops = [
        (hypot::DEF, DType::F32),
        (atan2::DEF, DType::F64),
        (fmod::DEF, DType::F16),
        (logaddexp::DEF, DType::BF16),
    ];
    let plans: Vec<_> = ops
        .iter()
        .map(|(op, dtype)| {
            let (x, y) = (meta(*dtype), meta(*dtype));
            plan::preview(op, &[Argument::Buffer(&x), Argument::Buffer(&y)]).unwrap().1
        })
        .collect();
    gems_runtime::warm(GPU, &plans).unwrap();
    for (op, dtype) in ops {
        let x = StridedBuffer::full(dtype, &[1000], 1.0, GPU).unwrap();
        // `full` may compile; what counts is the call.
        let before = Compiler::get().stats();
        StridedBuffer::run(op, &[Operand::Buffer(&x), Operand::Buffer(&x)], None).unwrap();
        assert_eq!(Compiler::get().stats(), before, "{}", op.name);
    }
}
