//! Every option of the attributes.
use gems_ops::prelude::*;

#[pointwise_dynamic(
    promote = default(param, grad),
    dtypes(f16, bf16, f32, f64),
    accepts(skip = bool | u8),
    outputs(new_param, new_state),
    like(new_param = param, new_state = state),
    numbers = exact,
    vote(param),
    casts = freely,
    name = "step",
    crate = gems_ops,
)]
#[allow(clippy::needless_return)]
fn step_<T: Float>(param: T, grad: T, state: T, skip: bool, #[param] lr: f64) -> (T, T) {
    if skip { (param, state) } else { (param - lr as T * grad, state + 1) }
}

#[pointwise_dynamic(promote = always_bool())]
fn xor(x: bool, y: bool) -> bool {
    x != y
}

#[pointwise_dynamic(promote = int_to_float)]
fn half_of<T: Float>(x: T) -> T {
    0.5 * x
}

#[device_fn(crate = gems_ops)]
fn identity<T: Element>(x: T) -> T {
    x
}

#[test]
fn every_option_reaches_the_definition() {
    assert_eq!(step_::DEF.name, "step");
    assert_eq!(step_::DEF.outputs[1].like, Some(2));
    assert_eq!(step_::DEF.vote, [0]);
    assert!(step_::DEF.casts_freely);
    assert!(half_of::DEF.dtypes.contains(DType::I64));
    assert!(xor::scalar(true, false));
    assert_eq!(identity(3u8), 3);
}
