use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    const C: f64 = 1.0 / 3.0;
    x * C as T
}

fn main() {}
