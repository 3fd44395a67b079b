//! The two 8-bit floats of the Open Compute Project: E4M3 without infinity, and E5M2.
//!
//! Storage types: conversion, comparison and their bits. Arithmetic is done in f32.

use crate::math::{Odd, Small};
use bytemuck::{Pod, Zeroable};
use std::fmt;

/// 8-bit float with 4 exponent and 3 mantissa bits, no infinity; the largest value is 448.
///
/// # Numerics
/// Conversions into it round once, ties to even, and saturate: larger values and ±∞ become ±448.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct F8E4M3FN(u8);

/// 8-bit float with 5 exponent and 2 mantissa bits: the upper half of an f16.
///
/// # Numerics
/// Conversions into it round once, ties to even; magnitudes from 61440 on become ±∞.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct F8E5M2(u8);

macro_rules! float8 {
    ($ty:ident) => {
        impl $ty {
            /// The value of these bits.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits: sign, exponent, mantissa.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest value, ties to even.
            #[must_use]
            pub fn from_f32(x: f32) -> Self {
                Small::round(x)
            }

            /// The nearest value, ties to even, in one rounding.
            #[must_use]
            pub fn from_f64(x: f64) -> Self {
                Small::round(x.odd())
            }

            /// The same value.
            #[must_use]
            pub fn to_f32(self) -> f32 {
                self.widen()
            }
        }

        impl PartialEq for $ty {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $ty {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }
    };
}

float8!(F8E4M3FN);
float8!(F8E5M2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e4m3fn_saturates_and_has_one_nan() {
        let bits = |x: f32| F8E4M3FN::from_f32(x).to_bits();
        assert_eq!([bits(448.0), bits(464.0), bits(1e30), bits(f32::INFINITY)], [0x7e; 4]);
        assert_eq!(bits(f32::NEG_INFINITY), 0xfe);
        assert_eq!(bits(f32::NAN), 0x7f);
        assert!(F8E4M3FN::from_bits(0xff).to_f32().is_nan());
    }

    #[test]
    fn e4m3fn_keeps_subnormals_and_the_sign_of_zero() {
        let bits = |x: f32| F8E4M3FN::from_f32(x).to_bits();
        assert_eq!([bits(2_f32.powi(-9)), bits(2_f32.powi(-10)), bits(-0.0)], [1, 0, 0x80]);
    }

    #[test]
    fn e5m2_overflows_to_infinity() {
        let bits = |x: f32| F8E5M2::from_f32(x).to_bits();
        assert_eq!(
            [bits(57344.0), bits(61439.0), bits(61440.0), bits(f32::INFINITY)],
            [0x7b, 0x7b, 0x7c, 0x7c]
        );
        assert_eq!(bits(f32::NAN), 0x7f);
        assert_eq!(F8E5M2::from_bits(0xfc).to_f32(), f32::NEG_INFINITY);
    }

    #[test]
    fn f64_is_rounded_once() {
        // In f32 this is the tie between 1 and 1.125.
        let x = 1.0625 + 1e-12;
        assert_eq!(x as f32, 1.0625);
        assert_eq!(F8E4M3FN::from_f32(x as f32).to_f32(), 1.0);
        assert_eq!(F8E4M3FN::from_f64(x).to_f32(), 1.125);
    }

    #[test]
    fn equality_is_that_of_values() {
        assert_eq!(F8E5M2::from_bits(0x80), F8E5M2::from_bits(0));
        assert_ne!(F8E5M2::from_bits(0x7f), F8E5M2::from_bits(0x7f));
        assert_eq!(format!("{} {:?}", F8E5M2::from_f32(1.5), F8E4M3FN::from_f32(2.0)), "1.5 2.0");
    }
}
