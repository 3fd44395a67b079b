//! Generated kernels, built by the host's compiler and run over random layouts, against the CPU back end.
#![cfg(feature = "host-run")]

use gems_ops::prelude::*;
use gems_runtime::exec;
use gems_runtime::op::OpDef;
use gems_tests::random::Random;
use gems_tests::{agree, cases, host_run};

/// Runs `op` on both back ends.
#[track_caller]
fn check(op: &'static OpDef, buffers: &[StridedBuffer], number: Scalar, context: &str) {
    let operands = agree::operands(op, buffers, number);
    let cpu = StridedBuffer::run(op, &operands, None).unwrap_or_else(|error| panic!("{context}: {error}"));
    let host = exec::call_on(host_run::back_end, op, &operands, None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    agree::same(op, &cpu, &host, context);
}

#[test]
fn every_kernel_of_the_case_list_gives_what_the_cpu_gives() {
    let mut random = Random::new(1);
    for case in cases::all() {
        let operands: Vec<StridedBuffer> = case
            .operands
            .iter()
            .map(|meta| random.buffer(meta.dtype, &meta.layout, agree::range(case.op)))
            .collect();
        check(case.op, &operands, case.number, &case.name);
    }
}

#[test]
fn random_layouts_of_exact_ops_agree() {
    let mut random = Random::new(2);
    for turn in 0..250 {
        let (op, buffers) = agree::random_call(&mut random, 4, 7);
        let context = format!("turn {turn}: {} of {buffers:?}", op.name);
        check(op, &buffers, Scalar::I64(3), &context);
    }
}
