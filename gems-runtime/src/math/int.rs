//! Bool and integers.
//!
//! Guarantees that nothing traps: arithmetic wraps, x/0 = 0 and MIN/−1 = MIN, shifts take any count.

use super::{Int, Number, Real};

/// The two questions that signed and unsigned integers answer differently.
trait Sign {
    fn negative(self) -> bool;
    fn magnitude(self) -> Self;
}

macro_rules! sign {
    ($($ty:ty, $x:ident: $negative:expr, $magnitude:expr);* $(;)?) => {$(
        impl Sign for $ty {
            #[inline(always)]
            fn negative(self) -> bool {
                let $x = self;
                $negative
            }

            #[inline(always)]
            fn magnitude(self) -> $ty {
                let $x = self;
                $magnitude
            }
        }
    )*};
}

sign! {
    u8, _x: false, _x;
    u16, _x: false, _x;
    u32, _x: false, _x;
    u64, _x: false, _x;
    i8, x: x < 0, x.wrapping_abs();
    i16, x: x < 0, x.wrapping_abs();
    i32, x: x < 0, x.wrapping_abs();
    i64, x: x < 0, x.wrapping_abs();
}

macro_rules! integer {
    ($($ty:ident),*) => {$(
        impl Number for $ty {
            type Real = $ty;
            const ZERO: $ty = 0;
            const ONE: $ty = 1;

            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the lints below depend on the type")]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integers wrap")]
            fn from_int(value: i64) -> $ty {
                value as $ty
            }

            #[inline(always)]
            fn add(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: $ty) -> $ty {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: $ty) -> $ty {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn div(self, other: $ty) -> $ty {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            fn neg(self) -> $ty {
                self.wrapping_neg()
            }

            #[inline]
            fn pow(self, exponent: $ty) -> $ty {
                let minus_one = self.negative() && self.wrapping_add(1) == 0;
                if exponent.negative() && self != 1 && !minus_one {
                    return 0;
                }
                // A power of ±1 needs the last bit of the exponent only.
                if self == 1 || minus_one {
                    return if exponent & 1 == 1 { self } else { 1 };
                }
                let (mut result, mut square, mut left) = (1, self, exponent);
                while left != 0 {
                    if left & 1 == 1 {
                        result = square.wrapping_mul(result);
                    }
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                result
            }

            #[inline(always)]
            fn abs(self) -> $ty {
                self.magnitude()
            }

            #[inline(always)]
            fn re(self) -> $ty {
                self
            }

            #[inline(always)]
            fn im(self) -> $ty {
                0
            }
        }

        impl Real for $ty {
            const MAX: $ty = $ty::MAX;
            const MIN: $ty = $ty::MIN;

            #[inline(always)]
            fn rem(self, other: $ty) -> $ty {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn div_trunc(self, other: $ty) -> $ty {
                Number::div(self, other)
            }

            #[inline(always)]
            fn div_floor(self, other: $ty) -> $ty {
                let quotient = Number::div(self, other);
                let remainder = Real::rem(self, other);
                let down = remainder != 0 && remainder.negative() != other.negative();
                quotient.wrapping_sub($ty::from(down))
            }

            #[inline(always)]
            fn rem_floor(self, other: $ty) -> $ty {
                let remainder = Real::rem(self, other);
                let up = remainder != 0 && remainder.negative() != other.negative();
                if up { remainder.wrapping_add(other) } else { remainder }
            }

            #[inline(always)]
            fn minimum(self, other: $ty) -> $ty {
                Ord::min(self, other)
            }

            #[inline(always)]
            fn maximum(self, other: $ty) -> $ty {
                Ord::max(self, other)
            }

            #[inline(always)]
            fn min(self, other: $ty) -> $ty {
                Ord::min(self, other)
            }

            #[inline(always)]
            fn max(self, other: $ty) -> $ty {
                Ord::max(self, other)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
        }

        impl Int for $ty {
            const BITS: u32 = $ty::BITS;

            #[inline(always)]
            fn bitand(self, other: $ty) -> $ty {
                self & other
            }

            #[inline(always)]
            fn bitor(self, other: $ty) -> $ty {
                self | other
            }

            #[inline(always)]
            fn bitxor(self, other: $ty) -> $ty {
                self ^ other
            }

            #[inline(always)]
            fn not(self) -> $ty {
                !self
            }

            #[inline(always)]
            fn shl(self, count: $ty) -> $ty {
                u32::try_from(count).ok().and_then(|count| self.checked_shl(count)).unwrap_or(0)
            }

            #[inline(always)]
            fn shr(self, count: $ty) -> $ty {
                let fill = if self.negative() { !0 } else { 0 };
                u32::try_from(count).ok().and_then(|count| self.checked_shr(count)).unwrap_or(fill)
            }

            #[inline(always)]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }

            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                self.trailing_zeros()
            }
        }
    )*};
}

integer!(u8, i8, i16, u16, i32, u32, i64, u64);

impl Number for bool {
    type Real = bool;
    const ZERO: bool = false;
    const ONE: bool = true;

    #[inline(always)]
    fn from_int(value: i64) -> bool {
        value != 0
    }

    #[inline(always)]
    fn add(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn sub(self, other: bool) -> bool {
        self ^ other
    }

    #[inline(always)]
    fn mul(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn div(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn neg(self) -> bool {
        self
    }

    #[inline(always)]
    fn pow(self, exponent: bool) -> bool {
        self | !exponent
    }

    #[inline(always)]
    fn abs(self) -> bool {
        self
    }

    #[inline(always)]
    fn re(self) -> bool {
        self
    }

    #[inline(always)]
    fn im(self) -> bool {
        false
    }
}

impl Real for bool {
    const MAX: bool = true;
    const MIN: bool = false;

    #[inline(always)]
    fn rem(self, _other: bool) -> bool {
        false
    }

    #[inline(always)]
    fn div_trunc(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn div_floor(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn rem_floor(self, _other: bool) -> bool {
        false
    }

    #[inline(always)]
    fn minimum(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn maximum(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn min(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn max(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

/// As u8 arithmetic on 0 and 1, the result then tested for zero.
impl Int for bool {
    const BITS: u32 = 8;

    #[inline(always)]
    fn bitand(self, other: bool) -> bool {
        self & other
    }

    #[inline(always)]
    fn bitor(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn bitxor(self, other: bool) -> bool {
        self ^ other
    }

    #[inline(always)]
    fn not(self) -> bool {
        !self
    }

    #[inline(always)]
    fn shl(self, _count: bool) -> bool {
        self
    }

    #[inline(always)]
    fn shr(self, count: bool) -> bool {
        self & !count
    }

    #[inline(always)]
    fn count_ones(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn leading_zeros(self) -> u32 {
        8 - u32::from(self)
    }

    #[inline(always)]
    fn trailing_zeros(self) -> u32 {
        if self { 0 } else { 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks all pairs of an 8-bit type, and boundaries of the wider ones, against arithmetic in i128.
    macro_rules! check {
        ($ty:ident, $values:expr) => {
            let values: Vec<$ty> = $values;
            for &x in &values {
                let a = i128::from(x);
                assert_eq!(Number::neg(x), (-a) as $ty, "-{x}");
                assert_eq!(Number::abs(x), a.abs() as $ty, "|{x}|");
                for &y in &values {
                    let b = i128::from(y);
                    assert_eq!(Number::add(x, y), (a + b) as $ty, "{x} + {y}");
                    assert_eq!(Number::sub(x, y), (a - b) as $ty, "{x} - {y}");
                    assert_eq!(Number::mul(x, y), a.wrapping_mul(b) as $ty, "{x} * {y}");
                    let (quotient, remainder) = if b == 0 { (0, 0) } else { (a / b, a % b) };
                    assert_eq!(Number::div(x, y), quotient as $ty, "{x} / {y}");
                    assert_eq!(Real::rem(x, y), remainder as $ty, "{x} % {y}");
                    let floor =
                        if b == 0 { 0 } else { a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0) };
                    assert_eq!(Real::div_floor(x, y), floor as $ty, "floor {x} / {y}");
                    assert_eq!(
                        Real::rem_floor(x, y),
                        if b == 0 { 0 } else { a - b * floor } as $ty,
                        "floor {x} % {y}"
                    );
                    let inside = (0..i128::from($ty::BITS)).contains(&b);
                    assert_eq!(Int::shl(x, y), if inside { (a << b) as $ty } else { 0 }, "{x} << {y}");
                    let count = if inside { b } else { i128::from($ty::BITS) };
                    assert_eq!(Int::shr(x, y), (a >> count) as $ty, "{x} >> {y}");
                    assert_eq!((Real::min(x, y), Real::minimum(x, y)), (a.min(b) as $ty, a.min(b) as $ty));
                    assert_eq!((Real::max(x, y), Real::maximum(x, y)), (a.max(b) as $ty, a.max(b) as $ty));
                }
            }
        };
    }

    macro_rules! edges {
        ($ty:ident) => {
            (0..$ty::BITS)
                .flat_map(|n| [(1 as $ty) << n, ((1 as $ty) << n).wrapping_sub(1), !((1 as $ty) << n)])
                .chain([0, 3, 7, 10, 100, $ty::MAX - 1, $ty::MIN + 1])
                .collect()
        };
    }

    #[test]
    fn arithmetic_wraps_and_never_traps() {
        check!(i8, (i8::MIN..=i8::MAX).collect());
        check!(u8, (u8::MIN..=u8::MAX).collect());
        check!(i16, edges!(i16));
        check!(u16, edges!(u16));
        check!(i32, edges!(i32));
        check!(u32, edges!(u32));
        check!(i64, edges!(i64));
        check!(u64, edges!(u64));
    }

    #[test]
    fn division_by_zero_is_zero_and_min_by_minus_one_is_min() {
        assert_eq!((Number::div(7_i32, 0), Real::rem(7_i32, 0), Real::div_floor(-7_i32, 0)), (0, 0, 0));
        assert_eq!((Number::div(i64::MIN, -1), Real::rem(i64::MIN, -1)), (i64::MIN, 0));
        assert_eq!(Real::div_floor(i8::MIN, -1), i8::MIN);
    }

    #[test]
    fn powers_are_repeated_products() {
        for x in i8::MIN..=i8::MAX {
            let mut product = 1_i8;
            for exponent in 0..=i8::MAX {
                assert_eq!(Number::pow(x, exponent), product, "{x}^{exponent}");
                product = product.wrapping_mul(x);
            }
        }
        assert_eq!(Number::pow(3_u64, 40), 3_u64.pow(40));
    }

    #[test]
    fn negative_exponents_keep_only_powers_of_one() {
        assert_eq!([-3, -4].map(|n| Number::pow(-1_i32, n)), [-1, 1]);
        assert_eq!([1, 0, 2, -2, i32::MIN].map(|x| Number::pow(x, -3)), [1, 0, 0, 0, 0]);
    }

    #[test]
    fn bits_are_counted_in_the_width_of_the_type() {
        assert_eq!(
            (Int::leading_zeros(1_i8), Int::trailing_zeros(0_u16), Int::count_ones(-1_i64)),
            (7, 16, 64)
        );
        assert_eq!((Int::leading_zeros(true), Int::trailing_zeros(false), Int::count_ones(true)), (7, 8, 1));
    }

    #[test]
    fn bool_computes_as_logic() {
        for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!((Number::add(x, y), Number::mul(x, y), Number::sub(x, y)), (x || y, x && y, x != y));
            assert_eq!((Real::min(x, y), Real::maximum(x, y)), (x && y, x || y));
            // As for integers: 0^0 = 1 and x/0 = 0.
            assert_eq!((Number::pow(x, y), Number::div(x, y)), (x || !y, x && y));
        }
    }
}
