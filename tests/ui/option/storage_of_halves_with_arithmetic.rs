use gems_ops::prelude::*;

#[pointwise_dynamic(compute = storage, dtypes(f16, f32))]
fn f<T: Float>(x: T) -> T {
    x + 1.0
}

fn main() {}
