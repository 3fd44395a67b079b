//! The C++ text of one function for each construct of the language.

use super::*;
use crate::args::Attribute;
use crate::errors::Errors;
use crate::{body, check};

/// The device function of a source text, with names filled in.
fn device(source: &str) -> (String, Device) {
    let function: syn::ItemFn = syn::parse_str(source).unwrap();
    let errors = Errors::default();
    let signature = Signature::parse(function.clone(), Attribute::DeviceFn, &errors);
    let body = body::read(&function.block, &signature, Attribute::DeviceFn, &errors);
    errors.gate().unwrap();
    check::check(&signature, &body, &errors);
    errors.gate().unwrap();
    let device = write(&signature, &body);
    let text = device
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name => signature.name().to_string(),
            Piece::Call(callee) => {
                let home = &body.callees[*callee].home;
                home.segments.last().unwrap().ident.to_string()
            }
            Piece::Line(_) => String::new(),
        })
        .collect();
    (text, device)
}

/// Compares the text behind `template` and `__device__`, which every function has.
#[track_caller]
fn check(source: &str, expected: &str) {
    let text = device(source).0.replace("__device__ __forceinline__ ", "");
    let text = text.replace("__device__ __noinline__ ", "");
    let text = text.trim_start_matches("template <typename T>\n");
    assert_eq!(text, expected, "\n{text}");
}

#[track_caller]
fn uses(source: &str) -> Vec<String> {
    let generic =
        Generic { ident: syn::parse_quote!(T), bound: crate::types::Trait::Float, others: Vec::new() };
    let describe = |used: &Use| {
        let types: Vec<_> = used.types.iter().map(|ty| ty.describe(Some(&generic))).collect();
        format!("{}({})", used.name, types.join(", "))
    };
    device(source).1.uses.iter().map(describe).collect()
}

#[test]
fn functions_with_loops_or_never_inlined_are_called_not_repeated() {
    let (text, _) = device("fn f(x: f64) -> f64 { let mut y = x; for _ in 0..3 { y = y * x; } y }");
    assert!(text.starts_with("__device__ __noinline__ f64 f("), "{text}");
    let (text, _) = device("#[inline(never)] fn f(x: f64) -> f64 { x }");
    assert!(text.starts_with("__device__ __noinline__ f64 f("), "{text}");
    let (text, _) = device("#[inline] fn f(x: f64) -> f64 { x }");
    assert!(text.starts_with("__device__ __forceinline__ f64 f("), "{text}");
}

#[test]
fn the_whole_text_of_a_function() {
    let (text, _) = device("fn swiglu<T: Float>(x: T, y: T) -> T { x / (1.0 + (-x).exp()) * y }");
    let expected = "\
template <typename T>
__device__ __forceinline__ T swiglu(const T x, const T y) {
    const T t0 = math::neg(x);
    const T t1 = math::exp(t0);
    const T t2 = T(1.0) + t1;
    const T t3 = x / t2;
    return t3 * y;
}
";
    assert_eq!(text, expected);
}

#[test]
fn a_function_without_type_parameter_is_no_template() {
    let (text, _) = device("fn flip(x: bool) -> bool { !x }");
    assert_eq!(text, "__device__ __forceinline__ bool flip(const bool x) {\n    return !x;\n}\n");
}

#[test]
fn each_statement_knows_its_line() {
    let (_, device) = device("fn f<T: Float>(x: T) -> T {\n    let y = x\n        .sin();\n    y + x\n}");
    let lines: Vec<usize> = device
        .pieces
        .iter()
        .filter_map(|piece| if let Piece::Line(line) = piece { Some(*line) } else { None })
        .collect();
    assert_eq!(lines, [1, 3, 4]);
}

#[test]
fn names_of_the_user_are_kept() {
    check(
        "fn f<T: Float>(new: T) -> T { let x = new.sin(); let x = x + new; let t0 = x * x; t0 - x * new }",
        "T f(const T new_1) {
    const T x = math::sin(new_1);
    const T x_1 = x + new_1;
    const T t0 = x_1 * x_1;
    const T t1 = x_1 * new_1;
    return t0 - t1;
}
",
    );
}

#[test]
fn numbers_that_may_be_integers_compute_in_the_prelude() {
    check(
        "fn f<T: Number>(x: T, y: T) -> T { 2 * x - y / x }",
        "T f(const T x, const T y) {
    const T t0 = math::mul(T(2), x);
    const T t1 = math::div(y, x);
    return math::sub(t0, t1);
}
",
    );
}

#[test]
fn concrete_floats_compute_by_operators() {
    check(
        "fn f(x: f32, y: f32) -> f32 { 0.1 * x - y % 2.0 }",
        "f32 f(const f32 x, const f32 y) {
    const f32 t0 = 0.1f * x;
    const f32 t1 = math::rem(y, 2.0f);
    return t0 - t1;
}
",
    );
}

