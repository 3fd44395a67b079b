use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f(x: f32) -> f32 {
    2 * x
}

fn main() {}
