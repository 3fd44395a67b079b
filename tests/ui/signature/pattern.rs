use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>((x, y): (T, T)) -> T {
    x + y
}

fn main() {}
