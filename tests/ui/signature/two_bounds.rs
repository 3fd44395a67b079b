use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float + Copy>(x: T) -> T {
    x
}

fn main() {}
