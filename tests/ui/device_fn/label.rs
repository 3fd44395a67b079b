use gems_ops::prelude::*;

#[device_fn]
fn f<T: Float>(x: T) -> T {
    'a: while x > 0.0 {
        break 'a;
    }
    x
}

fn main() {}
