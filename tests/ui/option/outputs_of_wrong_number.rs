use gems_ops::prelude::*;

#[pointwise_dynamic(outputs(mantissa, exponent, sign))]
fn f<T: Float>(x: T) -> (T, i32) {
    x.frexp()
}

fn main() {}
