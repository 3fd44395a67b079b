use gems_ops::prelude::*;

#[device_fn(grad)]
fn f<T: Float>(x: T) -> T {
    let mut sum = x;
    for _ in 0..3 {
        sum = sum * x;
    }
    sum
}

fn main() {}
