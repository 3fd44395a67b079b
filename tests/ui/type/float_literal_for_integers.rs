use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Int>(x: T) -> T {
    x + 0.5
}

fn main() {}
