use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    for y in [1.0, 2.0] {}
    x
}

fn main() {}
