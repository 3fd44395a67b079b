//! Constants of types, and `const` items of the body.
use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T: Float>(x: T) -> T {
    const SCALE: f64 = -0.25;
    const LIMIT: i32 = i32::MAX;
    if x > T::MAX || x == T::INFINITY || LIMIT == 0 {
        T::ONE
    } else {
        x * SCALE as T + T::PI * T::ZERO + f32::EPSILON as T * 0
    }
}

#[test]
fn constants_of_types_and_items_are_values() {
    assert_eq!(f::scalar(8.0f32), -2.0);
}
