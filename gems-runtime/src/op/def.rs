//! Static description of an op: schema, promotion, device text, CPU loops.

use crate::dtype::{Category, DType, DTypeSet, Kind, Scalar};
use crate::emit;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Extent;
use crate::op::{CpuKernel, DeviceFn, VjpDef};
use crate::plan::{self, Argument};

/// Everything the runtime knows about an annotated function.
///
/// Written by `#[pointwise_dynamic]`, one `static` an op; two ops are the same if they are the same `static`.
#[derive(Debug)]
pub struct OpDef {
    /// The function's name.
    pub name: &'static str,
    /// The function's doc comment, lines joined by newlines.
    pub doc: &'static str,
    /// The function as the author wrote it, for display.
    pub rust_source: &'static str,
    /// Arguments in the order of the signature.
    pub params: &'static [ParamDef],
    /// Results in the order of the returned tuple.
    pub outputs: &'static [OutputDef],
    /// How the dtypes of the arguments make the dtypes of computation and results.
    pub promote: Promote,
    /// Dtypes that the common dtype may have.
    pub dtypes: DTypeSet,
    /// What becomes of a number that an integer computation dtype cannot hold.
    pub numbers: Numbers,
    /// The parameters that vote on the layout of results, in order; numbers among them vote as 0-d buffers.
    /// Buffers of other parameters vote after these, their numbers not at all.
    pub vote: &'static [usize],
    /// Whether given outputs may have any dtype: conversions and fills.
    pub casts_freely: bool,
    /// Refuses arguments that make no sense, before anything is planned.
    pub check: Option<Check>,
    /// The op that serves complex operands, where complex numbers need another formula.
    pub complex: Option<&'static OpDef>,
    /// The op that serves operands that are all bools and integers, where those need another formula.
    pub integers: Option<&'static OpDef>,
    /// The CUDA C++ form.
    pub device: &'static DeviceFn,
    /// The CPU loop for a computation dtype, if the function has one.
    pub cpu: fn(DType) -> Option<CpuKernel>,
    /// The derivative, if the function was annotated with `grad`.
    pub vjp: Option<VjpDef>,
}

/// Refuses numbers, of which there is one entry a parameter (`None` for buffers), with a common dtype.
pub type Check = fn(&[Seen], DType) -> Result<()>;

/// One argument of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamDef {
    /// The Rust name.
    pub name: &'static str,
    /// Buffer-or-number, or always a number.
    pub role: Role,
    /// The type in the signature.
    pub ty: TypeRef,
    /// Whether the argument's dtype takes part in promotion.
    pub promotes: bool,
    /// Dtypes that the argument may have; checked for arguments that do not take part in promotion.
    pub accepts: DTypeSet,
}

/// One argument as the check of an op sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// A buffer, without its values.
    Buffer {
        /// Its dtype.
        dtype: DType,
        /// The number of its axes.
        rank: usize,
    },
    /// A host number.
    Number(Scalar),
}

/// Whether an argument may be a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A buffer or a number.
    Tensor,
    /// Always a number (`#[param]`).
    Number,
}

/// One result of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputDef {
    /// Name in generated code and in errors.
    pub name: &'static str,
    /// The type in the signature.
    pub ty: TypeRef,
    /// The parameter whose dtype the result has, whatever the common dtype is (in-place state of optimizers).
    pub like: Option<usize>,
}

/// A type as the signature names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeRef {
    /// The type parameter `T`.
    Generic,
    /// `T::Real`: the parts of `T` if that is complex, else `T`.
    Real,
    /// `T::Complex`: the complex type with parts of `T`.
    Complex,
    /// A concrete type.
    Fixed(DType),
}

/// Promotion rule of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promote {
    /// One of PyTorch's six promotion kinds.
    pub kind: Kind,
    /// What the type parameter is at run time.
    pub compute: Compute,
}

/// What the type parameter of an op stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// The arithmetic dtype: f32 for 1- and 2-byte floats.
    OpMath,
    /// The stored dtype itself; for functions on bits.
    Storage,
}

/// What becomes of a number that an integer computation dtype cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// It is reduced modulo 2^width: arithmetic.
    #[default]
    Wrap,
    /// It keeps its value: comparisons.
    Exact,
    /// It becomes the nearest value of the dtype: clamping.
    Saturate,
}

impl Seen {
    /// The dtype that the argument brings to promotion.
    #[must_use]
    pub fn dtype(self) -> DType {
        match self {
            Seen::Buffer { dtype, .. } => dtype,
            Seen::Number(number) => number.default_dtype(),
        }
    }
}

impl OpDef {
    /// Arguments that may be buffers.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &ParamDef)> {
        self.params.iter().enumerate().filter(|(_, param)| param.role == Role::Tensor)
    }

    /// The op that runs on these arguments: the complex form, if one is there and a promoting argument is complex; the
    /// form of integers, if one is there and no promoting argument is more than an integer.
    pub(crate) fn form<D: Extent>(&'static self, arguments: &[Argument<'_, D>]) -> &'static OpDef {
        if self.complex.is_none() && self.integers.is_none() {
            return self;
        }
        let promoting = self.params.iter().zip(arguments).filter(|(param, _)| param.promotes);
        let form = match promoting.map(|(_, argument)| argument.seen().dtype().category()).max() {
            Some(Category::Complex) => self.complex,
            Some(Category::Int | Category::Bool) => self.integers,
            Some(Category::Float) | None => None,
        };
        form.unwrap_or(self)
    }

    /// Refuses to write the result over a first operand of this dtype where PyTorch does: the magnitude of a complex buffer
    /// is no complex one, and what computes in double precision is stored in no less.
    ///
    /// # Errors
    /// `DType`, with what to call instead.
    pub fn check_in_place(&self, dtype: DType) -> Result<()> {
        let what = match self.promote.kind {
            Kind::ComplexToFloat if dtype.is_complex() => "is real",
            Kind::ToDouble if !matches!(dtype, DType::F64 | DType::C128) => "is of double precision",
            _ => return Ok(()),
        };
        let message =
            format!("the result {what} and cannot be written over a buffer of {dtype}; take a new result");
        Err(Error::new(ErrorKind::DType, message).in_op(self.name))
    }

    /// Whether the value of a number takes part in planning, in this op or in a form of it.
    pub(crate) fn looks_at_numbers(&self) -> bool {
        let looks = |op: &OpDef| op.check.is_some() || op.numbers != Numbers::Wrap;
        looks(self) || [self.complex, self.integers].into_iter().flatten().any(looks)
    }

    /// The kernel for contiguous operands of the op's most usual dtype, as CUDA C++.
    ///
    /// # Errors
    /// The function calls something that the prelude does not have.
    pub fn cuda_source(&'static self) -> Result<String> {
        let (_, plan) = plan::representative(self)?;
        Ok(emit::source(&plan.spec)?.text)
    }

    /// Whether a parameter has no say in dtypes and layout: one value, converted to the type parameter.
    #[must_use]
    pub fn is_one_value(&self, position: usize) -> bool {
        let is_generic = |param: &ParamDef| param.ty == TypeRef::Generic && !param.promotes;
        self.params.get(position).is_some_and(is_generic) && !self.vote.contains(&position)
    }

    /// The position of the parameter of this name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }
}
