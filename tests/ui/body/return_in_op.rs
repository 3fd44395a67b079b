use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    if x > 0.0 {
        return x;
    }
    -x
}

fn main() {}
