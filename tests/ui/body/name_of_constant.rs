use gems_ops::prelude::*;

#[device_fn]
fn f(x: i32) -> i32 {
    const K: i32 = 3;
    let K = x;
    K
}

fn main() {}
