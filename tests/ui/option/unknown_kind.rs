use gems_ops::prelude::*;

#[pointwise_dynamic(promote = float_to_int(x))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
