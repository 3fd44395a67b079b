use gems_ops::prelude::*;

#[device_fn]
fn seven() -> i32 {
    7
}

#[device_fn]
fn f<T: Float>(x: T) -> T {
    let n = seven();
    x + n.abs() as T
}

fn main() {}
