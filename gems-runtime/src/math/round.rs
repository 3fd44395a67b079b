//! Rounding into the 1- and 2-byte floats, and back.
//!
//! Guarantees one rounding to nearest even from f32, and, through rounding to odd, from f64 and every
//! integer. Branch-free on values, so loops over them vectorize; does not use the CPU's half-precision
//! instructions, so all CPUs agree.

use crate::dtype::{F8E4M3FN, F8E5M2};
use half::{bf16, f16};

/// A float of one or two bytes: exact in f32.
pub(crate) trait Small: Sized {
    /// The value nearest to x, ties to even.
    fn round(x: f32) -> Self;
    /// The same value.
    fn widen(self) -> f32;
}

/// Bit layout of a small float, seen from f32.
struct Format {
    /// Mantissa bits that f32 has more.
    drop: u32,
    /// Difference of the exponent biases.
    bias: u32,
    /// f32 bits of the number whose last place is the least subnormal.
    magic: u32,
    /// f32 magnitudes above this become `overflow`.
    limit: u32,
    overflow: u32,
    nan: u32,
    /// Position of the sign bit.
    sign: u32,
}

const F16: Format = Format {
    drop: 13,
    bias: 112,
    magic: 0x3f00_0000,
    limit: 0x477f_ffff,
    overflow: 0x7c00,
    nan: 0x7e00,
    sign: 15,
};
const E5M2: Format = Format {
    drop: 21,
    bias: 112,
    magic: 0x4300_0000,
    limit: 0x477f_ffff,
    overflow: 0x7c,
    nan: 0x7f,
    sign: 7,
};
const E4M3FN: Format = Format {
    drop: 20,
    bias: 120,
    magic: 0x4680_0000,
    limit: 0x43e0_0000,
    overflow: 0x7e,
    nan: 0x7f,
    sign: 7,
};

impl Format {
    /// The bits of the nearest value, in the low end.
    #[inline(always)]
    const fn bits(&self, x: f32) -> u32 {
        let a = x.to_bits() & 0x7fff_ffff;
        let half = (1 << (self.drop - 1)) - 1 + (a >> self.drop & 1);
        let normal = a.wrapping_add(half).wrapping_sub(self.bias << 23) >> self.drop;
        // The FPU rounds to the spacing of `magic`, which is that of the subnormals.
        let magic = f32::from_bits(self.magic);
        let subnormal = (f32::from_bits(a) + magic).to_bits().wrapping_sub(self.magic);
        let finite = if a < (self.bias + 1) << 23 { subnormal } else { normal };
        let ordered = if a > self.limit { self.overflow } else { finite };
        let magnitude = if a > 0x7f80_0000 { self.nan } else { ordered };
        magnitude | (x.to_bits() >> 31) << self.sign
    }

    /// The value of magnitude bits; the caller replaces infinity and NaN.
    #[inline(always)]
    const fn value(&self, magnitude: u16) -> f32 {
        // Multiplying by a power of two rebiases normal and subnormal numbers alike, exactly.
        f32::from_bits((magnitude as u32) << self.drop) * f32::from_bits((127 + self.bias) << 23)
    }
}

#[inline(always)]
const fn with_sign(x: f32, negative: bool) -> f32 {
    f32::from_bits(x.to_bits() | (negative as u32) << 31)
}

impl Small for f16 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "16 bits are used")]
    fn round(x: f32) -> f16 {
        f16::from_bits(F16.bits(x) as u16)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        let magnitude = self.to_bits() & 0x7fff;
        let finite = F16.value(magnitude);
        let special = f32::from_bits(0x7f80_0000 | u32::from(magnitude) << 13);
        with_sign(if magnitude >= 0x7c00 { special } else { finite }, self.to_bits() >> 15 == 1)
    }
}

impl Small for bf16 {
    #[inline(always)]
    fn round(x: f32) -> bf16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        let quiet = bits | 0x7fc0_0000;
        bf16::from_bits(((if x.is_nan() { quiet } else { rounded }) >> 16) as u16)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

impl Small for F8E4M3FN {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "8 bits are used")]
    fn round(x: f32) -> F8E4M3FN {
        F8E4M3FN::from_bits(E4M3FN.bits(x) as u8)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        let magnitude = u16::from(self.to_bits() & 0x7f);
        let value = if magnitude == 0x7f { f32::NAN } else { E4M3FN.value(magnitude) };
        with_sign(value, self.to_bits() >> 7 == 1)
    }
}

