//! Loops, assignment and early return in device functions.
use gems_ops::prelude::*;

#[device_fn]
fn power<T: Float>(x: T, n: i32) -> T {
    let mut base = x;
    let mut n = n;
    let mut p = 1.0;
    if n < 0 {
        base = 1 / base;
        n = -n;
    }
    while n > 0 {
        if n & 1 == 1 {
            p *= base;
        }
        base *= base;
        n >>= 1;
    }
    p
}

#[device_fn]
fn first_factor(mut n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    n |= 0;
    for d in 2..n {
        if d * d > n {
            break;
        }
        if n % d != 0 {
            continue;
        }
        return d;
    }
    n
}

#[device_fn]
fn repeat<T: Float>(x: T, times: i32) -> T {
    let mut sum = 0.0;
    for _ in 0..times {
        sum += x;
    }
    sum
}

#[device_fn]
fn both_leave<T: Float>(x: T) -> T {
    if x > 0.0 {
        return x;
    } else {
        return -x;
    }
}

#[test]
fn loops_assign_and_leave_early() {
    assert_eq!(power(2.0f64, 10), 1024.0);
    assert_eq!(power(2.0f32, -1), 0.5);
    assert_eq!(first_factor(91), 7);
    assert_eq!(repeat(0.5f32, 3), 1.5);
    assert_eq!(both_leave(-2.0f32), 2.0);
}
