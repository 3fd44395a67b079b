use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    const C: [f64; 2] = [1.0, 2.0];
    let i: usize = 3;
    C[i % 2] as T
}

fn main() {}
