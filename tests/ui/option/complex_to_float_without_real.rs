use gems_ops::prelude::*;

#[pointwise_dynamic(promote = complex_to_float(x))]
fn f<T: Number>(x: T) -> T {
    x
}

fn main() {}
