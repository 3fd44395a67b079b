use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    const C: [f64; 0] = [];
    C[0] as T
}

fn main() {}
