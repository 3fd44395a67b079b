use gems_ops::prelude::*;

fn helper<T: Float>(x: T) -> T {
    x
}

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    helper(x)
}

fn main() {}
