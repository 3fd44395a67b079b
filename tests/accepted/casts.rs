//! `as` between all types, as Rust does it.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, n: i64) -> T {
    let k = x as i8;
    let wide = (x as f64).sin() as T;
    k as T + n as T + wide * 0 + (0.5 as T) + (1 as T) + (x > 0.0) as i32 as T
}

#[pointwise_dynamic]
fn saturate(x: f32) -> u8 {
    x as u8
}

#[test]
fn casts_are_those_of_rust() {
    assert_eq!(f::scalar(300.7f64, 2), 127.0 + 2.0 + 1.5 + 1.0);
    assert_eq!(saturate::scalar(-3.0), 0);
    assert_eq!(saturate::scalar(f32::NAN), 0);
}
