use gems_ops::prelude::*;

const SCALE: f64 = 2.0;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    x * SCALE
}

fn main() {}
