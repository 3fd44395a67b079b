use gems_ops::prelude::*;

#[pointwise_dynamic(dtypes(float, f128))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
