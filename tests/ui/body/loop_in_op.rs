use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let y = x;
    for i in 0..3 {}
    while x > y {}
    y
}

fn main() {}
