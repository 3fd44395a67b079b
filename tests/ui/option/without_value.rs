use gems_ops::prelude::*;

#[pointwise_dynamic(promote, dtypes, outputs = y)]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
