use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let (a, a) = (x, x);
    a
}

fn main() {}
