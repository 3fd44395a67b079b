//! Gradients of traced functions: the bits of eager calls, slopes, kernels, what is saved, and what is refused.
//! Random functions have a file of their own.
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

/// Fused gradients and the sums behind them pass NVRTC.
#[cfg(feature = "nvrtc")]
#[test]
fn gradients_of_the_mission_compile() {
    use gems_runtime::compile::{Arch, Nvrtc};
    let nvrtc = Nvrtc::get().expect("these tests need NVRTC");
    let f = mission();
    for dtype in [DType::F32, DType::BF16, DType::F16, DType::F64] {
        let (x, row) = (counted(&[6, 8]), counted(&[8]));
        let (x, row) = (cast(&x, dtype).unwrap(), cast(&row, dtype).unwrap());
        for inputs in [[&x, &x], [&row, &x], [&x, &row], [&x.flip(&[0]).unwrap(), &x]] {
            for text in f.cuda_sources(&[&x], inputs).unwrap() {
                let head = text.rsplit("__launch_bounds__").next().unwrap();
                let entry = head.split_once(')').unwrap().1.split('(').next().unwrap().trim();
                nvrtc
                    .compile(&text, entry, Arch::from_number(90))
                    .unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
        }
    }
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

#[test]
fn any_layout_of_inputs_and_cotangents_is_served() {
    let f = mission();
    let mut values = Random::new(25);
    let wide = random(&mut values, DType::F32, &[6, 8]);
    let (x, y) = (wide.slice(0, 0, 6, 2).unwrap(), wide.flip(&[0, 1]).unwrap().narrow(0, 1, 3).unwrap());
    let row = random(&mut values, DType::F32, &[1, 8]).expand(&[3, 8]).unwrap();
    let tall = random(&mut values, DType::F32, &[8, 3]);
    for x in [&x, &row, &tall.t().unwrap()] {
        for dz in [&y, &row, &tall.t().unwrap()] {
            let want = gated_backward(dz, x, &y).unwrap();
            let got = f.gradients(&[dz], [x, &y]).unwrap();
            same(&want[0], &got[0]);
            same(&want[1], &got[1]);
            let (_, saved) = f.forward([x, &y]).unwrap();
            let got = f.backward(&[dz], &saved).unwrap();
            same(&want[0], &got[0]);
            same(&want[1], &got[1]);
        }
    }
}

#[test]
fn views_of_inputs_that_have_gaps_or_share_elements_are_transposed() {
    let x = counted(&[2, 6]);
    let every_other = x.slice(1, 0, 6, 2).unwrap();
    check_ones(|[x]| x.select(1, 0), &every_other, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    check_ones(
        |[x]| mul(&x.flip(&[1])?, &x),
        &every_other.flip(&[1]).unwrap(),
        &[0.0, 4.0, 8.0, 12.0, 16.0, 20.0],
    );
    let repeated = counted(&[3]).expand(&[2, 3]).unwrap();
    check_ones(|[x]| mul(&x.t()?, 2), &repeated, &[2.0; 6]);
    check_ones(|[x]| x.select(0, 1), &repeated, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn a_value_that_is_used_several_times_gets_the_sum() {
    let x = counted(&[4]);
    check_ones(|[x]| add(&mul(&x, &x)?, &x), &x, &[1.0, 3.0, 5.0, 7.0]);
    check_ones(|[x]| add(&x, &x.flip(&[0])?), &x, &[2.0; 4]);
    check_ones(|[x]| mul(&x.narrow(0, 0, 2)?, &x.narrow(0, 1, 2)?), &x, &[1.0, 2.0, 1.0, 0.0]);
    check_ones(|[x]| add(&x.narrow(0, 0, 2)?, &x.select(0, 3)?), &x, &[1.0, 1.0, 0.0, 2.0]);
}

#[test]
fn functions_of_nothing_have_gradients_of_nothing() {
    let f = grad(|[x, y]: [SymbolicBuffer; 2]| mul(&x, &y));
    let (x, y) = (counted(&[0, 3]), counted(&[3]));
    let [dx, dy] = f.call([&x, &y]).unwrap();
    assert_eq!((dx.shape(), dy.to_vec::<f64>().unwrap()), (&[0, 3][..], vec![0.0; 3]));
    let zero_axes = counted(&[]);
    let [dx, _] = f.call([&zero_axes, &y]).unwrap();
    assert_eq!(dx.to_vec::<f64>().unwrap(), [3.0], "the sum of what it is multiplied by");
    let constant = grad(|[x, y]: [SymbolicBuffer; 2]| floor(&x).and_then(|x| add(&x, &y)));
    let [dx, dy] = constant.call([&y, &y]).unwrap();
    assert_eq!((dx.to_vec::<f64>().unwrap(), dy.to_vec::<f64>().unwrap()), (vec![0.0; 3], vec![1.0; 3]));
    let unused = grad(|[x, _]: [SymbolicBuffer; 2]| mul(&x, 3));
    let half = StridedBuffer::full(DType::F16, &[2, 2], 1, Device::Cpu).unwrap();
    let [dx, dy] = unused.call([&y, &half]).unwrap();
    assert_eq!(dx.to_vec::<f64>().unwrap(), [3.0; 3]);
    assert_eq!(
        (dy.dtype(), dy.shape(), dy.to_vec::<half::f16>().unwrap()),
        (DType::F16, &[2, 2][..], vec![half::f16::ZERO; 4])
    );
}

/// As in other frameworks; one annotated function with the same `if` has no such leak.
#[test]
fn a_choice_between_results_of_ops_has_the_slopes_of_both() {
    let f = grad(|[x]: [SymbolicBuffer; 1]| where_(&gt(&x, 0)?, &log(&x)?, &x));
    let x = StridedBuffer::from_vec(vec![2.0f64, 0.0], &[2]).unwrap();
    let slopes = f.call([&x]).unwrap()[0].to_vec::<f64>().unwrap();
    assert!(slopes[0] == 0.5 && slopes[1].is_nan(), "{slopes:?}");
}

#[test]
fn cells_are_differentiated() {
    let mut values = Random::new(30);
    let mut random =
        |shape: &[usize]| values.buffer(DType::F64, &Layout::contiguous(shape).unwrap(), Range::Moderate);
    let (input, hidden, state) = (random(&[3, 12]), random(&[3, 12]), random(&[3, 4]));
    let (input_bias, hidden_bias) = (random(&[12]), random(&[12]));
    let gru = |x: &[SymbolicBuffer; 5]| Ok(gru_cell_pointwise(&x[0], &x[1], &x[2], Some((&x[3], &x[4])))?.0);
    let f = grad(move |x: [SymbolicBuffer; 5]| gru(&x));
    let inputs = [&input, &hidden, &state, &input_bias, &hidden_bias];
    let gradients = f.call(inputs).unwrap();
    let total = |inputs: [&StridedBuffer; 5]| -> f64 {
        let biases = Some((inputs[3], inputs[4]));
        gru_cell_pointwise(inputs[0], inputs[1], inputs[2], biases)
            .unwrap()
            .0
            .to_vec::<f64>()
            .unwrap()
            .iter()
            .sum()
    };
    for (position, gradient) in gradients.iter().enumerate() {
        for (element, got) in gradient.to_vec::<f64>().unwrap().into_iter().enumerate() {
            let at = |step: f64| {
                let mut moved = inputs[position].to_vec::<f64>().unwrap();
                moved[element] += step;
                let moved = StridedBuffer::from_slice(&moved, inputs[position].shape()).unwrap();
                let mut inputs = inputs;
                inputs[position] = &moved;
                total(inputs)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((got - slope).abs() < 1e-8 * (1.0 + slope.abs()), "input {position}: {got} and {slope}");
        }
    }
    let lstm =
        grad(|[input, hidden, state]| lstm_cell_pointwise(&input, &hidden, &state, None).map(|cell| cell.0));
    let wide = StridedBuffer::full(DType::F64, &[3, 16], 0.5, Device::Cpu).unwrap();
    let [dx, dh, _] = lstm.call([&wide, &wide, &state]).unwrap();
    same(&dx, &dh);
}

#[test]
fn functions_of_several_results_take_a_gradient_of_each() {
    let f = vjp(|[x, y]: [SymbolicBuffer; 2]| Ok((sin(&x)?, lt(&x, &y)?, x.t()?, mul(&x, &y)?)));
    let mut values = Random::new(26);
    let [x, y, a, c] = [(); 4].map(|()| random(&mut values, DType::F32, &[3, 5]));
    let b = random(&mut values, DType::F32, &[5, 3]);
    let mask = StridedBuffer::zeros(DType::Bool, &[3, 5], Device::Cpu).unwrap();
    let (mx, my) = mul::vjp(&c, &x, &y).unwrap();
    let want = add(&add(&b.t().unwrap(), &mx).unwrap(), &sin::vjp(&a, &x).unwrap()).unwrap();
    let [dx, dy] = f.gradients(&[&a, &mask, &b, &c], [&x, &y]).unwrap();
    same(&want, &dx);
    same(&my, &dy);
    let ((s, less, t, m), saved) = f.forward([&x, &y]).unwrap();
    same(&sin(&x).unwrap(), &s);
    same(&lt(&x, &y).unwrap(), &less);
    same(&x.t().unwrap(), &t);
    same(&mul(&x, &y).unwrap(), &m);
    let [dx, dy] = f.backward(&[&a, &mask, &b, &c], &saved).unwrap();
    same(&want, &dx);
    same(&my, &dy);
}

#[test]
fn writing_in_place_is_differentiated_but_not_into_inputs() {
    let x = StridedBuffer::from_vec(vec![1.0f64, 2.0, 3.0, 4.0], &[4]).unwrap();
    let squared_in_place = |[x]: [SymbolicBuffer; 1]| {
        let mut z = copy(&x)?;
        let before = mul(&z, 10)?;
        mul::inplace(&mut z, &x)?;
        add(&z, &before)
    };
    check_ones(squared_in_place, &x, &[12.0, 14.0, 16.0, 18.0]);
    let part_overwritten = |[x]: [SymbolicBuffer; 1]| {
        let z = mul(&x, 2)?;
        let mut part = z.narrow(0, 1, 2)?;
        mul::inplace(&mut part, &x.narrow(0, 0, 2)?)?;
        Ok(z)
    };
    check_ones(part_overwritten, &x, &[2.0 + 4.0, 2.0 + 6.0, 4.0, 2.0]);
    let part_forgotten = |[x]: [SymbolicBuffer; 1]| {
        let z = mul(&x, 2)?;
        let mut part = z.narrow(0, 1, 2)?;
        copy::out(&x.narrow(0, 2, 2)?, &mut part)?;
        Ok(z)
    };
    check_ones(part_forgotten, &x, &[2.0, 0.0, 1.0, 3.0]);
    let f = grad(|[mut x]: [SymbolicBuffer; 1]| {
        add::inplace(&mut x, 1)?;
        Ok(x)
    });
    let error = f.call([&x]).unwrap_err();
    assert_eq!((error.kind(), error.op()), (ErrorKind::Unsupported, Some("add")));
    assert!(error.to_string().contains("writes into `x0`"), "{error}");
}

#[test]
fn gradients_are_differentiated_again() {
    let x = StridedBuffer::from_vec(vec![0.5f64, -1.0, 2.0], &[3]).unwrap();
    let inner = grad(|[x]: [SymbolicBuffer; 1]| mul(&mul(&x, &x)?, &x));
    check_ones(|[x]| inner.traced([&x]).map(|[dx]| dx), &x, &[3.0, -6.0, 12.0]);
    let second =
        grad(|[x]: [SymbolicBuffer; 1]| grad(|[x]: [SymbolicBuffer; 1]| mul(&mul(&x, &x)?, &x)).traced([&x]));
    let [second] = second.call([&x]).unwrap();
    assert_eq!(second.to_vec::<f64>().unwrap(), [3.0, -6.0, 12.0]);
    // A view inside and a broadcast outside.
    let row = grad(|[x, y]: [SymbolicBuffer; 2]| mul(&mul(&x.flip(&[0])?, &y)?, &y)).wrt([1]);
    let y = StridedBuffer::from_vec((1..7).map(f64::from).collect(), &[2, 3]).unwrap();
    let f = grad(|[x, y]: [SymbolicBuffer; 2]| row.traced([&x, &y]).map(|[dy]| dy));
    let [dx, dy] = f.call([&x, &y]).unwrap();
    assert_eq!(dx.to_vec::<f64>().unwrap(), [18.0, 14.0, 10.0], "twice the sums of columns, mirrored");
    assert_eq!(dy.to_vec::<f64>().unwrap(), [4.0, -2.0, 1.0, 4.0, -2.0, 1.0]);
    // The inner gradient of the row is a sum, which the second pass does not compute again.
    let row = vjp(|[x, y]: [SymbolicBuffer; 2]| mul(&mul(&x, &y)?, &x)).wrt([0]);
    let one = StridedBuffer::full(DType::F64, &[2, 3], 1, Device::Cpu).unwrap();
    let f = vjp(|[x, y, dz]: [SymbolicBuffer; 3]| exp(&row.traced(&[&dz], [&x, &y])?[0]));
    let want = f.gradients(&[&x], [&x, &y, &one]).unwrap();
    for saving in [Saving::FewestBytes, Saving::Nothing, Saving::Everything] {
        let f =
            vjp(|[x, y, dz]: [SymbolicBuffer; 3]| exp(&row.traced(&[&dz], [&x, &y])?[0])).with_saving(saving);
        let (_, saved) = f.forward([&x, &y, &one]).unwrap();
        for (want, got) in want.iter().zip(&f.backward(&[&x], &saved).unwrap()) {
            same(want, got);
        }
        let explained = f.explain_passes([&x, &y, &one]).unwrap();
        let (forward, backward) = explained.split_once("backward: ").unwrap();
        let again = if saving == Saving::Nothing { counts(forward).1 } else { 0 };
        assert_eq!((counts(forward).1, counts(backward).1), (2, 3 + again), "{saving:?}: {explained}");
    }
}

#[test]
fn what_has_no_gradient_is_named() {
    let x = counted(&[3]);
    let integers = StridedBuffer::zeros(DType::I64, &[3], Device::Cpu).unwrap();
    let message = |error: Error, kind, op: Option<&str>| {
        assert_eq!((error.kind(), error.op()), (kind, op), "{error}");
        error.to_string()
    };
    let second = grad(|[x]: [SymbolicBuffer; 1]| grad(|[x]: [SymbolicBuffer; 1]| mul(&x, &x)).traced([&x]));
    let third = grad(|[x]: [SymbolicBuffer; 1]| second.traced([&x]));
    let error = message(third.call([&x]).unwrap_err(), ErrorKind::Unsupported, Some("mul_backward2"));
    assert!(error.contains("has no derivative"), "{error}");
    let f = grad(|[x, n]: [SymbolicBuffer; 2]| mul(&x, &n));
    let error = message(f.call([&x, &integers]).unwrap_err(), ErrorKind::DType, None);
    assert!(error.contains("input 1 is i64") && error.contains("`wrt`"), "{error}");
    let [dx] = f.wrt([0]).call([&x, &integers]).unwrap();
    assert_eq!(dx.to_vec::<f64>().unwrap(), [0.0; 3]);
    let f = vjp(|[x]: [SymbolicBuffer; 1]| mul(&x, 2)).wrt([3]);
    let error = message(f.gradients(&[&x], [&x]).unwrap_err(), ErrorKind::Value, None);
    assert!(error.contains("no input 3"), "{error}");
    let f = vjp(|[x]: [SymbolicBuffer; 1]| mul(&x, 2));
    assert!(
        message(f.gradients(&[], [&x]).unwrap_err(), ErrorKind::Value, None)
            .contains("1 results, got gradients of 0")
    );
    message(f.gradients(&[&counted(&[2])], [&x]).unwrap_err(), ErrorKind::Shape, None);
    let single = StridedBuffer::zeros(DType::F32, &[3], Device::Cpu).unwrap();
    assert!(
        message(f.gradients(&[&single], [&x]).unwrap_err(), ErrorKind::DType, None)
            .contains("convert it to f64")
    );
    let (_, saved) = f.forward([&x]).unwrap();
    message(f.backward(&[&counted(&[2])], &saved).unwrap_err(), ErrorKind::Shape, None);
    message(f.backward(&[&single], &saved).unwrap_err(), ErrorKind::DType, None);
    message(f.backward(&[], &saved).unwrap_err(), ErrorKind::Value, None);
    let open = SymbolicBuffer::new(DType::F32, &[3], Device::Cpu).unwrap();
    message(f.traced(&[&open], [&open]).unwrap_err(), ErrorKind::Value, None);
}
