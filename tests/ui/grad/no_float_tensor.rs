use gems_ops::prelude::*;

#[pointwise_dynamic(grad)]
fn f(n: i32, #[param] scale: f32) -> f32 {
    n as f32 * scale
}

fn main() {}
