use gems_ops::prelude::*;

#[pointwise_dynamic(promote = default(x))]
fn f(x: f32) -> f32 {
    x
}

fn main() {}
