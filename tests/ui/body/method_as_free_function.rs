use gems_ops::prelude::*;

mod own {
    use gems_ops::prelude::*;

    #[device_fn]
    fn hypot<T: Float>(x: T, y: T) -> T {
        (x * x + y * y).sqrt()
    }

    #[pointwise_dynamic]
    pub fn length<T: Float>(x: T, y: T) -> T {
        self::hypot(x, y)
    }
}

#[pointwise_dynamic]
fn grow<T: Float>(x: T) -> T {
    exp(x) + x
}

fn main() {}
