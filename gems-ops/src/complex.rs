//! Complex numbers and their parts.
//!
//! The ops here compute new buffers; [`real_view`] and [`imag_view`] are the parts in place, without a kernel.

use crate::prelude::*;
use gems_runtime::layout::Layout;

/// The real part; a real number itself.
///
/// Matches the values of `torch.real`, which is a view: [`real_view`].
///
/// Special values: kept. Accuracy: exact. Derivative: the incoming gradient as a real number.
#[pointwise_dynamic(promote = complex_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn real<T: Number>(input: T) -> T::Real {
    input.re()
}

/// The imaginary part of a complex number.
///
/// Matches the values of `torch.imag`, which is a view: [`imag_view`].
///
/// Accuracy: exact. Derivative: i times the incoming gradient.
#[pointwise_dynamic(promote = complex_to_float(input), dtypes(complex), grad(order = 2))]
pub fn imag<T: Number>(input: T) -> T::Real {
    input.im()
}

/// The complex conjugate; a real number itself.
///
/// Matches `torch.conj_physical`.
///
/// Special values: the sign of NaN and 0 turns, too. Accuracy: exact. Derivative: the conjugate of the incoming
/// gradient.
#[pointwise_dynamic(promote = default(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn conj_physical<T: Number>(input: T) -> T {
    input.conj()
}

/// The angle in (−π, π]; of a real number π below 0, else 0, or NaN.
///
/// Integers become floats first. Matches `torch.angle`.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: 0 of real numbers; i·z/|z|² of complex ones, 0 at 0.
#[pointwise_dynamic(promote = int_to_float(input), dtypes(bool, int, float, complex), grad(order = 2))]
pub fn angle<T: Analytic>(input: T) -> T::Real {
    input.arg()
}

/// The complex number with these parts.
///
/// f16 gives c32, f64 gives c128, bf16 and f32 give c64. Matches `torch.complex`; dtypes promote here.
///
/// Special values: kept. Accuracy: exact. Derivative: the parts of the incoming gradient.
#[pointwise_dynamic(promote = default(real, imag), dtypes(f16, bf16, f32, f64), grad(order = 2))]
pub fn complex<T: Float>(real: T, imag: T) -> T::Complex {
    real.to_complex(imag)
}

/// The complex number with this magnitude and angle: (abs·cos θ, abs·sin θ), multiplied out as written.
///
/// An infinite angle gives NaN twice, an infinite magnitude with the angle 0 gives (∞, NaN); a negative magnitude
/// turns the angle by π. Dtypes are those of [`complex`](fn@complex). Matches `torch.polar`; dtypes promote here.
///
/// Accuracy: 4 ulp; complex 8 ulp of the magnitude. Derivative: that of the formula, for both.
#[pointwise_dynamic(promote = default(abs, angle), dtypes(f16, bf16, f32, f64), grad(order = 2))]
pub fn polar<T: Float>(abs: T, angle: T) -> T::Complex {
    (abs * angle.cos()).to_complex(abs * angle.sin())
}

/// The real parts in place: a view of a complex buffer's memory; a real buffer itself.
///
/// Matches `torch.real`.
///
/// # Errors
/// A view whose offsets, counted in parts, leave the address space.
pub fn real_view(input: &StridedBuffer) -> Result<StridedBuffer> {
    if input.dtype().is_complex() { part_view(input, 0) } else { Ok(input.clone()) }
}

/// The imaginary parts in place: a view of a complex buffer's memory.
///
/// Matches `torch.imag`.
///
/// # Errors
/// A real buffer; a view whose offsets, counted in parts, leave the address space.
pub fn imag_view(input: &StridedBuffer) -> Result<StridedBuffer> {
    if input.dtype().is_complex() {
        return part_view(input, 1);
    }
    let message = format!("{} has no imaginary part; give a complex buffer", input.dtype());
    Err(Error::new(ErrorKind::DType, message))
}

