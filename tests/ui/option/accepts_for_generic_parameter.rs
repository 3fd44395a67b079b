use gems_ops::prelude::*;

#[pointwise_dynamic(accepts(x = f32))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
