//! Steps of optimizers: parameters and state updated in place by one kernel.
//!
//! Each step is an op that gives new values and a function with `_` behind its name that stores them in place.
//! Buffers keep their dtypes; arithmetic is in f32, in f64 if any buffer is f64, every operation rounded.
//! What depends on the step alone (bias corrections, step sizes) is computed in f64 on the host.
//! No step has a derivative.

mod adam;
mod adaptive;
mod descent;
mod scaling;

pub use adam::*;
pub use adaptive::*;
pub use descent::*;
pub use scaling::*;

use crate::prelude::*;

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
