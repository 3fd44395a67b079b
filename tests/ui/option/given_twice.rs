use gems_ops::prelude::*;

#[pointwise_dynamic(dtypes(float), dtypes(f32))]
fn f<T: Float>(x: T) -> T {
    x
}

fn main() {}
