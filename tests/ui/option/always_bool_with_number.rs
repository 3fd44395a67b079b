use gems_ops::prelude::*;

#[pointwise_dynamic(promote = always_bool(x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
