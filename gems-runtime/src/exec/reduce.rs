//! Sums over broadcast axes: planned, handed to the back end of the device, and run on the CPU.
//!
//! The CPU adds elements pairwise, as f64 or complex f64; the total is rounded once, to the result's dtype.
#![expect(unsafe_code, reason = "walks raw memory by the plan's strides")]

use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::{self, DType, Gather};
use crate::error::Result;
use crate::exec::threads;
use crate::layout::{Coalesced, Layout};
use crate::plan::{self, Reduction};
use num_complex::Complex;
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

/// What runs planned calls and sums.
#[derive(Clone, Copy, Debug)]
pub struct BackEnds {
    /// Runs kernels.
    pub kernel: super::BackEnd,
    /// Runs sums.
    pub sum: SumBackEnd,
}

impl BackEnds {
    /// Those of the devices of the operands.
    pub(crate) const OWN: BackEnds = BackEnds { kernel: super::launch, sum: launch };
}

/// The sums over the axes along which `shape` is broadcast to the buffer, in a dtype.
///
/// # Errors
/// As [`Buffer::sum_like`].
pub fn sum_to(from: &StridedBuffer, shape: &[usize], dtype: DType) -> Result<StridedBuffer> {
    sum_to_on(launch, from, shape, dtype)
}

/// The same with another back end than the device's own.
///
/// # Errors
/// As [`Buffer::sum_like`].
pub fn sum_to_on(
    back_end: SumBackEnd,
    from: &StridedBuffer,
    shape: &[usize],
    dtype: DType,
) -> Result<StridedBuffer> {
    let like = Meta { dtype, device: from.device(), layout: Layout::contiguous(shape)? };
    let to = StridedBuffer::allocate(&plan::infer_sum(from.meta(), &like)?)?;
    sum_into(back_end, from, &to)?;
    Ok(to)
}

/// The plan of [`sum_into`]; `None` if there is nothing to sum.
pub(crate) fn plan_sum(from: &StridedBuffer, to: &StridedBuffer) -> Result<Option<Reduction>> {
    (from.numel() > 0).then(|| plan::reduce(from.meta(), to.meta())).transpose()
}

/// Fills new memory with the sums over the axes along which it is broadcast to the buffer.
pub(crate) fn sum_into(back_end: SumBackEnd, from: &StridedBuffer, to: &StridedBuffer) -> Result<()> {
    let Some(plan) = plan_sum(from, to)? else { return super::zero(to.storage()) };
    back_end(&SumCall { plan: &plan, from, to }).map_err(|error| error.in_op("sum_to"))
}

pub(super) fn launch(call: &SumCall<'_>) -> Result<()> {
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
    let (Some(from), Some(to)) = (call.from.host_pointer(), call.to.host_pointer()) else { return Ok(()) };
    // The result is new memory, so the two locks are never the same one.
    let _shared = source.lock.read().unwrap_or_else(PoisonError::into_inner);
    let _exclusive = target.lock.write().unwrap_or_else(PoisonError::into_inner);
    let spec = &call.plan.spec;
    let sums = Sums { call, from, to, gather: dtype::gather(spec.from, spec.accumulator()) };
    let Reduction { results, count, .. } = *call.plan;
    threads::for_each_range(results, GRAIN.div_ceil(count.max(1)), 1, |start, end| {
        (start..end).for_each(|i| sums.one(i))
    });
    Ok(())
}

struct Sums<'a> {
    call: &'a SumCall<'a>,
    from: *const u8,
    to: *mut u8,
    /// From the elements to the dtype of sums.
    gather: Gather,
}

// SAFETY: the pointers are into memory that `run` keeps locked; tasks write different results.
unsafe impl Sync for Sums<'_> {}

impl Sums<'_> {
    /// Computes one result.
    fn one(&self, result: usize) {
        let plan = self.call.plan;
        let to = plan.spec.to;
        let [target, first] = offsets(&plan.kept, result);
        let sum = self.pairwise(first, 0, plan.count);
        let value = dtype::convert_value(plan.spec.accumulator(), bytes(sum), to);
        let target = self.to.wrapping_offset(target * to.size().cast_signed());
        // SAFETY: results are the elements of the output, one each; this task alone writes this one.
        unsafe { value.as_ptr().copy_to_nonoverlapping(target, to.size()) };
    }

    /// The sum of some elements, halves first, so that the error grows with the logarithm of their number.
    fn pairwise(&self, first: isize, start: usize, end: usize) -> Complex<f64> {
        if end - start <= SERIAL {
            return self.serial(first, start, end);
        }
        let middle = start + (end - start) / 2;
        self.pairwise(first, start, middle) + self.pairwise(first, middle, end)
    }

    /// The sum of at most [`SERIAL`] elements, gathered run by run along the innermost axis.
    fn serial(&self, first: isize, start: usize, end: usize) -> Complex<f64> {
        let (plan, summed) = (self.call.plan, &self.call.plan.summed);
        let size = plan.spec.from.size().cast_signed();
        let extent = summed.extents.last().copied().unwrap_or(1);
        let step = summed.strides.first().and_then(|strides| strides.last()).copied().unwrap_or(0);
        let mut parts = [0.0f64; 2 * SERIAL];
        let mut sum = Complex::default();
        let mut at = start;
        while at < end {
            let run = (extent - at % extent).min(end - at);
            let [offset, _] = offsets(summed, at);
            let pointer = self.from.wrapping_offset((first + offset) * size);
            // SAFETY: the plan's indices stay inside the operand, whose memory is locked; `parts` holds SERIAL
            // complex numbers, and a run has at most as many elements.
            unsafe { (self.gather)(pointer, step * size, parts.as_mut_ptr().cast(), run) };
            if plan.spec.accumulator().is_complex() {
                for pair in parts[..2 * run].chunks_exact(2) {
                    sum += Complex::new(pair[0], pair[1]);
                }
            } else {
                sum.re = parts[..run].iter().fold(sum.re, |sum, part| sum + part);
            }
            at += run;
        }
        sum
    }
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

/// The bytes of a number as complex f64; the first half is the real part as f64.
fn bytes(value: Complex<f64>) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.re.to_ne_bytes());
    bytes[8..].copy_from_slice(&value.im.to_ne_bytes());
    bytes
}
