use gems_ops::prelude::*;

#[pointwise_dynamic]
fn integers(x: u8, y: i8) -> (u8, u8, i8, i8, u8) {
    (x + 300, x + 256u8, y + 128, y + -129, x + -1)
}

#[pointwise_dynamic]
fn floats<T: Float>(x: f32, y: f64, z: T) -> (f32, f64, T, T) {
    (x + 1e40, y + 1e400, z + 1e400, z + 9_223_372_036_854_775_808)
}

fn main() {}
