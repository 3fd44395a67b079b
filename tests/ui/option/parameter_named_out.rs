use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, out: T) -> T {
    x + out
}

fn main() {}
