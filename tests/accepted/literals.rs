//! A literal has the type of what it meets.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn generic_float<T: Float>(x: T) -> T {
    let half = 0.5;
    let two = 2;
    -1 + two * x * half - 1e-3 + 1_000.5
}

#[pointwise_dynamic]
fn generic_number<T: Number>(x: T) -> T {
    3 * x - 2
}

#[pointwise_dynamic]
fn concrete(x: f32) -> f32 {
    0.1 * x + 1f32 + 2.
}

#[pointwise_dynamic]
fn integers(x: i64) -> i64 {
    x * 0x10 + 1_000 - 5i64
}

#[test]
fn a_literal_has_the_type_of_what_it_meets() {
    assert_eq!(generic_float::scalar(2.0f64), -1.0 + 2.0 - 1e-3 + 1_000.5);
    assert_eq!(generic_number::scalar(5u8), 13);
    assert_eq!(generic_number::scalar(5.0f32), 13.0);
    assert_eq!(concrete::scalar(10.0), 4.0);
    assert_eq!(integers::scalar(1), 1011);
}
