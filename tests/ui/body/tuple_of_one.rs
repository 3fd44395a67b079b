use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let (y,) = (x,);
    y
}

fn main() {}
