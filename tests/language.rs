//! Every construct of the scalar language: the C++ that it becomes compiles, and gives what the Rust gives.
//!
//! With the feature `nvrtc`, NVRTC compiles it for a device; with `host-run`, it runs on the host.
#![cfg(any(feature = "host-run", feature = "nvrtc"))]

use gems_ops::prelude::*;

#[path = "language/check.rs"]
mod check;

use check::check;
#[cfg(feature = "nvrtc")]
use check::compiles_in_tiles;

const INTEGERS: [DType; 8] =
    [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64];
const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

#[test]
fn arithmetic_of_numbers() {
    #[pointwise_dynamic]
    fn number<T: Number>(x: T, y: T) -> T {
        -(x + 3 * y) / (x - y) * 2 - T::ONE
    }
    check(number::DEF, &INTEGERS);
    check(number::DEF, &FLOATS);
    check(number::DEF, &[DType::C64, DType::C128]);
}

#[test]
fn arithmetic_of_concrete_types() {
    #[pointwise_dynamic]
    fn concrete(x: f32, y: f64, n: i32, m: u8, b: bool) -> (f32, f64, i32, u8, bool) {
        let scaled = 0.1 * x - 1e-3;
        let wide = y / 3.0 + scaled as f64;
        let sum = n * n - 7 + m as i32;
        (scaled, wide, sum % 5 << 2, !m + 200 >> 1, b ^ (n > 0) & !b)
    }
    check(concrete::DEF, &[DType::F32]);
}

#[test]
fn literals_at_the_ends_of_their_types() {
    #[pointwise_dynamic]
    fn ends(x: i64, y: u64, z: i32, w: f32) -> (i64, u64, i32, f32) {
        const LEAST: i64 = i64::MIN;
        let a = if x < 0 { -9_223_372_036_854_775_808 } else { LEAST };
        let b = y & 0xffff_ffff_ffff_ffff | 18_446_744_073_709_551_615;
        let c = z - 2_147_483_647 + -2_147_483_648;
        (a + x, b - y, c, w * 3.4e38 + 1e-45 - -0.0)
    }
    check(ends::DEF, &[DType::F32]);
}

#[test]
fn bits_and_shifts() {
    #[pointwise_dynamic]
    fn bits<T: Int>(x: T, y: T, n: T) -> (T, T, T) {
        ((x & y) | (!x ^ y), x << n, (x >> 1) + (y >> n))
    }
    check(bits::DEF, &INTEGERS);

    #[pointwise_dynamic(compute = storage)]
    fn stored<T: Bits>(x: T, y: T) -> (T, T) {
        (if x.is_sign_negative() { -y } else { x.copysign(y) }, y.abs().next_after(x))
    }
    check(stored::DEF, &INTEGERS);
    check(stored::DEF, &FLOATS);
    check(stored::DEF, &[DType::F8E4M3FN, DType::F8E5M2]);
}

#[test]
fn branches_and_logic() {
    #[pointwise_dynamic]
    fn branch<T: Real>(x: T, y: T, flag: bool) -> (T, bool) {
        let larger = if x < y || y.is_nan() { y } else { x };
        let step = if flag && x != y {
            let twice = x + x;
            if twice > y { twice - 1 } else { y }
        } else if x >= 3 {
            -1
        } else {
            larger * 2
        };
        (step + if x == y { 1 } else { larger }, !(x <= y) && !flag || x > 5)
    }
    check(branch::DEF, &INTEGERS);
    check(branch::DEF, &FLOATS);
}

#[test]
fn casts_between_all_types() {
    #[pointwise_dynamic]
    fn cast<T: Real>(x: T, n: i64, b: bool) -> (T, u8, i16, u64, f32, bool) {
        let back = (x as f64 * 0.5) as T + n as T - b as T;
        (back, x as u8, x as i16, x as u64, n as f32 + x as f32, x as bool)
    }
    check(cast::DEF, &INTEGERS);
    check(cast::DEF, &FLOATS);
}

