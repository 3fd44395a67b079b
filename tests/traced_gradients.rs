//! Gradients of traced functions: the bits of eager calls, slopes, kernels, what is saved, and what is refused.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};

/// The mission's function.
fn gated<B: Buffer>(x: &B, y: &B) -> Result<B> {
    gelu_and_mul(&tanh(y)?, &sub(x, y)?)
}

/// Its gradients, op by op.
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

// Gradients of functions.

fn mission() -> Vjp<2, 2, SymbolicBuffer, impl Fn([SymbolicBuffer; 2]) -> Result<SymbolicBuffer>> {
    vjp(|[x, y]: [SymbolicBuffer; 2]| gated(&x, &y))
}

#[test]
fn the_gradients_of_the_mission_are_one_kernel_and_the_bits_of_eager_calls() {
    let f = mission();
    let mut values = Random::new(23);
    for (rows, columns) in [(3, 5), (16, 64), (7, 2)] {
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::F64] {
            for x_shape in [vec![rows, columns], vec![columns], vec![rows, 1], vec![]] {
                let dz = random(&mut values, dtype, &[rows, columns]);
                let (x, y) =
                    (random(&mut values, dtype, &x_shape), random(&mut values, dtype, &[rows, columns]));
                let want = gated_backward(&dz, &x, &y).unwrap();
                let (z, both) = f.call(&[&dz], [&x, &y]).unwrap();
                same(&gated(&x, &y).unwrap(), &z);
                for got in [f.gradients(&[&dz], [&x, &y]).unwrap(), both] {
                    same(&want[0], &got[0]);
                    same(&want[1], &got[1]);
                }
                let explained = f.explain(&[&dz], [&x, &y]).unwrap();
                let sums = usize::from(x_shape != [rows, columns]);
                assert_eq!(counts(&explained), (1 + sums, sums), "{explained}");
                assert_eq!(f.cuda_sources(&[&dz], [&x, &y]).unwrap().len(), 1 + sums);
            }
        }
    }
}

#[test]
fn the_backward_kernel_of_the_mission_is_the_reviewed_text() {
    let f = mission();
    let x = StridedBuffer::zeros(DType::F32, &[64], Device::Cpu).unwrap();
    let [source]: [String; 1] = f.cuda_sources(&[&x], [&x, &x]).unwrap().try_into().unwrap();
    insta::with_settings!({ snapshot_path => "kernels", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("fused_mission_backward_f32", source);
        insta::assert_snapshot!("fused_mission_backward_explained", f.explain(&[&x], [&x, &x]).unwrap());
        insta::assert_snapshot!("fused_mission_passes_explained", f.explain_passes([&x, &x]).unwrap());
    });
}

#[test]
fn every_choice_of_what_is_saved_gives_the_same_bits() {
    let mut values = Random::new(24);
    for saving in [Saving::FewestBytes, Saving::Nothing, Saving::Everything] {
        let f = mission().with_saving(saving);
        for (rows, columns) in [(4, 8), (5, 9)] {
            let dz = random(&mut values, DType::F32, &[rows, columns]);
            let x = random(&mut values, DType::F32, &[columns]);
            let y = random(&mut values, DType::F32, &[rows, columns]);
            let (z, saved) = f.forward([&x, &y]).unwrap();
            same(&gated(&x, &y).unwrap(), &z);
            let kept = saved.buffers().len();
            assert_eq!(kept, 2, "x and y, or tanh(y) and x - y");
            let want = gated_backward(&dz, &x, &y).unwrap();
            let transposed = copy(&dz.t().unwrap()).unwrap();
            for dz in [&dz, &transposed.t().unwrap()] {
                let got = f.backward(&[dz], &saved).unwrap();
                same(&want[0], &got[0]);
                same(&want[1], &got[1]);
            }
        }
        assert_eq!((f.stats().traces, f.stats().hits), (1, 1), "one trace serves both passes and all sizes");
    }
}

