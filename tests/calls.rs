//! Ten thousand random calls: the CPU back end gives what a loop over indices gives, symbolic buffers give the metadata of
//! eager calls, every element of an output is written once, and generated code run on the host gives the same bits.
//!
//! Calls come in forms: 200 of them, each on 50 shapes, since calls of one form share a kernel. Seeds are fixed, so a
//! form and a shape that failed once are run for ever.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::dtype::Element;
use gems_runtime::layout::Layout;
use gems_runtime::op::{Operand, Role};
use gems_tests::agree::{self, RandomCall};
use gems_tests::random::Random;

const FORMS: u64 = 200;
const SHAPES: usize = 50;

/// The calls of a form: rank 0 to 7, extents mostly small, now and then 0, 1 or long.
fn calls(form: u64) -> impl Iterator<Item = (String, RandomCall)> {
    let mut random = Random::new(form);
    let rank = random.below(8);
    let largest = [1, 3000, 60, 16, 7, 4, 3, 3][rank];
    (0..SHAPES).map(move |turn| {
        let shape: Vec<usize> = (0..rank)
            .map(|_| match random.below(40) {
                0 => 0,
                1 | 2 => 1,
                _ => 1 + random.below(largest),
            })
            .collect();
        let call = RandomCall::new(form, &shape, &mut random);
        (
            format!(
                "form {form} turn {turn}: {} {shape:?} of {:?} into {:?}",
                call.op.name, call.buffers, call.out
            ),
            call,
        )
    })
}

/// An output of this layout in memory that holds nothing else.
fn output(dtype: DType, layout: &Layout) -> StridedBuffer {
    let elements = layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
    let flat = StridedBuffer::full(dtype, &[elements], 1, Device::Cpu).unwrap();
    flat.as_strided(layout.shape(), layout.strides(), layout.offset()).unwrap()
}

/// Offsets of the elements in row-major order, by nothing but the definition of strides.
fn offsets(layout: &Layout, shape: &[usize]) -> Vec<usize> {
    let layout = layout.broadcast_to(shape).unwrap();
    let numel: usize = shape.iter().product();
    (0..numel)
        .map(|flat| {
            let (mut rest, mut offset) = (flat, layout.offset());
            for (axis, &extent) in shape.iter().enumerate().rev() {
                offset += (rest % extent).cast_signed() * layout.strides()[axis];
                rest /= extent;
            }
            offset.unsigned_abs()
        })
        .collect()
}

/// The elements of a buffer, broadcast to `shape`, one behind the other.
fn gathered(buffer: &StridedBuffer, shape: &[usize]) -> StridedBuffer {
    fn pick<T: Element>(buffer: &StridedBuffer, shape: &[usize]) -> StridedBuffer {
        let elements = buffer.storage().bytes() / buffer.dtype().size();
        let whole = buffer.as_strided(&[elements], &[1], 0).unwrap().to_vec::<T>().unwrap();
        let picked = offsets(&Buffer::meta(buffer).layout, shape).into_iter().map(|at| whole[at]);
        let picked: Vec<T> = picked.collect();
        StridedBuffer::from_slice(&picked, &[picked.len()]).unwrap()
    }
    match buffer.dtype() {
        DType::Bool => pick::<bool>(buffer, shape),
        DType::U8 => pick::<u8>(buffer, shape),
        DType::I8 => pick::<i8>(buffer, shape),
        DType::U16 => pick::<u16>(buffer, shape),
        DType::I16 => pick::<i16>(buffer, shape),
        DType::U32 => pick::<u32>(buffer, shape),
        DType::I32 => pick::<i32>(buffer, shape),
        DType::U64 => pick::<u64>(buffer, shape),
        DType::I64 => pick::<i64>(buffer, shape),
        DType::F16 => pick::<half::f16>(buffer, shape),
        DType::BF16 => pick::<half::bf16>(buffer, shape),
        DType::F32 => pick::<f32>(buffer, shape),
        DType::F64 => pick::<f64>(buffer, shape),
        other => panic!("no exact op is tried with {other}"),
    }
}