#[test]
fn constants_and_methods() {
    #[pointwise_dynamic]
    fn constant<T: Float>(x: T, y: T) -> (T, T, T) {
        const SCALE: f64 = -2.5e-3;
        let limited = x.min(T::MAX * 0.5).max(T::MIN_POSITIVE).minimum(T::INFINITY);
        let rounded = (x * SCALE as T).floor() + y.trunc() - y.round_ties_even() + x.ceil();
        let odd = if x.is_finite() { x.mul_add(y, T::EPSILON).sqrt().abs() } else { T::NAN };
        (limited * f32::MAX as T, rounded * T::PI, odd.recip().copysign(y))
    }
    check(constant::DEF, &FLOATS);

    #[pointwise_dynamic]
    fn count<T: Int>(x: T) -> (T, u32) {
        (x.max(T::MIN).pow(3), x.count_ones() + x.leading_zeros() * T::BITS + x.trailing_zeros())
    }
    check(count::DEF, &INTEGERS);
}

#[test]
fn tuples_and_calls() {
    #[device_fn]
    fn sum_and_difference<T: Number>(x: T, y: T) -> (T, T) {
        (x + y, x - y)
    }

    #[device_fn]
    fn is_odd(n: i32) -> bool {
        n % 2 != 0
    }

    #[pointwise_dynamic]
    fn halve<T: Float>(x: T) -> T {
        0.5 * x
    }

    #[pointwise_dynamic]
    fn call<T: Float>(x: T, n: i32) -> (T, i32, f64) {
        let (sum, difference) = sum_and_difference(x, halve::scalar(x));
        let (mantissa, exponent) = x.frexp();
        let (a, _) = if n > 0 && is_odd(n) { (sum, n) } else { (difference, -n) };
        let (wide, _) = sum_and_difference(x as f64, 0.25f64);
        (a.ldexp(exponent) + mantissa, exponent + if x > 0.0 || is_odd(n) { 1 } else { 2 }, wide)
    }
    check(call::DEF, &FLOATS);
}

#[test]
fn parts_of_complex_numbers() {
    #[pointwise_dynamic(promote = complex_to_float(z))]
    fn magnitude<T: Number>(z: T) -> T::Real {
        let size = z.abs();
        if size.is_nan() { 0 } else { size * 2 + T::Real::ONE }
    }
    check(magnitude::DEF, &[DType::I32, DType::F32]);
}

#[test]
fn loops_and_arrays() {
    #[device_fn]
    fn horner<T: Float>(x: T) -> T {
        const C: [f64; 5] = [1.0, -0.5, 0.25, -0.125, 1e-3];
        let mut sum = C[0] as T;
        for i in 1usize..5 {
            sum = sum * x + C[i] as T;
        }
        sum
    }

    #[device_fn]
    fn pick(i: i32) -> i64 {
        const TABLE: [i64; 4] = [10, -20, 30, i64::MAX];
        let next = i as usize + 1;
        TABLE[i] - TABLE[next] + next as i64
    }

    #[device_fn]
    fn steps(start: i32) -> i32 {
        let mut n = start & 1023;
        let mut count = 0;
        while n > 1 && count < 100 || n == -5 {
            count += 1;
            if n == 27 {
                return -count;
            }
            if n % 2 == 0 {
                n /= 2;
                continue;
            }
            n = 3 * n + 1;
        }
        count
    }

    #[device_fn]
    fn power(base: f64, mut n: i32) -> f64 {
        let mut square = base;
        let mut result = 1.0;
        n &= 31;
        for _ in 0..n {
            if n == 0 {
                break;
            }
            if n & 1 == 1 {
                result *= square;
            }
            square *= square;
            n >>= 1;
        }
        result
    }

    #[device_fn]
    fn order(x: i32) -> i32 {
        let mut n = x;
        n + if x > 0 {
            n = 5;
            n
        } else {
            x
        } * n
    }

    #[pointwise_dynamic]
    fn all<T: Float>(x: T, n: i32) -> (T, i64, i32, f64, i32) {
        (horner(x), pick(n & 7), steps(n), power(1.5f64, n), order(n))
    }
    check(all::DEF, &FLOATS);
}

