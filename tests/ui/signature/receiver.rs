use gems_ops::prelude::*;

struct F;

impl F {
    #[pointwise_dynamic]
    fn f<T: Float>(self, x: T) -> T {
        x
    }
}

fn main() {}
