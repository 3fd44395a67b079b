use gems_ops::prelude::*;

#[pointwise_dynamic(compute = wide)]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