impl Small for F8E5M2 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "8 bits are used")]
    fn round(x: f32) -> F8E5M2 {
        F8E5M2::from_bits(E5M2.bits(x) as u8)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        f16::from_bits(u16::from(self.to_bits()) << 8).widen()
    }
}

/// A number that can become f32 by rounding to odd.
///
/// An inexact result has its last bit set, so rounding it again to at most 22 bits is as good as rounding
/// once.
pub(crate) trait Odd {
    fn odd(self) -> f32;
}

impl Odd for f32 {
    #[inline(always)]
    fn odd(self) -> f32 {
        self
    }
}

impl Odd for f64 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is mended below")]
    fn odd(self) -> f32 {
        let near = self as f32;
        let (there, here) = (f64::from(near).abs(), self.abs());
        // An even neighbor of an inexact value is replaced by the odd one on the other side.
        let even = near.to_bits() & 1 == 0;
        let up = u32::from(even && there < here);
        let down = u32::from(even && there > here);
        f32::from_bits(near.to_bits() + up - down)
    }
}

impl Odd for u64 {
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "the low bits are folded into one before")]
    fn odd(self) -> f32 {
        // Above 2^53 the low 11 bits only say whether the rest is exact.
        let folded = self & !0x7ff | u64::from(self & 0x7ff != 0) << 11;
        (if self >> 53 == 0 { self } else { folded } as f64).odd()
    }
}

impl Odd for i64 {
    #[inline]
    fn odd(self) -> f32 {
        with_sign(self.unsigned_abs().odd(), self < 0)
    }
}

macro_rules! odd_through {
    ($wide:ty: $($ty:ty),*) => {$(
        impl Odd for $ty {
            #[inline(always)]
            fn odd(self) -> f32 {
                <$wide>::from(self).odd()
            }
        }
    )*};
}

odd_through!(f32: u8, i8, u16, i16);
odd_through!(f64: u32, i32);

#[cfg(test)]
mod tests {
    use super::*;

    /// A small float as its definition has it, without infinity and NaN.
    struct Definition {
        mantissa: i32,
        bias: i32,
        /// Bits of the largest finite value.
        max: u16,
        /// What becomes of larger values.
        overflow: f64,
    }

    const F16_DEFINITION: Definition =
        Definition { mantissa: 10, bias: 15, max: 0x7bff, overflow: f64::INFINITY };
    const BF16_DEFINITION: Definition =
        Definition { mantissa: 7, bias: 127, max: 0x7f7f, overflow: f64::INFINITY };
    const E4M3_DEFINITION: Definition = Definition { mantissa: 3, bias: 7, max: 0x7e, overflow: 448.0 };
    const E5M2_DEFINITION: Definition =
        Definition { mantissa: 2, bias: 15, max: 0x7b, overflow: f64::INFINITY };

    impl Definition {
        fn value(&self, bits: u16) -> f64 {
            let (exponent, mantissa) =
                (i32::from(bits) >> self.mantissa, i32::from(bits) & ((1 << self.mantissa) - 1));
            let (whole, exponent) = if exponent == 0 { (0, 1) } else { (1 << self.mantissa, exponent) };
            f64::from(whole + mantissa) * 2_f64.powi(exponent - self.bias - self.mantissa)
        }

        /// Bits of the value nearest to a number that lies between the values of `below` and its successor,
        /// where it compares to their middle as `order` says.
        fn nearest(&self, below: u16, order: std::cmp::Ordering) -> f64 {
            let above = if below == self.max { self.overflow } else { self.value(below + 1) };
            match order {
                std::cmp::Ordering::Less => self.value(below),
                std::cmp::Ordering::Equal if below & 1 == 0 => self.value(below),
                _ => above,
            }
        }

