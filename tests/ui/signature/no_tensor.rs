use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f(#[param] x: f32) -> f32 {
    x
}

fn main() {}