#[test]
fn names_that_cpp_keeps_for_itself() {
    #[pointwise_dynamic]
    #[expect(non_snake_case, reason = "C++ keeps such names for itself")]
    fn template<T: Float>(new: T, class: T, math: T) -> T {
        let f32 = new + class;
        let t0 = f32 * math;
        let x__y = t0 - new;
        let größe = x__y * t0;
        let _unused = größe;
        größe + T::NAN.max(1)
    }
    check(template::DEF, &FLOATS);
}

#[test]
fn names_mean_what_they_mean_in_rust() {
    #[device_fn]
    fn loops(x: i32) -> i32 {
        let _i = x;
        let mut sum = 0;
        for _ in 0..3 {
            sum += _i;
        }
        sum
    }

    #[device_fn]
    #[expect(non_snake_case, reason = "a constant may have the name of a parameter")]
    fn inner(K: i32) -> i32 {
        let y = {
            let twice = K + K;
            const K: i32 = 2;
            K * twice
        };
        K - y
    }

    #[device_fn]
    fn raw(r#x: i32) -> i32 {
        let r#for = x + 1;
        r#for
    }

    macro_rules! op {
        ($name:ident, $x:ident, $y:ident, $value:expr) => {
            #[pointwise_dynamic(grad)]
            fn $name<T: Float>($x: T, $y: T) -> T {
                let t = 2.0 * $x;
                t * t + $value
            }
        };
    }
    op!(of_macro, x, y, y * y + x);

    #[pointwise_dynamic(outputs(r#type, b), grad)]
    fn r#final<T: Float>(r#in: T, y: T) -> (T, T) {
        let r#do = r#in * y;
        (r#do * y, r#in)
    }

    #[pointwise_dynamic]
    fn all(x: i32) -> (i32, i32, i32) {
        (loops(x), inner(x), raw(x))
    }
    check(r#final::DEF, &FLOATS);
    check(r#final::BACKWARD, &FLOATS);
    check(all::DEF, &[DType::I32]);
    check(of_macro::DEF, &FLOATS);
    check(of_macro::BACKWARD, &FLOATS);
    assert_eq!(all::scalar(10), (30, 2, 11));
    assert_eq!(of_macro::scalar(1f64, 3.0), 14.0);
    assert_eq!(of_macro::backward(1f64, 1.0, 3.0), (9.0, 6.0));
}

#[test]
fn a_mutable_name_is_read_where_it_stands() {
    #[device_fn]
    fn bound(x: i32) -> i32 {
        let mut n = x & 15;
        for _ in 0..(n as i32) {
            n += 1;
            if n > 1000 {
                break;
            }
        }
        n
    }

    #[device_fn]
    fn operand(x: i32) -> i32 {
        let mut n = x;
        (n as i32)
            + if x > 0 {
                n = 5;
                n
            } else {
                x
            }
    }

    #[device_fn]
    fn start(x: i32) -> i32 {
        let mut n = x & 15;
        let mut count = 0;
        for _ in n..({
            n = 0;
            n + 10
        }) {
            count += 1;
        }
        count
    }

    #[pointwise_dynamic]
    fn all(x: i32) -> (i32, i32, i32) {
        (bound(x), operand(x), start(x))
    }
    check(all::DEF, &[DType::I32]);
    assert_eq!(all::scalar(2), (4, 7, 8));
}

#[test]
fn the_least_integer_is_a_literal_of_every_type() {
    #[pointwise_dynamic]
    fn float<T: Float>(x: T) -> T {
        x + -9_223_372_036_854_775_808
    }
    #[pointwise_dynamic]
    fn number<T: Number>(x: T) -> T {
        x * -9_223_372_036_854_775_808
    }
    check(float::DEF, &FLOATS);
    check(number::DEF, &FLOATS);
    check(number::DEF, &[DType::I64, DType::C64]);
}

#[test]
fn functions_are_called_for_other_types_than_the_op_computes_in() {
    #[device_fn]
    fn square<T: Number>(x: T) -> T {
        x * x + 1
    }
    #[device_fn]
    fn rooted<T: Analytic>(x: T) -> T {
        square(x).sqrt()
    }
    #[device_fn]
    fn is_odd<T: Int>(x: T) -> bool {
        x & 1 == 1
    }
    #[device_fn]
    fn turns<T: Float>(x: T) -> T {
        x / (2 * T::PI)
    }

    #[pointwise_dynamic]
    fn integers(x: i64) -> i64 {
        square(x)
    }
    #[pointwise_dynamic]
    fn floats(x: f64) -> f64 {
        2.0 * rooted(x)
    }
    #[pointwise_dynamic]
    fn beside<T: Float>(x: T, a: f64) -> (T, f64, bool, f64) {
        (x, rooted(a), is_odd(x as i64), turns(a))
    }
    #[pointwise_dynamic]
    fn of_integers<T: Int>(x: T, n: i64) -> (T, i64) {
        (square(x), square(n))
    }
    #[pointwise_dynamic]
    fn complex<T: Float>(x: T, y: T) -> T {
        rooted(x.to_complex(y)).re()
    }
    check(integers::DEF, &[DType::I64]);
    check(floats::DEF, &[DType::F64]);
    check(beside::DEF, &FLOATS);
    check(of_integers::DEF, &INTEGERS);
    check(complex::DEF, &FLOATS);
}

#[test]
fn complex_numbers_inside_a_function() {
    #[pointwise_dynamic]
    fn of_parameter<T: Float>(x: T, y: T) -> (T, T) {
        let z = x.to_complex(y);
        ((z * 0.5 - 1).re(), z.conj().im())
    }
    #[pointwise_dynamic(grad)]
    fn of_f32(x: f32, y: f32) -> f32 {
        let z = 0.5 * x.to_complex(y) + 2;
        (z * z).im() + z.abs() * y
    }
    check(of_parameter::DEF, &FLOATS);
    check(of_f32::DEF, &[DType::F32]);
    check(of_f32::BACKWARD, &[DType::F32]);
}

#[test]
#[cfg(feature = "nvrtc")]
fn short_forms_are_for_real_numbers() {
    #[pointwise_dynamic]
    fn waves<T: Float>(x: T, y: T) -> T {
        let z = (x * 0.01).to_complex(y * 0.01);
        z.exp().re() * y.exp() + z.tanh().im()
    }
    compiles_in_tiles(waves::DEF, DType::BF16);
}

#[test]
fn arrays_of_numbers_that_are_not_finite() {
    #[device_fn]
    fn pick(i: i32) -> f64 {
        const TABLE: [f64; 4] = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY, f64::MAX];
        TABLE[i & 3]
    }
    #[pointwise_dynamic]
    fn picked(i: i32) -> f64 {
        pick(i)
    }
    check(picked::DEF, &[DType::I32]);
}

#[test]
#[expect(non_snake_case, reason = "C++ keeps such names for itself")]
fn names_of_any_letters_reach_the_kernel() {
    #[device_fn]
    fn assert(größe: f32) -> f32 {
        größe + 1.0
    }
    #[device_fn]
    fn __shared__(x: f32) -> f32 {
        assert(x) * 2.0
    }
    #[pointwise_dynamic(name = "my_op_ö", outputs(yy, yy_tile_bytes))]
    fn größer(NULL: f32, char16_t: f32, __int128: f32, __syncthreads: f32) -> (f32, f32) {
        (__shared__(NULL) + char16_t, __int128 - __syncthreads)
    }
    check(größer::DEF, &[DType::F32]);
    #[cfg(feature = "nvrtc")]
    compiles_in_tiles(größer::DEF, DType::F32);
}
