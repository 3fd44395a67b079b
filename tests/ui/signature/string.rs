use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, name: String) -> T {
    x
}

fn main() {}
