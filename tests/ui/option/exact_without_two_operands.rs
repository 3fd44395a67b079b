use gems_ops::prelude::*;

#[pointwise_dynamic(numbers = exact)]
fn within<T: Real>(x: T, low: T, high: T) -> bool {
    x >= low && x <= high
}

#[pointwise_dynamic(numbers = exact)]
fn is_positive<T: Real>(x: T) -> bool {
    x > 0
}

fn main() {}
