//! The CPU back end on memory of exact size: what Miri and sanitizers look at.
//!
//! Miri interprets these cases and reports any access outside of an operand, of freed or uninitialized bytes, misaligned,
//! aliased or racing. Each storage here is exactly as long as its view reaches. docs/architecture.md has the command.
#![expect(unsafe_code, reason = "borrows memory")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use std::ptr::NonNull;
use std::sync::Arc;

use gems_ops::prelude::*;
use gems_runtime::buffer::Storage;
use gems_runtime::error::ErrorKind;
use gems_runtime::layout::Layout;
use gems_tests::agree;
use gems_tests::random::{Random, Range};

/// Fewer calls where each of them is interpreted.
const CALLS: usize = if cfg!(miri) { 15 } else { 2000 };

fn counted(shape: &[usize]) -> StridedBuffer {
    let numel: usize = shape.iter().product();
    let values: Vec<f32> = (0..numel).map(|i| f32::from(u16::try_from(i % 1000).unwrap())).collect();
    StridedBuffer::from_vec(values, shape).unwrap()
}

fn values(buffer: &StridedBuffer) -> Vec<f32> {
    buffer.to_vec().unwrap()
}

#[test]
fn random_calls_on_any_layouts_and_dtypes() {
    let mut random = Random::new(21);
    for _ in 0..CALLS {
        let (op, buffers) = agree::random_call(&mut random, 4, 5);
        StridedBuffer::run(op, &agree::operands(op, &buffers, Scalar::I64(3)), None).unwrap();
    }
}

#[test]
fn every_dtype_is_converted_to_every_other() {
    let mut random = Random::new(22);
    for from in DType::ALL {
        let layout = Layout::new(&[3, 2], &[-2, 5], 4).unwrap();
        let x = random.buffer(from, &layout, Range::Moderate);
        for to in DType::ALL {
            assert_eq!(cast(&x, to).unwrap().dtype(), to);
        }
    }
}

#[test]
fn views_are_read_and_written_in_place() {
    let mut x = counted(&[4, 6]);
    let mut view = x.slice(1, 0, 6, 2).unwrap().flip(&[0]).unwrap().t().unwrap();
    view.write(&[0.0_f32; 12]).unwrap();
    add::inplace(&mut view, 1.0).unwrap();
    add::inplace(&mut x, 1.0).unwrap();
    assert_eq!(values(&view), [2.0; 12]);
    assert_eq!(values(&x)[..4], [2.0, 2.0, 2.0, 4.0]);
    assert_eq!(x.select(0, 1).unwrap().select(0, 1).unwrap().item::<f32>().unwrap(), 8.0);
}

#[test]
fn turned_operands_are_walked_in_panels() {
    let (x, y) = (counted(&[40, 70]), counted(&[70, 40]));
    let sum = values(&add(&x, &y.t().unwrap()).unwrap());
    let (x, y) = (values(&x), values(&y));
    assert!((0..40).all(|i| (0..70).all(|j| sum[i * 70 + j] == x[i * 70 + j] + y[j * 40 + i])));
}

#[test]
fn outputs_that_share_memory_with_inputs() {
    let base = counted(&[12]);
    let mut all = base.clone();
    // The very same view, and one that would be read mirrored while it is written.
    mul::out(&base, 2.0, &mut all).unwrap();
    let mirrored = base.flip(&[0]).unwrap();
    assert_eq!(sub::out(&mirrored, &base, &mut all).unwrap_err().kind(), ErrorKind::Overlap);
    // Memory apart within one storage.
    let mut low = base.narrow(0, 0, 6).unwrap();
    add::out(&base.narrow(0, 6, 6).unwrap(), 0.5, &mut low).unwrap();
    assert_eq!(values(&base)[..7], [12.5, 14.5, 16.5, 18.5, 20.5, 22.5, 12.0]);
}

#[test]
fn several_outputs_and_sums_over_broadcast_axes() {
    let (x, row, dz) = (counted(&[3, 5]), counted(&[5]), counted(&[3, 5]));
    let (dx, drow) = mul::vjp(&dz, &x, &row).unwrap();
    assert_eq!((dx.shape(), drow.shape()), (&[3, 5][..], &[5][..]));
    assert_eq!(values(&drow)[1], 1.0 + 36.0 + 121.0);
    let (mantissa, exponent) = frexp(&x).unwrap();
    assert_eq!(values(&ldexp(&mantissa, &exponent).unwrap()), values(&x));
}

#[test]
fn fused_functions_keep_their_intermediates_apart() {
    let f = compile(|[x, y]: [SymbolicBuffer; 2]| {
        let sum = add(&x, &y)?;
        Ok((mul(&sum, &sum)?, sub(&sum, &x)?))
    });
    for shape in [&[7][..], &[3, 300], &[0], &[]] {
        let (x, y) = (counted(shape), counted(shape));
        let (square, back) = f.call([&x, &y]).unwrap();
        assert_eq!(values(&back), values(&y));
        assert_eq!(values(&square), values(&mul(&add(&x, &y).unwrap(), &add(&x, &y).unwrap()).unwrap()));
    }
}

#[test]
fn large_calls_are_shared_among_threads() {
    let numel = if cfg!(miri) { 65_600 } else { 1 << 20 };
    let x = counted(&[numel]);
    let sum = values(&add(&x, &x).unwrap());
    assert!(sum.iter().zip(values(&x)).all(|(sum, x)| *sum == 2.0 * x));
}

#[test]
fn threads_read_and_write_one_buffer_in_turn() {
    let x = StridedBuffer::from_vec(vec![1.0_f32; 100], &[100]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    add::inplace(&mut x.clone(), 1.0).unwrap();
                    let seen = values(&x);
                    assert!(seen.iter().all(|value| *value == seen[0]), "a call is seen whole or not at all");
                }
            });
        }
    });
    assert_eq!(values(&x), [21.0; 100]);
}

#[test]
fn borrowed_memory_is_used_in_place_and_its_owner_kept() {
    let mut owned: Box<[i16]> = (0..9).collect();
    let pointer = NonNull::new(owned.as_mut_ptr()).unwrap().cast::<u8>();
    let owner = Arc::new(owned.len());
    // SAFETY: the box lives to the end of this function and is not used before the storage is gone.
    let storage = unsafe { Storage::host_borrowed(pointer, 18, owner.clone()) };
    {
        let mut view =
            StridedBuffer::from_storage(storage, DType::I16, Layout::new(&[4], &[-2], 8).unwrap()).unwrap();
        neg::inplace(&mut view).unwrap();
        assert_eq!(Arc::strong_count(&owner), 2);
    }
    assert_eq!(Arc::strong_count(&owner), 1);
    assert_eq!(*owned, [0, 1, -2, 3, -4, 5, -6, 7, -8]);
}
