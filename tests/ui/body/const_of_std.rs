use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    x * std::f64::consts::PI as T
}

fn main() {}