#[test]
fn what_is_saved_is_what_moves_the_fewest_bytes() {
    let four = vjp(|[a, b, c, d]: [SymbolicBuffer; 4]| exp(&tanh(&add(&add(&a, &b)?, &add(&c, &d)?)?)?));
    let x = StridedBuffer::full(DType::F32, &[8, 8], 0.25, Device::Cpu).unwrap();
    let inputs = [&x, &x, &x, &x];
    let explained = four.explain_passes(inputs).unwrap();
    assert!(explained.contains("saves add_2"), "one sum instead of four inputs: {explained}");
    assert!(
        explained.contains("this moves 512 bytes; saving nothing moves 1024, saving everything"),
        "{explained}"
    );
    let (_, saved) = four.forward(inputs).unwrap();
    let dz = StridedBuffer::full(DType::F32, &[8, 8], 1, Device::Cpu).unwrap();
    assert_eq!(saved.buffers().len(), 1);
    let [da, ..] = four.backward(&[&dz], &saved).unwrap();
    let [want, ..] = four.gradients(&[&dz], inputs).unwrap();
    same(&want, &da);

    let (_, saved) = four.with_saving(Saving::Nothing).forward(inputs).unwrap();
    assert_eq!(saved.buffers().len(), 4);

    let one = vjp(|[x]: [SymbolicBuffer; 1]| exp(&tanh(&x)?));
    assert!(one.explain_passes([&x]).unwrap().starts_with("the forward pass saves nothing"));
}

/// A gradient of a function of one input by ones, next to what it should be.
#[track_caller]
fn check_ones(
    function: impl Fn([SymbolicBuffer; 1]) -> Result<SymbolicBuffer>,
    x: &StridedBuffer,
    want: &[f64],
) {
    let f = grad(function);
    let [dx] = f.call([x]).unwrap();
    assert_eq!((dx.shape(), dx.dtype()), (x.shape(), x.dtype()));
    assert_eq!(dx.to_vec::<f64>().unwrap(), want, "{}", f.explain([x]).unwrap());
}

fn counted(shape: &[usize]) -> StridedBuffer {
    let n = shape.iter().product();
    StridedBuffer::from_vec((0..n).map(|i| f64::from(u32::try_from(i).unwrap())).collect(), shape).unwrap()
}

#[test]
fn views_are_transposed() {
    let x = counted(&[2, 3]);
    let weights = |shape: &[usize]| counted(shape);
    // A view times what it is multiplied by gives the weights back at the places it shows.
    macro_rules! check {
        ($($view:expr, $weights:expr => $want:expr;)*) => {$(
            let f = vjp(|[x]: [SymbolicBuffer; 1]| $view(&x));
            let [dx] = f.gradients(&[&weights(&$weights)], [&x]).unwrap();
            assert_eq!(dx.shape(), x.shape());
            assert_eq!(dx.to_vec::<f64>().unwrap(), $want, stringify!($view));
            let g = vjp(|[x]: [SymbolicBuffer; 1]| mul(&$view(&x)?, 2));
            let [dx] = g.gradients(&[&weights(&$weights)], [&x]).unwrap();
            assert_eq!(dx.to_vec::<f64>().unwrap(), $want.map(|element| 2.0 * element), stringify!($view));
        )*};
    }
    check! {
        |x: &SymbolicBuffer| x.t(), [3, 2] => [0.0, 2.0, 4.0, 1.0, 3.0, 5.0];
        |x: &SymbolicBuffer| x.flip(&[1]), [2, 3] => [2.0, 1.0, 0.0, 5.0, 4.0, 3.0];
        |x: &SymbolicBuffer| x.slice(1, 0, 3, 2), [2, 2] => [0.0, 0.0, 1.0, 2.0, 0.0, 3.0];
        |x: &SymbolicBuffer| x.select(0, 1), [3] => [0.0, 0.0, 0.0, 0.0, 1.0, 2.0];
        |x: &SymbolicBuffer| x.narrow(1, 1, 2)?.flip(&[0]), [2, 2] => [0.0, 2.0, 3.0, 0.0, 0.0, 1.0];
        |x: &SymbolicBuffer| x.expand(&[2, 2, 3]), [2, 2, 3] => [6.0, 8.0, 10.0, 12.0, 14.0, 16.0];
        |x: &SymbolicBuffer| x.unsqueeze(1)?.expand(&[2, 2, 3]), [2, 2, 3] => [3.0, 5.0, 7.0, 15.0, 17.0, 19.0];
        |x: &SymbolicBuffer| x.reshape(&[3, 2]), [3, 2] => [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        |x: &SymbolicBuffer| x.flatten(0, 1), [6] => [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        |x: &SymbolicBuffer| x.diagonal(1, 0, 1), [2] => [0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        |x: &SymbolicBuffer| x.unfold(1, 2, 1), [2, 2, 2] => [0.0, 3.0, 3.0, 4.0, 11.0, 7.0];
        |x: &SymbolicBuffer| x.unsqueeze(0)?.permute(&[2, 0, 1]), [3, 1, 2] => [0.0, 2.0, 4.0, 1.0, 3.0, 5.0];
    }
}
