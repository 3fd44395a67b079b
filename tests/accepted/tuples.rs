//! Several results, and tuples taken apart.
use gems_ops::prelude::*;

#[pointwise_dynamic(outputs(mantissa, exponent))]
fn split<T: Float>(x: T) -> (T, i32) {
    x.frexp()
}

#[device_fn]
fn sum_and_difference<T: Float>(x: T, y: T) -> (T, T) {
    (x + y, x - y)
}

#[pointwise_dynamic]
fn f<T: Float>(x: T, y: T) -> (T, bool, T) {
    let (sum, difference) = sum_and_difference(x, y);
    let (_, exponent): (T, i32) = split::scalar(x);
    let (a, b) = if x > y { (x, y) } else { (y, x) };
    (sum * difference, a > b, exponent as T)
}

#[test]
fn tuples_are_taken_apart() {
    assert_eq!(split::scalar(6.0f32), (0.75, 3));
    assert_eq!(f::scalar(5.0f64, 3.0), (16.0, true, 3.0));
}
