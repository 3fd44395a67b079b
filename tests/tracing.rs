//! Traced and fused functions give what eager calls give, bit for bit, for sizes they were not traced with.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};

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
        insta::assert_snapshot!("fused_mission_explained", f.explain([&x, &x]).unwrap() + &f.graph([&x, &x]).unwrap());
    });
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
}

#[test]
fn what_comes_from_outside_the_trace_is_refused() {
    let outside = SymbolicBuffer::new(DType::F32, &[4], Device::Cpu).unwrap();
    let f = compile(move |[x]: [SymbolicBuffer; 1]| add(&x, &outside));
    let x = StridedBuffer::zeros(DType::F32, &[4], Device::Cpu).unwrap();
    let error = f.call([&x]).unwrap_err().to_string();
    assert!(error.contains("does not belong to this trace"), "{error}");
}

/// A random function of three buffers as a list of steps, the same for every kind of buffer.
#[derive(Clone, Debug)]
struct Program {
    steps: Vec<(u8, usize, usize)>,
    results: Vec<usize>,
}

impl Program {
    fn new(random: &mut Random) -> Program {
        let n = 1 + random.below(14);
        let steps = (0..n)
            .map(|i| (u8::try_from(random.below(12)).unwrap(), random.below(3 + i), random.below(3 + i)))
            .collect();
        let results = (0..1 + random.below(3)).map(|_| 3 + random.below(n)).collect();
        Program { steps, results }
    }

    fn run<B: Buffer>(&self, inputs: [B; 3]) -> Result<Vec<B>> {
        let mut values: Vec<B> = inputs.into();
        for &(step, a, b) in &self.steps {
            let (x, y) = (values[a].clone(), values[b].clone());
            values.push(match step {
                0 => add(&x, &y)?,
                1 => mul(&x, &y)?,
                2 => sub(&x, &y)?,
                3 => maximum(&x, &y)?,
                4 => where_(&lt(&x, &y)?, &x, &y)?,
                5 => relu(&x)?,
                6 => add(&x, 0.25)?,
                7 => mul(&x.flip(&[-1])?, &y)?,
                8 => neg(&x)?,
                9 => {
                    let mut out = x.clone();
                    add::inplace(&mut out, &y)?;
                    out
                }
                10 => abs(&x)?,
                _ => div(&x, &add(&abs(&y)?, 1)?)?,
            });
        }
        Ok(self.results.iter().map(|&index| values[index].clone()).collect())
    }
}

#[test]
fn random_functions_give_the_same_bits_eager_fused_and_unfused() {
    let turns = if cfg!(debug_assertions) { 400 } else { 5000 };
    let mut random_values = Random::new(6);
    let mut compiled = 0;
    for turn in 0..turns {
        let program = Program::new(&mut random_values);
        let dtypes = [DType::F32, DType::BF16, DType::F16, DType::F64];
        let dtype = dtypes[random_values.below(4)];
        let shape = [2 + random_values.below(5), 2 + random_values.below(6)];
        let inputs = |random_values: &mut Random, shape: [usize; 2]| {
            let row = random_values.chance(30);
            [
                random(random_values, dtype, &shape),
                random(random_values, dtype, &shape),
                random(random_values, dtype, if row { &shape[1..] } else { &shape }),
            ]
        };
        let given = inputs(&mut random_values, shape);
        let fresh = |given: &[StridedBuffer; 3]| given.clone().map(|buffer| copy(&buffer).unwrap());
        let eager_inputs = fresh(&given);
        let eager = program.run(eager_inputs.clone());
        for fusion in [Fusion::On, Fusion::Off] {
            let body = program.clone();
            let f = compile(move |inputs: [SymbolicBuffer; 3]| body.run(inputs)).with_fusion(fusion);
            let fused_inputs = fresh(&given);
            let fused = f.call(fused_inputs.each_ref());
            match (&eager, &fused) {
                (Ok(eager), Ok(fused)) => {
                    for (expected, got) in
                        eager.iter().zip(fused).chain(eager_inputs.iter().zip(&fused_inputs))
                    {
                        assert_eq!(expected.meta(), got.meta(), "turn {turn}: {program:?}");
                        compare(expected, got, Bound::Exact).unwrap_or_else(|difference| {
                            let explained = f.explain(fused_inputs.each_ref()).unwrap();
                            let graph = f.graph(fused_inputs.each_ref()).unwrap();
                            panic!("turn {turn} {fusion:?} {dtype}: {difference}\n{program:?}\n{graph}\n{explained}")
                        });
                    }
                    compiled += 1;
                }
                (Err(_), Err(_)) => {}
                _ => panic!("turn {turn} {fusion:?}: eager {eager:?}, fused {fused:?}, {program:?}"),
            }
        }
    }
    assert!(compiled > turns, "{compiled} of {} functions ran", 2 * turns);
}
