use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T, #[param] alpha: T) -> T {
    x * alpha
}

fn main() {}
