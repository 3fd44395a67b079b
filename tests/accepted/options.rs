//! Every option of the attributes.
use gems_ops::prelude::*;

#[pointwise_dynamic(
    promote = default(param, grad),
    dtypes(f16, bf16, f32, f64),
    accepts(skip = bool | u8),
    outputs(new_param, new_state),
    like(new_param = param, new_state = state),
    numbers = saturate,
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

#[pointwise_dynamic(numbers = exact)]
fn is_below<T: Real>(x: T, bound: T) -> bool {
    x < bound
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
    assert_eq!(is_below::DEF.numbers, gems_runtime::op::Numbers::Exact);
    assert_eq!(identity(3u8), 3);
}

/// Integers above ninety-nine are too many for the form of integers.
fn below_hundred(arguments: &[gems_runtime::op::Seen], _: DType) -> Result<()> {
    match arguments.get(1) {
        Some(gems_runtime::op::Seen::Number(number)) if number.to_f64() >= 100.0 => {
            let message = format!("{number} is not below 100");
            Err(gems_runtime::error::Error::new(gems_runtime::error::ErrorKind::Value, message))
        }
        _ => Ok(()),
    }
}

#[pointwise_dynamic(promote = default(x), check = below_hundred)]
fn plus_of_integers<T: Int>(x: T, #[param] n: T) -> T {
    x + n
}

#[pointwise_dynamic(promote = default(x), dtypes(int, float), integers = plus_of_integers)]
fn plus<T: Float>(x: T, #[param] n: T) -> T {
    x + n
}

#[test]
fn a_call_of_a_known_kind_is_checked_as_the_first_one() {
    let x = StridedBuffer::from_slice(&[1_u8, 2], &[2]).unwrap();
    for n in [100, 3, 100, 99, 101] {
        assert_eq!(plus(&x, n).is_ok(), n < 100, "{n}");
    }
}
