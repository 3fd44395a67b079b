use gems_ops::prelude::*;

#[pointwise_dynamic(grad(by = rule))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
