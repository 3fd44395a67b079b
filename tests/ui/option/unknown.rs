use gems_ops::prelude::*;

#[pointwise_dynamic(promot = default(x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
