use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(mask: bool, #[param] x: T) -> T {
    if mask { x } else { 0.0 }
}

fn main() {}