/// Every second part, from `first` on.
fn part_view(input: &StridedBuffer, first: isize) -> Result<StridedBuffer> {
    let layout = &input.meta().layout;
    let twice = |step: isize| {
        let message = "the view counted in parts leaves the address space; take `contiguous` of it first";
        step.checked_mul(2).ok_or_else(|| Error::new(ErrorKind::Shape, message))
    };
    let strides = layout.strides().iter().copied().map(twice).collect::<Result<Vec<_>>>()?;
    let layout = Layout::new(layout.shape(), &strides, twice(layout.offset())? + first)?;
    StridedBuffer::from_storage(input.storage().clone(), input.dtype().real(), layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn parts_in_place_share_memory() {
        let values = vec![Complex::new(1.0f32, 2.0), Complex::new(3.0, 4.0), Complex::new(5.0, 6.0)];
        let z = StridedBuffer::from_vec(values, &[3]).unwrap().slice(0, 1, 3, 1).unwrap();
        assert_eq!(real_view(&z).unwrap().to_vec::<f32>().unwrap(), [3.0, 5.0]);
        let mut imag = imag_view(&z).unwrap();
        imag.write(&[7.0f32, 8.0]).unwrap();
        assert_eq!(z.to_vec::<Complex<f32>>().unwrap(), [Complex::new(3.0, 7.0), Complex::new(5.0, 8.0)]);
        assert_eq!(imag_view(&imag).unwrap_err().kind(), ErrorKind::DType);
    }

    #[test]
    fn parts_of_each_dtype_have_their_own() {
        let half = StridedBuffer::full(DType::F16, &[1], 2.0, Device::Cpu).unwrap();
        let pair = complex(&half, 3.0).unwrap();
        assert_eq!(pair.dtype(), DType::C32);
        assert_eq!((real(&pair).unwrap().dtype(), angle(&pair).unwrap().dtype()), (DType::F16, DType::F16));
        assert_eq!(imag(&half).unwrap_err().kind(), ErrorKind::DType);
    }

    #[test]
    fn angles_of_real_numbers_have_no_signed_zero() {
        assert_eq!(angle::scalar(-0.0f32).to_bits(), 0);
        assert_eq!(angle::scalar(-3.0f64), std::f64::consts::PI);
        assert!(angle::scalar(f32::NAN).is_nan());
        assert_eq!(angle::scalar(Complex::new(-0.0f64, 0.0)), std::f64::consts::PI);
        assert_eq!(conj_physical::scalar(Complex::new(1.0f32, 2.0)), Complex::new(1.0, -2.0));
    }

    /// The only element of the result of `op` on z.
    #[track_caller]
    fn at(op: impl Fn(&StridedBuffer) -> Result<StridedBuffer>, z: Complex<f64>) -> Complex<f64> {
        let z = StridedBuffer::from_vec(vec![z], &[1]).unwrap();
        op(&z).unwrap().to_vec::<Complex<f64>>().unwrap()[0]
    }

    #[test]
    fn ops_with_a_complex_form_choose_it_by_dtype() {
        let z = Complex::new(0.5, -1.25);
        let close = |got: Complex<f64>, want: Complex<f64>| {
            assert!((got - want).norm() < 1e-15 * want.norm().max(1.0), "{got} {want}");
        };
        close(at(|z| neg(z), z), -z);
        close(at(|z| sgn(z), z), z / z.norm());
        close(at(|z| sgn(z), Complex::new(0.0, -1e308)), Complex::new(0.0, -1.0));
        close(at(|z| sgn(z), Complex::new(0.0, 0.0)), Complex::new(0.0, 0.0));
        for z in [z, -z] {
            close(at(|z| sigmoid(z), z), 1.0 / (1.0 + (-z).exp()));
            close(at(|z| silu(z), z), z / (1.0 + (-z).exp()));
        }
        close(at(|z| softsign(z), z), z / (1.0 + z.norm()));
        close(at(|z| tanhshrink(z), z), z - z.tanh());
        // sin(πz) / (πz) to 17 digits.
        close(at(|z| sinc(z), z), Complex::new(2.229_210_730_125_255_5, 5.573_026_825_313_138_7));
        close(at(|z| ldexp(z, 3), z), z * 8.0);
        close(at(|z| logaddexp(z, z), z), z + 2f64.ln());
        close(at(|z| logaddexp(z, 0), z), (z.exp() + 1.0).ln());
        assert_eq!(at(|z| sigmoid(z), Complex::new(-1e4, 1.0)), Complex::new(0.0, 0.0));
        let mut in_place = StridedBuffer::from_vec(vec![z], &[1]).unwrap();
        neg::inplace(&mut in_place).unwrap();
        assert_eq!(in_place.to_vec::<Complex<f64>>().unwrap(), [-z]);
    }

    #[test]
    fn nothing_cancels_at_zeros_and_poles_of_complex_functions() {
        let close = |got: Complex<f64>, want: Complex<f64>| {
            assert!((got - want).norm() <= 2e-15 * want.norm(), "{got} {want}");
        };
        // By their series at 1 and at πi.
        let rest = Complex::new((1.0f64 + 1e-9) - 1.0, 1e-9);
        close(at(|z| sinc(z), rest + 1.0), -rest * (1.0 - rest));
        let near = Complex::new(1e-9, -1.224_646_799_147_353_2e-16);
        close(at(|z| sigmoid(z), Complex::new(1e-9, std::f64::consts::PI)), 1.0 / near + 0.5);
        // Finite though the sine is not.
        let large = at(|z| sinc(z), Complex::new(0.0, 227.0));
        assert!(large.re.is_finite() && large.im == 0.0);
        for z in [Complex::new(1.0, -1000.0), Complex::new(0.5, 500.0), Complex::new(300.0, 1000.0)] {
            let beyond = at(|z| sinc(z), z);
            assert!(beyond.re.is_infinite() || beyond.im.is_infinite(), "{z}: {beyond}");
        }
    }

    #[test]
    fn parts_decide_what_is_infinite() {
        let z = [Complex::new(1.0f32, f32::INFINITY), Complex::new(f32::NAN, 0.0), Complex::new(2.0, 0.0)];
        let z = StridedBuffer::from_slice(&z, &[3]).unwrap();
        let truth = |result: Result<StridedBuffer>| result.unwrap().to_vec::<bool>().unwrap();
        assert_eq!(truth(isinf(&z)), [true, false, false]);
        assert_eq!(truth(isfinite(&z)), [false, false, true]);
        assert_eq!(truth(isreal(&z)), [false, true, true]);
        assert_eq!(truth(isclose(&z, &z, 0.0, 0.0, false)), [true, false, true]);
        assert_eq!(truth(isclose(&z, &z, 0.0, 0.0, true)), [true, true, true]);
    }

    #[test]
    fn polar_multiplies_out() {
        assert_eq!(polar::scalar(-2.0f64, 0.0), Complex::new(-2.0, 0.0));
        let z = polar::scalar(f64::INFINITY, 0.0);
        assert!(z.re == f64::INFINITY && z.im.is_nan());
        assert!(polar::scalar(1.0f32, f32::INFINITY).re.is_nan());
    }
}
