//! Conversions between all element types.
//!
//! Guarantees one rounding, ties to even, from the exact source value; float to integer truncates and saturates with
//! NaN → 0; integer to integer wraps; x ≠ 0 makes a bool; a complex number gives its real part.

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
