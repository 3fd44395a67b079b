use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Element>(x: T) -> T {
    x + x
}

fn main() {}
