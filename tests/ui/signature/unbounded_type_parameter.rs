use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T>(x: T) -> T {
    x
}

fn main() {}
