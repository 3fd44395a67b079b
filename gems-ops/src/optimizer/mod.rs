//! Steps of optimizers: parameters and state updated in place by one kernel.
//!
//! Each step is an op that gives new values and a function with `_` behind its name that stores them in place.
//! Buffers keep their dtypes; arithmetic is in f32, in f64 if any buffer is f64, every operation rounded.
//! What depends on the number of the step alone (bias corrections, step sizes) is computed in f64: on the host, or on the
//! device where that number is a buffer of one element, so that a captured step can be replayed.
//! No step has a derivative.

mod adam;
mod adaptive;
mod descent;
mod relatives;
mod scaling;

pub use adam::*;
pub use adaptive::*;
pub use descent::*;
pub use relatives::*;
pub use scaling::*;

use crate::prelude::*;
use gems_runtime::op::{OpDef, Operand};

/// The gradient to descend along: turned for `maximize`.
#[device_fn]
fn downhill<T: Float>(grad: T, maximize: bool) -> T {
    if maximize { -grad } else { grad }
}

/// [`downhill`] with the decay of the weights added.
#[device_fn]
fn descent_of<T: Float>(grad: T, param: T, weight_decay: T, maximize: bool) -> T {
    let descent = downhill(grad, maximize);
    if weight_decay == 0 { descent } else { descent + weight_decay * param }
}

/// The mean of gradients, with this one in it.
#[device_fn]
fn mean_of<T: Float>(descent: T, exp_avg: T, weight1: T) -> T {
    exp_avg + weight1 * (descent - exp_avg)
}

/// The means of gradients and of their squares, with this one in them.
#[device_fn]
fn moments_of<T: Float>(descent: T, exp_avg: T, exp_avg_sq: T, weight1: T, beta2: T, weight2: T) -> (T, T) {
    (mean_of(descent, exp_avg, weight1), beta2 * exp_avg_sq + weight2 * descent * descent)
}

/// A number that a step needs: on the host, or in a buffer of one element.
#[derive(Debug)]
enum Rate<B> {
    Host(f64),
    Device(B),
}

impl<B> Rate<B> {
    fn operand(&self) -> Operand<'_, B> {
        match self {
            Rate::Host(value) => Operand::from(*value),
            Rate::Device(buffer) => Operand::Buffer(buffer),
        }
    }
}

/// What depends on the number of a step: by `host` from a number, by `op` and its `options` from a buffer.
fn rates<B: Buffer, const N: usize>(
    op: &'static OpDef,
    step: Operand<'_, B>,
    options: &[f64],
    host: impl FnOnce(f64) -> [f64; N],
) -> Result<[Rate<B>; N]> {
    match step {
        Operand::Scalar(step) => Ok(host(step.to_f64()).map(Rate::Host)),
        Operand::Buffer(_) => {
            let options = options.iter().map(|option| Operand::from(*option));
            let operands: Vec<_> = [step].into_iter().chain(options).collect();
            Ok(B::call::<N>(op, &operands)?.map(Rate::Device))
        }
    }
}

/// Loss scaling of a step: the gradient is divided by `grad_scale` and stored back; where `found_inf` is 1, nothing
/// changes. Both have one element.
#[derive(Debug)]
pub struct Scaling<'a, B> {
    /// What the loss was multiplied by.
    pub grad_scale: &'a B,
    /// 1 if a gradient was not finite; see [`amp_unscale_`].
    pub found_inf: &'a B,
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// A host buffer of f64.
    pub(super) fn buffer(values: &[f64]) -> StridedBuffer {
        StridedBuffer::from_slice(values, &[values.len()]).unwrap()
    }

    #[track_caller]
    pub(super) fn check(buffer: &StridedBuffer, expected: &[f64]) {
        let got = buffer.to_vec::<f64>().unwrap();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * b.abs().max(1.0);
        assert!(
            got.len() == expected.len() && got.iter().zip(expected).all(close),
            "{got:?} is not {expected:?}"
        );
    }
}