#[test]
fn bits_and_shifts_compute_in_the_prelude() {
    check(
        "fn f<T: Int>(x: T, y: T) -> T { (x & y | !x ^ y) << 3 >> y }",
        "T f(const T x, const T y) {
    const T t0 = math::bitand_(x, y);
    const T t1 = math::not_(x);
    const T t2 = math::bitxor(t1, y);
    const T t3 = math::bitor_(t0, t2);
    const T t4 = math::shl(t3, T(3));
    return math::shr(t4, y);
}
",
    );
}

#[test]
fn stored_bits_have_functions_of_their_own() {
    check("fn f<T: Bits>(x: T) -> T { -x }", "T f(const T x) {\n    return math::bits_neg(x);\n}\n");
}

#[test]
fn a_choice_between_names_is_one_statement() {
    check(
        "fn relu<T: Real>(x: T) -> T { if x <= 0 { 0 } else { x } }",
        "T relu(const T x) {
    const bool t0 = x <= T(0);
    return t0 ? T(0) : x;
}
",
    );
}

#[test]
fn branches_that_compute_are_branches() {
    check(
        "fn f<T: Float>(x: T) -> T {
            let y = if x > 1.0 { x.ln() } else if x > 0.5 { let h = 0.5 * x; h.exp() } else { -1.0 };
            y * y
        }",
        "T f(const T x) {
    T y;
    if (x > T(1.0)) {
        y = math::ln(x);
    } else {
        if (x > T(0.5)) {
            const T h = T(0.5) * x;
            y = math::exp(h);
        } else {
            y = T(-1.0);
        }
    }
    return y * y;
}
",
    );
}

#[test]
fn a_branch_in_an_operand_comes_first() {
    check(
        "fn f<T: Float>(x: T, y: T) -> T { x + if y > x { y.sin() } else { x } }",
        "T f(const T x, const T y) {
    T t0;
    if (y > x) {
        t0 = math::sin(y);
    } else {
        t0 = x;
    }
    return x + t0;
}
",
    );
}

#[test]
fn logic_computes_both_sides_unless_one_is_a_call() {
    check(
        "fn f<T: Real>(x: T, y: T) -> bool { x < y && !(y.is_nan() || x == 3) }",
        "bool f(const T x, const T y) {
    const bool t0 = x < y;
    const bool t1 = math::is_nan(y);
    const bool t2 = x == T(3);
    const bool t3 = t1 || t2;
    const bool t4 = !t3;
    return t0 && t4;
}
",
    );
    check(
        "fn f<T: Real>(x: T) -> bool { x.is_nan() || special::odd(x) }",
        "bool f(const T x) {
    bool t0 = math::is_nan(x);
    if (!t0) {
        t0 = op::odd(x);
    }
    return t0;
}
",
    );
}

#[test]
fn casts_name_both_types() {
    let source = "fn f<T: Float>(x: T) -> T { let n = x as i32; (n + 1) as T * (0.5 as T) }";
    check(
        source,
        "T f(const T x) {
    const i32 n = math::cast<i32>(x);
    const i32 t0 = math::add(n, 1);
    const T t1 = math::cast<T>(t0);
    return t1 * T(0.5);
}
",
    );
    assert_eq!(uses(source), ["cast(i32, T)", "add(i32)", "cast(T, i32)"]);
}

#[test]
fn constants_belong_to_types() {
    check(
        "fn f<T: Float>(x: T) -> T { if x > T::MAX { T::INFINITY } else { x * T::PI + f64::EPSILON as T } }",
        "T f(const T x) {
    if (x > math::limits<T>::MAX()) {
        return math::limits<T>::INFINITY();
    } else {
        const T t0 = x * math::limits<T>::PI();
        const T t1 = math::cast<T>(math::limits<f64>::EPSILON());
        return t0 + t1;
    }
}
",
    );
    check(
        "fn f<T: Number>(x: T) -> T { x + T::ONE }",
        "T f(const T x) {\n    return math::add(x, T(1));\n}\n",
    );
}

#[test]
fn parts_of_complex_numbers_have_their_type() {
    let source = "fn f<T: Number>(z: T) -> T::Real { z.abs() * 2 }";
    check(
        source,
        "math::real_t<T> f(const T z) {
    const math::real_t<T> t0 = math::abs(z);
    return math::mul(t0, math::real_t<T>(2));
}
",
    );
    assert_eq!(uses(source), ["real_t(T)", "abs(T)", "mul(T::Real)"]);
}

#[test]
fn several_results_are_a_tuple() {
    check(
        "fn f<T: Float>(x: T) -> (T, i32) { let (m, e) = x.frexp(); (2.0 * m, e - 1) }",
        "math::tuple2<T, i32> f(const T x) {
    const auto [m, e] = math::frexp(x);
    const T t0 = T(2.0) * m;
    const i32 t1 = math::sub(e, 1);
    return math::tuple2<T, i32>{t0, t1};
}
",
    );
    check(
        "fn f<T: Float>(x: T, y: T) -> T { let (s, _) = (x + y, x - y); s * s }",
        "T f(const T x, const T y) {
    const T s = x + y;
    const T t0 = x - y;
    return s * s;
}
",
    );
}

