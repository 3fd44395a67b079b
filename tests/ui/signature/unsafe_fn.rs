use gems_ops::prelude::*;

#[device_fn]
unsafe fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
