//! Conversion between dtypes known at run time.
//!
//! Guarantees the rules of [`Cast`] for every pair of dtypes, for chunks, strided runs and single numbers.
//! Pointers need no alignment; a stored bool may be any byte and is false only if it is zero.
#![expect(unsafe_code, reason = "memory whose dtype is known at run time only")]

use super::{DType, Element, F8E4M3FN, F8E5M2, Scalar};
use crate::math::Cast;
use half::{bf16, f16};
use num_complex::Complex;

/// Whether a result of dtype `from` may be written to an output of dtype `to`: the category must not decrease
/// in the order bool, integer, float, complex.
#[must_use]
pub fn can_cast(from: DType, to: DType) -> bool {
    from.category() <= to.category()
}

/// Converts `n` elements from `src` to `dst`, both contiguous.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `n` elements; the two do not overlap, or they are the same address
/// and the dtypes have the same size.
pub type Convert = unsafe fn(src: *const u8, dst: *mut u8, n: usize);

/// Converts `n` elements, `stride_bytes` apart from `src` on, to a contiguous `dst`.
///
/// # Safety
/// Every element of the run is valid for reads and `dst` for writes of `n` elements; the two do not overlap.
pub type Gather = unsafe fn(src: *const u8, stride_bytes: isize, dst: *mut u8, n: usize);

/// Converts `n` elements of a contiguous `src` to places `stride_bytes` apart from `dst` on.
///
/// # Safety
/// `src` is valid for reads of `n` elements and every place of the run for writes; the two do not overlap.
pub type Scatter = unsafe fn(src: *const u8, dst: *mut u8, stride_bytes: isize, n: usize);

/// Evaluates an expression with the Rust type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $ty:ident => $value:expr) => {
        with_type! { $dtype, $ty => $value;
            Bool bool, U8 u8, I8 i8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F8E4M3FN F8E4M3FN,
            F8E5M2 F8E5M2, F16 f16, BF16 bf16, F32 f32, F64 f64, C32 Complex<f16>, C64 Complex<f32>,
            C128 Complex<f64>
        }
    };
    ($dtype:expr, $ty:ident => $value:expr; $($tag:ident $rust:ty),*) => {
        match $dtype {$(
            DType::$tag => {
                type $ty = $rust;
                $value
            }
        )*}
    };
}

/// The conversion of contiguous elements between two dtypes.
#[must_use]
pub fn converter(from: DType, to: DType) -> Convert {
    with_type!(from, From => with_type!(to, To => convert::<From, To>))
}

/// The conversion from a strided run into contiguous elements.
#[must_use]
pub fn gather(from: DType, to: DType) -> Gather {
    with_type!(from, From => with_type!(to, To => gather_run::<From, To>))
}

/// The conversion from contiguous elements into a strided run.
#[must_use]
pub fn scatter(from: DType, to: DType) -> Scatter {
    with_type!(from, From => with_type!(to, To => scatter_run::<From, To>))
}

/// The bytes of one element in another dtype.
#[must_use]
pub fn convert_value(from: DType, value: [u8; 16], to: DType) -> [u8; 16] {
    let mut converted = [0; 16];
    // SAFETY: 16 bytes hold one element of any dtype; the arrays are separate.
    unsafe { converter(from, to)(value.as_ptr(), converted.as_mut_ptr(), 1) };
    converted
}

/// # Safety
/// As [`Convert`].
unsafe fn convert<From: Stored + Cast<To>, To: Element>(src: *const u8, dst: *mut u8, n: usize) {
    let (src, dst) = (src.cast::<From>(), dst.cast::<To>());
    if From::DTYPE == To::DTYPE && From::DTYPE != DType::Bool {
        // SAFETY: the caller vouches for n elements of one dtype behind both pointers.
        return unsafe { dst.cast::<u8>().copy_from(src.cast(), n * size_of::<To>()) };
    }
    for i in 0..n {
        // SAFETY: i < n, and the caller vouches for n elements behind `src`.
        let value = unsafe { From::load(src.add(i)) };
        // SAFETY: i < n, and the caller vouches for n elements behind `dst`; an element is read before it is
        // written.
        unsafe { dst.add(i).write_unaligned(value.cast()) };
    }
}

