//! Traced and fused functions give what eager calls give, bit for bit, for sizes they were not traced with.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::layout::Layout;
use gems_runtime::op::Operand;
use gems_runtime::trace::{Form, Options, trace};
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};
use std::collections::BTreeSet;

/// The mission's function.
fn gated<B: Buffer>(x: &B, y: &B) -> Result<B> {
    gelu_and_mul(&tanh(y)?, &sub(x, y)?)
}

fn adamw<B: Buffer>(p: &B, g: &B, m: &B, v: &B, lr: &B) -> Result<(B, B, B)> {
    let m = add(&mul(m, 0.9)?, &mul(g, 0.1)?)?;
    let v = add(&mul(v, 0.999)?, &mul(&mul(g, g)?, 0.001)?)?;
    let step = div(&mul(lr, &div(&m, 0.1)?)?, &add(&sqrt(&div(&v, 0.001)?)?, 1e-8)?)?;
    Ok((sub(&mul(p, 1.0 - 1e-5)?, &step)?, m, v))
}

fn random(random: &mut Random, dtype: DType, shape: &[usize]) -> StridedBuffer {
    random.buffer(dtype, &Layout::contiguous(shape).unwrap(), Range::All)
}

#[track_caller]
fn same(expected: &StridedBuffer, got: &StridedBuffer) {
    assert_eq!(expected.meta().to_string(), got.meta().to_string());
    compare(expected, got, Bound::Exact).unwrap();
}

#[test]
fn the_mission_is_one_kernel_for_a_thousand_sizes() {
    let f = compile(|[x, y]| gated(&x, &y));
    let mut values = Random::new(1);
    for turn in 0..1000 {
        let shape = [2 + values.below(40), 2 + values.below(40)];
        let dtype = [DType::F32, DType::BF16, DType::F16][turn % 3];
        let (x, y) = (random(&mut values, dtype, &shape), random(&mut values, dtype, &shape));
        same(&gated(&x, &y).unwrap(), &f.call([&x, &y]).unwrap());
    }
    let stats = f.stats();
    assert_eq!((stats.traces, stats.hits, stats.unfused), (3, 997, 0), "a trace a dtype");
    let x = random(&mut values, DType::F32, &[8, 8]);
    let sources = f.cuda_sources([&x, &x]).unwrap();
    assert_eq!(sources.len(), 1, "{}", f.explain([&x, &x]).unwrap());
}

#[test]
fn the_mission_in_bf16_rounds_what_eager_calls_store() {
    let f = compile(|[x, y]| gated(&x, &y));
    let x = StridedBuffer::zeros(DType::BF16, &[64], Device::Cpu).unwrap();
    let [source]: [String; 1] = f.cuda_sources([&x, &x]).unwrap().try_into().unwrap();
    insta::with_settings!({ snapshot_path => "kernels", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("fused_mission_bf16", source);
        insta::assert_snapshot!("fused_mission_explained", f.explain([&x, &x]).unwrap() + &f.graph([&x, &x]).unwrap().to_string());
    });
}

