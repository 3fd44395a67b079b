use gems_ops::prelude::*;

#[pointwise_dynamic(vote(alpha))]
fn f<T: Float>(x: T, #[param] alpha: T) -> T {
    x * alpha
}

fn main() {}
