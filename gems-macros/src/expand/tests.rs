//! Whole expansions, pretty-printed.
//!
//! `INSTA_UPDATE=always` writes them anew.

use super::*;

fn pretty(tokens: &TokenStream) -> String {
    let file = syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error}: {tokens}"));
    prettyplease::unparse(&file)
}

fn parse(source: &str) -> TokenStream {
    source.parse().unwrap()
}

#[test]
fn an_op() {
    let source = "\
/// SwiGLU gate: silu(x) · y, scaled.
pub fn swiglu<T: Float>(x: T, y: T, #[param] scale: f64) -> T {
    let gate = x / (1.0 + (-x).exp());
    if gate == 0 { 0 } else { gate * y * scale as T }
}";
    let tokens = pointwise_dynamic(parse("promote = default(x, y), crate = gems"), parse(source));
    insta::assert_snapshot!(pretty(&tokens));
}

#[test]
fn an_op_of_concrete_types_with_two_results() {
    let source =
        "pub(crate) fn split(x: f32, mask: bool) -> (f32, i32) { if mask { x.frexp() } else { (x, 0) } }";
    let tokens = pointwise_dynamic(parse("outputs(mantissa, exponent), crate = gems"), parse(source));
    insta::assert_snapshot!(pretty(&tokens));
}

#[test]
fn a_device_function() {
    let source = "\
/// Horner's rule.
#[inline(never)]
fn horner<T: Float>(x: T, degree: i32) -> T {
    const C: [f64; 3] = [1.0, -0.5, 0.25];
    let mut sum = 0.0;
    for i in 0..degree {
        sum = sum * x + special::scale(C[i]) as T;
    }
    sum
}";
    let tokens = device_fn(parse("crate = gems"), parse(source));
    insta::assert_snapshot!(pretty(&tokens));
}

#[test]
fn an_op_with_a_derivative() {
    let source = "\
/// x·tanh y where y is positive.
pub fn gate<T: Float>(x: T, y: T, #[param] scale: T) -> T {
    if y > 0 { scale * x * y.tanh() } else { 0 }
}";
    let tokens = pointwise_dynamic(parse("grad, crate = gems"), parse(source));
    insta::assert_snapshot!(pretty(&tokens));
}

#[test]
fn a_wrong_op_keeps_its_interface() {
    let source = "pub fn f<T: Float>(x: T, #[param] y: T) -> (T, T) { (x, &y) }";
    let tokens = pointwise_dynamic(parse("crate = gems"), parse(source));
    insta::assert_snapshot!(pretty(&tokens));
}

#[test]
fn expansions_are_the_same_every_time() {
    let source = parse("fn f<T: Float>(x: T) -> T { x.sin() + x.cos() * T::PI }");
    let expand = || pointwise_dynamic(parse("crate = gems"), source.clone()).to_string();
    assert_eq!(expand(), expand());
}

/// Expands without a mistake.
#[track_caller]
fn check(attribute: fn(TokenStream, TokenStream) -> TokenStream, args: &str, source: &str) -> String {
    let text = pretty(&attribute(parse(args), parse(source)));
    assert!(!text.contains("compile_error"), "{text}");
    text
}

#[test]
fn raw_names_are_names() {
    let grad = "grad(order = 2), crate = gems";
    check(device_fn, grad, "fn r#final<T: Float>(r#in: T, y: T) -> (T, T) { (r#in * y, y) }");
    check(
        pointwise_dynamic,
        grad,
        "fn r#final<T: Float>(r#in: T, y: T) -> T { let r#do = r#in.exp(); r#do * r#do * y }",
    );
    let args = "outputs(r#type, b), grad, crate = gems";
    check(pointwise_dynamic, args, "fn f<T: Float>(x: T, r#in: T) -> (T, T) { (x * r#in, x) }");
    let args = "outputs(r#type, b), grad(order = 2, saves = output), crate = gems";
    check(pointwise_dynamic, args, "fn f<T: Float>(x: T, r#in: T) -> (T, T) { (x.exp(), r#in.exp()) }");
    check(device_fn, "crate = gems", "fn f(r#x: f32) -> f32 { x }");
}

#[test]
fn operands_of_derivatives_have_names_of_their_own() {
    let args = "outputs(a, grad_a), grad(saves = output), crate = gems";
    let text = check(pointwise_dynamic, args, "fn f<T: Float>(x: T) -> (T, T) { (x.exp(), x.sqrt()) }");
    assert!(text.contains("grad_a_1: T"), "{text}");
}
