use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(n: i32) -> T {
    n as T
}

fn main() {}
