use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: (T, T)) -> T {
    x.0
}

fn main() {}
