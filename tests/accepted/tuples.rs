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

#[device_fn(grad)]
fn scaled<T: Float>(x: T) -> (T, T) {
    (x * 2.0, x * 100.0)
}

#[pointwise_dynamic(grad)]
fn nested<T: Float>(x: T, y: T) -> T {
    let (pair, z) = (scaled(x), y);
    let (a, b) = pair;
    let (_, other) = if x > y { (z, (x, y)) } else { (y, scaled(y)) };
    let (c, d) = other;
    (a + b) * z * z + c * d
}

#[test]
fn tuples_inside_tuples_are_differentiated() {
    assert_eq!(nested::scalar(3.0f64, 5.0), 306.0 * 25.0 + 10.0 * 500.0);
    assert_eq!(nested::backward(1.0f64, 3.0, 5.0), (2550.0, 3060.0 + 2000.0));
    assert_eq!(nested::backward(1.0f64, 5.0, 3.0), (102.0 * 9.0 + 3.0, 510.0 * 6.0 + 5.0));
}

#[test]
fn tuples_are_taken_apart() {
    assert_eq!(split::scalar(6.0f32), (0.75, 3));
    assert_eq!(f::scalar(5.0f64, 3.0), (16.0, true, 3.0));
}
