use gems_ops::prelude::*;

#[pointwise_dynamic(promote = int_to_float(x))]
fn f<T: Int>(x: T) -> T {
    x
}

fn main() {}
