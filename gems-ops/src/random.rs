//! Distributions made of noise: the noise is an operand, drawn by the caller.
//!
//! `u` is uniform in (0, 1], `z` is standard normal. Results can be written into buffers of any dtype where PyTorch's
//! filler takes them. Does not draw anything.

use crate::check::{self, last_is_not_negative};
use crate::prelude::*;
use gems_runtime::op::Seen;

/// Uniform in [from, to): u·(to − from) + from, and below `to` where that was rounded up.
///
/// Matches the values of `torch.Tensor.uniform_`; halves are rounded after that.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: to − from.
#[doc(alias = "uniform")]
#[pointwise_dynamic(promote = default(u), check = check::bounds_in_order, grad)]
pub fn uniform_from<T: Float>(u: T, #[param] from: T, #[param] to: T) -> T {
    let value = u * (to - from) + from;
    if value >= to { to.next_after(from) } else { value }
}

/// Normal with this mean and standard deviation: z·std + mean.
///
/// Matches the values of `torch.normal`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: std for z, 1 for mean, z for std.
#[doc(alias = "normal")]
#[pointwise_dynamic(
    promote = default(z, mean, std), dtypes(float, complex), vote(z), check = last_is_not_negative,
    grad(order = 2)
)]
pub fn normal_from<T: Analytic>(z: T, mean: T, std: T) -> T {
    z * std + mean
}

/// The exponential of a normal number: exp(z·std + mean).
///
/// Matches the values of `torch.Tensor.log_normal_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp. Derivative: std·r.
#[doc(alias = "log_normal")]
#[pointwise_dynamic(promote = default(z), check = last_is_not_negative, grad(order = 2))]
pub fn log_normal_from<T: Float>(z: T, #[param] mean: T, #[param] std: T) -> T {
    (z * std + mean).exp()
}

/// A rate is positive.
fn rate_is_positive(arguments: &[Seen], _: DType) -> Result<()> {
    match check::number(arguments, 1) {
        Some(rate) if rate.is_nan() || rate <= 0.0 => {
            check::refuse(format!("`lambd` = {rate} is not positive; pass a number above 0"))
        }
        _ => Ok(()),
    }
}

/// Exponential with this rate: −ln(u)/lambd; finite for u = 0 too.
///
/// Matches the values of `torch.Tensor.exponential_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp. Derivative: −1/(lambd·u).
#[doc(alias = "exponential")]
#[pointwise_dynamic(promote = default(u), check = rate_is_positive, grad)]
pub fn exponential_from<T: Float>(u: T, #[param] lambd: T) -> T {
    (0 - u.maximum(T::MIN_POSITIVE).ln()) / lambd
}

/// Cauchy: median + sigma·tan(π(u − ½)).
///
/// Matches the values of `torch.Tensor.cauchy_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp. Derivative: sigma·π/cos²(π(u − ½)).
#[doc(alias = "cauchy")]
#[pointwise_dynamic(promote = default(u), grad)]
pub fn cauchy_from<T: Float>(u: T, #[param] median: T, #[param] sigma: T) -> T {
    median + sigma * (T::PI * (u - 0.5)).tan()
}

/// The number of trials up to the first success: the least whole number ≥ ln u/ln(1 − p), and at least 1.
///
/// Matches the values of `torch.Tensor.geometric_`.
///
/// Special values: IEEE 754's, step by step. Accuracy: the logarithms have 2 ulp. Derivative: none.
#[doc(alias = "geometric")]
#[pointwise_dynamic(promote = default(u), casts = freely, check = check::last_is_a_probability)]
pub fn geometric_from<T: Float>(u: T, #[param] p: T) -> T {
    (u.ln() / (-p).ln_1p()).ceil().maximum(1)
}

/// 1 with probability p, else 0: p = 0 never, p = 1 always.
///
/// Matches the values of `torch.bernoulli`.
///
/// Special values: NaN gives 0. Accuracy: exact. Derivative: none.
#[doc(alias = "bernoulli")]
#[pointwise_dynamic(promote = default(u, p), casts = freely, vote(u), check = check::last_is_a_probability)]
pub fn bernoulli_from<T: Float>(u: T, p: T) -> T {
    if u <= p { 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_end_is_never_reached() {
        assert_eq!(uniform_from::scalar(1.0f32, 0.0, 1.0), 1.0f32.next_down());
        assert_eq!(uniform_from::scalar(1.0f32, 2.0, 2.0), 2.0);
        assert_eq!(uniform_from::scalar(0.5, -1.0, 3.0), 1.0);
    }

    #[test]
    fn no_noise_gives_infinity() {
        assert!(exponential_from::scalar(0.0f32, 1.0).is_finite());
        assert_eq!(exponential_from::scalar(1.0f32, 2.0).to_bits(), 0);
        assert!((cauchy_from::scalar(0.75, 1.0, 2.0) - 3.0f64).abs() < 1e-15);
    }

    #[test]
    fn trials_are_counted_from_1() {
        assert_eq!((geometric_from::scalar(1.0, 0.5), geometric_from::scalar(0.2, 0.5)), (1.0, 3.0));
        assert_eq!(geometric_from::scalar(0.2, 1.0), 1.0);
        let u = StridedBuffer::from_vec(vec![0.2f32, 0.9], &[2]).unwrap();
        let mut trials = StridedBuffer::zeros(DType::I32, &[2], Device::Cpu).unwrap();
        geometric_from::out(&u, 0.5, &mut trials).unwrap();
        assert_eq!(trials.to_vec::<i32>().unwrap(), [3, 1]);
    }

    #[test]
    fn certain_events_happen_and_impossible_ones_do_not() {
        for u in [f32::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!((bernoulli_from::scalar(u, 0.0), bernoulli_from::scalar(u, 1.0)), (0.0, 1.0));
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let u = StridedBuffer::from_vec(vec![0.5f32], &[1]).unwrap();
        let refused = [
            uniform_from(&u, 1, 0),
            normal_from(&u, 0, -1.0),
            log_normal_from(&u, 0, -1.0),
            exponential_from(&u, 0),
            bernoulli_from(&u, 1.5),
            geometric_from(&u, -0.5),
        ];
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Value);
        }
        let z = normal_from(&u, 1, &u).unwrap();
        assert_eq!(z.to_vec::<f32>().unwrap(), [1.25]);
    }
}
