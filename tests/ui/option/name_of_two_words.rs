use gems_ops::prelude::*;

#[pointwise_dynamic(name = "my-op")]
fn f<T: Float>(x: T) -> T {
    x
}

#[pointwise_dynamic(name = "2nd")]
fn g<T: Float>(x: T) -> T {
    x
}

fn main() {}
