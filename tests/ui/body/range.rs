use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let r = 0..3;
    x
}

fn main() {}
