use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    match x > 0.0 {
        true => x,
        false => -x,
    }
}

fn main() {}
