use gems_ops::prelude::*;

#[pointwise_dynamic(dtypes(int, float))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
