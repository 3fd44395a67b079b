//! What a call costs before its kernel runs: inference, planning, and a whole small call on the CPU.

#![allow(missing_docs, reason = "criterion_group! makes a function without any")]

use criterion::{Criterion, criterion_group, criterion_main};
use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::plan::{self, Argument, Outputs};
use std::hint::black_box;

fn meta(layout: Layout) -> Meta {
    Meta { dtype: DType::F32, device: Device::Cpu, layout }
}

fn planning(criterion: &mut Criterion) {
    let square = Layout::contiguous(&[512, 512]).expect("a small shape");
    let cases = [
        ("contiguous", meta(square.clone()), meta(square.clone())),
        ("row", meta(square.clone()), meta(Layout::contiguous(&[512]).expect("a small shape"))),
        ("transposed", meta(square.clone()), meta(square.t().expect("two axes"))),
    ];
    for (name, x, y) in &cases {
        let arguments = [Argument::Buffer(x), Argument::Buffer(y)];
        criterion.bench_function(&format!("infer {name}"), |bencher| {
            bencher.iter(|| plan::infer(add::DEF, black_box(&arguments), Outputs::New { dtype: None }));
        });
        criterion.bench_function(&format!("infer and schedule {name}"), |bencher| {
            bencher.iter(|| plan::preview(add::DEF, black_box(&arguments)));
        });
    }
}

fn small_calls(criterion: &mut Criterion) {
    let x = StridedBuffer::from_vec(vec![1.0_f32; 64], &[64]).expect("a small buffer");
    let mut out = x.clone();
    criterion.bench_function("add of 64 elements into a buffer", |bencher| {
        bencher.iter(|| add::out(black_box(&x), 0.5, &mut out));
    });
    criterion.bench_function("add of 64 elements", |bencher| bencher.iter(|| add(black_box(&x), 0.5)));
}

criterion_group!(benches, planning, small_calls);
criterion_main!(benches);
