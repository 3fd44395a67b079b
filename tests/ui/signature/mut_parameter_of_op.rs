use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(mut x: T) -> T {
    x
}

fn main() {}
