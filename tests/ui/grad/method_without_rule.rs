use gems_ops::prelude::*;

#[pointwise_dynamic(grad)]
fn f<T: Float>(x: T, y: T) -> T {
    x * y.tgamma() + x.lgamma()
}

fn main() {}
