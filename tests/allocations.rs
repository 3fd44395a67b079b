//! What takes no memory: planning up to rank 6 and 8 operands, and checking the guards of a trace.
#![expect(unsafe_code, reason = "an allocator that counts")]

use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::op::{self, Operand};
use gems_runtime::plan::{self, Argument, Outputs};
use gems_runtime::trace::{Policy, Scope};
use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all work is the system allocator's; counting touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        BYTES.with(|bytes| bytes.set(bytes.get() + block.size()));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

/// Allocations of this thread while `run` runs.
fn allocations<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = ALLOCATIONS.get();
    let result = run();
    (ALLOCATIONS.get() - before, result)
}

#[test]
fn allocations_are_counted() {
    assert!(allocations(|| Box::new(1)).0 == 1);
}

#[test]
fn inference_of_rank_6_allocates_nothing() {
    let contiguous = Layout::contiguous(&[2, 3, 4, 5, 6, 7]).unwrap();
    let layouts = [
        contiguous.clone(),
        contiguous.flip(&[0, 3]).unwrap(),
        Layout::contiguous(&[7, 6, 5, 4, 3, 2]).unwrap().permute(&[5, 4, 3, 2, 1, 0]).unwrap(),
        Layout::contiguous(&[5, 1, 7]).unwrap(),
    ];
    for x in &layouts {
        for y in &layouts {
            let meta =
                |layout: &Layout| Meta { dtype: DType::F32, device: Device::Cpu, layout: layout.clone() };
            let (x, y) = (meta(x), meta(y));
            let arguments = [Argument::Buffer(&x), Argument::Buffer(&y)];
            let (count, result) =
                allocations(|| plan::infer(add::DEF, &arguments, Outputs::New { dtype: None }));
            assert!(result.is_ok() && count == 0, "{count} for {x:?} and {y:?}");
        }
    }
}

#[test]
fn views_of_rank_6_allocate_nothing() {
    let x = Layout::contiguous(&[2, 3, 4, 5, 6]).unwrap();
    let (count, result) = allocations(|| {
        let x = x.permute(&[0, 2, 1, 3, 4])?.transpose(1, 2)?.slice(3, 1, -1, 2)?.flip(&[0, 4])?;
        x.unsqueeze(0)?.expand(&[5, -1, -1, -1, -1, -1])?.select(0, 1)?.narrow(1, 0, 2)?.diagonal(0, 0, 1)
    });
    assert!(result.is_ok() && count == 0, "{count}");
    let (count, result) = allocations(|| x.reshape(&[6, -1, 3])?.flatten(0, 1));
    assert!(result.is_ok() && count == 0, "{count}");
}

#[test]
fn checking_guards_allocates_nothing() {
    let scope = Scope::new(Policy::Guard);
    let buffer = |names: [&str; 3]| {
        let shape = names.map(|name| scope.symbol(name, 8));
        SymbolicBuffer::symbolic(DType::F32, &shape, Device::Cpu).unwrap()
    };
    let (x, y) = (buffer(["a", "b", "c"]), buffer(["d", "e", "f"]));
    add(&x, &y).unwrap().slice(0, 1, isize::MAX, 2).unwrap();
    let guards = scope.guards().unwrap();
    assert_eq!(guards.len(), 5, "{guards}");
    let described = [&Buffer::meta(&x).layout, &Buffer::meta(&y).layout];
    let actual = Layout::contiguous(&[9, 8, 7]).unwrap();
    let (count, fits) = allocations(|| {
        let sizes = guards.bind(&described, &[&actual, &actual]);
        sizes.is_some_and(|sizes| guards.check(&sizes).is_ok())
    });
    assert!(fits && count == 0, "{count}");
    let (count, failed) = allocations(|| guards.check(&[9, 8, 7, 9, 8, 6]).is_err());
    assert!(failed && count == 0, "{count}");
}

