use gems_ops::prelude::*;

#[pointwise_dynamic(grad(order = 3))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
