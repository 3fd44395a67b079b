//! The GPU against the CPU: the case list, random layouts, given outputs, many threads.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::op::OpDef;
use gems_tests::random::{Random, Range};
use gems_tests::{agree, cases};

const GPU: Device = Device::Cuda(0);

/// The same view of the same memory on the GPU, up to the end of its last line of 16 bytes: kernels load whole lines and
/// drop what is beside a view, which a check of initialized memory would report.
fn upload(buffer: &StridedBuffer) -> StridedBuffer {
    let size = buffer.dtype().size();
    let elements = buffer.storage().bytes() / size;
    let lines = buffer.storage().bytes().next_multiple_of(16) / size;
    let flat = StridedBuffer::zeros(buffer.dtype(), &[lines], GPU).unwrap();
    let host = buffer.as_strided(&[elements], &[1], 0).unwrap().to_device(GPU).unwrap();
    copy::out(&host, &mut flat.narrow(0, 0, elements).unwrap()).unwrap();
    flat.as_strided(buffer.shape(), buffer.strides(), buffer.meta().layout.offset()).unwrap()
}

#[track_caller]
fn check(op: &'static OpDef, buffers: &[StridedBuffer], number: Scalar, context: &str) {
    let on_gpu: Vec<StridedBuffer> = buffers.iter().map(upload).collect();
    let cpu = StridedBuffer::run(op, &agree::operands(op, buffers, number), None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    let gpu = StridedBuffer::run(op, &agree::operands(op, &on_gpu, number), None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    let gpu: Vec<StridedBuffer> = gpu.iter().map(download).collect();
    agree::same(op, &cpu, &gpu, context);
}

/// A host buffer with the same strides.
fn download(buffer: &StridedBuffer) -> StridedBuffer {
    let elements = buffer.storage().bytes() / buffer.dtype().size();
    let flat = buffer.as_strided(&[elements], &[1], 0).unwrap().to_device(Device::Cpu).unwrap();
    flat.as_strided(buffer.shape(), buffer.strides(), buffer.meta().layout.offset()).unwrap()
}

#[test]
fn every_kernel_of_the_case_list_agrees() {
    let mut random = Random::new(1);
    for case in cases::all() {
        let operands: Vec<StridedBuffer> = case
            .operands
            .iter()
            .map(|meta: &Meta| random.buffer(meta.dtype, &meta.layout, agree::range(case.op)))
            .collect();
        check(case.op, &operands, case.number, &case.name);
    }
}

#[test]
fn random_layouts_agree_bit_for_bit() {
    let mut random = Random::new(3);
    for turn in 0..2500 {
        let (op, buffers) = agree::random_call(&mut random, 5, 9);
        let context = format!("turn {turn}: {} of {buffers:?}", op.name);
        check(op, &buffers, Scalar::I64(3), &context);
    }
}

#[test]
fn given_and_in_place_outputs_agree() {
    let mut random = Random::new(4);
    for turn in 0..300 {
        let shape = random.shape(4, 8);
        let x = random.buffer(DType::F32, &Layout::contiguous(&shape).unwrap(), Range::All);
        let layout = random.layout(&shape);
        let y = random.buffer(DType::F32, &layout, Range::All);
        let (mut x_gpu, y_gpu) = (upload(&x), upload(&y));
        let mut x_cpu = x.clone();
        add::inplace(&mut x_cpu, &y).unwrap();
        add::inplace(&mut x_gpu, &y_gpu).unwrap();
        agree::same(add::DEF, &[x_cpu.clone()], &[download(&x_gpu)], &format!("turn {turn} in place"));
        let mut out_cpu = StridedBuffer::zeros(DType::BF16, &shape, Device::Cpu).unwrap();
        let mut out_gpu = StridedBuffer::zeros(DType::BF16, &shape, GPU).unwrap();
        mul::out(&x_cpu, &y, &mut out_cpu).unwrap();
        mul::out(&x_gpu, &y_gpu, &mut out_gpu).unwrap();
        agree::same(mul::DEF, &[out_cpu], &[download(&out_gpu)], &format!("turn {turn} into bf16"));
    }
}

/// Integers, so that sums are exact in any order.
#[test]
fn gradients_of_broadcast_operands_agree_bit_for_bit() {
    let mut random = Random::new(5);
    for turn in 0..400 {
        let shape = random.shape(4, 40);
        let dtype = [DType::F32, DType::F64, DType::BF16, DType::F16][random.below(4)];
        let layouts = [random.layout(&shape), random.layout(&shape)];
        let mut integers = |layout: &Layout| {
            let elements = layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
            let values: Vec<f64> = (0..elements).map(|_| [-1.0, 0.0, 1.0][random.below(3)]).collect();
            let flat = cast(&StridedBuffer::from_slice(&values, &[elements]).unwrap(), dtype).unwrap();
            flat.as_strided(layout.shape(), layout.strides(), layout.offset()).unwrap()
        };
        let (x, y) = (integers(&layouts[0]), integers(&layouts[1]));
        let dz = integers(&mul(&x, &y).unwrap().meta().layout);
        let (dx, dy) = mul::vjp(&dz, &x, &y).unwrap();
        let (dx_gpu, dy_gpu) = mul::vjp(&upload(&dz), &upload(&x), &upload(&y)).unwrap();
        let context = format!("turn {turn}: {dz:?}, {x:?}, {y:?}");
        agree::same(mul::DEF, &[dx, dy], &[download(&dx_gpu), download(&dy_gpu)], &context);
    }
}

#[test]
fn sixty_four_threads_of_mixed_ops_agree() {
    std::thread::scope(|scope| {
        for seed in 0..64 {
            scope.spawn(move || {
                let mut random = Random::new(100 + seed);
                for turn in 0..20 {
                    let (op, buffers) = agree::random_call(&mut random, 3, 12);
                    check(op, &buffers, Scalar::I64(3), &format!("thread {seed} turn {turn}: {}", op.name));
                }
            });
        }
    });
}

#[test]
fn four_gigabytes_of_i8_add_up_in_every_element() {
    let filled = |value: i32| {
        let row = StridedBuffer::full(DType::I8, &[1 << 16], value, GPU).unwrap();
        copy(&row.expand(&[1 << 16, 1 << 16]).unwrap()).unwrap().reshape(&[-1]).unwrap()
    };
    let sum = add(&filled(100), &filled(27)).unwrap();
    assert_eq!(sum.numel(), 1 << 32);
    // Any wrong element shows in the maximum over halves, folded down without a reduction kernel.
    let mut wrong = ne(&sum, 127).unwrap();
    while wrong.numel() > 1 << 12 {
        let half = wrong.numel() / 2;
        let (low, high) =
            (wrong.narrow(0, 0, half).unwrap(), wrong.narrow(0, half.cast_signed(), half).unwrap());
        wrong = maximum(&low, &high).unwrap();
    }
    assert!(wrong.to_vec::<bool>().unwrap().iter().all(|wrong| !wrong));
}

/// What lies between the elements belongs to others, who may write it meanwhile.
#[test]
fn a_write_to_a_view_places_its_elements_alone() {
    let whole = StridedBuffer::full(DType::I32, &[6, 5], 7, GPU).unwrap();
    whole.select(1, 2).unwrap().write(&[0, 1, 2, 3, 4, 5]).unwrap();
    whole.select(1, 4).unwrap().write(&[9; 6]).unwrap();
    let expected: Vec<i32> = (0..6).flat_map(|row| [7, 7, row, 7, 9]).collect();
    assert_eq!(whole.to_vec::<i32>().unwrap(), expected);
}
