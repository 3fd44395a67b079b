use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    const C: T = 1.0;
    x * C
}

fn main() {}
