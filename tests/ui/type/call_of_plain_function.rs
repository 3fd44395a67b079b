use gems_ops::prelude::*;

fn helper(x: f32) -> f32 {
    x
}

#[pointwise_dynamic]
fn f(x: f32) -> f32 {
    helper(x)
}

fn main() {}