#[test]
fn wide_intermediates_are_nearer_to_the_exact_result() {
    let exact = compile(|[x, y]| gated(&x, &y));
    let wide = compile(|[x, y]| gated(&x, &y)).with_rounding(Rounding::Wide);
    let mut values = Random::new(9);
    for dtype in [DType::BF16, DType::F16, DType::F8E4M3FN] {
        let [x, y] =
            [(); 2].map(|()| values.buffer(dtype, &Layout::contiguous(&[4000]).unwrap(), Range::Moderate));
        let doubles = |x: &StridedBuffer| cast(x, DType::F64).unwrap().to_vec::<f64>().unwrap();
        let [wide_x, wide_y] = [&x, &y].map(|x| cast(x, DType::F64).unwrap());
        let answer = doubles(&gated(&wide_x, &wide_y).unwrap());
        let distance = |result: &StridedBuffer| -> f64 {
            doubles(result).iter().zip(&answer).map(|(result, answer)| (result - answer).abs()).sum()
        };
        let (of_exact, of_wide) = (exact.call([&x, &y]).unwrap(), wide.call([&x, &y]).unwrap());
        same(&gated(&x, &y).unwrap(), &of_exact);
        // What is stored is the answer rounded once, so a finer intermediate shows.
        let once = cast(&gated(&wide_x, &wide_y).unwrap(), dtype).unwrap();
        let best = distance(&once);
        assert!(distance(&of_wide) <= best * 1.01, "{dtype}: {} {best}", distance(&of_wide));
        assert!(distance(&of_exact) > best * 1.2, "{dtype}: {} {best}", distance(&of_exact));
    }
    let x = StridedBuffer::zeros(DType::BF16, &[64], Device::Cpu).unwrap();
    let [source]: [String; 1] = wide.cuda_sources([&x, &x]).unwrap().try_into().unwrap();
    insta::with_settings!({ snapshot_path => "kernels", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("fused_mission_bf16_wide", source);
    });
}

#[test]
fn wide_rounding_keeps_what_is_stored_and_what_is_asked_for() {
    let body = |x: &SymbolicBuffer| -> Result<[SymbolicBuffer; 3]> {
        let third = div(x, 3)?;
        let rounded = cast(&cast(&mul(&cast(x, DType::F32)?, 1.01)?, DType::BF16)?, DType::F32)?;
        Ok([mul(&third, 3)?, third, rounded])
    };
    let f = compile(move |[x]: [SymbolicBuffer; 1]| body(&x)).with_rounding(Rounding::Wide);
    let mut values = Random::new(10);
    let x = values.buffer(DType::BF16, &Layout::contiguous(&[500]).unwrap(), Range::All);
    let [product, third, rounded] = f.call([&x]).unwrap();
    let eager = div(&x, 3).unwrap();
    same(&eager, &third);
    same(&mul(&eager, 3).unwrap(), &product);
    let asked = mul(&cast(&x, DType::F32).unwrap(), 1.01).unwrap();
    same(&cast(&cast(&asked, DType::BF16).unwrap(), DType::F32).unwrap(), &rounded);
    // Floats of four bytes and integers have nothing to gain.
    let x = values.buffer(DType::F32, &Layout::contiguous(&[50]).unwrap(), Range::All);
    let wide = compile(|[x, y]| gated(&x, &y)).with_rounding(Rounding::Wide);
    same(&gated(&x, &x).unwrap(), &wide.call([&x, &x]).unwrap());
}

#[test]
fn an_optimizer_step_is_one_kernel_with_three_results() {
    let f = compile(|[p, g, m, v, lr]| adamw(&p, &g, &m, &v, &lr));
    let mut values = Random::new(2);
    for n in [3, 64, 1000, 1001] {
        let [p, g, m, v] = [(); 4].map(|()| random(&mut values, DType::F32, &[n]));
        let lr = StridedBuffer::from_element(1e-3f32).unwrap();
        let (a, b, c) = adamw(&p, &g, &m, &v, &lr).unwrap();
        let (x, y, z) = f.call([&p, &g, &m, &v, &lr]).unwrap();
        same(&a, &x);
        same(&b, &y);
        same(&c, &z);
        assert_eq!(f.cuda_sources([&p, &g, &m, &v, &lr]).unwrap().len(), 1);
    }
    assert_eq!(f.stats().traces, 1);
}

#[test]
fn transposed_broadcast_and_sliced_operands_are_folded_into_indexing() {
    let f = compile(|[x, y, row]| {
        let sum = add(&x.t()?, &y.slice(1, 0, isize::MAX, 2)?)?;
        mul(&sum, &add(&row, 1)?)
    });
    let eager = |x: &StridedBuffer, y: &StridedBuffer, row: &StridedBuffer| {
        let sum = add(&x.t()?, &y.slice(1, 0, isize::MAX, 2)?)?;
        mul(&sum, &add(row, 1)?)
    };
    let mut values = Random::new(3);
    for (rows, columns) in [(4, 6), (7, 3), (16, 33)] {
        let x = random(&mut values, DType::F32, &[columns, rows]);
        let y = random(&mut values, DType::F32, &[rows, 2 * columns]);
        let row = random(&mut values, DType::F32, &[columns]);
        same(&eager(&x, &y, &row).unwrap(), &f.call([&x, &y, &row]).unwrap());
        let explained = f.explain([&x, &y, &row]).unwrap();
        assert_eq!(f.cuda_sources([&x, &y, &row]).unwrap().len(), 1, "{explained}");
    }
    assert_eq!(f.stats().traces, 1);
}

