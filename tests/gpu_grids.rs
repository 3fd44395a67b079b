//! Every op of two buffers on every pair of special values: the GPU against the CPU, NaN for NaN.
#![cfg(feature = "gpu")]

use gems_ops::prelude::*;
use gems_tests::{agree, grid};

#[test]
fn binary_ops_agree_on_special_values() {
    let differences = grid::differences(agree::bound_of_each_call, |op, buffers| {
        let moved = |buffers: &[StridedBuffer], device| -> Result<Vec<StridedBuffer>> {
            buffers.iter().map(|buffer| buffer.to_device(device)).collect()
        };
        let on_gpu = moved(buffers, Device::Cuda(0))?;
        let cpu = StridedBuffer::run(op, &agree::operands(op, buffers, grid::NUMBER), None)?;
        let gpu = StridedBuffer::run(op, &agree::operands(op, &on_gpu, grid::NUMBER), None)?;
        Ok([cpu.into_vec(), moved(&gpu, Device::Cpu)?])
    });
    assert_eq!(differences.unwrap(), Vec::<String>::new());
}
