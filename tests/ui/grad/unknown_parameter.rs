use gems_ops::prelude::*;

#[pointwise_dynamic(grad(wrt(y)))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
