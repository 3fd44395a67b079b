//! What the attributes leave in a program: formulas with Rust's semantics, facts, and callable forms.

use gems_ops::__private::TypeRef;
use gems_ops::dtype::Kind;
use gems_ops::op::{Compute, Role};
use gems_ops::prelude::*;

/// SwiGLU gate: silu(x) · y.
#[pointwise_dynamic(promote = default(x, y))]
pub fn swiglu<T: Float>(x: T, y: T) -> T {
    x / (1.0 + (-x).exp()) * y
}

#[pointwise_dynamic(promote = default(x), outputs(mantissa, exponent))]
fn split<T: Float>(x: T) -> (T, i32) {
    let (m, e) = x.frexp();
    (m, e)
}

#[pointwise_dynamic(promote = default(x), accepts(mask = bool | u8))]
fn dropout<T: Float>(x: T, mask: bool, #[param] p: T) -> T {
    if mask { x / (1 - p) } else { 0 }
}

/// Horner's rule over a table.
#[device_fn]
fn polynomial<T: Float>(x: T) -> T {
    const C: [f64; 4] = [1.0, -0.5, 0.25, -0.125];
    let mut sum = 0.0;
    for i in 0..4 {
        sum = sum * x + C[i] as T;
    }
    sum
}

#[device_fn]
fn collatz(start: i64) -> i32 {
    let mut n = start;
    let mut steps = 0;
    while n > 1 {
        if steps == 1000 {
            return -1;
        }
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[pointwise_dynamic(promote = int_to_float(x))]
fn through_polynomial<T: Float>(x: T) -> T {
    polynomial(x) + swiglu::scalar(x, 0.5)
}

#[test]
fn a_formula_is_plain_rust() {
    let silu = |x: f64| x / (1.0 + (-x).exp());
    assert_eq!(swiglu::scalar(0.5f64, 2.0), silu(0.5) * 2.0);
    assert_eq!(split::scalar(6.0f32), (0.75, 3));
    assert_eq!(dropout::scalar(3.0f64, true, 0.25), 4.0);
    assert_eq!(polynomial(2.0f32), -0.125 + 2.0 * 0.25 - 4.0 * 0.5 + 8.0);
    assert_eq!(collatz(27), 111);
    assert_eq!(through_polynomial::scalar(0.0f64), -0.125);
}

#[test]
fn integers_have_the_semantics_of_the_language() {
    #[pointwise_dynamic(promote = default(x, y), dtypes(bool, int))]
    fn mix<T: Int>(x: T, y: T) -> T {
        (x + y) * 3 / y - (x << y)
    }
    // Wraps: (200 + 100) mod 256 = 44, 44 · 3 = 132, 132 / 100 = 1, a shift by 100 gives 0.
    assert_eq!(mix::scalar(200u8, 100u8), 1);
    // Division by zero gives zero.
    assert_eq!(mix::scalar(5i32, 0), -5);
    assert_eq!(mix::DEF.name, "mix");
}

#[test]
fn an_op_runs_on_buffers_and_numbers() -> Result<()> {
    let x = StridedBuffer::from_slice(&[0.5f32, -1.0, 2.0], &[3])?;
    let y = StridedBuffer::from_slice(&[2.0f32], &[1])?;
    let expected: Vec<f32> = [0.5f32, -1.0, 2.0].iter().map(|&x| swiglu::scalar(x, 2.0)).collect();
    assert_eq!(swiglu(&x, &y)?.to_vec::<f32>()?, expected);
    assert_eq!(swiglu(&x, 2)?.to_vec::<f32>()?, expected);
    let mut out = StridedBuffer::from_slice(&[0.0f32; 3], &[3])?;
    swiglu::out(&x, &y, &mut out)?;
    assert_eq!(out.to_vec::<f32>()?, expected);
    let mut x = x;
    swiglu::inplace(&mut x, 2.0)?;
    assert_eq!(x.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn several_results_are_a_tuple_of_buffers() -> Result<()> {
    let x = StridedBuffer::from_slice(&[6.0f64, -0.25], &[2])?;
    let (mantissa, exponent) = split(&x)?;
    assert_eq!(mantissa.to_vec::<f64>()?, [0.75, -0.5]);
    assert_eq!(exponent.to_vec::<i32>()?, [3, -1]);
    Ok(())
}

#[test]
fn masks_and_numbers_take_no_part_in_promotion() -> Result<()> {
    let x = StridedBuffer::from_slice(&[1.0f32, 2.0], &[2])?;
    let mask = StridedBuffer::from_slice(&[true, false], &[2])?;
    let y = dropout(&x, &mask, 0.5f64)?;
    assert_eq!(y.meta().dtype, DType::F32);
    assert_eq!(y.to_vec::<f32>()?, [2.0, 0.0]);
    Ok(())
}

#[test]
fn facts_are_what_the_options_say() {
    let def = dropout::DEF;
    assert_eq!(def.doc, "");
    assert_eq!(swiglu::DEF.doc, "SwiGLU gate: silu(x) · y.");
    assert_eq!(def.params.iter().map(|param| param.promotes).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(def.params[2].role, Role::Number);
    assert_eq!(def.params[1].ty, TypeRef::Fixed(DType::Bool));
    assert!(!def.params[1].accepts.contains(DType::F32));
    assert_eq!((def.promote.kind, def.promote.compute), (Kind::Default, Compute::OpMath));
    assert!(def.dtypes.contains(DType::BF16) && !def.dtypes.contains(DType::I32));
    assert_eq!(
        split::DEF.outputs.iter().map(|output| output.name).collect::<Vec<_>>(),
        ["mantissa", "exponent"]
    );
    assert!((swiglu::DEF.cpu)(DType::F64).is_some());
    assert!((swiglu::DEF.cpu)(DType::I32).is_none());
}

#[test]
fn the_source_is_kept_as_written() {
    let expected = "\
pub fn swiglu<T: Float>(x: T, y: T) -> T {
    x / (1.0 + (-x).exp()) * y
}";
    assert_eq!(swiglu::DEF.rust_source, expected);
}

#[test]
fn callees_are_known_to_callers() {
    let names: Vec<_> = through_polynomial::DEVICE.calls.iter().map(|callee| callee.name).collect();
    assert_eq!(names, ["polynomial", "swiglu"]);
    assert!(std::ptr::eq(through_polynomial::DEVICE.calls[1], swiglu::DEVICE));
    assert!(std::ptr::eq(swiglu::DEF.device, swiglu::DEVICE));
}

#[test]
fn device_text_knows_where_it_comes_from() {
    assert!(swiglu::DEVICE.file.ends_with("expansion.rs"));
    assert_eq!(swiglu::DEVICE.module, module_path!());
}
