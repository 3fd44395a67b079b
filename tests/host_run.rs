//! Generated kernels, built by the host's compiler and run over random layouts, against the CPU back end.
#![cfg(feature = "host-run")]

use gems_ops::prelude::*;
use gems_runtime::exec;
use gems_runtime::op::{DeviceFn, OpDef, Operand, Role};
use gems_tests::cases;
use gems_tests::compare::{Bound, compare};
use gems_tests::host_run;
use gems_tests::random::Random;

/// Runs `op` on both back ends.
fn check(op: &'static OpDef, operands: &[StridedBuffer], number: Scalar, context: &str) {
    let mut buffers = operands.iter();
    let arguments: Vec<Operand<'_, StridedBuffer>> = op
        .params
        .iter()
        .filter_map(|param| match param.role {
            Role::Tensor => buffers.next().map(Operand::Buffer),
            Role::Number => Some(Operand::Scalar(number)),
        })
        .collect();
    let cpu = StridedBuffer::run(op, &arguments, None).unwrap_or_else(|error| panic!("{context}: {error}"));
    let host = exec::call_on(host_run::back_end, op, &arguments, None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    for (cpu, host) in cpu.iter().zip(&host) {
        assert_eq!(cpu.meta(), host.meta(), "{context}");
        compare(cpu, host, bound(op)).unwrap_or_else(|difference| panic!("{context}: {difference}"));
    }
}

/// Bit for bit, unless the function calls a mathematical library.
fn bound(op: &OpDef) -> Bound {
    const LIBRARY: [&str; 30] = [
        "exp", "exp2", "exp_m1", "ln", "log2", "log10", "ln_1p", "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow", "hypot", "atan2", "cbrt", "erf", "erfc",
        "lgamma", "tgamma", "sin_pi", "cos_pi", "rsqrt",
    ];
    fn calls(function: &DeviceFn) -> bool {
        function.uses.iter().any(|used| LIBRARY.contains(&used.name))
            || function.calls.iter().any(|f| calls(f))
    }
    if calls(op.device) { Bound::Ulps(8) } else { Bound::Exact }
}

#[test]
fn every_kernel_of_the_case_list_gives_what_the_cpu_gives() {
    let mut random = Random::new(1);
    for case in cases::all() {
        let operands: Vec<StridedBuffer> =
            case.operands.iter().map(|meta| random.buffer(meta.dtype, &meta.layout)).collect();
        check(case.op, &operands, case.number, &case.name);
    }
}

#[test]
fn random_layouts_of_a_few_kernels_agree() {
    let mut random = Random::new(2);
    let ops: [(&'static OpDef, &[DType]); 5] = [
        (add::DEF, &[DType::F32, DType::I16, DType::BF16]),
        (mul::DEF, &[DType::F16, DType::U8]),
        (where_::DEF, &[DType::F32, DType::I64]),
        (lt::DEF, &[DType::F32, DType::I8]),
        (addcmul::DEF, &[DType::F32, DType::I32]),
    ];
    for turn in 0..200 {
        let (op, dtypes) = ops[turn % ops.len()];
        let dtype = dtypes[random.below(dtypes.len())];
        let shape = random.shape(4, 7);
        let operands: Vec<StridedBuffer> = op
            .tensors()
            .map(|(_, param)| {
                let dtype = if param.promotes { dtype } else { DType::Bool };
                let layout = random.layout(&shape);
                random.buffer(dtype, &layout)
            })
            .collect();
        let context = format!("turn {turn}: {} of {operands:?}", op.name);
        check(op, &operands, Scalar::I64(3), &context);
    }
}
