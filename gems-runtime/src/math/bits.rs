//! Functions on stored bits: they see −0, the sign of NaN and every subnormal of the stored type.
//!
//! The floats of one and two bytes have no other arithmetic.

use super::Number;
use crate::dtype::{Element, F8E4M3FN, F8E5M2};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Elements whose sign and neighbors can be had without arithmetic.
pub trait Bits: Element {
    /// −x: flips the sign bit of floats, NaN too; integers wrap.
    fn neg(self) -> Self;
    /// |x|: clears the sign bit of floats, NaN too; MIN stays MIN for integers.
    fn abs(self) -> Self;
    /// |x| with the sign of `sign`: its sign bit, for floats; integers wrap.
    fn copysign(self, sign: Self) -> Self;
    /// The sign bit of a float, x < 0 for an integer.
    fn is_sign_negative(self) -> bool;
    /// One step toward `other`; `other` if the two are equal, NaN if either is NaN.
    fn next_after(self, other: Self) -> Self;
}

macro_rules! float_bits {
    ($($ty:ty: $bits:ty, $nan:expr);* $(;)?) => {$(
        const _: () = {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);

            impl Bits for $ty {
                #[inline(always)]
                fn neg(self) -> $ty {
                    <$ty>::from_bits(self.to_bits() ^ SIGN)
                }

                #[inline(always)]
                fn abs(self) -> $ty {
                    <$ty>::from_bits(self.to_bits() & !SIGN)
                }

                #[inline(always)]
                fn copysign(self, sign: $ty) -> $ty {
                    <$ty>::from_bits(self.to_bits() & !SIGN | sign.to_bits() & SIGN)
                }

                #[inline(always)]
                fn is_sign_negative(self) -> bool {
                    self.to_bits() & SIGN != 0
                }

                #[inline]
                fn next_after(self, other: $ty) -> $ty {
                    let bits = self.to_bits();
                    let least = other.to_bits() & SIGN | 1;
                    match self.partial_cmp(&other) {
                        None => $nan,
                        Some(Ordering::Equal) => other,
                        Some(_) if bits & !SIGN == 0 => <$ty>::from_bits(least),
                        Some(order) if order.is_lt() == (bits & SIGN == 0) => <$ty>::from_bits(bits + 1),
                        Some(_) => <$ty>::from_bits(bits - 1),
                    }
                }
            }
        };
    )*};
}

float_bits! {
    F8E4M3FN: u8, F8E4M3FN::from_bits(0x7f);
    F8E5M2: u8, F8E5M2::from_bits(0x7f);
    f16: u16, f16::NAN;
    bf16: u16, bf16::NAN;
    f32: u32, f32::NAN;
    f64: u64, f64::NAN;
}

macro_rules! int_bits {
    ($($ty:ty),*) => {$(
        impl Bits for $ty {
            #[inline(always)]
            fn neg(self) -> $ty {
                Number::neg(self)
            }

            #[inline(always)]
            fn abs(self) -> $ty {
                Number::abs(self)
            }

            #[inline(always)]
            fn copysign(self, sign: $ty) -> $ty {
                let magnitude = Number::abs(self);
                if Bits::is_sign_negative(sign) { Number::neg(magnitude) } else { magnitude }
            }

            #[inline(always)]
            fn is_sign_negative(self) -> bool {
                self < <$ty>::ZERO
            }

            #[inline(always)]
            fn next_after(self, other: $ty) -> $ty {
                match self.cmp(&other) {
                    Ordering::Less => self + 1,
                    Ordering::Equal => self,
                    Ordering::Greater => self - 1,
                }
            }
        }
    )*};
}

int_bits!(u8, i8, i16, u16, i32, u32, i64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_visit_every_f16_once_in_order() {
        let mut x = f16::NEG_INFINITY;
        let mut steps = 0;
        while x != f16::INFINITY {
            let next = x.next_after(f16::INFINITY);
            assert!(x < next, "{x} {next}");
            assert_eq!(next.next_after(f16::NEG_INFINITY), x);
            (x, steps) = (next, steps + 1);
        }
        // Both zeros are one value.
        assert_eq!(steps, 2 * 0x7c00);
    }

    #[test]
    fn a_step_through_zero_keeps_the_sign_it_came_with() {
        let least = F8E5M2::from_bits(1);
        assert_eq!(F8E5M2::from_bits(0x80).next_after(least).to_bits(), 1);
        assert_eq!(F8E5M2::from_bits(0).next_after(F8E5M2::from_f32(-1.0)).to_bits(), 0x81);
        assert_eq!(F8E5M2::from_bits(0x81).next_after(least).to_bits(), 0x80);
        assert!(0_f32.next_after(-0.0).is_sign_negative());
    }

    #[test]
    fn nan_has_no_neighbor() {
        assert!(f32::NAN.next_after(1.0).is_nan() && 1_f64.next_after(f64::NAN).is_nan());
        assert_eq!(F8E4M3FN::from_bits(0xff).next_after(F8E4M3FN::from_bits(0)).to_bits(), 0x7f);
    }

    #[test]
    fn the_sign_of_nan_is_a_bit_like_any_other() {
        let nan = bf16::from_bits(0x7f81);
        assert_eq!(Bits::neg(nan).to_bits(), 0xff81);
        assert_eq!(Bits::abs(Bits::neg(nan)).to_bits(), 0x7f81);
        assert_eq!(Bits::copysign(nan, bf16::from_bits(0x8000)).to_bits(), 0xff81);
        assert!(Bits::is_sign_negative(bf16::from_bits(0xffff)));
    }

    #[test]
    fn integers_wrap_at_the_lowest_value() {
        assert_eq!((Bits::abs(i8::MIN), Bits::neg(1_u8), Bits::copysign(5_i16, -2)), (i8::MIN, 255, -5));
        assert_eq!((3_i32.next_after(-7), i64::MAX.next_after(i64::MAX)), (2, i64::MAX));
    }
}
