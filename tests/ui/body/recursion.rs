use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    if x > 1.0 { f::scalar(x - 1.0) } else { x }
}

fn main() {}
