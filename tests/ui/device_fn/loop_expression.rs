use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    loop {
        break;
    }
    x
}

fn main() {}
