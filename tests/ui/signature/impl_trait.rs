use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f(x: impl Float) -> f32 {
    0.0
}

fn main() {}
