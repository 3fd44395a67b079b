use gems_ops::prelude::*;

#[device_fn]
fn is_big<T: Float>(x: T) -> bool {
    x > 100.0
}

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    x + is_big(x)
}

fn main() {}
