//! Conversions between all element types.
//!
//! Guarantees one rounding, ties to even, from the exact source value; float to integer truncates and
//! saturates with NaN → 0; integer to integer wraps; x ≠ 0 makes a bool; a complex number gives its real
//! part.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "conversion between numbers is what this module is for"
)]

use super::{Odd, Small};
use crate::dtype::{Element, F8E4M3FN, F8E5M2};
use half::{bf16, f16};
use num_complex::Complex;

/// Conversion to the element type `To`; Rust's `as`, extended to all element types.
pub trait Cast<To: Element>: Element {
    /// The converted value.
    fn cast(self) -> To;
}

/// Every combination: `[A, B] => [C, D]` writes A → C, A → D, B → C, B → D.
macro_rules! cast {
    ([$($from:ty),*] => $to:tt |$x:ident| $value:expr) => {
        $(cast!(@from $from => $to |$x| $value);)*
    };
    (@from $from:ty => [$($to:ty),*] |$x:ident| $value:expr) => {$(
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                let $x = self;
                $value
            }
        }
    )*};
}

macro_rules! real_casts {
    (ints $ints:tt, floats $floats:tt, smalls $smalls:tt, complexes $complexes:tt) => {
        cast!($ints => $ints |x| x as _);
        cast!($ints => $floats |x| x as _);
        cast!($floats => $ints |x| x as _);
        cast!($floats => $floats |x| x as _);
        cast!($ints => $smalls |x| Small::round(x.odd()));
        cast!($floats => $smalls |x| Small::round(x.odd()));
        cast!($ints => [bool] |x| x != 0);
        cast!($floats => [bool] |x| x != 0.0);
        cast!([bool] => $ints |x| x.into());
        cast!([bool] => $floats |x| u8::from(x).into());
        cast!([bool] => $smalls |x| Small::round(f32::from(u8::from(x))));
        cast!([bool] => [bool] |x| x);
        // Small floats are exact in f32.
        cast!($smalls => $ints |x| x.widen().cast());
        cast!($smalls => $floats |x| x.widen().cast());
        cast!($smalls => [bool] |x| x.widen().cast());
        cast!($ints => $complexes |x| Complex::new(x.cast(), false.cast()));
        cast!($floats => $complexes |x| Complex::new(x.cast(), false.cast()));
        cast!($smalls => $complexes |x| Complex::new(x.cast(), false.cast()));
        cast!([bool] => $complexes |x| Complex::new(x.cast(), false.cast()));
        cast!($complexes => $ints |z| z.re.cast());
        cast!($complexes => $floats |z| z.re.cast());
        cast!($complexes => $smalls |z| z.re.cast());
        cast!($complexes => [bool] |z| z.re.cast() || z.im.cast());
        cast!($complexes => $complexes |z| Complex::new(z.re.cast(), z.im.cast()));
    };
}

real_casts! {
    ints [u8, i8, i16, u16, i32, u32, i64, u64],
    floats [f32, f64],
    smalls [F8E4M3FN, F8E5M2, f16, bf16],
    complexes [Complex<f16>, Complex<f32>, Complex<f64>]
}

cast!([F8E4M3FN] => [F8E5M2, f16, bf16] |x| Small::round(x.widen()));
cast!([F8E5M2] => [F8E4M3FN, f16, bf16] |x| Small::round(x.widen()));
cast!([f16] => [F8E4M3FN, F8E5M2, bf16] |x| Small::round(x.widen()));
cast!([bf16] => [F8E4M3FN, F8E5M2, f16] |x| Small::round(x.widen()));
// A type converts to itself without looking, so the bits of NaN stay.
cast!([F8E4M3FN] => [F8E4M3FN] |x| x);
cast!([F8E5M2] => [F8E5M2] |x| x);
cast!([f16] => [f16] |x| x);
cast!([bf16] => [bf16] |x| x);

#[cfg(test)]
mod tests {
    use super::*;

    fn cast<To: Element>(x: impl Cast<To>) -> To {
        x.cast()
    }

    #[test]
    fn floats_saturate_into_integers_and_nan_is_zero() {
        assert_eq!([f32::NAN, 300.7, -1.5, 255.9].map(cast::<u8>), [0, 255, 0, 255]);
        assert_eq!(
            [f64::INFINITY, f64::NEG_INFINITY, 9.3e18].map(cast::<i64>),
            [i64::MAX, i64::MIN, i64::MAX]
        );
        assert_eq!([-128.9, -129.0, 127.9].map(|x: f64| cast::<i8>(f16::from_f64(x))), [-128, -128, 127]);
    }

    #[test]
    fn integers_wrap_into_integers() {
        assert_eq!((cast::<u8>(100_000_i64), cast::<i8>(200_u8), cast::<u64>(-1_i32)), (160, -56, u64::MAX));
    }

    #[test]
    fn everything_but_zero_is_true() {
        assert!(cast::<bool>(f32::NAN) && cast::<bool>(f64::from_bits(1)) && cast::<bool>(-1_i8));
        assert!(!cast::<bool>(-0.0_f32) && !cast::<bool>(F8E5M2::from_bits(0x80)));
        assert!(cast::<bool>(Complex::new(0.0_f32, -2.0)) && !cast::<bool>(Complex::new(0.0_f64, -0.0)));
    }

    #[test]
    fn one_rounding_leads_from_f64_to_f16() {
        let x = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
        assert_eq!(cast::<f16>(x).to_bits(), 0x3c01);
        assert_eq!(cast::<f16>(x as f32).to_bits(), 0x3c00);
        assert_eq!(cast::<Complex<f16>>(Complex::new(x, 0.0)).re.to_bits(), 0x3c01);
    }

    #[test]
    fn one_rounding_leads_from_i64_to_bf16() {
        // 257 · 2^40 is a tie between bf16 neighbors; f32 loses the 1.
        let x = (257_i64 << 40) + 1;
        assert_eq!(x as f32, (257_i64 << 40) as f32);
        assert_eq!(cast::<bf16>(x).to_f32(), (258_i64 << 40) as f32);
        assert_eq!(cast::<bf16>(x - 1).to_f32(), (256_i64 << 40) as f32);
    }

    #[test]
    fn a_complex_number_gives_its_real_part() {
        assert_eq!(cast::<i16>(Complex::new(-3.7_f32, 9.0)), -3);
        assert_eq!(cast::<Complex<f64>>(bf16::from_f32(1.5)), Complex::new(1.5, 0.0));
    }

    #[test]
    fn a_type_converts_to_itself_bit_by_bit() {
        assert_eq!(cast::<f16>(f16::from_bits(0xfc01)).to_bits(), 0xfc01);
        assert_eq!(cast::<F8E5M2>(F8E5M2::from_bits(0x7d)).to_bits(), 0x7d);
        assert_eq!(
            cast::<Complex<f16>>(Complex::new(f16::from_bits(0x7c01), f16::ZERO)).re.to_bits(),
            0x7c01
        );
    }
}
