use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    assert!(x > 0.0);
    x
}

fn main() {}
