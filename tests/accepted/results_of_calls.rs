//! The result of a call has the type of its use, or else of the call's first argument.
use gems_ops::prelude::*;

#[device_fn]
fn is_big<T: Float>(x: T) -> bool {
    x > 100.0
}

#[device_fn]
fn degree<T: Float>(x: T) -> i32 {
    x as i32
}

#[device_fn]
fn two<T: Float>(x: T) -> T {
    x * 0 + 2
}

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let big = is_big(x);
    let n: i32 = degree(x);
    let y = two(x).sqrt();
    if big && n > 0 { y } else { y * y }
}

#[test]
fn the_result_of_a_call_has_the_type_of_its_use() {
    assert_eq!(f::scalar(200.0f64), 2f64.sqrt());
}
