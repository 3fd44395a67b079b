//! Names, shadowing, annotations and blocks as values.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    let y: T = x + 1;
    let y = {
        let half = 0.5 * y;
        half * half
    };
    let n: i32 = 2;
    y + n as T
}

#[test]
fn names_and_blocks_are_values() {
    assert_eq!(f::scalar(3.0f32), 6.0);
}
