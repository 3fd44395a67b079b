//! Calls of device functions and of other ops' formulas, by any path.
use gems_ops::prelude::*;

mod special {
    use gems_ops::prelude::*;

    /// Doubles.
    #[device_fn]
    pub fn double<T: Number>(x: T) -> T {
        x + x
    }

    /// Halves.
    #[pointwise_dynamic]
    pub fn halve<T: Float>(x: T) -> T {
        0.5 * x
    }
}

use special::halve;

#[device_fn]
fn is_odd(n: i32) -> bool {
    n % 2 != 0
}

#[pointwise_dynamic]
fn f<T: Float>(x: T, n: i32) -> T {
    let sign = if is_odd(n) { -1 } else { 1 };
    let wide = special::double(x as f64) as T;
    sign * special::double(halve::scalar(x))
        + special::halve::scalar(2.0)
        + wide * crate::calls::special::double(0.0)
}

#[test]
fn calls_find_their_functions_by_any_path() {
    assert_eq!(f::scalar(3.0f32, 1), -2.0);
}
