use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, n: i32) -> T {
    if x > 0.0 { x } else { n }
}

fn main() {}
