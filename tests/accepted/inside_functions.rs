//! Annotated functions work inside function bodies and inside macros.
use gems_ops::prelude::*;

macro_rules! scale {
    ($name:ident, $factor:literal) => {
        #[pointwise_dynamic]
        fn $name<T: Float>(x: T) -> T {
            $factor * x
        }
    };
}

scale!(third, 0.25);

#[test]
fn annotated_functions_work_inside_functions_and_macros() -> Result<()> {
    #[device_fn]
    fn square<T: Number>(x: T) -> T {
        x * x
    }

    #[pointwise_dynamic]
    fn fourth<T: Float>(x: T) -> T {
        square(square(x)) + third::scalar(x)
    }

    let x = StridedBuffer::from_slice(&[1.0f32, 2.0], &[2])?;
    assert_eq!(fourth(&x)?.to_vec::<f32>()?, [1.25, 16.5]);
    Ok(())
}
