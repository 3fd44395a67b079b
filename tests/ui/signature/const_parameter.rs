use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float, const N: usize>(x: T) -> T {
    x
}

fn main() {}
