use gems_ops::prelude::*;

#[device_fn(promote = default(x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
