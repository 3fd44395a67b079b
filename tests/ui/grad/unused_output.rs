use gems_ops::prelude::*;

#[pointwise_dynamic(grad(saves = output))]
fn f<T: Float>(x: T) -> T {
    x.sin()
}

fn main() {}
