//! The C++ prelude against the Rust traits, on the CPU.
//!
//! Every function of the prelude is compiled with the host's C++ compiler and run over the same grids as its
//! Rust twin: all values of the narrow types, all pairs of the 1-byte ones, boundaries and random bits of the
//! others. Results must be equal bit for bit, NaN being equal to NaN; library functions may differ by a few
//! ulps.
#![expect(unsafe_code, reason = "calls into the library that the test has just compiled")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "grids of test values are cut from random bits"
)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytemuck::NoUninit;
use gems_runtime::dtype::{DType, Element, F8E4M3FN, F8E5M2};
use gems_runtime::emit::{Need, prelude};
use gems_runtime::math::{Analytic, Bits, Cast, Float, Int, Number, Real};
use half::{bf16, f16};
use num_complex::Complex;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

/// One function with its inputs and the results of its Rust twin.
struct Case {
    requests: Vec<Need>,
    /// C++ expression in `x`, `y` and `z`.
    expression: String,
    inputs: Vec<(DType, Vec<u8>)>,
    output: DType,
    expected: Vec<u8>,
    /// Allowed distance, in ulps; for complex numbers in ulps of their size. [`NEAR`] means 32 ulps of 1 at
    /// least.
    ulps: u64,
    /// How many of the results may differ at all, in thousandths.
    differing: usize,
}

/// For functions with zeros that no library gets relatively right.
const NEAR: u64 = u64::MAX;

#[derive(Default)]
struct Cases(Vec<Case>);

/// A column of arguments.
fn column<T: Element + NoUninit>(values: &[T]) -> (DType, Vec<u8>) {
    (T::DTYPE, bytemuck::cast_slice(values).to_vec())
}

impl Cases {
    fn add<R: Element + NoUninit>(
        &mut self,
        name: &'static str,
        types: &[DType],
        inputs: Vec<(DType, Vec<u8>)>,
        expected: &[R],
        ulps: u64,
    ) {
        let call = match name {
            "cast" => format!("math::cast<{}>(x)", R::DTYPE),
            "frexp" if R::DTYPE == DType::I32 => "math::frexp(x)._1".to_owned(),
            "frexp" => "math::frexp(x)._0".to_owned(),
            _ => format!("math::{name}({})", &"x, y, z"[..3 * inputs.len() - 2]),
        };
        let requests = vec![(name, types.to_vec())];
        let (output, expected) = column(expected);
        self.0.push(Case { requests, expression: call, inputs, output, expected, ulps, differing: 1000 });
    }

    fn unary<T: Sample, R: Element + NoUninit>(&mut self, name: &'static str, ulps: u64, f: impl Fn(T) -> R) {
        let grid = T::many();
        let expected: Vec<R> = grid.iter().map(|&x| f(x)).collect();
        self.add(name, &[T::DTYPE], vec![column(&grid)], &expected, ulps);
    }

    fn binary<T: Sample, R: Element + NoUninit>(
        &mut self,
        name: &'static str,
        ulps: u64,
        f: impl Fn(T, T) -> R,
    ) {
        let few = T::few();
        let pairs: Vec<(T, T)> = few.iter().flat_map(|&x| few.iter().map(move |&y| (x, y))).collect();
        let (xs, ys): (Vec<T>, Vec<T>) = pairs.iter().copied().unzip();
        let expected: Vec<R> = pairs.iter().map(|&(x, y)| f(x, y)).collect();
        self.add(name, &[T::DTYPE], vec![column(&xs), column(&ys)], &expected, ulps);
    }

    fn cast<From: Sample + Cast<To>, To: Element + NoUninit>(&mut self) {
        let grid = From::many();
        let expected: Vec<To> = grid.iter().map(|&x| x.cast()).collect();
        self.add("cast", &[To::DTYPE, From::DTYPE], vec![column(&grid)], &expected, 0);
    }

    /// The value of a constant of `limits`.
    fn constant<T: Element + NoUninit, R: Element + NoUninit>(&mut self, name: &str, value: R) {
        let (output, expected) = column(&[value]);
        let inputs = vec![column(&[0_u8])];
        let expression = format!("math::limits<{}>::{name}()", T::DTYPE);
        let requests = vec![("limits", vec![T::DTYPE]), ("type", vec![T::DTYPE])];
        self.0.push(Case { requests, expression, inputs, output, expected, ulps: 0, differing: 0 });
    }

