use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Element>(x: T, mask: bool) -> T {
    if mask { x } else { 0 }
}

fn main() {}
