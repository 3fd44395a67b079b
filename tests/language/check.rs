//! Whether the C++ form of an op compiles, and whether it gives what the Rust form gives.

use gems_ops::prelude::*;
use gems_runtime::op::OpDef;

/// Checks the C++ form of an op, on values of each dtype.
#[track_caller]
pub(super) fn check(op: &'static OpDef, dtypes: &[DType]) {
    #[cfg(feature = "nvrtc")]
    compiles(op);
    for &dtype in dtypes {
        #[cfg(feature = "host-run")]
        agrees(op, dtype);
        #[cfg(not(feature = "host-run"))]
        let _ = dtype;
    }
}

/// Compiles the op's most usual kernel for a device.
#[cfg(feature = "nvrtc")]
#[track_caller]
fn compiles(op: &'static OpDef) {
    let (_, plan) = gems_runtime::plan::representative(op).expect("every op has a plan");
    compiles_as(&plan);
}

/// Compiles the op's kernel of tiles, for matrices of one dtype of which every other one is turned.
#[cfg(feature = "nvrtc")]
#[track_caller]
pub(super) fn compiles_in_tiles(op: &'static OpDef, dtype: DType) {
    use gems_runtime::plan::{Argument, preview};

    let x = StridedBuffer::zeros(dtype, &[300, 300], Device::Cpu).expect("memory for an operand");
    let turned = x.transpose(0, 1).expect("a matrix has two axes");
    let operands: Vec<_> =
        (0..op.params.len()).map(|i| Argument::Buffer(Buffer::meta([&x, &turned][i % 2]))).collect();
    let (_, plan) = preview(op, &operands).expect("every op has a plan");
    compiles_as(&plan);
}

#[cfg(feature = "nvrtc")]
#[track_caller]
fn compiles_as(plan: &gems_runtime::plan::Plan) {
    use gems_runtime::compile::{Arch, Nvrtc};

    let source = gems_runtime::emit::source(&plan.spec).expect("every op has a kernel");
    let nvrtc = Nvrtc::get().expect("these tests need NVRTC");
    if let Err(error) = nvrtc.compile(&source.text, &source.entry, Arch::from_number(90)) {
        panic!("{error}\n{}", source.text);
    }
}

/// Runs the op on random and special values, and demands the same bits from both back ends.
#[cfg(feature = "host-run")]
#[track_caller]
fn agrees(op: &'static OpDef, dtype: DType) {
    use gems_runtime::op::{Operand, Role, TypeRef};
    use gems_tests::compare::{Bound, compare};
    use gems_tests::random::{Random, Range};

    let mut random = Random::new(7);
    let operands: Vec<StridedBuffer> = op
        .tensors()
        .map(|(_, param)| match param.ty {
            TypeRef::Fixed(own) => random.values(own, 500, Range::All),
            _ => random.values(dtype, 500, Range::All),
        })
        .collect();
    let mut buffers = operands.iter();
    let arguments: Vec<Operand<'_, StridedBuffer>> = op
        .params
        .iter()
        .filter_map(|param| match param.role {
            Role::Tensor => buffers.next().map(Operand::Buffer),
            Role::Number => Some(Operand::Scalar(Scalar::I64(3))),
        })
        .collect();
    let context = format!("{} in {dtype}", op.name);
    let cpu = StridedBuffer::run(op, &arguments, None).unwrap_or_else(|error| panic!("{context}: {error}"));
    let host = gems_runtime::exec::call_on(gems_tests::host_run::back_end, op, &arguments, None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    for (cpu, host) in cpu.iter().zip(&host) {
        compare(cpu, host, Bound::Exact).unwrap_or_else(|difference| panic!("{context}: {difference}"));
    }
}