        /// The middle of two neighbors; exact.
        fn middle(&self, below: u16) -> f64 {
            0.5 * (self.value(below) + self.value(below + 1))
        }

        fn check<T: Small>(&self, widen_bits: impl Fn(u16) -> f32, name: &str) {
            for bits in 0..=self.max {
                assert_eq!(f64::from(widen_bits(bits)), self.value(bits), "{name} {bits:#x}");
            }
            for below in 0..=self.max {
                let (value, middle) = (self.value(below), self.middle(below));
                let step = f64::from_bits(1).max(middle * 2_f64.powi(-52));
                for x in [
                    value,
                    middle,
                    middle - step,
                    middle + step,
                    middle * (1.0 - 1e-9),
                    middle * (1.0 + 1e-9),
                ] {
                    let want =
                        if x == value { value } else { self.nearest(below, x.partial_cmp(&middle).unwrap()) };
                    for (x, want) in [(x, want), (-x, -want)] {
                        let got = f64::from(T::round(x.odd()).widen());
                        assert_eq!(
                            (got, got.is_sign_negative()),
                            (want, want.is_sign_negative()),
                            "{name} of {x:e}"
                        );
                    }
                }
                // The same for integers, compared as integers.
                if middle.fract() == 0.0 && middle < 9e18 {
                    for x in [middle as i64 - 1, middle as i64, middle as i64 + 1] {
                        if (x as i128) < value as i128 {
                            continue;
                        }
                        let want = if x as i128 == value as i128 {
                            value
                        } else {
                            self.nearest(below, (x as i128).cmp(&(middle as i128)))
                        };
                        assert_eq!(f64::from(T::round(x.odd()).widen()), want, "{name} of {x}");
                        assert_eq!(f64::from(T::round((-x).odd()).widen()), -want, "{name} of -{x}");
                        assert_eq!(
                            f64::from(T::round((x as u64).odd()).widen()),
                            want,
                            "{name} of {x} unsigned"
                        );
                    }
                }
            }
            for x in [f64::INFINITY, f64::MAX, 1e39, 1e300] {
                assert_eq!(f64::from(T::round(x.odd()).widen()), self.overflow, "{name} of {x:e}");
            }
            for nan in [0x7fc0_0000, 0x7f80_0001, 0x7fff_ffff, 0xff80_0001_u32] {
                assert!(T::round(f32::from_bits(nan)).widen().is_nan(), "{name} of NaN {nan:#x}");
            }
        }
    }

    #[test]
    fn every_small_float_rounds_to_nearest_even_at_every_midpoint() {
        F16_DEFINITION.check::<f16>(|bits| f16::from_bits(bits).widen(), "f16");
        BF16_DEFINITION.check::<bf16>(|bits| bf16::from_bits(bits).widen(), "bf16");
        E4M3_DEFINITION.check::<F8E4M3FN>(|bits| F8E4M3FN::from_bits(bits as u8).widen(), "f8e4m3fn");
        E5M2_DEFINITION.check::<F8E5M2>(|bits| F8E5M2::from_bits(bits as u8).widen(), "f8e5m2");
    }

    #[test]
    fn f16_and_bf16_agree_with_half_on_every_f32_exponent() {
        for bits in (0..=u32::MAX).step_by(0x1_2345) {
            let x = f32::from_bits(bits);
            let (ours, theirs) = (<f16 as Small>::round(x), f16::from_f32(x));
            assert!(ours.to_bits() == theirs.to_bits() || x.is_nan() && ours.is_nan(), "{x:e}");
            let (ours, theirs) = (<bf16 as Small>::round(x), bf16::from_f32(x));
            assert!(ours.to_bits() == theirs.to_bits() || x.is_nan() && ours.is_nan(), "{x:e}");
        }
    }

    #[test]
    fn special_values_of_f16_widen_to_themselves() {
        assert_eq!(f16::INFINITY.widen(), f32::INFINITY);
        assert_eq!(f16::NEG_INFINITY.widen(), f32::NEG_INFINITY);
        assert!(f16::from_bits(0x7c01).widen().is_nan());
        assert!(f16::from_bits(0x8000).widen().is_sign_negative());
    }
}
