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

#[test]
fn comparisons_give_truth_values() {
    assert!(f::scalar(1.0f32, 2.0, true));
    assert!(equal::scalar(2u8, 2));
}
