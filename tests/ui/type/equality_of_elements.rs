use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Element>(x: T, y: T) -> bool {
    x == y
}

fn main() {}
