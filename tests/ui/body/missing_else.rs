use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let y = if x > 0.0 { x };
    y
}

fn main() {}
