use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let a = [1.0, 2.0];
    x
}

fn main() {}
