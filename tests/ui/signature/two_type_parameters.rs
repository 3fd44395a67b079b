use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float, U: Float>(x: T, y: U) -> T {
    x
}

fn main() {}