#[test]
fn dear_results_are_stored_before_they_are_broadcast() {
    let f = compile(|[x, row]| add(&x, &tanh(&row)?));
    let mut values = Random::new(4);
    let (x, row) = (random(&mut values, DType::F32, &[9, 5]), random(&mut values, DType::F32, &[5]));
    same(&add(&x, &tanh(&row).unwrap()).unwrap(), &f.call([&x, &row]).unwrap());
    assert_eq!(f.cuda_sources([&x, &row]).unwrap().len(), 2);
}

#[test]
fn long_functions_are_split() {
    fn function<B: Buffer>(x: &B) -> Result<B> {
        (0..200).try_fold(x.clone(), |x, i| if i % 3 == 0 { tanh(&x) } else { add(&x, i) })
    }
    let f = compile(|[x]| function(&x));
    let x = random(&mut Random::new(13), DType::BF16, &[6]);
    same(&function(&x).unwrap(), &f.call([&x]).unwrap());
    let sources = f.cuda_sources([&x]).unwrap().len();
    assert!((5..=9).contains(&sources), "{sources}");
}

#[test]
fn a_result_that_is_read_in_two_orders_is_stored() {
    let f = compile(|[x, y]: [SymbolicBuffer; 2]| {
        let difference = sub(&x, &y)?;
        mul(&difference.flip(&[0])?, &difference)
    });
    let mut values = Random::new(7);
    let (x, y) = (random(&mut values, DType::F32, &[5]), random(&mut values, DType::F32, &[5]));
    let difference = sub(&x, &y).unwrap();
    same(&mul(&difference.flip(&[0]).unwrap(), &difference).unwrap(), &f.call([&x, &y]).unwrap());
}

#[test]
fn writing_in_place_shows_in_the_input_and_in_later_reads() {
    let body = |x: &mut StridedBuffer, y: &StridedBuffer| {
        add::inplace(x, y)?;
        let doubled = mul(&*x, 2)?;
        mul::inplace(x, &doubled)?;
        sub(&*x, y)
    };
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        add::inplace(&mut x, &y)?;
        let doubled = mul(&x, 2)?;
        mul::inplace(&mut x, &doubled)?;
        sub(&x, &y)
    });
    let mut values = Random::new(5);
    for n in [4, 77] {
        let x = random(&mut values, DType::F32, &[n]);
        let y = random(&mut values, DType::F32, &[n]);
        let mut eager_x = copy(&x).unwrap();
        let expected = body(&mut eager_x, &y).unwrap();
        let got = f.call([&x, &y]).unwrap();
        same(&expected, &got);
        same(&eager_x, &x);
    }
}

