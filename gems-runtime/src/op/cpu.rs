//! The CPU form of an op: its Rust function looped over chunks of contiguous elements.
//!
//! The executor gathers every input into a contiguous chunk of the type that the function takes, so a loop has one
//! shape only and the compiler can vectorize it. Decides nothing about layout, dtype or threads.
#![expect(unsafe_code, reason = "chunks are passed as untyped pointers, typed again by `Lane`")]

use crate::dtype::{DType, Element};

/// An annotated function for one computation dtype.
///
/// Implemented by the macro on a private type; `In` and `Out` are tuples of the argument and result types in order.
pub trait Pointwise<T: Element> {
    /// Argument types as a tuple.
    type In: Lane;
    /// Result types as a tuple.
    type Out: Lane;

    /// The function itself.
    fn eval(inputs: Self::In) -> Self::Out;
}

/// A loop over contiguous chunks, for one op and computation dtype; made by [`cpu_kernel`] alone, so that it takes what
/// it says.
#[derive(Clone, Copy, Debug)]
pub struct CpuKernel {
    /// Element types of the input chunks, one for each parameter.
    pub(crate) inputs: &'static [DType],
    /// Element types of the output chunks.
    pub(crate) outputs: &'static [DType],
    /// The loop: input pointers, output pointers, number of elements.
    ///
    /// # Safety
    /// `inputs[i]` is valid for reads and `outputs[j]` for writes of `n` aligned, initialized elements of the
    /// dtypes above; an output chunk overlaps no other chunk, except that it may be the very same chunk as an input.
    pub(crate) run: unsafe fn(inputs: &[*mut u8], outputs: &[*mut u8], n: usize),
}

/// The loop of function `K` for the computation type `T`.
#[must_use]
pub fn cpu_kernel<K: Pointwise<T>, T: Element>() -> CpuKernel {
    CpuKernel { inputs: K::In::DTYPES, outputs: K::Out::DTYPES, run: run::<K, T> }
}

/// The one place where instruction sets are chosen: the same loop, compiled for each.
///
/// # Safety
/// As [`CpuKernel::run`].
unsafe fn run<K: Pointwise<T>, T: Element>(inputs: &[*mut u8], outputs: &[*mut u8], n: usize) {
    debug_assert_eq!((inputs.len(), outputs.len()), (K::In::DTYPES.len(), K::Out::DTYPES.len()));
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions; the caller vouches for the rest.
        return unsafe { run_avx2::<K, T>(inputs, outputs, n) };
    }
    // SAFETY: passed on.
    unsafe { run_any::<K, T>(inputs, outputs, n) }
}

/// # Safety
/// As [`CpuKernel::run`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn run_avx2<K: Pointwise<T>, T: Element>(inputs: &[*mut u8], outputs: &[*mut u8], n: usize) {
    // SAFETY: passed on.
    unsafe { run_any::<K, T>(inputs, outputs, n) }
}

/// # Safety
/// As [`CpuKernel::run`].
#[inline(always)]
unsafe fn run_any<K: Pointwise<T>, T: Element>(inputs: &[*mut u8], outputs: &[*mut u8], n: usize) {
    let inputs = K::In::pointers(inputs);
    let outputs = K::Out::pointers(outputs);
    for i in 0..n {
        // SAFETY: i < n, and the caller vouches for n elements behind every pointer.
        let values = unsafe { K::In::read(inputs, i) };
        // SAFETY: as above; outputs overlap only the chunk just read at the same index.
        unsafe { K::Out::write(outputs, i, K::eval(values)) };
    }
}

/// A tuple of elements, one from each of several chunks.
pub trait Lane: Sized {
    /// One typed pointer a chunk.
    type Pointers: Copy;
    /// Element types in order.
    const DTYPES: &'static [DType];

    /// Types the pointers; `raw` has one for each member of the tuple.
    fn pointers(raw: &[*mut u8]) -> Self::Pointers;

    /// Reads element `i` of every chunk.
    ///
    /// # Safety
    /// Every pointer is valid for an aligned read at index `i`.
    unsafe fn read(pointers: Self::Pointers, i: usize) -> Self;

    /// Writes element `i` of every chunk.
    ///
    /// # Safety
    /// Every pointer is valid for an aligned write at index `i`.
    unsafe fn write(pointers: Self::Pointers, i: usize, values: Self);
}

macro_rules! lane {
    ($($name:ident $index:tt)*) => {
        impl<$($name: Element),*> Lane for ($($name,)*) {
            type Pointers = ($(*mut $name,)*);
            const DTYPES: &'static [DType] = &[$($name::DTYPE),*];

            #[inline(always)]
            fn pointers(raw: &[*mut u8]) -> Self::Pointers {
                ($(raw[$index].cast::<$name>(),)*)
            }

            #[inline(always)]
            unsafe fn read(pointers: Self::Pointers, i: usize) -> Self {
                ($(
                    // SAFETY: the caller vouches for index i of every pointer.
                    unsafe { pointers.$index.add(i).read() },
                )*)
            }

            #[inline(always)]
            unsafe fn write(pointers: Self::Pointers, i: usize, values: Self) {
                $(
                    // SAFETY: the caller vouches for index i of every pointer.
                    unsafe { pointers.$index.add(i).write(values.$index) };
                )*
            }
        }
    };
}

/// A tuple of the first member, of the first two, and so on up to all.
macro_rules! lanes {
    ($($name:ident $index:tt)*;) => {};
    ($($name:ident $index:tt)*; $next:ident $at:tt $($rest:tt)*) => {
        lane!($($name $index)* $next $at);
        lanes!($($name $index)* $next $at; $($rest)*);
    };
}

lanes!(; A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15 Q 16 R 17 S 18 T 19 U 20 V 21 W 22);
