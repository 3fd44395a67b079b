use gems_ops::prelude::*;

#[pointwise_dynamic(promote = default(x))]
fn f<T: Float>(x: T) -> bool {
    x > 0.0
}

fn main() {}