#[test]
fn calls_of_known_layouts_give_the_same_whatever_memory_is_shared() {
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        add::inplace(&mut x, &y)?;
        let row = x.narrow(0, 1, 2)?;
        Ok((mul(&row, &y.narrow(0, 0, 2)?)?, x.flip(&[0])?))
    });
    let eager = |x: &mut StridedBuffer, y: &StridedBuffer| -> Result<(StridedBuffer, StridedBuffer)> {
        add::inplace(x, y)?;
        let row = x.narrow(0, 1, 2)?;
        Ok((mul(&row, &y.narrow(0, 0, 2)?)?, x.flip(&[0])?))
    };
    let mut values = Random::new(8);
    for turn in 0..12 {
        let memory = random(&mut values, DType::F32, &[12]);
        // Apart, the same, and with one element more or less between the two.
        let at = [0, 4, 8, 3][turn % 4];
        let views = |memory: &StridedBuffer| {
            let [x, y] = [4, at].map(|start| memory.narrow(0, start, 4).unwrap());
            (x, y)
        };
        let other = copy(&memory).unwrap();
        let ((x, y), (mut eager_x, eager_y)) = (views(&memory), views(&other));
        match (eager(&mut eager_x, &eager_y), f.call([&x, &y])) {
            (Ok(expected), Ok(got)) => {
                same(&expected.0, &got.0);
                same(&expected.1, &got.1);
            }
            (Err(expected), Err(got)) => assert_eq!(expected.kind(), got.kind()),
            (expected, got) => panic!("turn {turn}: {expected:?} but {got:?}"),
        }
        same(&other, &memory);
    }
    assert_eq!((f.stats().traces, f.stats().hits, f.stats().unfused), (1, 11, 6));
}

#[test]
fn a_mirrored_read_of_what_is_written_is_not_fused() {
    let f = compile(|[mut x]: [SymbolicBuffer; 1]| {
        let mirrored = copy(&x.flip(&[0])?)?;
        add::inplace(&mut x, &mirrored)?;
        add(&x.flip(&[0])?, &x)
    });
    let x = StridedBuffer::from_vec((0..10).map(|i| i as f32).collect(), &[10]).unwrap();
    let got = f.call([&x]).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [9.0; 10]);
    assert_eq!(got.to_vec::<f32>().unwrap(), [18.0; 10]);
}

/// Turns every second element of a vector around, into the negatives of what stood there.
fn turn<B: Buffer>(x: &B) -> Result<B> {
    let even = x.slice(0, 0, isize::MAX, 2)?;
    let doubled = mul(&even, 2)?;
    let mut turned = even.flip(&[0])?;
    sub::out(&even, &doubled, &mut turned)?;
    mul(&turned, &turned)
}

#[test]
fn an_op_that_overwrites_its_operand_in_another_order_is_a_kernel_of_its_own() {
    let f = compile(|[x]: [SymbolicBuffer; 1]| turn(&x));
    let mut values = Random::new(11);
    for n in [8, 100_001, 8, 100_001] {
        let [x, eager] = {
            let x = random(&mut values, DType::F32, &[n]);
            [copy(&x).unwrap(), x]
        };
        same(&turn(&eager).unwrap(), &f.call([&x]).unwrap());
        same(&eager, &x);
    }
    let x = random(&mut values, DType::F32, &[8]);
    assert_eq!(f.cuda_sources([&x]).unwrap().len(), 3, "{}", f.explain([&x]).unwrap());
}

#[test]
fn inputs_that_share_memory_run_op_by_op() {
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        add::inplace(&mut x, 1)?;
        add(&x, &y)
    });
    let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap();
    let got = f.call([&x, &x.flip(&[0]).unwrap()]).unwrap();
    assert_eq!(got.to_vec::<f32>().unwrap(), [7.0; 4]);
    assert_eq!(f.stats().unfused, 1);
    // Those that are only read may be the same.
    let f = compile(|[mut x, y, z]: [SymbolicBuffer; 3]| add::inplace(&mut x, &mul(&y, &z)?));
    f.call([&got, &x, &x.flip(&[0]).unwrap()]).unwrap();
    assert_eq!(got.to_vec::<f32>().unwrap(), [17.0, 19.0, 19.0, 17.0]);
    assert_eq!(f.stats().unfused, 0);
}

#[test]
fn first_calls_on_several_threads_keep_one_form() {
    let barrier = std::sync::Barrier::new(4);
    let f = compile(|[x]: [SymbolicBuffer; 1]| {
        barrier.wait();
        tanh(&x)
    });
    std::thread::scope(|scope| {
        for n in 2..6 {
            let f = &f;
            scope.spawn(move || {
                let x = random(&mut Random::new(n), DType::F32, &[usize::try_from(n).unwrap()]);
                same(&tanh(&x).unwrap(), &f.call([&x]).unwrap());
            });
        }
    });
    assert_eq!(format!("{f:?}"), "a compiled function of 1 inputs, traced for 1 forms");
}

