//! Comparisons and truth values.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Real>(x: T, y: T, flag: bool) -> bool {
    (x <= y || !flag) && (x != 3 && y >= 1) == flag & true | (x.is_nan() ^ flag)
}

#[pointwise_dynamic]
fn equal<T: Number>(x: T, y: T) -> bool {
    x == y
}

fn main() {
    assert!(f::scalar(1.0f32, 2.0, true));
    assert!(equal::scalar(2u8, 2));
}
