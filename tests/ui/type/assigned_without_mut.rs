use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    let y = x;
    y = x;
    y
}

fn main() {}