#[test]
fn what_comes_from_outside_the_trace_is_refused() {
    let outside = SymbolicBuffer::new(DType::F32, &[4], Device::Cpu).unwrap();
    let f = compile(move |[x]: [SymbolicBuffer; 1]| add(&x, &outside));
    let x = StridedBuffer::zeros(DType::F32, &[4], Device::Cpu).unwrap();
    let error = f.call([&x]).unwrap_err().to_string();
    assert!(error.contains("does not belong to this trace"), "{error}");
}

/// With results that no input takes part in.
fn with_constants<B: Buffer>(x: &B) -> Result<[B; 3]> {
    let mut half: B = div(3, 2)?;
    sub::inplace(&mut half, 1)?;
    let mut sum = x.narrow(0, 0, 0)?;
    add::out(half.dims().len(), 2, &mut sum)?;
    Ok([mul(x, &half)?, half, sum.broadcast_to(&[2])?])
}

#[test]
fn calls_of_numbers_alone_are_constants_of_the_trace() {
    let f = compile(|[x]| with_constants(&x));
    let x = StridedBuffer::from_vec(vec![1.0f32, -3.0, 8.0], &[3]).unwrap();
    for _ in 0..2 {
        let expected = with_constants(&x).unwrap();
        let got = f.call([&x]).unwrap();
        for (expected, got) in expected.iter().zip(&got) {
            same(expected, got);
        }
        assert_eq!(got[0].to_vec::<f32>().unwrap(), [0.5, -1.5, 4.0]);
    }
    // Outside of a trace, and in another one, they have no value.
    let outside: SymbolicBuffer = add(1, 2).unwrap();
    let f = compile(move |[x]: [SymbolicBuffer; 1]| add(&x, &outside));
    assert_eq!(f.call([&x]).unwrap_err().kind(), ErrorKind::Value);
    let gradient = grad(|[x]: [SymbolicBuffer; 1]| with_constants(&x).map(|[product, ..]| product));
    assert_eq!(gradient.call([&x]).unwrap()[0].to_vec::<f32>().unwrap(), [0.5; 3]);
    let f = compile(|[]: [SymbolicBuffer; 0]| add::<SymbolicBuffer>(1, 2));
    assert_eq!(f.call([]).unwrap().to_vec::<i64>().unwrap(), [3]);
}

#[test]
fn explanations_say_what_is_apart_and_why() {
    let x = StridedBuffer::zeros(DType::F32, &[6, 5], Device::Cpu).unwrap();
    let row = StridedBuffer::zeros(DType::F32, &[5], Device::Cpu).unwrap();
    let explained = |fusion, function: fn(&SymbolicBuffer, &SymbolicBuffer) -> Result<SymbolicBuffer>| {
        let options = Options { fusion, ..Options::default() };
        trace(&[&x, &row], options, |inputs| function(&inputs[0], &inputs[1])).unwrap().explain()
    };
    let check = |fusion, why: &str, function| {
        let text = explained(fusion, function);
        assert!(text.contains(&format!("  apart from kernel 0: {why}\n")), "{why}\n{text}");
    };
    let sizes = "[x0.shape[0], x0.shape[1]] are other sizes than [x0.shape[1]]";
    check(Fusion::On, sizes, |x, row| add(x, &tanh(row)?));
    let order = "tanh_0 is written, and taken in another order, over other sizes, or written again";
    check(Fusion::On, order, |x, _| tanh(x).and_then(|t| add(&t.flip(&[0])?, &t)));
    check(Fusion::On, "a sum is a kernel of its own", |x, row| tanh(x)?.sum_like(row));
    check(Fusion::On, "together they have more than 48 ops", |x, _| {
        (0..60).try_fold(x.clone(), |x, _| tanh(&x))
    });
    check(Fusion::On, "together they have more than 32 numbers", |x, _| {
        (0..40).try_fold(x.clone(), |x, i| add(&x, i))
    });
    check(Fusion::Off, "fusion is off", |x, _| exp(&tanh(x)?));
    let text = explained(Fusion::On, |x, row| add(x, &tanh(row)?));
    assert!(text.contains("  stores tanh_0: kernel 1 reads it\n"), "{text}");
}

