use gems_ops::prelude::*;

#[pointwise_dynamic(numbers = clip, casts = never)]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
