//! What surrounds the steps: running averages and the unscaling of gradients.

use crate::prelude::*;

/// average + (1 − decay)·(value − average), as [`lerp`](fn@lerp); in place by `ema_update::inplace`.
///
/// Own addition; `torch.lerp` in place.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: decay for average, 1 − decay for value.
#[pointwise_dynamic(promote = default(average, value), grad)]
pub fn ema_update<T: Float>(average: T, value: T, #[param] decay: T) -> T {
    lerp::scalar(average, value, 1 - decay)
}

/// g·inv_scale, and whether g is not finite.
///
/// [`amp_unscale_`] does it in place and joins the flags.
///
/// Matches `torch._amp_foreach_non_finite_check_and_unscale_` for one tensor, with a flag an element.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: none.
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
/// Buffers of different devices, before anything is written; a device that fails.
pub fn amp_unscale_<B: Buffer>(grad: &mut B, inv_scale: &B, found_inf: &mut B) -> Result<()> {
    let (unscaled, flags) = amp_unscale(&*grad, inv_scale)?;
    let mut flags = contiguous(&flags)?.reshape(&[-1])?;
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
    // Nothing is written before all of it is known.
    let found = maximum(&*found_inf, &flags.squeeze_all()?)?;
    copy::out(&unscaled, grad)?;
    copy::out(&found, found_inf)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffer, check};
    use super::*;

    #[test]
    fn averages_move_by_what_does_not_decay() {
        let mut average = buffer(&[1.0, -2.0]);
        ema_update::inplace(&mut average, &buffer(&[3.0, 2.0]), 0.75).unwrap();
        check(&average, &[1.5, -1.0]);
    }

    #[test]
    fn one_infinite_element_of_any_number_is_found() {
        let inv_scale = StridedBuffer::from_element(0.5f64).unwrap();
        for numel in [0, 1, 2, 3, 7, 64, 100] {
            let mut found = buffer(&[0.0]);
            let mut grad = buffer(&vec![2.0; numel]);
            amp_unscale_(&mut grad, &inv_scale, &mut found).unwrap();
            check(&grad, &vec![1.0; numel]);
            check(&found, &[0.0]);
            for place in [0, numel / 2, numel.saturating_sub(1)].into_iter().take(3 * numel) {
                let mut values = vec![2.0; numel];
                values[place] = f64::NEG_INFINITY;
                let (mut grad, mut found) = (buffer(&values), buffer(&[0.0]));
                amp_unscale_(&mut grad, &inv_scale, &mut found).unwrap();
                check(&found, &[1.0]);
                // What was found stays found.
                amp_unscale_(&mut buffer(&[1.0]), &inv_scale, &mut found).unwrap();
                check(&found, &[1.0]);
            }
        }
    }

    #[test]
    fn a_gradient_may_have_any_layout() {
        let zeros = |shape: &[usize]| StridedBuffer::zeros(DType::F32, shape, Device::Cpu).unwrap();
        let inv_scale = StridedBuffer::from_element(0.5f64).unwrap();
        let grads = [
            zeros(&[2, 3]).t(),
            zeros(&[2, 4, 4, 3]).permute(&[0, 3, 1, 2]),
            zeros(&[4, 6]).slice(1, 1, 6, 2).and_then(|odd| odd.flip(&[0])),
        ];
        for mut grad in grads.map(Result::unwrap) {
            let mut last = (0..grad.shape().len()).try_fold(grad.clone(), |x, _| x.select(-1, -1)).unwrap();
            for (value, found) in [(3.0, 0.0), (f32::INFINITY, 1.0)] {
                let mut found_inf = buffer(&[0.0]);
                last.write(&[value]).unwrap();
                amp_unscale_(&mut grad, &inv_scale, &mut found_inf).unwrap();
                check(&found_inf, &[found]);
                assert_eq!(last.item::<f32>().unwrap(), value / 2.0);
            }
        }
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let inv_scale = StridedBuffer::from_element(0.5f64).unwrap();
        let mut grad = buffer(&[2.0, 4.0]);
        let mut complex = StridedBuffer::zeros(DType::C64, &[1], Device::Cpu).unwrap();
        assert_eq!(amp_unscale_(&mut grad, &inv_scale, &mut complex).unwrap_err().kind(), ErrorKind::DType);
        check(&grad, &[2.0, 4.0]);
    }
}