#[test]
fn an_empty_output_of_another_shape_gets_memory_of_its_own() {
    fn function<B: Buffer>(x: &B, y: &B) -> Result<B> {
        let mut out = x.clone();
        neg::out(y, &mut out)?;
        Ok(out)
    }
    let f = compile(|[x, y]| function(&x, &y));
    for extent in [0, 3] {
        let x = StridedBuffer::zeros(DType::F32, &[5], Device::Cpu).unwrap();
        let x = x.as_strided(&[1, 4, 0], &[1, 1, 1], 1).unwrap();
        let y = StridedBuffer::zeros(DType::F32, &[6, 4, extent], Device::Cpu).unwrap();
        assert_eq!(function(&x, &y).unwrap().meta(), f.call([&x, &y]).unwrap().meta());
    }
}

/// In a kernel with an op that computes in f64, the others keep the short forms of bf16 that they have alone.
#[test]
fn ops_keep_their_short_forms_beside_wider_ones() {
    let x = StridedBuffer::zeros(DType::BF16, &[8], Device::Cpu).unwrap();
    let shortened = |text: &str| -> BTreeSet<String> {
        let calls = text.split("return ::math::").skip(1);
        calls.filter_map(|rest| Some(rest.split_once("(x)")?.0.to_owned())).collect()
    };
    let mut seen = BTreeSet::new();
    for op in REGISTRY.iter().filter(|op| op.params.len() == 1 && op.outputs.len() == 1) {
        let alone = |inputs: &[SymbolicBuffer]| SymbolicBuffer::run(op, &[Operand::from(&inputs[0])], None);
        let sources = |form: Result<Form>| form.and_then(|form| form.cuda_sources(&[&x]));
        let Ok(eager) = sources(trace(&[&x], Options::default(), |inputs| Ok(alone(&inputs)?.into_vec())))
        else {
            continue;
        };
        let fused = sources(trace(&[&x], Options::default(), |inputs| {
            let wide = i0(&inputs[0])?;
            let result = alone(&inputs)?.remove(0);
            Ok(vec![if result.dtype() == DType::BF16 { mul(&result, &wide)? } else { result }])
        }));
        let [eager, fused] = [eager, fused.unwrap()].map(|texts| shortened(&texts.concat()));
        assert_eq!(eager, fused, "{}", op.name);
        seen.extend(eager);
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        ["erfc_short", "exp_short", "normal_cdf_short", "tanh_short"]
    );
    let f = compile(|[x, y, z]| mul(&gelu_and_mul(&x, &y)?, &i0(&z)?));
    let [source]: [String; 1] = f.cuda_sources([&x, &x, &x]).unwrap().try_into().unwrap();
    assert!(source.contains("normal_cdf_short") && source.contains("to_bf16_2::op::i0"), "{source}");
    #[cfg(feature = "nvrtc")]
    gems_runtime::compile::Nvrtc::get()
        .unwrap()
        .compile(&source, "fused", gems_runtime::compile::Arch::from_number(90))
        .unwrap();
}

/// Compares traced and eager calls for several batch sizes, which need one trace.
macro_rules! traced_once {
    (|$n:ident| $($input:ident: $shape:expr),+; $call:expr) => {{
        let f = compile(|[$($input),+]| {
            $(let $input = &$input;)+
            $call
        });
        let mut values = Random::new(3);
        for $n in [2, 3, 5, 8, 13] {
            $(let $input = &random(&mut values, DType::F32, &$shape);)+
            let (expected, got): (Vec<_>, Vec<_>) = ($call.unwrap(), f.call([$($input),+]).unwrap());
            assert_eq!(expected.len(), got.len());
            expected.iter().zip(&got).for_each(|(expected, got)| same(expected, got));
        }
        assert_eq!(f.stats().traces, 1, "{}", stringify!($call));
    }};
}

