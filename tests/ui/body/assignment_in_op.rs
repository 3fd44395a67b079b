use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let mut y = x;
    y += 1.0;
    y
}

fn main() {}
