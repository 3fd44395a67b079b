use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let g = |a| a + 1.0;
    x
}

fn main() {}
