use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    let mut p = (x, x);
    p.0 = x;
    x
}

fn main() {}
