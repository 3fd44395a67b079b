use gems_ops::prelude::*;

#[pointwise_dynamic]
struct F;

fn main() {}
