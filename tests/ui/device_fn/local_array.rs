use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    let c = [1.0, 2.0];
    c[0]
}

fn main() {}
