//! CUDA C++ text of one annotated function, with its needs.
//!
//! The text is fixed at build time and is generic in `T`; the emitter supplies the alias, the names of callees
//! and the prelude pieces. It is never edited otherwise.

use crate::dtype::DType;
use crate::op::TypeRef;

/// Prelude functions that call a mathematical library: dear ones, whose last places differ between CPU and GPU.
pub const LIBRARY: [&str; 34] = [
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "log2",
    "log10",
    "ln_1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "pow",
    "hypot",
    "atan2",
    "cbrt",
    "erf",
    "erfc",
    "normal_cdf",
    "lgamma",
    "tgamma",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "sin_pi",
    "cos_pi",
];

/// A device function: the C++ form of an annotated Rust function.
#[derive(Debug)]
pub struct DeviceFn {
    /// The Rust name.
    pub name: &'static str,
    /// `module_path!()` of the Rust function.
    pub module: &'static str,
    /// `file!()` of the Rust function.
    pub file: &'static str,
    /// The text of the definition, in order.
    pub pieces: &'static [Piece],
    /// Prelude functions that the text calls.
    pub uses: &'static [Use],
    /// Device functions that the text calls; [`Piece::Call`] counts in this list.
    pub calls: &'static [&'static DeviceFn],
    /// The first parameter whose type is the type parameter: C++ finds that from the argument in its place.
    pub decides: Option<usize>,
    /// The calls with the types of their arguments, each combination once.
    pub instances: &'static [Instance],
}

/// A call of a device function, as far as C++ finds the callee's type parameter from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The callee, a position in [`DeviceFn::calls`].
    pub callee: usize,
    /// Types of the arguments.
    pub args: &'static [TypeRef],
}

/// Part of the text of a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Verbatim text, with newlines.
    Text(&'static str),
    /// The name that the emitter gave to this function.
    Name,
    /// The name that the emitter gave to the n-th function of `calls`.
    Call(usize),
    /// The following text line comes from this line of `file`.
    Line(u32),
}

/// A prelude function in use, with the types it is overloaded on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Name in the prelude, such as `exp`.
    pub name: &'static str,
    /// The types that select the overload: the operand's, or (to, from) for `cast`.
    pub types: &'static [TypeRef],
}

impl DeviceFn {
    /// Functions of a mathematical library that it and its callees call, each counted once a device function.
    #[must_use]
    pub fn library_calls(&self) -> usize {
        let own = self.uses.iter().filter(|used| LIBRARY.contains(&used.name)).count();
        own + self.calls.iter().map(|callee| callee.library_calls()).sum::<usize>()
    }

    /// The functions that are called where the type parameter is `compute`, each with what its own is.
    pub(crate) fn instances(&self, compute: DType) -> impl Iterator<Item = (&'static DeviceFn, DType)> {
        self.instances.iter().filter_map(move |instance| {
            let callee = *self.calls.get(instance.callee)?;
            let decided = callee.decides.and_then(|position| instance.args.get(position));
            Some((callee, decided.map_or(compute, |ty| ty.resolve(compute))))
        })
    }
}

impl TypeRef {
    /// The dtype that this type is when the type parameter is `compute`.
    #[must_use]
    pub const fn resolve(self, compute: DType) -> DType {
        match self {
            TypeRef::Generic => compute,
            TypeRef::Real => compute.real(),
            TypeRef::Complex => compute.complex(),
            TypeRef::Fixed(dtype) => dtype,
        }
    }
}
