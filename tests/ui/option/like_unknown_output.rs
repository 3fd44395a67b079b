use gems_ops::prelude::*;

#[pointwise_dynamic(like(z = x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
