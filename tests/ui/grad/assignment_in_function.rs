use gems_ops::prelude::*;

#[device_fn(grad)]
fn f<T: Float>(x: T) -> T {
    let mut y = x;
    y += 1;
    y * x
}

fn main() {}