#[test]
fn calls_go_to_other_device_functions() {
    let source = "fn f<T: Float>(x: T) -> T { gelu::scalar(x) + 2.0 * erfcx(-x) + gelu::scalar(0.5) }";
    check(
        source,
        "T f(const T x) {
    const T t0 = op::gelu(x);
    const T t1 = math::neg(x);
    const T t2 = op::erfcx(t1);
    const T t3 = T(2.0) * t2;
    const T t4 = t0 + t3;
    const T t5 = op::gelu(T(0.5));
    return t4 + t5;
}
",
    );
}

#[test]
fn results_of_calls_have_the_type_of_their_use() {
    check(
        "fn f<T: Float>(x: T) -> T { let n: i32 = degree(x); if odd(x) { x } else { power(n) as T } }",
        "T f(const T x) {
    const i32 n = op::degree(x);
    if (op::odd(x)) {
        return x;
    } else {
        const i32 t0 = op::power(n);
        return math::cast<T>(t0);
    }
}
",
    );
}

#[test]
fn a_branch_may_leave_instead_of_having_a_value() {
    check(
        "fn f<T: Float>(x: T) -> T { let y = if x > 0.0 { special(x) } else { return 0; }; y.sqrt() }",
        "T f(const T x) {
    T y;
    if (x > T(0.0)) {
        y = op::special(x);
    } else {
        return T(0);
    }
    return math::sqrt(y);
}
",
    );
}

#[test]
fn loops_assign_mutable_names() {
    check(
        "fn f<T: Float>(x: T) -> T {
            let mut sum = 0.0;
            let mut term = x;
            let mut k = 1;
            while k < 20 && term.abs() > T::EPSILON {
                sum += term;
                term *= x / k as T;
                k += 1;
            }
            sum
        }",
        "T f(const T x) {
    T sum = T(0.0);
    T term = x;
    i32 k = 1;
    while (true) {
        const bool t0 = k < 20;
        const T t1 = math::abs(term);
        const bool t2 = t1 > math::limits<T>::EPSILON();
        const bool t3 = t0 && t2;
        if (!t3) {
            break;
        }
        sum = sum + term;
        const T t4 = math::cast<T>(k);
        const T t5 = x / t4;
        term = term * t5;
        k = math::add(k, 1);
    }
    return sum;
}
",
    );
}

#[test]
fn loops_count_and_leave_early() {
    check(
        "fn f<T: Float>(x: T, n: i32) -> T {
            let mut p = 1.0;
            for i in 0..n {
                if i == 3 { continue; }
                if p > 100.0 { return p; }
                p *= x;
            }
            p
        }",
        "T f(const T x, const i32 n) {
    T p = T(1.0);
    for (i32 i = 0; i < n; ++i) {
        if (i == 3) {
            continue;
        }
        if (p > T(100.0)) {
            return p;
        }
        p = p * x;
    }
    return p;
}
",
    );
}

#[test]
fn the_bound_of_a_loop_is_read_once() {
    check(
        "fn f(x: i32) -> i32 { let mut n = x; for _ in 0..n { n += 1; } n }",
        "i32 f(const i32 x) {
    i32 n = x;
    const i32 t0 = n;
    for (i32 v_i = 0; v_i < t0; ++v_i) {
        n = math::add(n, 1);
    }
    return n;
}
",
    );
}

#[test]
fn a_mutable_operand_keeps_its_value_while_a_later_one_changes_it() {
    check(
        "fn f(x: i32) -> i32 { let mut n = x; n + if x > 0 { n = 5; n } else { x } }",
        "i32 f(const i32 x) {
    i32 n = x;
    const i32 t0 = n;
    i32 t1;
    if (x > 0) {
        n = 5;
        t1 = n;
    } else {
        t1 = x;
    }
    return math::add(t0, t1);
}
",
    );
}

#[test]
fn arrays_are_constants_with_clamped_positions() {
    check(
        "fn f<T: Float>(x: T) -> T {
            const SCALE: f64 = -2.5e-3;
            const C: [f64; 3] = [1.0, -0.5, f64::EPSILON];
            let mut sum = 0.0;
            for i in 0usize..3 { sum = sum * x + C[i] as T; }
            sum * SCALE as T + C[1] as T
        }",
        "T f(const T x) {
    static constexpr f64 C[3] = {1.0, -0.5, math::limits<f64>::EPSILON()};
    T sum = T(0.0);
    for (u64 i = u64(0); i < u64(3); ++i) {
        const T t0 = sum * x;
        const bool t1 = i < u64(2);
        const u64 t2 = t1 ? i : u64(2);
        const f64 t3 = C[t2];
        const T t4 = math::cast<T>(t3);
        sum = t0 + t4;
    }
    const T t5 = math::cast<T>(-0.0025);
    const T t6 = sum * t5;
    const f64 t7 = C[1];
    const T t8 = math::cast<T>(t7);
    return t6 + t8;
}
",
    );
}

#[test]
fn uses_are_listed_once_in_order() {
    assert_eq!(
        uses("fn f<T: Float>(x: T) -> T { x.sin() + (x.sin() as f64).sin() as T + T::PI }"),
        ["sin(T)", "cast(f64, T)", "sin(f64)", "cast(T, f64)", "limits(T)"]
    );
}
