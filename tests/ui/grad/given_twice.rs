use gems_ops::prelude::*;

#[pointwise_dynamic(grad(wrt(x), wrt(y)))]
fn f<T: Float>(x: T, y: T) -> T {
    x * y
}

fn main() {}
