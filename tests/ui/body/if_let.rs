use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    if let true = x > 0.0 { x } else { -x }
}

fn main() {}
