//! Counts what warm calls on a GPU cost: calls of the driver and heap allocations. Runs on the driver of
//! tests/host/driver.cpp, which has the counter; prints `name calls allocations` for each kind of call.
#![expect(unsafe_code, reason = "an allocator that counts, and the driver's counter")]
#![expect(clippy::print_stdout, reason = "its output is its result")]

use gems_ops::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all work is the system allocator's; counting touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Layout) {
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // SAFETY: the library has no initializers that matter.
    let driver = unsafe { libloading::Library::new("libcuda.so.1") }?;
    // SAFETY: the counting driver exports a counter of this type.
    let calls = unsafe { driver.get::<*const u64>(b"gems_driver_calls") }?;
    // SAFETY: the counter lives as long as the library; this program has one thread.
    let driver_calls = || unsafe { calls.read_volatile() };
    let count = |name: &str, call: &dyn Fn() -> Result<()>| -> Result<()> {
        // The first call plans and loads; the second one warms the caches of memory.
        call()?;
        call()?;
        let before = (driver_calls(), ALLOCATIONS.get());
        call()?;
        let counted = (driver_calls() - before.0, ALLOCATIONS.get() - before.1);
        println!("{name} {} {}", counted.0, counted.1);
        Ok(())
    };
    let x = StridedBuffer::full(DType::F32, &[64, 16], 1.0, Device::Cuda(0))?;
    let row = StridedBuffer::full(DType::F32, &[16], 1.0, Device::Cuda(0))?;
    let out = std::cell::RefCell::new(StridedBuffer::full(DType::F32, &[64, 16], 1.0, Device::Cuda(0))?);
    count("add_out", &|| add::out(&x, &x, &mut *out.borrow_mut()))?;
    count("add_row_out", &|| add::out(&x, &row, &mut *out.borrow_mut()))?;
    count("add_number_inplace", &|| add::inplace(&mut *out.borrow_mut(), 1.5))?;
    count("add", &|| add(&x, &x).map(drop))?;
    count("tanh", &|| tanh(&x).map(drop))?;
    let fused = compile(|[x, y]: [SymbolicBuffer; 2]| gelu_and_mul(&tanh(&y)?, &sub(&x, &y)?));
    count("fused", &|| fused.call([&x, &x]).map(drop))?;
    Ok(())
}
