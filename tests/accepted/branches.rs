//! `if … else` as a value, chains, nested in operands.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Real>(x: T, y: T) -> T {
    let larger = if x < y { y } else { x };
    let sign = if x > 0 {
        1
    } else if x < 0 {
        let minus = -1;
        minus
    } else {
        0
    };
    larger * sign + if (x == y) == true { 1 } else { 0 }
}

#[test]
fn branches_are_values() {
    assert_eq!(f::scalar(3i32, 5), 5);
    assert_eq!(f::scalar(-3i32, 5), -5);
    assert_eq!(f::scalar(2.0f64, 2.0), 3.0);
}
