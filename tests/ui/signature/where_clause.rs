use gems_ops::prelude::*;

#[pointwise_dynamic]
fn f<T>(x: T) -> T
where
    T: Float,
{
    x
}

fn main() {}