/// # Safety
/// As [`Gather`].
unsafe fn gather_run<From: Stored + Cast<To>, To: Element>(
    mut src: *const u8,
    stride_bytes: isize,
    dst: *mut u8,
    n: usize,
) {
    let dst = dst.cast::<To>();
    for i in 0..n {
        // SAFETY: `src` has taken i < n steps, so it is at an element of the run.
        let value = unsafe { From::load(src.cast()) };
        // SAFETY: i < n, and the caller vouches for n elements behind `dst`.
        unsafe { dst.add(i).write_unaligned(value.cast()) };
        src = src.wrapping_offset(stride_bytes);
    }
}

/// # Safety
/// As [`Scatter`].
unsafe fn scatter_run<From: Stored + Cast<To>, To: Element>(
    src: *const u8,
    mut dst: *mut u8,
    stride_bytes: isize,
    n: usize,
) {
    let src = src.cast::<From>();
    for i in 0..n {
        // SAFETY: i < n, and the caller vouches for n elements behind `src`.
        let value = unsafe { From::load(src.add(i)) };
        // SAFETY: `dst` has taken i < n steps, so it is at a place of the run.
        unsafe { dst.cast::<To>().write_unaligned(value.cast()) };
        dst = dst.wrapping_offset(stride_bytes);
    }
}

/// An element as memory of any origin holds it.
trait Stored: Element {
    /// Reads an element that need not be aligned.
    ///
    /// # Safety
    /// `src` is valid for reads of the element's size.
    unsafe fn load(src: *const Self) -> Self;
}

macro_rules! stored {
    ($($ty:ty),*) => {$(
        impl Stored for $ty {
            #[inline(always)]
            unsafe fn load(src: *const $ty) -> $ty {
                // SAFETY: the caller vouches for the read, and every bit pattern is a value of this type.
                unsafe { src.read_unaligned() }
            }
        }
    )*};
}

stored! {
    u8, i8, i16, u16, i32, u32, i64, u64, F8E4M3FN, F8E5M2, f16, bf16, f32, f64,
    Complex<f16>, Complex<f32>, Complex<f64>
}

impl Stored for bool {
    #[inline(always)]
    unsafe fn load(src: *const bool) -> bool {
        // SAFETY: the caller vouches for the read; as a byte, every pattern is a value.
        unsafe { src.cast::<u8>().read() != 0 }
    }
}

