//! Ops of a program that knows gems as `kernels`.
//!
//! They use nothing but the prelude of that one dependency.

use kernels::prelude::*;

/// xⁿ by squaring; n counts from 0.
#[device_fn]
pub fn power<T: Float>(x: T, n: i32) -> T {
    let mut square = x;
    let mut left = n;
    let mut product = 1.0;
    while left > 0 {
        if left & 1 == 1 {
            product *= square;
        }
        square *= square;
        left >>= 1;
    }
    product
}

/// The Hill curve xⁿ / (kⁿ + xⁿ): the share of receptors that are bound at concentration x.
#[pointwise_dynamic(promote = default(x, k))]
pub fn hill<T: Float>(x: T, k: T, #[param] n: i32) -> T {
    let bound = power(x, n);
    bound / (power(k, n) + bound)
}

/// The lesser and the greater of two values.
#[pointwise_dynamic(outputs(low, high))]
pub fn ordered<T: Real>(x: T, y: T) -> (T, T) {
    (x.minimum(y), x.maximum(y))
}
