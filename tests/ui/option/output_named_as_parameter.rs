use gems_ops::prelude::*;

#[pointwise_dynamic(outputs(x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