#[test]
fn pieces_of_an_axis_leave_the_others_open() {
    traced_once!(|n| x: [n, 8]; swiglu(x).map(|y| vec![y]));
    traced_once!(|n| x: [n, 8]; geglu(x).map(|y| vec![y]));
    traced_once!(|n| x: [n, 8]; reglu(x).map(|y| vec![y]));
    traced_once!(|n| x: [6, n]; glu(x, 0).map(|y| vec![y]));
    traced_once!(|n| g: [n, 4], x: [n, 8]; glu_backward(g, x, 1).map(|y| vec![y]));
    traced_once!(|n| i: [n, 16], h: [n, 16], c: [n, 4]; {
        lstm_cell_pointwise(i, h, c, None).map(|(hy, cy, gates)| [vec![hy, cy], gates.into()].concat())
    });
    traced_once!(|n| i: [n, 16], h: [n, 16], c: [n, 4], b: [16]; {
        lstm_cell_pointwise(i, h, c, Some((b, b))).map(|(hy, cy, gates)| [vec![hy, cy], gates.into()].concat())
    });
    traced_once!(|n| i: [n, 12], h: [n, 12], x: [n, 4]; {
        gru_cell_pointwise(i, h, x, None).map(|(hy, gates)| [vec![hy], gates.into()].concat())
    });
    traced_once!(|n| i: [n, 12], h: [n, 12], x: [n, 4], b: [12]; {
        gru_cell_pointwise(i, h, x, Some((b, b))).map(|(hy, gates)| [vec![hy], gates.into()].concat())
    });
}

#[test]
fn vectors_along_an_axis_leave_the_others_open() {
    traced_once!(|n| x: [n, 4, 3], m: [4], s: [4]; {
        batch_norm_elemt(x, Some(m), Some(s), m, s).map(|y| vec![y])
    });
    traced_once!(|n| x: [n, 4, 3], w: [4]; prelu(x, w).map(|y| vec![y]));
    traced_once!(|n| x: [n, 4], w: [1]; prelu(x, w).map(|y| vec![y]));
    traced_once!(|n| x: [4, n], s: [4], z: [4]; {
        fake_quantize_per_channel_affine(x, s, z, 0, -8, 7).map(|y| vec![y])
    });
    traced_once!(|n| x: [n, 4], s: [4], z: [4]; {
        fake_quantize_learnable_per_channel_affine(x, s, z, 1, -8, 7, 0.5).map(|y| vec![y])
    });
    traced_once!(|n| g: [n, 4], x: [n, 4], s: [4], z: [4]; {
        fake_quantize_learnable_per_channel_affine_backward(g, x, s, z, 1, -8, 7, 0.5)
            .map(|(x, s, z)| vec![x, s, z])
    });
    // The axis of the vector is open as well.
    traced_once!(|n| x: [3, n], w: [n]; prelu(x, w).map(|y| vec![y]));
}

#[test]
fn a_kernel_that_computes_cheap_results_again_stays_within_its_limits() {
    let f = compile(|[x, a, b]| {
        let long = (0..46).try_fold(x, |x, _| tanh(&x))?;
        addcmul(&long, &neg(&a)?, &neg(&b)?, 1)
    });
    let mut values = Random::new(4);
    let [x, a, b] = [&[6, 5][..], &[5], &[5]].map(|shape| random(&mut values, DType::F32, shape));
    let text = f.explain([&x, &a, &b]).unwrap();
    assert!(text.contains("fused_48_addcmul"), "{text}");
    let long = (0..46).fold(x.clone(), |x, _| tanh(&x).unwrap());
    let expected = addcmul(&long, &neg(&a).unwrap(), &neg(&b).unwrap(), 1).unwrap();
    same(&expected, &f.call([&x, &a, &b]).unwrap());
}
