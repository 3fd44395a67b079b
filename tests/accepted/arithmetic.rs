//! Operators on every kind of number.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn number<T: Number>(x: T, y: T) -> T {
    -(x + y) * x / y - x
}

#[pointwise_dynamic]
fn real<T: Real>(x: T, y: T) -> T {
    x % y
}

#[pointwise_dynamic]
fn concrete(x: f64, n: i32) -> f64 {
    let m = n * n % 7 - 1;
    x / 3.0 - m as f64
}

#[test]
fn operators_work_on_every_kind_of_number() {
    assert_eq!(number::scalar(6.0f64, 2.0), -30.0);
    // Every step wraps, and MIN / −1 = MIN.
    assert_eq!(number::scalar(i8::MIN, -1), 0);
    assert_eq!(real::scalar(7i32, 0), 0);
    assert_eq!(concrete::scalar(3.0, 3), 0.0);
}
