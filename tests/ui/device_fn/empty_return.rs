use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    if x > 0.0 {
        return;
    }
    x
}

fn main() {}
