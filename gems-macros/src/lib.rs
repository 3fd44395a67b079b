//! The attribute macros of gems.
//!
//! One Rust scalar function goes through `signature` and `body` into a typed `model`, is checked, and comes out as CUDA
//! C++ text (`cuda`), as the Rust function (`rust`) and as the static description of an op (`expand`). Its derivative is
//! another model (`grad`), which goes the same way.

mod args;
mod body;
mod check;
mod cuda;
mod dtype;
mod errors;
mod expand;
mod grad;
mod infer;
mod krate;
mod methods;
mod model;
mod names;
mod rust;
mod schema;
mod signature;
mod source;
mod types;

use proc_macro::TokenStream;

/// Makes an op on buffers of a function on scalars.
///
/// The name becomes a function of buffers and numbers, and a type that holds everything else: `DEF` and `DEVICE` (what
/// the runtime knows), `out`, `inplace` (one result, first parameter a tensor) and `scalar`, the formula itself.
/// `#[param]` marks arguments that are always numbers.
///
/// | option | meaning | without it |
/// |---|---|---|
/// | `promote = KIND(x, y)` | promotion kind, and the parameters that decide the common dtype | `default`, or `always_bool` if every result is bool; every tensor of the type parameter |
/// | `dtypes(float, i32)` | dtypes that the common dtype may have: `bool`, `int`, `float`, `complex`, or single ones | those of the bound |
/// | `compute = storage` | the type parameter is the stored dtype, for functions on bits; `no_opmath` implies it | 1- and 2-byte floats compute in f32 |
/// | `accepts(mask = bool \| u8)` | dtypes of a tensor of a concrete type | all, by conversion |
/// | `numbers = exact` | a number outside an integer dtype keeps its value (`exact`, for comparisons of two operands), becomes the nearest one (`saturate`) or wraps | `wrap` |
/// | `outputs(mantissa, exponent)` | names of the results | `out`, or `out0`, `out1`, … |
/// | `like(out = x)` | this result has the dtype of `x`, whatever the common dtype is | the dtype of the promotion |
/// | `vote(x, y)` | tensors that decide the memory format of results, in order | all, in order |
/// | `casts = freely` | given outputs may have any dtype | as promotion allows |
/// | `check = path` | a function that refuses arguments before anything is planned | every argument is taken |
/// | `complex = path` | the op that serves complex operands, where they need another formula | the function itself |
/// | `integers = path` | the op that serves operands that are all bools and integers, where those need another formula | the function itself |
/// | `name = "where"` | the name in texts and registries, one word | the function's |
/// | `grad`, `grad(…)` | the derivative, too: `vjp` on buffers, `BACKWARD` as an op, `backward` for numbers | none |
/// | `crate = path` | where gems is | found in `Cargo.toml` |
///
/// Inside of `grad(…)`: `wrt(x, y)`, the parameters that have a gradient; `backward = path(grad_output, x, output)`, a
/// device function or an op's `scalar` that gives the gradients; `numbers = path`, another one for calls in which all
/// tensors but the first are numbers; `zero`, a function that is constant in pieces; `saves = output`, a derivative that
/// takes the result; `order = 2`, the derivative of the derivative.
///
/// Kinds are `default`, `no_opmath`, `int_to_float`, `always_bool`, `complex_to_float` and `bool_to_long`, as in PyTorch,
/// and `to_double`, the rule of its `float_power`.
///
/// # The scalar language
///
/// At most one type parameter, with one bound out of `Element`, `Bits`, `Number`, `Real`, `Int`, `Analytic` and `Float`.
/// The traits need not be in scope. Other types are bool, the integers of 8 to 64 bits, f32 and f64; several results are a
/// tuple.
///
/// The body is Rust: literals, `let`, blocks, `if … else` as a value, comparisons, `&& || !`, arithmetic, bit operations,
/// `as`, methods and constants of the traits in `math`, `const` items, tuples, calls of functions marked
/// [`macro@device_fn`] and of other ops' `scalar`. Operations have the meaning that `math` gives them: integers wrap,
/// division by zero gives zero, shifts take any count, and `as` saturates.
///
/// A literal has the type of what it meets, also where that is the type parameter: `2 * x`, `0.5 * x`. One that meets
/// nothing is i32 or, with a point, the type parameter if that is a float, else f64; as an argument of a call it meets
/// nothing, so it may need a suffix. The result of a call has the type of what it meets, else of its first argument;
/// `let name: Type` says another. A literal outside the range of its type is an error.
#[proc_macro_attribute]
pub fn pointwise_dynamic(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::pointwise_dynamic(args.into(), item.into()).into()
}

/// Lets ops and other device functions call a function of scalars.
///
/// It stays a plain Rust function, and gets a type of the same name that holds its device form, `DEVICE`.
/// Besides what an op may contain: `let mut`, assignment, `while`, `for i in a..b`, `break`, `continue`, `return`, usize,
/// and elements of arrays declared by `const` inside the function. A position behind the end of an array means its last
/// element. Options are `grad`, as for ops, and `crate = path`.
#[proc_macro_attribute]
pub fn device_fn(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::device_fn(args.into(), item.into()).into()
}
