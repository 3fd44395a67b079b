use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    while x > 0.0 {
        break 1.0;
    }
    x
}

fn main() {}
