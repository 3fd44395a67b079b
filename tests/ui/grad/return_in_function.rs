use gems_ops::prelude::*;

#[device_fn(grad)]
fn f<T: Float>(x: T) -> T {
    if x < 0 {
        return x;
    }
    x.sqrt()
}

fn main() {}
