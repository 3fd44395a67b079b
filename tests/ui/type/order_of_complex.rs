use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Number>(x: T, y: T) -> T {
    if x < y { x } else { y }
}

fn main() {}
