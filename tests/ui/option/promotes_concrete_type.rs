use gems_ops::prelude::*;

#[pointwise_dynamic(promote = default(x, mask))]
fn f<T: Float>(x: T, mask: bool) -> T {
    if mask { x } else { 0.0 }
}

fn main() {}