/// The outputs of a call, or a panic that says which.
fn expect(outputs: Result<smallvec::SmallVec<[StridedBuffer; 2]>>, context: &str) -> StridedBuffer {
    outputs.unwrap_or_else(|error| panic!("{context}: {error}")).remove(0)
}

/// The result of a call, into its given output if it has one.
fn run(call: &RandomCall, context: &str) -> StridedBuffer {
    let operands = call.operands(&call.buffers);
    let new = expect(StridedBuffer::run(call.op, &operands, None), context);
    let Some(layout) = &call.out else { return new };
    let mut out = output(new.dtype(), layout);
    let done = StridedBuffer::call_out(call.op, &operands, &mut [&mut out]);
    done.unwrap_or_else(|error| panic!("{context}: {error}"));
    out
}

#[test]
fn the_cpu_gives_what_a_loop_over_indices_gives() {
    for (context, call) in (0..FORMS).flat_map(calls) {
        let result = run(&call, &context);
        let shape = result.shape().to_vec();
        // The function itself on one contiguous axis, operand by operand in the order of the indices.
        let flat: Vec<StridedBuffer> = call
            .buffers
            .iter()
            .enumerate()
            .map(
                |(at, buffer)| {
                    if Some(at) == call.number { buffer.clone() } else { gathered(buffer, &shape) }
                },
            )
            .collect();
        let expected = expect(StridedBuffer::run(call.op, &call.operands(&flat), None), &context);
        let got = gathered(&result, &shape);
        agree::same(call.op, &[expected], &[got], &context);
    }
}

#[test]
fn symbolic_calls_give_the_metadata_of_eager_ones() {
    for (context, call) in (0..FORMS).flat_map(calls) {
        let eager = expect(StridedBuffer::run(call.op, &call.operands(&call.buffers), None), &context);
        let symbols: Vec<SymbolicBuffer> = call.buffers.iter().map(SymbolicBuffer::like).collect();
        let real = call.operands(&call.buffers);
        let mut buffers = symbols.iter();
        let operands: Vec<Operand<'_, SymbolicBuffer>> = call
            .op
            .params
            .iter()
            .zip(&real)
            .map(|(param, operand)| match operand {
                Operand::Buffer(_) => Operand::Buffer(buffers.next().unwrap()),
                Operand::Scalar(number) => {
                    if param.role == Role::Tensor {
                        buffers.next();
                    }
                    Operand::Scalar(*number)
                }
            })
            .collect();
        let symbolic = SymbolicBuffer::run(call.op, &operands, None).unwrap().remove(0);
        let eager = SymbolicBuffer::like(&eager);
        assert_eq!(symbolic.meta(), eager.meta(), "{context}");
    }
}

/// Calls of generated code.
#[cfg(feature = "host-run")]
mod generated {
    use super::*;
    use gems_runtime::exec;
    use gems_tests::host_run;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// What [`run`] does, by this back end.
    fn run_on(back_end: exec::BackEnd, call: &RandomCall, dtype: DType) -> Result<StridedBuffer> {
        let operands = call.operands(&call.buffers);
        let Some(layout) = &call.out else {
            return Ok(exec::call_on(back_end, call.op, &operands, None)?.remove(0));
        };
        let mut out = output(dtype, layout);
        exec::call_out_on(back_end, call.op, &operands, &mut [&mut out])?;
        Ok(out)
    }

