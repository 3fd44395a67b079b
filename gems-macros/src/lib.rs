//! The attribute macros of gems.
//!
//! One Rust scalar function goes through `signature` and `body` into a typed `model`, is checked, and comes out as CUDA
//! C++ text (`cuda`), as the Rust function (`rust`) and as the static description of an op (`expand`).

mod args;
mod body;
mod check;
mod cuda;
mod dtype;
mod errors;
mod expand;
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
/// | option | meaning | without it |
/// |---|---|---|
/// | `promote = KIND(x, y)` | promotion kind (`default`, `no_opmath`, `int_to_float`, `always_bool`, `complex_to_float`, `bool_to_long`) and the parameters that decide the common dtype | `default`, or `always_bool` if every result is bool; all tensors of the type parameter |
/// | `compute = storage` | the type parameter is the stored dtype, for functions on bits; implied by `no_opmath` | halves compute in f32 |
/// | `dtypes(float, i32)` | dtypes that the common dtype may have: `bool`, `int`, `float`, `complex`, or single ones | what the bound has |
/// | `accepts(mask = bool \| u8)` | dtypes of a tensor of a concrete type | all, by conversion |
/// | `outputs(mantissa, exponent)` | names of the results | `out`, or `out0`, `out1`, … |
/// | `like(out = x)` | this result has the dtype of `x`, whatever the common dtype is | the dtype that promotion gives |
/// | `crate = path` | where gems is | found in `Cargo.toml` |
///
/// The name is a function of buffers and numbers, and a type that holds everything else: `DEF`, `DEVICE`, `out`,
/// `inplace` (one result, first parameter a tensor) and `scalar`, the formula itself. `#[param]` marks arguments that are
/// always numbers.
///
/// The body is written in a part of Rust: literals, `let`, `if … else` as a value, comparisons, `&& || !`, arithmetic,
/// bit operations, `as`, methods and constants of the traits in `math`, `const` items, tuples, calls of functions marked
/// [`macro@device_fn`] and of other ops' `scalar`. A literal has the type of what it meets, also in generic code.
#[proc_macro_attribute]
pub fn pointwise_dynamic(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::pointwise_dynamic(args.into(), item.into()).into()
}

/// Lets ops and other device functions call a function of scalars.
///
/// It stays a plain Rust function, and gets a type of the same name that holds its device form, `DEVICE`.
/// Besides what an op may contain: `let mut`, assignment, `while`, `for i in a..b`, `break`, `continue`, `return`, arrays
/// declared by `const` inside the function. The only option is `crate = path`.
#[proc_macro_attribute]
pub fn device_fn(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::device_fn(args.into(), item.into()).into()
}
