//! Methods of the math traits on generic and concrete receivers.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn generic<T: Float>(x: T, y: T) -> T {
    let hyp = x.hypot(y).max(0).min(T::MAX);
    let whole = x.mul_add(y, 1).floor() + hyp.ldexp(1);
    if x.is_nan() || y.is_infinite() { 0.5.max(x) } else { whole }
}

#[pointwise_dynamic]
fn analytic<T: Analytic>(x: T) -> T {
    x.exp().ln() + x.sqrt() * 0.5
}

#[pointwise_dynamic(promote = complex_to_float(x))]
fn magnitude<T: Number>(x: T) -> T::Real {
    x.abs().maximum(1)
}

#[pointwise_dynamic]
fn concrete(x: f64) -> f64 {
    x.sin().abs() + 1f64.exp() + (-2.0f64).abs()
}

#[test]
fn methods_work_on_generic_and_concrete_receivers() {
    assert_eq!(generic::scalar(3.0f64, 4.0), 13.0 + 10.0);
    assert_eq!(analytic::scalar(4.0f64), 4.0f64.exp().ln() + 1.0);
    assert_eq!(magnitude::scalar(-3i32), 3);
    assert_eq!(concrete::scalar(0.0), 1f64.exp() + 2.0);
}
