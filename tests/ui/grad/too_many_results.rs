use gems_ops::prelude::*;

#[device_fn(grad)]
fn f<T: Float>(a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T) -> T {
    a + b + c + d + e + f + g + h + i
}

fn main() {}
