use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, n: i32) -> T {
    x + n
}

fn main() {}
