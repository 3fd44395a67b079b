//! Sums over broadcast axes, on the CPU.
//!
//! Elements are converted to f64, or complex f64, and added pairwise; the total is rounded once, to the result's dtype.
#![expect(unsafe_code, reason = "walks raw memory by the plan's strides")]

use crate::buffer::{Buffer, StridedBuffer};
use crate::device::Device;
use crate::dtype::{self, DType};
use crate::error::Result;
use crate::layout::Coalesced;
use crate::plan::{self, Reduction};
use num_complex::Complex;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::sync::PoisonError;

/// Most elements that are added one after the other.
const SERIAL: usize = 128;
/// Fewest elements worth a task of its own.
const GRAIN: usize = 32 * 1024;

/// A planned sum with its operands.
#[derive(Clone, Copy, Debug)]
pub struct SumCall<'a> {
    /// The kernel and its arguments.
    pub plan: &'a Reduction,
    /// What is summed.
    pub from: &'a StridedBuffer,
    /// Where the sums go.
    pub to: &'a StridedBuffer,
}

/// What runs a planned sum.
pub type SumBackEnd = fn(&SumCall<'_>) -> Result<()>;

/// The sums over the axes along which `shape` is broadcast to the buffer.
pub(crate) fn sum_to(from: &StridedBuffer, shape: &[usize], dtype: DType) -> Result<StridedBuffer> {
    sum_to_on(launch, from, shape, dtype)
}

/// The same with another back end than the device's own.
///
/// # Errors
/// As [`Buffer::sum_to`].
pub fn sum_to_on(
    back_end: SumBackEnd,
    from: &StridedBuffer,
    shape: &[usize],
    dtype: DType,
) -> Result<StridedBuffer> {
    let meta = plan::infer_sum(from.meta(), shape, dtype)?;
    if from.numel() == 0 {
        return StridedBuffer::zeros(dtype, shape, from.device());
    }
    let to = StridedBuffer::allocate(&meta)?;
    let plan = plan::reduce(from.meta(), &meta);
    back_end(&SumCall { plan: &plan, from, to: &to }).map_err(|error| error.in_op("sum_to"))?;
    Ok(to)
}

fn launch(call: &SumCall<'_>) -> Result<()> {
    match call.to.device() {
        Device::Cpu => run(call),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => super::cuda::sum(call, ordinal),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(_) => Err(super::no_cuda()),
    }
}

/// Runs a planned sum on host memory.
fn run(call: &SumCall<'_>) -> Result<()> {
    let (Some(source), Some(target)) = (call.from.storage().as_host(), call.to.storage().as_host()) else {
        return Ok(());
    };
    // The result is new memory, so the two locks are never the same one.
    let _shared = source.lock.read().unwrap_or_else(PoisonError::into_inner);
    let _exclusive = target.lock.write().unwrap_or_else(PoisonError::into_inner);
    let sums = Sums { call, from: call.from.address() as *const u8, to: call.to.address() as *mut u8 };
    let Reduction { results, count, .. } = *call.plan;
    let threads = if rayon::current_thread_index().is_some() { 1 } else { rayon::current_num_threads() };
    let tasks = (results.saturating_mul(count) / GRAIN).clamp(1, threads * 4).min(results.max(1));
    let share = results.div_ceil(tasks);
    let task = |task: usize| {
        for result in (task * share).min(results)..((task + 1) * share).min(results) {
            sums.one(result);
        }
    };
    if tasks == 1 {
        task(0);
    } else {
        (0..tasks).into_par_iter().for_each(task);
    }
    Ok(())
}

struct Sums<'a> {
    call: &'a SumCall<'a>,
    from: *const u8,
    to: *mut u8,
}

// SAFETY: the pointers are into memory that `run` keeps locked; tasks write different results.
unsafe impl Sync for Sums<'_> {}

impl Sums<'_> {
    /// Computes one result.
    fn one(&self, result: usize) {
        let plan = self.call.plan;
        let (from, to) = (plan.spec.from, plan.spec.to);
        let [target, first] = offsets(&plan.kept, result);
        let sum = pairwise(0, plan.count, &|term| {
            let [offset, _] = offsets(&plan.summed, term);
            let bytes = (first + offset) * from.size().cast_signed();
            let mut value = [0; 16];
            // SAFETY: the plan's indices stay inside the operand, whose memory is locked; 16 bytes hold any element.
            unsafe { self.from.offset(bytes).copy_to_nonoverlapping(value.as_mut_ptr(), from.size()) };
            complex(dtype::convert_value(from, value, DType::C128))
        });
        let value = dtype::convert_value(plan.spec.accumulator(), bytes(sum), to);
        let target = self.to.wrapping_offset(target * to.size().cast_signed());
        // SAFETY: results are the elements of the output, one each; this task alone writes this one.
        unsafe { value.as_ptr().copy_to_nonoverlapping(target, to.size()) };
    }
}

/// The sum of some terms, halves first, so that the error grows with the logarithm of their number.
fn pairwise(start: usize, end: usize, term: &impl Fn(usize) -> Complex<f64>) -> Complex<f64> {
    if end - start <= SERIAL {
        return (start..end).map(term).fold(Complex::default(), |sum, term| sum + term);
    }
    let middle = start + (end - start) / 2;
    pairwise(start, middle, term) + pairwise(middle, end, term)
}

/// Where the n-th place of some axes is, in elements, for up to two operands.
fn offsets(axes: &Coalesced, n: usize) -> [isize; 2] {
    let mut offsets = [0; 2];
    let mut rest = n;
    for (axis, &extent) in axes.extents.iter().enumerate().rev() {
        let i = (rest % extent).cast_signed();
        rest /= extent;
        for (offset, strides) in offsets.iter_mut().zip(&axes.strides) {
            *offset += i * strides[axis];
        }
    }
    offsets
}

fn complex(bytes: [u8; 16]) -> Complex<f64> {
    let [re, im] = [0, 8].map(|at| {
        let mut half = [0; 8];
        half.copy_from_slice(&bytes[at..at + 8]);
        f64::from_ne_bytes(half)
    });
    Complex::new(re, im)
}

/// The bytes of a number as complex f64; the first half is the real part as f64.
fn bytes(value: Complex<f64>) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.re.to_ne_bytes());
    bytes[8..].copy_from_slice(&value.im.to_ne_bytes());
    bytes
}
