use gems_ops::prelude::*;

#[pointwise_dynamic(promote = default(x, x))]
fn f<T: Float>(x: T, y: T) -> T {
    x + y
}

fn main() {}
