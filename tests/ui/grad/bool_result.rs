use gems_ops::prelude::*;

#[pointwise_dynamic(grad)]
fn f<T: Real>(x: T) -> bool {
    x > 0
}

fn main() {}
