use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let p = (x, x);
    p.0
}

fn main() {}
