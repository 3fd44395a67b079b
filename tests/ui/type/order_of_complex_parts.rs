use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f(x: f32, y: f32) -> bool {
    x.to_complex(y) < y.to_complex(x)
}

fn main() {}