    /// A function of f32 whose results are rounded to bf16, over all inputs of bf16: within one ulp of the exact value,
    /// and 99.9 % of them the nearest bf16. f64 is exact enough: it is 2^45 times finer.
    fn rounded_to_bf16(&mut self, name: &'static str, exact: impl Fn(f64) -> f64) {
        let grid: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        let inputs: Vec<f32> = grid.iter().map(|x| x.to_f32()).collect();
        let expected: Vec<bf16> = grid.iter().map(|x| bf16::from_f64(exact(x.to_f64()))).collect();
        let types = [DType::BF16, DType::F32];
        let (output, expected) = column(&expected);
        self.0.push(Case {
            requests: vec![(name, vec![DType::F32]), ("cast", types.to_vec())],
            expression: format!("math::cast<bf16>(math::{name}(x))"),
            inputs: vec![column(&inputs)],
            output,
            expected,
            ulps: 1,
            differing: 1,
        });
    }

    /// Compiles all cases into one library, runs them, and reports every case that differs.
    fn check(self) {
        let requests: BTreeSet<Need> = self.0.iter().flat_map(|case| case.requests.clone()).collect();
        let requests: Vec<_> =
            requests.into_iter().filter(|(name, types)| *name != "type" || types[0].is_complex()).collect();
        let mut source = SHIM.to_owned()
            + &prelude::closure(&requests.iter().cloned().collect()).expect("a known function");
        for (i, case) in self.0.iter().enumerate() {
            let names = ["x", "y", "z"];
            let params: String = case
                .inputs
                .iter()
                .zip(names)
                .map(|((dtype, _), name)| format!("const {dtype}* {name}s, "))
                .collect();
            let loads: String = (case.inputs.iter().zip(names))
                .map(|((dtype, _), name)| format!("{dtype} {name} = {name}s[i]; (void){name}; "))
                .collect();
            let (output, expression) = (case.output, &case.expression);
            let function = format!("extern \"C\" void case_{i}({params}{output}* out, u64 n)");
            let body = format!("for (u64 i = 0; i < n; i++) {{ {loads}out[i] = {expression}; }}");
            writeln!(source, "{function} {{ {body} }}").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let (text, object) = (folder.path().join("prelude.cpp"), folder.path().join("prelude.so"));
        std::fs::write(&text, source).unwrap();
        let compiler = Command::new("c++")
            .args([
                "-std=c++17",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-ffp-contract=off",
                "-shared",
                "-fPIC",
            ])
            .args([&text, &"-o".into(), &object])
            .output()
            .unwrap();
        assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
        // SAFETY: the library has no initializers.
        let library = unsafe { libloading::Library::new(&object) }.unwrap();
        let failures: Vec<String> = self
            .0
            .iter()
            .enumerate()
            .filter_map(|(i, case)| case.run(&library, &format!("case_{i}")))
            .collect();
        assert!(failures.is_empty(), "{} of {} cases\n{}", failures.len(), self.0.len(), failures.join("\n"));
    }
}

impl Case {
    /// The first difference, if there is one.
    fn run(&self, library: &libloading::Library, symbol: &str) -> Option<String> {
        type Pointer = *const u8;
        let n = self.expected.len() / self.output.size();
        let mut out = vec![0_u8; self.expected.len()];
        let input = |i: usize| self.inputs[i].1.as_ptr();
        let (result, symbol) = (out.as_mut_ptr(), symbol.as_bytes());
        match self.inputs.len() {
            1 => {
                // SAFETY: the function was written with these parameters.
                let f =
                    unsafe { library.get::<unsafe extern "C" fn(Pointer, *mut u8, u64)>(symbol) }.unwrap();
                // SAFETY: all columns have n elements.
                unsafe { f(input(0), result, n as u64) };
            }
            2 => {
                // SAFETY: the function was written with these parameters.
                let f =
                    unsafe { library.get::<unsafe extern "C" fn(Pointer, Pointer, *mut u8, u64)>(symbol) }
                        .unwrap();
                // SAFETY: all columns have n elements.
                unsafe { f(input(0), input(1), result, n as u64) };
            }
            _ => {
                // SAFETY: the function was written with these parameters.
                let f = unsafe {
                    library.get::<unsafe extern "C" fn(Pointer, Pointer, Pointer, *mut u8, u64)>(symbol)
                }
                .unwrap();
                // SAFETY: all columns have n elements.
                unsafe { f(input(0), input(1), input(2), result, n as u64) };
            }
        }
        let size = self.output.size();
        let element = |bytes: &[u8], i: usize, size: usize| bytes[i * size..][..size].to_vec();
        let wrong: Vec<usize> = (0..n)
            .filter(|&i| {
                let (got, want) = (element(&out, i, size), element(&self.expected, i, size));
                !same(self.output, &got, &want, self.ulps)
            })
            .collect();
        let differing = (0..n)
            .filter(|&i| !same(self.output, &element(&out, i, size), &element(&self.expected, i, size), 0))
            .count();
        if wrong.is_empty() && differing * 1000 > self.differing * n {
            return Some(format!("{}: {differing} of {n} are not the nearest", self.expression));
        }
        let i = *wrong.first()?;
        let inputs: Vec<String> =
            self.inputs.iter().map(|(dtype, bytes)| show(*dtype, &element(bytes, i, dtype.size()))).collect();
        Some(format!(
            "{} of {:?} at {}: C++ {}, Rust {} ({} of {n} differ)",
            self.expression,
            self.inputs.iter().map(|input| input.0).collect::<Vec<_>>(),
            inputs.join(", "),
            show(self.output, &element(&out, i, size)),
            show(self.output, &element(&self.expected, i, size)),
            wrong.len(),
        ))
    }
}

/// The host's stand-in for what CUDA has built in.
const SHIM: &str = "#include <cmath>
#undef NAN
#undef INFINITY
#define __device__
#define __forceinline__ inline
";

fn parts(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let size = dtype.real().size();
    let part = |bytes: &[u8]| match dtype.real() {
        DType::F8E4M3FN => F8E4M3FN::from_bits(bytes[0]).to_f32().into(),
        DType::F8E5M2 => F8E5M2::from_bits(bytes[0]).to_f32().into(),
        DType::F16 => f16::from_le_bytes([bytes[0], bytes[1]]).into(),
        DType::BF16 => bf16::from_le_bytes([bytes[0], bytes[1]]).into(),
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        DType::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
        other => unreachable!("{other} has no parts"),
    };
    bytes.chunks(size).map(part).collect()
}

fn show(dtype: DType, bytes: &[u8]) -> String {
    if dtype.is_float() || dtype.is_complex() {
        return format!("{:?}", parts(dtype, bytes));
    }
    let mut wide = [if dtype.is_signed() && bytes[bytes.len() - 1] > 127 { 255 } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide).to_string()
}

fn same(dtype: DType, got: &[u8], want: &[u8], ulps: u64) -> bool {
    if got == want {
        return true;
    }
    if !dtype.is_float() && !dtype.is_complex() {
        return false;
    }
    let (got, want) = (parts(dtype, got), parts(dtype, want));
    let (ulps, floor) = if ulps == NEAR { (32, 1.0) } else { (ulps, 0.0) };
    let size = want.iter().fold(floor, |size: f64, part| size.max(part.abs()));
    let ulp = match dtype.real() {
        DType::F64 => Bits::next_after(size, f64::INFINITY) - size,
        DType::BF16 => Bits::next_after(bf16::from_f64(size), bf16::INFINITY).to_f64() - size,
        _ => f64::from(Bits::next_after(size as f32, f32::INFINITY)) - size,
    };
    got.iter().zip(&want).all(|(got, want)| {
        let near = ulps > 0 && (got - want).abs() <= ulps as f64 * ulp;
        got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) || near
    })
}

