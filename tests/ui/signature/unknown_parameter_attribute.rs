use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T, #[scalar] alpha: T) -> T {
    x * alpha
}

fn main() {}
