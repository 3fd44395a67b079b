use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Number>(x: T) -> T {
    x.exp()
}

fn main() {}
