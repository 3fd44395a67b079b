use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<'a, T: Float>(x: &'a T) -> T {
    x
}

fn main() {}