impl Scalar {
    /// The bytes of this number as an element of `dtype`, followed by zeros.
    ///
    /// # Numerics
    /// One rounding from the exact number; integers wrap into integer dtypes, floats saturate with NaN → 0, a
    /// complex number gives its real part to a real dtype.
    #[must_use]
    pub fn store(self, dtype: DType) -> [u8; 16] {
        with_type!(dtype, To => {
            let value: To = match self {
                Scalar::Bool(v) => v.cast(),
                Scalar::I64(v) => v.cast(),
                Scalar::U64(v) => v.cast(),
                Scalar::F64(v) => v.cast(),
                Scalar::C128(v) => v.cast(),
            };
            let mut bytes = [0; 16];
            bytes[..size_of::<To>()].copy_from_slice(bytemuck::bytes_of(&value));
            bytes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: bytemuck::NoUninit>(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    fn converted(from: DType, to: DType, src: &[u8]) -> Vec<u8> {
        let n = src.len() / from.size();
        let mut dst = vec![0xaa; n * to.size()];
        // SAFETY: both vectors have n elements.
        unsafe { converter(from, to)(src.as_ptr(), dst.as_mut_ptr(), n) };
        dst
    }

    #[test]
    fn casts_may_not_leave_the_category_downward() {
        let allowed = [(DType::I64, DType::U8), (DType::F64, DType::F16), (DType::Bool, DType::C32)];
        assert!(allowed.iter().all(|&(from, to)| can_cast(from, to)));
        let refused = [(DType::F16, DType::I64), (DType::C64, DType::F64), (DType::I8, DType::Bool)];
        assert!(refused.iter().all(|&(from, to)| !can_cast(from, to)));
    }

    #[test]
    fn chunks_convert_by_the_rules() {
        let floats = bytes(&[1.5_f32, -2.7, f32::NAN, 300.0]);
        assert_eq!(converted(DType::F32, DType::I16, &floats), bytes(&[1_i16, -2, 0, 300]));
        assert_eq!(converted(DType::F32, DType::U8, &floats), [1, 0, 0, 255]);
        assert_eq!(converted(DType::F32, DType::Bool, &floats), [1, 1, 1, 1]);
        let complex = bytes(&[Complex::new(0.5_f64, -1.0)]);
        assert_eq!(converted(DType::C128, DType::F8E5M2, &complex), [F8E5M2::from_f32(0.5).to_bits()]);
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        assert_eq!(converted(DType::Bool, DType::Bool, &[0, 1, 2, 255]), [0, 1, 1, 1]);
        assert_eq!(converted(DType::Bool, DType::I32, &[0, 1, 2, 255]), bytes(&[0_i32, 1, 1, 1]));
    }

    #[test]
    fn copies_keep_every_bit() {
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
            let src: Vec<u8> = (0..=255).flat_map(|byte| [byte, 0x7d, 0xff, byte ^ 0x81]).collect();
            assert_eq!(converted(dtype, dtype, &src), src, "{dtype}");
            let n = src.len() / dtype.size();
            let mut dst = vec![0; src.len()];
            let step = dtype.size() as isize;
            // SAFETY: both vectors have n elements.
            unsafe { gather(dtype, dtype)(src.as_ptr(), step, dst.as_mut_ptr(), n) };
            assert_eq!(dst, src, "gathered {dtype}");
            dst.fill(0);
            // SAFETY: as above.
            unsafe { scatter(dtype, dtype)(src.as_ptr(), dst.as_mut_ptr(), step, n) };
            assert_eq!(dst, src, "scattered {dtype}");
        }
    }

    #[test]
    fn strided_runs_convert_as_contiguous_chunks_do() {
        for from in DType::ALL {
            for to in DType::ALL {
                let n = 5;
                let src: Vec<u8> = (0..n * from.size()).map(|i| (i * 37 + 11) as u8).collect();
                let want = converted(from, to, &src);
                // Backwards, with a gap of 3 bytes, so that nothing is aligned.
                let step = from.size() + 3;
                let mut spread = vec![0; n * step];
                for (i, element) in src.chunks(from.size()).enumerate() {
                    spread[(n - 1 - i) * step..][..from.size()].copy_from_slice(element);
                }
                let mut dst = vec![0; n * to.size()];
                let last = spread.as_ptr().wrapping_add((n - 1) * step);
                // SAFETY: the run goes from the last place of `spread` to its first; `dst` has n elements.
                unsafe { gather(from, to)(last, -(step as isize), dst.as_mut_ptr(), n) };
                assert_eq!(dst, want, "gather {from} to {to}");
                let step = to.size() + 3;
                let mut spread = vec![0; n * step];
                // SAFETY: `spread` has n places, `src` n elements.
                unsafe { scatter(from, to)(src.as_ptr(), spread.as_mut_ptr(), step as isize, n) };
                let got: Vec<u8> =
                    spread.chunks(step).flat_map(|place| &place[..to.size()]).copied().collect();
                assert_eq!(got, want, "scatter {from} to {to}");
            }
        }
    }

    #[test]
    fn numbers_round_once_into_any_dtype() {
        let stored = |scalar: Scalar, dtype: DType| scalar.store(dtype)[..dtype.size()].to_vec();
        assert_eq!(stored(Scalar::I64(300), DType::U8), [44]);
        assert_eq!(stored(Scalar::I64(-1), DType::U64), bytes(&[u64::MAX]));
        assert_eq!(stored(Scalar::U64(u64::MAX), DType::U64), bytes(&[u64::MAX]));
        assert_eq!(stored(Scalar::F64(-1.5), DType::U8), [0]);
        assert_eq!(stored(Scalar::Bool(true), DType::C64), bytes(&[1_f32, 0.0]));
        let x = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
        assert_eq!(stored(Scalar::F64(x), DType::F16), bytes(&[0x3c01_u16]));
        assert_eq!(stored(Scalar::C128(Complex::new(x, 2.0)), DType::F64), bytes(&[x]));
        assert_eq!(Scalar::I64(7).store(DType::I32)[4..], [0; 12]);
    }
}
