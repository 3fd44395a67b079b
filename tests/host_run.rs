//! Generated kernels, built by the host's compiler and run over random layouts, against the CPU back end.
#![cfg(feature = "host-run")]
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::op::{OpDef, Operand, Role};
use gems_runtime::plan::{Argument, preview};
use gems_runtime::{emit, exec};
use gems_tests::random::Random;
use gems_tests::{agree, cases, grid, host_run};
use smallvec::SmallVec;

/// A call that both back ends get.
struct Case {
    op: &'static OpDef,
    buffers: Vec<StridedBuffer>,
    number: Scalar,
    /// Outputs that are given, as layouts in memory of their own.
    outs: Vec<StridedBuffer>,
    context: String,
}

impl Case {
    /// Runs the op into new buffers, or into those that are given.
    fn run(
        &self,
        call: impl FnOnce(&[Operand<'_, StridedBuffer>]) -> Result<SmallVec<[StridedBuffer; 2]>>,
        call_out: impl FnOnce(&[Operand<'_, StridedBuffer>], &mut [&mut StridedBuffer]) -> Result<()>,
    ) -> Result<Vec<StridedBuffer>> {
        let operands = agree::operands(self.op, &self.buffers, self.number);
        if self.outs.is_empty() {
            return call(&operands).map(SmallVec::into_vec);
        }
        let mut outs = self.outs.iter().map(fresh).collect::<Result<Vec<_>>>()?;
        call_out(&operands, &mut outs.iter_mut().collect::<Vec<_>>())?;
        Ok(outs)
    }

    fn on_cpu(&self) -> Result<Vec<StridedBuffer>> {
        let op = self.op;
        self.run(
            |operands| StridedBuffer::run(op, operands, None),
            |operands, outs| StridedBuffer::call_out(op, operands, outs),
        )
    }

    fn run_on(&self, back_end: exec::BackEnd) -> Result<Vec<StridedBuffer>> {
        let op = self.op;
        self.run(
            |operands| exec::call_on(back_end, op, operands, None),
            |operands, outs| exec::call_out_on(back_end, op, operands, outs),
        )
    }
}

/// A buffer of this layout in zeroed memory.
fn fresh(like: &StridedBuffer) -> Result<StridedBuffer> {
    let elements = like.storage().bytes() / like.dtype().size();
    let whole = StridedBuffer::zeros(like.dtype(), &[elements], Device::Cpu)?;
    let layout = &Buffer::meta(like).layout;
    whole.as_strided(layout.shape(), layout.strides(), layout.offset())
}

/// Runs all on both back ends; their kernels are built several at a time.
#[track_caller]
fn check(cases: &[Case]) {
    let kernels = host_run::kernels_of(|back_ends| {
        cases.iter().try_for_each(|case| case.run_on(back_ends.kernel).map(drop))
    });
    host_run::prepare(&kernels.unwrap()).unwrap();
    for case in cases {
        let context = &case.context;
        let [cpu, host] = [case.on_cpu(), case.run_on(host_run::back_end)]
            .map(|outputs| outputs.unwrap_or_else(|error| panic!("{context}: {error}")));
        agree::same(case.op, &cpu, &host, context);
    }
}

#[test]
fn every_kernel_of_the_case_list_gives_what_the_cpu_gives() {
    let mut random = Random::new(1);
    let case = |case: cases::Case| {
        let buffers = case
            .operands
            .iter()
            .map(|meta| random.buffer(meta.dtype, &meta.layout, agree::range(case.op)))
            .collect();
        Case { op: case.op, buffers, number: case.number, outs: Vec::new(), context: case.name }
    };
    check(&cases::all().into_iter().map(case).collect::<Vec<_>>());
}

#[test]
fn binary_ops_agree_on_special_values() {
    let calls: Vec<_> = grid::calls().collect();
    let source = |&(op, dtype): &(&'static OpDef, DType)| {
        let metas: Vec<_> = grid::operands(op, dtype)?.iter().map(|buffer| buffer.meta().clone()).collect();
        let mut metas = metas.iter();
        let arguments: Vec<Argument<'_>> = op
            .params
            .iter()
            .filter_map(|param| match param.role {
                Role::Tensor => metas.next().map(Argument::Buffer),
                Role::Number => Some(Argument::Number(grid::NUMBER)),
            })
            .collect();
        emit::source(&preview(op, &arguments)?.1.spec)
    };
    let sources = calls.iter().map(source).collect::<Result<Vec<_>>>().unwrap();
    host_run::prepare(&sources).unwrap();
    let differences = grid::differences(agree::bound, |op, buffers| {
        let operands = agree::operands(op, buffers, grid::NUMBER);
        let cpu = StridedBuffer::run(op, &operands, None)?;
        let host = exec::call_on(host_run::back_end, op, &operands, None)?;
        Ok([cpu.into_vec(), host.into_vec()])
    });
    assert_eq!(differences.unwrap(), Vec::<String>::new());
}

#[test]
fn outputs_in_different_orders_agree() {
    use cases::View::{Contiguous, Cropped, Flipped, Transposed};
    let (mut random, mut cases) = (Random::new(4), Vec::new());
    for shape in [[70, 70], [33, 66]] {
        for view in [Contiguous, Cropped, Flipped, Transposed] {
            for [first, second] in [[Contiguous, Transposed], [Transposed, Contiguous], [Cropped, Transposed]]
            {
                let mut buffer = |dtype: DType, view: cases::View| {
                    random.buffer(dtype, &view.layout(&shape).unwrap(), agree::range(add::DEF))
                };
                let (mantissa, exponent) = (buffer(DType::F32, first), buffer(DType::I32, second));
                let context = format!("{shape:?}: {view:?} into {first:?} and {second:?}");
                let (buffers, outs) = (vec![buffer(DType::F32, view)], vec![mantissa, exponent]);
                cases.push(Case { op: frexp::DEF, buffers, number: Scalar::I64(2), outs, context });
            }
        }
    }
    check(&cases);
}

#[test]
fn outputs_of_any_place_agree() {
    use cases::View::{Contiguous, Cropped, Flipped, Shifted, Stepped, Transposed};
    let (mut random, mut cases) = (Random::new(3), Vec::new());
    for shape in [&[1000_usize][..], &[7, 133], &[40, 70], &[3, 20, 37]] {
        for dtype in [DType::F32, DType::BF16, DType::I8, DType::F64] {
            for out in [Contiguous, Shifted, Cropped, Flipped, Stepped, Transposed] {
                for view in [Contiguous, Shifted, Cropped, Transposed] {
                    if shape.len() == 1 && (view == Transposed || out == Transposed) {
                        continue;
                    }
                    let mut buffer = |view: cases::View| {
                        random.buffer(dtype, &view.layout(shape).unwrap(), agree::range(add::DEF))
                    };
                    let (buffers, outs) = (vec![buffer(view), buffer(Contiguous)], vec![buffer(out)]);
                    let context = format!("{dtype} {shape:?}: {view:?} into {out:?}");
                    cases.push(Case { op: add::DEF, buffers, number: Scalar::I64(2), outs, context });
                }
            }
        }
    }
    check(&cases);
}

/// Sums of small whole numbers are exact in any order.
#[test]
fn sums_over_broadcast_axes_agree() {
    let mut random = Random::new(5);
    for turn in 0..24 {
        let dtype = [DType::F32, DType::BF16, DType::F64, DType::F16, DType::C64][turn % 5];
        let shape = random.shape(4, 9);
        let layout = random.layout(&shape);
        let count = layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
        let values: Vec<f32> = (0..count).map(|_| random.below(9) as f32 - 4.0).collect();
        let whole = cast(&StridedBuffer::from_slice(&values, &[count]).unwrap(), dtype).unwrap();
        let Ok(x) = whole.as_strided(layout.shape(), layout.strides(), layout.offset()) else { continue };
        let shape = x.shape().to_vec();
        let skipped = random.below(shape.len() + 1);
        let target: Vec<usize> =
            shape[skipped..].iter().map(|&extent| if random.chance(50) { 1 } else { extent }).collect();
        let to = if dtype.is_complex() { DType::C128 } else { DType::F64 };
        let cpu = exec::sum_to(&x, &target, to).unwrap();
        let host = exec::sum_to_on(host_run::sum_back_end, &x, &target, to).unwrap();
        let context = format!("turn {turn}: {x:?} to {target:?}");
        assert_eq!(cpu.shape(), host.shape(), "{context}");
        assert_eq!(format!("{cpu}"), format!("{host}"), "{context}");
    }
}

#[test]
fn long_sums_agree_for_rows_and_columns() {
    let values: Vec<f32> = (0..40 * 70).map(|i| (i % 7) as f32).collect();
    let x = StridedBuffer::from_slice(&values, &[40, 70]).unwrap();
    for target in [&[70][..], &[40, 1], &[], &[1, 1], &[40, 70]] {
        let cpu = exec::sum_to(&x, target, DType::F16).unwrap();
        let host = exec::sum_to_on(host_run::sum_back_end, &x, target, DType::F16).unwrap();
        assert_eq!(cpu.to_vec::<half::f16>().unwrap(), host.to_vec::<half::f16>().unwrap(), "{target:?}");
    }
}
