//! Bit operations on integers and bool, and functions on stored bits.
use gems_ops::prelude::*;
use half::bf16;

#[pointwise_dynamic(dtypes(bool, int))]
fn int<T: Int>(x: T, y: T) -> T {
    (x & y | !x ^ y) + (x << 2 >> 1)
}

#[pointwise_dynamic]
fn bits_of(x: u32) -> u32 {
    x.count_ones() + x.leading_zeros() + u8::BITS
}

#[pointwise_dynamic(compute = storage)]
fn flip<T: Bits>(x: T, y: T) -> T {
    if y.is_sign_negative() { -x } else { x.copysign(y).abs() }
}

#[test]
fn bit_operations_work_on_integers_and_stored_bits() {
    assert_eq!(int::scalar(1u8, 3), (1 | 254 ^ 3) + 2);
    assert_eq!(bits_of::scalar(1), 1 + 31 + 8);
    assert_eq!(flip::scalar(bf16::from_f32(1.5), bf16::NEG_ONE), bf16::from_f32(-1.5));
}