/// A type with grids of test values.
trait Sample: Element + NoUninit {
    /// Values for functions of one argument.
    fn many() -> Vec<Self>;
    /// Values for functions of pairs.
    fn few() -> Vec<Self>;
}

/// Reproducible random bits.
fn random(n: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

impl Sample for bool {
    fn many() -> Vec<bool> {
        vec![false, true]
    }

    fn few() -> Vec<bool> {
        bool::many()
    }
}

macro_rules! sample_int {
    ($($ty:ident: $many:expr, $few:expr);* $(;)?) => {$(
        impl Sample for $ty {
            fn many() -> Vec<$ty> {
                $many
            }

            fn few() -> Vec<$ty> {
                $few
            }
        }
    )*};
}

macro_rules! edges {
    ($ty:ident, $random:literal) => {{
        let powers =
            (0..$ty::BITS).flat_map(|n| [-1, 0, 1].map(|d| ((1_u64 << n) as $ty).wrapping_add(d as $ty)));
        let small = (0..40).map(|n| n as $ty);
        let values = powers.chain(small).flat_map(|x| [x, x.wrapping_neg()]).chain([$ty::MIN, $ty::MAX]);
        let random = random($random).map(|bits| (bits >> (bits & 63)) as $ty);
        values.chain(random).collect::<BTreeSet<$ty>>().into_iter().collect()
    }};
}

sample_int! {
    u8: (u8::MIN..=u8::MAX).collect(), u8::many();
    i8: (i8::MIN..=i8::MAX).collect(), i8::many();
    u16: (u16::MIN..=u16::MAX).collect(), edges!(u16, 40);
    i16: (i16::MIN..=i16::MAX).collect(), edges!(i16, 40);
    u32: edges!(u32, 20_000), edges!(u32, 40);
    i32: edges!(i32, 20_000), edges!(i32, 40);
    u64: edges!(u64, 20_000), edges!(u64, 40);
    i64: edges!(i64, 20_000), edges!(i64, 40);
}

macro_rules! sample_small {
    ($($ty:ident $bits:ident step $step:literal),*) => {$(
        impl Sample for $ty {
            fn many() -> Vec<$ty> {
                ($bits::MIN..=$bits::MAX).map($ty::from_bits).collect()
            }

            fn few() -> Vec<$ty> {
                let bits = ($bits::MIN..=$bits::MAX).step_by($step).chain([0x80, 1, 0x7c]);
                bits.map($ty::from_bits).collect()
            }
        }
    )*};
}

sample_small!(F8E4M3FN u8 step 1, F8E5M2 u8 step 1, f16 u16 step 127, bf16 u16 step 127);

const NUMBERS: [f64; 30] = [
    0.0,
    1.0,
    0.5,
    1.5,
    2.0,
    2.5,
    3.0,
    0.25,
    0.1,
    0.75,
    1e-3,
    0.9999999,
    1.0000001,
    7.0,
    10.0,
    100.0,
    1000.0,
    88.7,
    127.0,
    128.0,
    255.0,
    256.0,
    65519.9,
    65520.0,
    1e10,
    2147483648.0,
    9.3e18,
    1.9e19,
    1e30,
    std::f64::consts::PI,
];

impl Sample for f32 {
    fn many() -> Vec<f32> {
        let exponents = (0..256_u32).flat_map(|e| {
            [0, 1, 2, 0x1000, 0x0f_ffff, 0x10_0000, 0x30_0000, 0x40_0000, 0x7f_e000, 0x7f_f000, 0x7f_ffff]
                .map(|m| e << 23 | m)
        });
        let random = random(20_000).map(|bits| bits as u32);
        let bits = exponents.chain(random).map(f32::from_bits);
        let numbers = NUMBERS
            .iter()
            .flat_map(|&x| [x as f32, Bits::next_after(x as f32, 0.0), Bits::next_after(x as f32, 1e38)]);
        // Midpoints between neighboring halves, where rounding is decided.
        let middles = f16::many().into_iter().map(|x| f32::from_bits(f32::from(x).to_bits() ^ 0x1000));
        bits.chain(numbers).chain(middles).flat_map(|x| [x, -x]).collect()
    }

    fn few() -> Vec<f32> {
        let edges =
            [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::INFINITY, f32::NAN, 8388608.0, 16777216.0];
        let random = random(60).map(|bits| f32::from_bits(bits as u32));
        let numbers = NUMBERS.iter().map(|&x| x as f32).chain(edges).flat_map(|x| [x, -x]);
        numbers.chain(random).collect()
    }
}

impl Sample for f64 {
    fn many() -> Vec<f64> {
        let exponents =
            (0..2048_u64).flat_map(|e| [0, 1, 1 << 51, (1 << 52) - 1].map(|m| f64::from_bits(e << 52 | m)));
        let random = random(20_000).map(f64::from_bits);
        let numbers = NUMBERS.iter().flat_map(|&x| [x, Bits::next_after(x, 0.0), Bits::next_after(x, 1e300)]);
        // Near the midpoints of f32, which are near those of the narrower floats, too.
        let middles = f32::many().into_iter().step_by(9).flat_map(|x| {
            let bits = f64::from(x).to_bits();
            [bits, bits + 1, bits ^ 1 << 28, (bits ^ 1 << 28) + 1, bits.wrapping_sub(1)].map(f64::from_bits)
        });
        exponents.chain(random).chain(numbers).chain(middles).flat_map(|x| [x, -x]).collect()
    }

    fn few() -> Vec<f64> {
        let edges =
            [f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::INFINITY, f64::NAN, 4503599627370496.0];
        let random = random(60).map(f64::from_bits);
        NUMBERS.iter().copied().chain(edges).flat_map(|x| [x, -x]).chain(random).collect()
    }
}

macro_rules! sample_complex {
    ($($part:ident),*) => {$(
        impl Sample for Complex<$part> {
            fn many() -> Vec<Self> {
                let few = $part::few();
                few.iter().flat_map(|&re| few.iter().map(move |&im| Complex::new(re, im))).collect()
            }

            fn few() -> Vec<Self> {
                let parts = [0.0, -0.0, 1.0, -1.5, 0.3, 1e3, 1e-30, -1e30, 3e38, f32::INFINITY, f32::NAN];
                let parts = parts.map(<$part as Few>::from_f32);
                parts.iter().flat_map(|&re| parts.iter().map(move |&im| Complex::new(re, im))).collect()
            }
        }
    )*};
}

trait Few {
    fn from_f32(x: f32) -> Self;
}

impl<T: Element> Few for T
where
    f32: Cast<T>,
{
    fn from_f32(x: f32) -> T {
        x.cast()
    }
}

sample_complex!(f16, f32, f64);

/// Calls a macro with every type of a list.
macro_rules! each {
    ($call:ident: $($ty:ty),*) => { $($call!($ty);)* };
}

#[test]
fn integers_agree() {
    let mut cases = Cases::default();
    macro_rules! int {
        ($ty:ty) => {
            cases.binary::<$ty, $ty>("add", 0, Number::add);
            cases.binary::<$ty, $ty>("sub", 0, Number::sub);
            cases.binary::<$ty, $ty>("mul", 0, Number::mul);
            cases.binary::<$ty, $ty>("div", 0, Number::div);
            cases.unary::<$ty, $ty>("neg", 0, Number::neg);
            cases.unary::<$ty, $ty>("abs", 0, Number::abs);
            cases.binary::<$ty, $ty>("rem", 0, Real::rem);
            cases.binary::<$ty, $ty>("minimum", 0, Real::minimum);
            cases.binary::<$ty, $ty>("maximum", 0, Real::maximum);
            cases.binary::<$ty, $ty>("min", 0, Real::min);
            cases.binary::<$ty, $ty>("max", 0, Real::max);
            cases.unary::<$ty, bool>("is_nan", 0, Real::is_nan);
            cases.binary::<$ty, $ty>("bitand_", 0, Int::bitand);
            cases.binary::<$ty, $ty>("bitor_", 0, Int::bitor);
            cases.binary::<$ty, $ty>("bitxor", 0, Int::bitxor);
            cases.unary::<$ty, $ty>("not_", 0, Int::not);
            cases.binary::<$ty, $ty>("shl", 0, Int::shl);
            cases.binary::<$ty, $ty>("shr", 0, Int::shr);
            cases.binary::<$ty, $ty>("pow", 0, Number::pow);
            cases.binary::<$ty, $ty>("div_floor", 0, Real::div_floor);
            cases.binary::<$ty, $ty>("rem_floor", 0, Real::rem_floor);
            cases.unary::<$ty, u32>("count_ones", 0, Int::count_ones);
            cases.unary::<$ty, u32>("leading_zeros", 0, Int::leading_zeros);
            cases.unary::<$ty, u32>("trailing_zeros", 0, Int::trailing_zeros);
            cases.constant::<$ty, $ty>("MAX", <$ty as Real>::MAX);
            cases.constant::<$ty, $ty>("MIN", <$ty as Real>::MIN);
            cases.constant::<$ty, $ty>("ZERO", <$ty as Number>::ZERO);
            cases.constant::<$ty, $ty>("ONE", <$ty as Number>::ONE);
            cases.constant::<$ty, u32>("BITS", <$ty as Int>::BITS);
        };
    }
    each!(int: bool, u8, i8, i16, u16, i32, u32, i64, u64);
    cases.check();
}

#[test]
fn arithmetic_of_floats_agrees() {
    let mut cases = Cases::default();
    macro_rules! float {
        ($ty:ty) => {
            cases.binary::<$ty, $ty>("add", 0, Number::add);
            cases.binary::<$ty, $ty>("sub", 0, Number::sub);
            cases.binary::<$ty, $ty>("mul", 0, Number::mul);
            cases.binary::<$ty, $ty>("div", 0, Number::div);
            cases.unary::<$ty, $ty>("neg", 0, Number::neg);
            cases.unary::<$ty, $ty>("abs", 0, Number::abs);
            cases.binary::<$ty, $ty>("rem", 0, Real::rem);
            cases.binary::<$ty, $ty>("minimum", 0, Real::minimum);
            cases.binary::<$ty, $ty>("maximum", 0, Real::maximum);
            cases.binary::<$ty, $ty>("min", 0, Real::min);
            cases.binary::<$ty, $ty>("max", 0, Real::max);
            cases.unary::<$ty, bool>("is_nan", 0, Real::is_nan);
            cases.unary::<$ty, bool>("is_infinite", 0, Float::is_infinite);
            cases.unary::<$ty, bool>("is_finite", 0, Float::is_finite);
            cases.unary::<$ty, bool>("is_sign_negative", 0, Float::is_sign_negative);
            cases.binary::<$ty, $ty>("copysign", 0, Float::copysign);
            cases.unary::<$ty, $ty>("sqrt", 0, Analytic::sqrt);
            cases.unary::<$ty, $ty>("recip", 0, Analytic::recip);
            cases.unary::<$ty, $ty>("rsqrt", 0, Analytic::rsqrt);
            cases.unary::<$ty, $ty>("floor", 0, Float::floor);
            cases.unary::<$ty, $ty>("ceil", 0, Float::ceil);
            cases.unary::<$ty, $ty>("trunc", 0, Float::trunc);
            cases.unary::<$ty, $ty>("round_ties_even", 0, Float::round_ties_even);
            cases.binary::<$ty, $ty>("next_after", 0, Float::next_after);
            cases.unary::<$ty, $ty>("frexp", 0, |x| Float::frexp(x).0);
            cases.unary::<$ty, i32>("frexp", 0, |x| Float::frexp(x).1);
            cases.binary::<$ty, $ty>("hypot", 0, Float::hypot);
            let few = <$ty>::few();
            let n = i32::few();
            let pairs: Vec<_> = few.iter().flat_map(|&x| n.iter().map(move |&n| (x, n))).collect();
            let expected: Vec<$ty> = pairs.iter().map(|&(x, n)| Float::ldexp(x, n)).collect();
            let (xs, ns): (Vec<$ty>, Vec<i32>) = pairs.into_iter().unzip();
            cases.add("ldexp", &[<$ty>::DTYPE], vec![column(&xs), column(&ns)], &expected, 0);
            let (xs, ys): (Vec<$ty>, Vec<$ty>) =
                few.iter().flat_map(|&x| few.iter().map(move |&y| (x, y))).unzip();
            let zs: Vec<$ty> = xs.iter().zip(&ys).map(|(x, y)| Bits::next_after(-x * y, 1.0)).collect();
            let expected: Vec<$ty> =
                xs.iter().zip(&ys).zip(&zs).map(|((&x, &y), &z)| Float::mul_add(x, y, z)).collect();
            cases.add("mul_add", &[<$ty>::DTYPE], vec![column(&xs), column(&ys), column(&zs)], &expected, 0);
            cases.constant::<$ty, $ty>("MAX", <$ty as Real>::MAX);
            cases.constant::<$ty, $ty>("MIN", <$ty as Real>::MIN);
            cases.constant::<$ty, $ty>("ZERO", <$ty as Number>::ZERO);
            cases.constant::<$ty, $ty>("ONE", <$ty as Number>::ONE);
            cases.constant::<$ty, $ty>("INFINITY", <$ty as Float>::INFINITY);
            cases.constant::<$ty, $ty>("NEG_INFINITY", <$ty as Float>::NEG_INFINITY);
            cases.constant::<$ty, $ty>("NAN", <$ty as Float>::NAN);
            cases.constant::<$ty, $ty>("EPSILON", <$ty as Float>::EPSILON);
            cases.constant::<$ty, $ty>("MIN_POSITIVE", <$ty as Float>::MIN_POSITIVE);
            cases.constant::<$ty, $ty>("PI", <$ty as Float>::PI);
            cases.constant::<$ty, $ty>("E", <$ty as Float>::E);
            cases.constant::<$ty, $ty>("LN_2", <$ty as Float>::LN_2);
            cases.constant::<$ty, $ty>("LN_10", <$ty as Float>::LN_10);
            cases.constant::<$ty, $ty>("SQRT_2", <$ty as Float>::SQRT_2);
            cases.constant::<$ty, $ty>("FRAC_1_SQRT_2", <$ty as Float>::FRAC_1_SQRT_2);
            cases.constant::<$ty, $ty>("FRAC_2_SQRT_PI", <$ty as Float>::FRAC_2_SQRT_PI);
            cases.constant::<$ty, $ty>("FRAC_PI_2", <$ty as Float>::FRAC_PI_2);
        };
    }
    each!(float: f32, f64);
    cases.check();
}

#[test]
fn functions_of_floats_agree() {
    let mut cases = Cases::default();
    macro_rules! float {
        ($ty:ty) => {
            // The same library on both sides.
            float!($ty, 0: exp_m1 ln ln_1p sin cos tan asin acos atan sinh cosh);
            // Those of f32 are our own in Rust.
            float!($ty, 3: exp tanh);
            // The prelude mends CUDA's library at exact values.
            float!($ty, 1: exp2 log2 log10);
            cases.binary::<$ty, $ty>("pow", 0, Number::pow);
            cases.binary::<$ty, $ty>("atan2", 0, Float::atan2);
            float!($ty, 0: Float sin_pi cos_pi);
            // Two libraries.
            float!($ty, 4: Float cbrt);
            float!($ty, 2: asinh acosh atanh);
            float!($ty, 2: Float erf);
            float!($ty, 4: Float erfc);
            float!($ty, 4: Float normal_cdf);
            float!($ty, 16: Float tgamma);
            float!($ty, NEAR: Float lgamma bessel_j0 bessel_j1 bessel_y0 bessel_y1);
        };
        ($ty:ty, $ulps:tt: Float $($name:ident)*) => {
            $(cases.unary::<$ty, $ty>(stringify!($name), $ulps, Float::$name);)*
        };
        ($ty:ty, $ulps:tt: $($name:ident)*) => {
            $(cases.unary::<$ty, $ty>(stringify!($name), $ulps, Analytic::$name);)*
        };
    }
    each!(float: f32, f64);
    cases.check();
}

#[test]
fn bessel_functions_keep_the_angle_of_large_arguments() {
    let mut cases = Cases::default();
    let sizes = (0..6000).map(|n| 16.0 * 1.124f64.powi(n)).chain([f64::MAX]);
    let xs: Vec<f64> = sizes.flat_map(|x| [x, -x]).collect();
    // Relative to the amplitude, √(2/πx).
    let mut agree = |name, function: fn(f64) -> f64| {
        let expected: Vec<f64> = xs.iter().map(|&x| function(x) * x.abs().sqrt()).collect();
        cases.add(name, &[DType::F64], vec![column(&xs)], &expected, NEAR);
        let case = cases.0.last_mut().expect("just added");
        case.expression = format!("math::{name}(x) * ::sqrt(::fabs(x))");
    };
    agree("bessel_j0", Float::bessel_j0);
    agree("bessel_j1", Float::bessel_j1);
    agree("bessel_y0", Float::bessel_y0);
    agree("bessel_y1", Float::bessel_y1);
    cases.check();
}

#[test]
fn casts_agree() {
    let mut cases = Cases::default();
    macro_rules! from {
        ($from:ty) => {
            cases.cast::<$from, bool>();
            cases.cast::<$from, u8>();
            cases.cast::<$from, i8>();
            cases.cast::<$from, i16>();
            cases.cast::<$from, u16>();
            cases.cast::<$from, i32>();
            cases.cast::<$from, u32>();
            cases.cast::<$from, i64>();
            cases.cast::<$from, u64>();
            cases.cast::<$from, F8E4M3FN>();
            cases.cast::<$from, F8E5M2>();
            cases.cast::<$from, f16>();
            cases.cast::<$from, bf16>();
            cases.cast::<$from, f32>();
            cases.cast::<$from, f64>();
            cases.cast::<$from, Complex<f16>>();
            cases.cast::<$from, Complex<f32>>();
            cases.cast::<$from, Complex<f64>>();
        };
    }
    each!(from: bool, u8, i8, i16, u16, i32, u32, i64, u64, F8E4M3FN, F8E5M2, f16, bf16, f32, f64);
    each!(from: Complex<f16>, Complex<f32>, Complex<f64>);
    cases.check();
}

#[test]
fn functions_on_bits_agree() {
    let mut cases = Cases::default();
    macro_rules! bits {
        ($ty:ty) => {
            cases.unary::<$ty, $ty>("bits_neg", 0, Bits::neg);
            cases.unary::<$ty, $ty>("bits_abs", 0, Bits::abs);
            cases.binary::<$ty, $ty>("bits_copysign", 0, Bits::copysign);
            cases.unary::<$ty, bool>("bits_is_sign_negative", 0, Bits::is_sign_negative);
            cases.binary::<$ty, $ty>("bits_next_after", 0, Bits::next_after);
        };
    }
    each!(bits: u8, i8, i16, u16, i32, u32, i64, u64, F8E4M3FN, F8E5M2, f16, bf16, f32, f64);
    cases.check();
}

#[test]
fn complex_numbers_agree() {
    let mut cases = Cases::default();
    macro_rules! complex {
        ($ty:ty, $part:ty) => {
            cases.binary::<$ty, $ty>("add", 0, Number::add);
            cases.binary::<$ty, $ty>("sub", 0, Number::sub);
            cases.binary::<$ty, $ty>("mul", 0, Number::mul);
            cases.binary::<$ty, $ty>("div", 0, Number::div);
            cases.unary::<$ty, $ty>("neg", 0, Number::neg);
            cases.unary::<$ty, $part>("abs", 0, Number::abs);
            complex!($ty: recip sqrt rsqrt exp exp2 exp_m1 ln log2 log10 ln_1p);
            complex!($ty: sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);
            cases.binary::<$ty, $ty>("pow", 0, Number::pow);
            cases.constant::<$ty, $ty>("ZERO", <$ty as Number>::ZERO);
            cases.constant::<$ty, $ty>("ONE", <$ty as Number>::ONE);
        };
        // Real asinh differs between the libraries.
        ($ty:ty: $($name:ident)*) => { $(cases.unary::<$ty, $ty>(stringify!($name), 2, Analytic::$name);)* };
    }
    complex!(Complex<f32>, f32);
    complex!(Complex<f64>, f64);
    cases.check();
}

#[test]
fn short_forms_are_near_enough_for_bf16() {
    // A relative 1.2e-6 is 20 ulps of f32, 6e-6 in the tail of erfc 100; a bf16 has 65536 of them between its neighbors.
    let mut cases = Cases::default();
    cases.unary::<f32, f32>("exp_short", 3, Analytic::exp);
    cases.unary::<f32, f32>("tanh_short", 24, Analytic::tanh);
    cases.unary::<f32, f32>("erfc_short", 128, Float::erfc);
    cases.unary::<f32, f32>("normal_cdf_short", 128, Float::normal_cdf);
    cases.rounded_to_bf16("exp_short", f64::exp);
    cases.rounded_to_bf16("tanh_short", f64::tanh);
    cases.rounded_to_bf16("erfc_short", Float::erfc);
    cases.rounded_to_bf16("normal_cdf_short", Float::normal_cdf);
    cases.check();
}
