use gems_ops::prelude::*;

macro_rules! op {
    ($name:ident, $x:ident, $y:ident, $value:expr) => {
        #[pointwise_dynamic]
        fn $name<T: Float>($x: T, $y: T) -> T {
            let t = 2.0 * $x;
            t + $value
        }
    };
}
op!(f, x, t, t * t);

fn main() {}
