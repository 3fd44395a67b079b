//! Gradients of traced functions: the bits of eager calls, slopes, kernels, what is saved, and what is refused.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};

/// Gradients of the mission's function, op by op.
fn gated_backward<B: Buffer>(dz: &B, x: &B, y: &B) -> Result<[B; 2]> {
    let t = tanh(y)?;
    let d = sub(x, y)?;
    let (dt, dd) = gelu_and_mul::vjp(dz, &t, &d)?;
    let (dx, dy) = sub::vjp(&dd, x, y)?;
    Ok([dx, add(&dy, &tanh::vjp(&dt, y)?)?])
}

fn random(random: &mut Random, dtype: DType, shape: &[usize]) -> StridedBuffer {
    random.buffer(dtype, &Layout::contiguous(shape).unwrap(), Range::All)
}

#[track_caller]
fn same(expected: &StridedBuffer, got: &StridedBuffer) {
    assert_eq!((expected.dtype(), expected.shape()), (got.dtype(), got.shape()));
    compare(expected, got, Bound::Exact).unwrap();
}

/// What an explanation says of kernels and of the sums among them.
#[track_caller]
fn counts(explained: &str) -> (usize, usize) {
    let kernels = explained.lines().filter(|line| line.starts_with("kernel ")).count();
    (
        kernels,
        explained.lines().filter(|line| line.starts_with("kernel ") && line.contains(": sum over")).count(),
    )
}

#[test]
fn derivatives_of_ops_are_traced_with_broadcast_operands() {
    let f = compile(|[dz, x, y]| gated_backward(&dz, &x, &y));
    let mut values = Random::new(21);
    for (rows, columns) in [(3, 5), (17, 64), (2, 2)] {
        for (x_shape, kernels) in
            [(vec![rows, columns], 1), (vec![columns], 2), (vec![rows, 1], 2), (vec![], 2)]
        {
            for dtype in [DType::F32, DType::BF16, DType::F64] {
                let dz = random(&mut values, dtype, &[rows, columns]);
                let x = random(&mut values, dtype, &x_shape);
                let y = random(&mut values, dtype, &[rows, columns]);
                let got = f.call([&dz, &x, &y]).unwrap();
                for (expected, got) in gated_backward(&dz, &x, &y).unwrap().iter().zip(&got) {
                    same(expected, got);
                }
                let explained = f.explain([&dz, &x, &y]).unwrap();
                assert_eq!(counts(&explained), (kernels, kernels - 1), "{explained}");
                assert_eq!(f.cuda_sources([&dz, &x, &y]).unwrap().len(), kernels);
            }
        }
    }
}

#[test]
fn gradients_of_other_dtypes_and_of_constants_are_traced() {
    let body = |dz: &SymbolicBuffer, x: &SymbolicBuffer, y: &SymbolicBuffer| -> Result<[SymbolicBuffer; 3]> {
        let (dx, dy) = mul::vjp(dz, x, y)?;
        Ok([dx, dy, floor::vjp(dz, x)?])
    };
    let f = compile(move |[dz, x, y]| body(&dz, &x, &y));
    let mut values = Random::new(22);
    let dz = random(&mut values, DType::F32, &[4, 6]);
    let x = random(&mut values, DType::F32, &[4, 6]);
    let y = random(&mut values, DType::BF16, &[4, 6]);
    let [dx, dy, zero] = f.call([&dz, &x, &y]).unwrap();
    let (want_x, want_y) = mul::vjp(&dz, &x, &y).unwrap();
    same(&want_x, &dx);
    same(&want_y, &dy);
    same(&floor::vjp(&dz, &x).unwrap(), &zero);
    assert_eq!((dx.dtype(), dy.dtype()), (DType::F32, DType::BF16));
    let explained = f.explain([&dz, &x, &y]).unwrap();
    assert_eq!(counts(&explained), (1, 0), "a conversion is no sum: {explained}");
}

#[test]
fn a_sum_of_nothing_is_zero_in_a_trace() {
    let f = compile(|[dz, x, y]: [SymbolicBuffer; 3]| mul::vjp(&dz, &x, &y));
    let [dz, y] = [(); 2].map(|()| StridedBuffer::zeros(DType::F32, &[0, 3], Device::Cpu).unwrap());
    let x = StridedBuffer::full(DType::F32, &[3], 7, Device::Cpu).unwrap();
    let (dx, dy) = f.call([&dz, &x, &y]).unwrap();
    assert_eq!((dx.to_vec::<f32>().unwrap(), dy.shape()), (vec![0.0; 3], &[0, 3][..]));
}
