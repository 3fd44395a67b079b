use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    T::max(x, 0.0)
}

fn main() {}
