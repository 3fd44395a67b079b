use gems_ops::prelude::*;

use half::f16;

#[pointwise_dynamic]
fn f(x: f16) -> f32 {
    x as f32
}

fn main() {}