#[test]
fn a_call_that_was_made_before_allocates_nothing_for_its_plan() {
    let x = StridedBuffer::from_vec(vec![1.5_f32; 24], &[4, 6]).unwrap();
    let row = StridedBuffer::from_vec(vec![0.5_f32; 6], &[6]).unwrap();
    let mut out = StridedBuffer::zeros(DType::F32, &[4, 6], Device::Cpu).unwrap();
    for _ in 0..2 {
        add::out(&x, &row, &mut out).unwrap();
        mul::out(&x, 3.0, &mut out).unwrap();
    }
    let (count, result) = allocations(|| add::out(&x, &row, &mut out));
    assert!(result.is_ok() && count == 0, "{count}");
    let (count, result) = allocations(|| mul::out(&x, 4.0, &mut out));
    assert!(result.is_ok() && count == 0, "{count}");
    assert_eq!(out.to_vec::<f32>().unwrap(), [6.0; 24]);
    // A new output takes what any new buffer takes.
    add(&x, &row).unwrap();
    let (memory, _) = allocations(|| StridedBuffer::zeros(DType::F32, &[4, 6], Device::Cpu));
    let (count, result) = allocations(|| add(&x, &row));
    assert!(result.is_ok() && count == memory, "{count}, not {memory}");
}

#[test]
fn a_compiled_call_of_known_layouts_allocates_nothing_but_results() {
    let f = compile(|[x, y]| gelu_and_mul(&tanh(&y)?, &sub(&x, &y.flip(&[0])?)?));
    let x = StridedBuffer::from_vec(vec![1.5_f32; 24], &[4, 6]).unwrap();
    let y = StridedBuffer::from_vec(vec![0.5_f32; 24], &[4, 6]).unwrap();
    f.call([&x, &y]).unwrap();
    f.call([&x, &y]).unwrap();
    let (memory, _) = allocations(|| StridedBuffer::zeros(DType::F32, &[4, 6], Device::Cpu));
    let (count, result) = allocations(|| f.call([&x, &y]));
    assert!(result.is_ok() && count == memory, "{count}, not {memory}");
    assert_eq!((f.stats().traces, f.stats().hits), (1, 2));

    let step = compile(|[mut p, g, mut m]: [SymbolicBuffer; 3]| {
        lerp::inplace(&mut m, &g, 0.1)?;
        addcmul::inplace(&mut p, &g, &m, -0.01)
    });
    let [p, g, m] = [(); 3].map(|()| StridedBuffer::from_vec(vec![0.25_f32; 24], &[24]).unwrap());
    step.call([&p, &g, &m]).unwrap();
    step.call([&p, &g, &m]).unwrap();
    let (count, result) = allocations(|| step.call([&p, &g, &m]));
    assert!(result.is_ok() && count == 0, "{count}");
}

#[test]
fn gradients_that_nobody_gets_take_no_memory() {
    let x = StridedBuffer::full(DType::F32, &[1 << 16], 3, Device::Cpu).unwrap();
    let size = x.numel() * size_of::<f32>();
    let before = BYTES.get();
    let gradients = op::vjp(mul::DEF, &[&x], &[Operand::Buffer(&x), Operand::from(2.0)], None).unwrap();
    let taken = BYTES.get() - before;
    assert!(taken >= size && taken < size + size / 2, "{taken} bytes for one gradient of {size}");
    assert_eq!(gradients[0].as_ref().unwrap().to_vec::<f32>().unwrap()[..2], [6.0; 2]);
    assert!(gradients[1].is_none());
}

#[test]
fn a_gradient_beside_a_number_that_was_computed_before_allocates_no_program() {
    let x = StridedBuffer::full(DType::F32, &[24], 3, Device::Cpu).unwrap();
    let count = |y: &Operand<'_, StridedBuffer>| {
        let gradients = || op::vjp(mul::DEF, &[&x], &[Operand::Buffer(&x), y.clone()], None).unwrap();
        gradients();
        allocations(gradients).0
    };
    let (one, both) = (count(&Operand::from(2.0)), count(&Operand::Buffer(&x)));
    assert!(one <= both, "{one} for one gradient, {both} for two");
}
