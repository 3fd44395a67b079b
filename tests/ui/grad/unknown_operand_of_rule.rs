use gems_ops::prelude::*;

#[device_fn]
fn rule<T: Float>(g: T, x: T) -> T {
    g * x
}

#[pointwise_dynamic(grad(backward = rule(grad_output, y)))]
fn f<T: Float>(x: T) -> T {
    0.5 * x * x
}

fn main() {}
