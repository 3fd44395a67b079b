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
