use gems_ops::prelude::*;

#[device_fn]
fn inner<T: Float>(x: T) -> T {
    x * x
}

#[pointwise_dynamic(grad)]
fn f<T: Float>(x: T) -> T {
    inner(x)
}

fn main() {}
