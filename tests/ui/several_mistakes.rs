use gems_ops::prelude::*;

#[pointwise_dynamic(promot = default(x), dtypes(f128))]
fn f<T: Float>(x: T) -> T {
    let y = &x;
    let z = match x {
        _ => x,
    };
    y + z + w.sin()
}

/// A mistake in one op is no mistake in the use of another.
#[pointwise_dynamic]
fn g<T: Float>(x: T) -> T {
    f::scalar(x)
}

fn main() {}