    /// Does something for every form, on every core.
    fn for_each_form(work: impl Fn(u64) + Sync) {
        let next = AtomicU64::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let form @ 0..FORMS = next.fetch_add(1, Ordering::Relaxed) {
                        work(form);
                    }
                });
            }
        });
    }

    #[test]
    fn generated_code_gives_the_bits_of_the_cpu() {
        for_each_form(|form| {
            let calls: Vec<_> =
                calls(form).map(|(context, call)| (run(&call, &context), context, call)).collect();
            let kernels = host_run::kernels_of(|back_ends| {
                calls
                    .iter()
                    .try_for_each(|(cpu, _, call)| run_on(back_ends.kernel, call, cpu.dtype()).map(drop))
            });
            host_run::prepare(&kernels.unwrap()).unwrap();
            for (cpu, context, call) in calls {
                let host = run_on(host_run::back_end, &call, cpu.dtype());
                let host = host.unwrap_or_else(|error| panic!("{context}: {error}"));
                agree::same(call.op, &[cpu], &[host], &context);
            }
        });
    }
}

/// Numbers that an integer cannot hold are replaced when a call is planned; the next call of its kind must do as much.
#[test]
fn a_number_outside_the_integers_means_the_same_in_every_call() {
    let bytes = StridedBuffer::from_vec(vec![1_u8, 255], &[2]).unwrap();
    let ints = StridedBuffer::from_vec(vec![i32::MIN, -1, i32::MAX], &[3]).unwrap();
    let beyond = 1_i64 << 31;
    let bools = |result: Result<StridedBuffer>| result.unwrap().to_vec::<bool>().unwrap();
    for turn in 0..3 {
        let clamped = clamp(&bytes, -5, 300).unwrap();
        assert_eq!(clamped.to_vec::<u8>().unwrap(), [1, 255], "turn {turn}");
        let mut out = StridedBuffer::zeros(DType::U8, &[2], Device::Cpu).unwrap();
        clamp::out(&bytes, -5, 300, &mut out).unwrap();
        assert_eq!(out.to_vec::<u8>().unwrap(), [1, 255], "turn {turn}");
        assert_eq!(clamp_min(&bytes, -5).unwrap().to_vec::<u8>().unwrap(), [1, 255], "turn {turn}");
        assert_eq!(clamp_max(&bytes, 300).unwrap().to_vec::<u8>().unwrap(), [1, 255], "turn {turn}");
        assert_eq!(hardtanh(&ints, -beyond - 1, beyond).unwrap().to_vec::<i32>().unwrap()[2], i32::MAX);
        assert_eq!(bools(lt(&ints, beyond)), [true; 3], "turn {turn}");
        assert_eq!(bools(gt(&ints, -beyond - 1)), [true; 3], "turn {turn}");
        assert_eq!(bools(eq(&ints, beyond)), [false; 3], "turn {turn}");
        assert_eq!(bools(ne(&ints, beyond)), [true; 3], "turn {turn}");
        assert_eq!(bools(ge(beyond, &ints)), [true; 3], "turn {turn}");
    }
    let traced = compile(|[bytes, ints]| Ok((clamp(&bytes, -5, 300)?, lt(&ints, beyond)?)));
    for turn in 0..3 {
        let (clamped, less) = traced.call([&bytes, &ints]).unwrap();
        assert_eq!(clamped.to_vec::<u8>().unwrap(), [1, 255], "turn {turn}");
        assert_eq!(less.to_vec::<bool>().unwrap(), [true; 3], "turn {turn}");
    }
}

#[test]
fn a_result_of_another_kind_is_not_written_over_its_operand() {
    let mut z = StridedBuffer::from_vec(vec![num_complex::Complex::new(3.0_f32, 4.0)], &[1]).unwrap();
    let error = abs::inplace(&mut z).unwrap_err();
    assert!(
        error.kind() == ErrorKind::DType && error.to_string().contains("abs: the result is real"),
        "{error}"
    );
    let mut x = StridedBuffer::from_vec(vec![2.0_f32], &[1]).unwrap();
    assert_eq!(float_power::inplace(&mut x, 2).unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(x.item::<f32>().unwrap(), 2.0);
    let mut symbol = SymbolicBuffer::like(&z);
    assert_eq!(abs::inplace(&mut symbol).unwrap_err().kind(), ErrorKind::DType);
    abs::inplace(&mut x).unwrap();
}
