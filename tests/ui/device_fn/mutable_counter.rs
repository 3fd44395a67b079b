use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    for mut i in 0..3 {}
    x
}

fn main() {}
