//! Constant arrays, with positions clamped to the last element.
use gems_ops::prelude::*;

#[device_fn]
fn horner<T: Float>(x: T) -> T {
    const C: [f64; 3] = [1.0, -0.5, 2.0e-1];
    let mut sum = C[0] as T;
    for i in 1usize..3 {
        sum = sum * x + C[i] as T;
    }
    sum
}

#[device_fn]
fn pick(i: i32) -> i64 {
    const TABLE: [i64; 4] = [10, 20, 30, i64::MAX];
    let j = i as usize + 1;
    TABLE[i] - TABLE[j]
}

#[test]
fn positions_behind_an_array_mean_its_last_element() {
    assert_eq!(horner(2.0f64), (1.0 * 2.0 - 0.5) * 2.0 + 0.2);
    assert_eq!(pick(1), -10);
    assert_eq!(pick(100), 0);
}
