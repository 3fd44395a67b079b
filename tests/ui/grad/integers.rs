use gems_ops::prelude::*;

#[pointwise_dynamic(grad)]
fn f<T: Int>(x: T) -> T {
    x * x
}

fn main() {}
