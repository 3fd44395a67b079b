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
