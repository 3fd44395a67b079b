//! What surrounds the steps: running averages and the unscaling of gradients.

use crate::prelude::*;

/// average + (1 − decay)·(value − average), as [`lerp`]; in place by `ema_update::inplace`.
#[pointwise_dynamic(promote = default(average, value))]
pub fn ema_update<T: Float>(average: T, value: T, #[param] decay: T) -> T {
    lerp::scalar(average, value, 1 - decay)
}

/// g·inv_scale, and whether g is not finite.
///
/// [`amp_unscale_`] does it in place and joins the flags.
#[pointwise_dynamic(promote = default(grad), outputs(unscaled, non_finite))]
pub fn amp_unscale<T: Float>(grad: T, inv_scale: T) -> (T, bool) {
    (grad * inv_scale, grad.is_infinite() || grad.is_nan())
}

/// Multiplies a gradient by `inv_scale` in place, and sets `found_inf` to 1 if an element was not finite before.
///
/// `inv_scale` and `found_inf` have one element. Nothing is read on the host: the flags are joined by halves.
///
/// Matches `torch._amp_foreach_non_finite_check_and_unscale_` for one tensor.
///
/// # Errors
/// Buffers of different devices; a device that fails.
pub fn amp_unscale_<B: Buffer>(grad: &mut B, inv_scale: &B, found_inf: &mut B) -> Result<()> {
    let scaled = grad.clone();
    let (unscaled, flags) = amp_unscale(&scaled, inv_scale)?;
    copy::out(&unscaled, grad)?;
    let mut flags = flags.reshape(&[-1])?;
    let mut numel: usize = flags.shape().iter().product();
    while numel > 1 {
        // The halves share an element where the number is odd.
        let half = numel.div_ceil(2);
        flags = maximum(&flags.narrow(0, 0, half)?, &flags.narrow(0, -half.cast_signed(), half)?)?;
        numel = half;
    }
    if numel == 0 {
        return Ok(());
    }
    let before = found_inf.clone();
    maximum::out(&before, &flags.squeeze_all(), found_inf)
}
