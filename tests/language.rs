//! Every construct of the scalar language: the C++ that it becomes compiles, and gives what the Rust gives.
//!
//! With the feature `nvrtc`, NVRTC compiles it for a device; with `host-run`, it runs on the host.
#![cfg(any(feature = "host-run", feature = "nvrtc"))]

use gems_ops::prelude::*;
use gems_runtime::op::OpDef;

/// Checks the C++ form of an op, on values of each dtype.
#[track_caller]
fn check(op: &'static OpDef, dtypes: &[DType]) {
    #[cfg(feature = "nvrtc")]
    compiles(op);
    for &dtype in dtypes {
        #[cfg(feature = "host-run")]
        agrees(op, dtype);
        #[cfg(not(feature = "host-run"))]
        let _ = dtype;
    }
}

/// Compiles the op's most usual kernel for a device.
#[cfg(feature = "nvrtc")]
#[track_caller]
fn compiles(op: &'static OpDef) {
    use gems_runtime::compile::{Arch, Nvrtc};

    let (_, plan) = gems_runtime::plan::representative(op).expect("every op has a plan");
    let source = gems_runtime::emit::source(&plan.spec).expect("every op has a kernel");
    let nvrtc = Nvrtc::get().expect("these tests need NVRTC");
    if let Err(error) = nvrtc.compile(&source.text, &source.entry, Arch::from_number(90)) {
        panic!("{error}\n{}", source.text);
    }
}

/// Runs the op on random and special values, and demands the same bits from both back ends.
#[cfg(feature = "host-run")]
#[track_caller]
fn agrees(op: &'static OpDef, dtype: DType) {
    use gems_runtime::op::{Operand, Role, TypeRef};
    use gems_tests::compare::{Bound, compare};
    use gems_tests::random::{Random, Range};

    let mut random = Random::new(7);
    let operands: Vec<StridedBuffer> = op
        .tensors()
        .map(|(_, param)| match param.ty {
            TypeRef::Fixed(own) => random.values(own, 500, Range::All),
            _ => random.values(dtype, 500, Range::All),
        })
        .collect();
    let mut buffers = operands.iter();
    let arguments: Vec<Operand<'_, StridedBuffer>> = op
        .params
        .iter()
        .filter_map(|param| match param.role {
            Role::Tensor => buffers.next().map(Operand::Buffer),
            Role::Number => Some(Operand::Scalar(Scalar::I64(3))),
        })
        .collect();
    let context = format!("{} in {dtype}", op.name);
    let cpu = StridedBuffer::run(op, &arguments, None).unwrap_or_else(|error| panic!("{context}: {error}"));
    let host = gems_runtime::exec::call_on(gems_tests::host_run::back_end, op, &arguments, None)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    for (cpu, host) in cpu.iter().zip(&host) {
        compare(cpu, host, Bound::Exact).unwrap_or_else(|difference| panic!("{context}: {difference}"));
    }
}

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
