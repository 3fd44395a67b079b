//! Dtypes, shape and strides of the results of a call.
//!
//! The same function serves eager and symbolic calls, so their answers can't differ.
//! Decides nothing about kernels; allocates nothing up to rank 6 and 8 operands.

use crate::buffer::{Buffer, Meta};
use crate::device::Device;
use crate::dtype::{self, Category, DType, Kind, Scalar, Tier, Tiered};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Entry, Extent, Layout, Place};
use crate::op::{Compute, Numbers, OpDef, Operand, ParamDef, Role, Seen, TypeRef};
use smallvec::SmallVec;

/// What planning may know of one operand.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a, D: Extent = usize> {
    /// A buffer, by its description.
    Buffer(&'a Meta<D>),
    /// A host number.
    Number(Scalar),
}

impl<D: Extent> Argument<'_, D> {
    /// What the check of an op sees of it.
    pub(crate) fn seen(&self) -> Seen {
        match self {
            Argument::Buffer(meta) => Seen::Buffer { dtype: meta.dtype, rank: meta.layout.rank() },
            Argument::Number(number) => Seen::Number(*number),
        }
    }
}

/// Where the results of a call go.
#[derive(Clone, Copy, Debug)]
pub enum Outputs<'a, D: Extent = usize> {
    /// Into new buffers, of this dtype where the caller chooses it.
    New {
        /// The dtype of all results, instead of the promoted one.
        dtype: Option<DType>,
    },
    /// Into these.
    Given(&'a [&'a Meta<D>]),
}

/// The operands of a call as planning sees them.
#[must_use]
pub fn arguments<'a, B: Buffer>(operands: &[Operand<'a, B>]) -> SmallVec<[Argument<'a, B::Size>; 8]> {
    operands
        .iter()
        .map(|operand| match operand {
            Operand::Buffer(buffer) => Argument::Buffer(buffer.meta()),
            Operand::Scalar(number) => Argument::Number(*number),
        })
        .collect()
}

/// How one parameter reaches the function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Where its value comes from.
    pub source: Source,
    /// The dtype that the function takes.
    pub lane: DType,
}

impl Input {
    /// The dtypes that the value passes through: its own, the common one of the operands, the function's.
    #[must_use]
    pub const fn chain(&self) -> [DType; 3] {
        match self.source {
            Source::Buffer { stored, joined } | Source::HostValue { stored, joined } => {
                [stored, joined, self.lane]
            }
            Source::Number(_) => [self.lane; 3],
        }
    }
}

/// Where the value of a parameter comes from, and the dtype that it is rounded to first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Loaded from memory: the stored dtype, and the common dtype it is converted to before the lane's.
    Buffer {
        /// The dtype in memory.
        stored: DType,
        /// The common dtype of the operands.
        joined: DType,
    },
    /// A host number, rounded once, straight to the lane's dtype.
    Number(Scalar),
    /// A 0-d host buffer among operands of another device: read on the host, converted like a buffer, passed by value.
    HostValue {
        /// The dtype in memory.
        stored: DType,
        /// The common dtype of the operands.
        joined: DType,
    },
}

/// What a call gives.
#[derive(Clone, Debug)]
pub struct Inference<D: Extent = usize> {
    /// Where it runs and the results are.
    pub device: Device,
    /// What the type parameter of the function is.
    pub compute: DType,
    /// How each parameter reaches the function.
    pub inputs: SmallVec<[Input; 8]>,
    /// The dtype that each result is rounded to before it is converted to the output's dtype.
    pub results: SmallVec<[DType; 2]>,
    /// The outputs: new ones, or the given ones (resized if they were empty).
    pub outputs: SmallVec<[Meta<D>; 2]>,
}

impl<D: Extent> Inference<D> {
    /// The common shape of operands and outputs, in elements.
    #[must_use]
    pub fn shape(&self) -> &[D] {
        self.outputs.first().map_or(&[], |output| output.layout.shape())
    }
}

/// Dtypes, shape and strides of the results of `op`.
///
/// # Errors
/// Operands without a common dtype, shape or device; a dtype that the op does not take; given outputs that cannot
/// take the result.
pub fn infer<D: Extent>(
    op: &OpDef,
    arguments: &[Argument<'_, D>],
    outputs: Outputs<'_, D>,
) -> Result<Inference<D>> {
    infer_unnamed(op, arguments, outputs).map_err(|error| error.in_op(op.name))
}

fn infer_unnamed<D: Extent>(
    op: &OpDef,
    arguments: &[Argument<'_, D>],
    wanted: Outputs<'_, D>,
) -> Result<Inference<D>> {
    check_roles(op, arguments)?;
    let given = match wanted {
        Outputs::New { .. } => &[],
        Outputs::Given(given) => given,
    };
    let device = common_device(op, arguments, given)?;
    let common = common_dtype(op, arguments)?;
    if let Some(check) = op.check {
        let seen: SmallVec<[Seen; 8]> = arguments.iter().map(Argument::seen).collect();
        check(&seen, common)?;
    }
    let promotion = Promotion::of(op, common);
    let (compute, numbers) = exact_comparison(op, arguments, promotion.compute);
    let promotion = Promotion { compute, ..promotion };
    let inputs = op
        .params
        .iter()
        .zip(arguments)
        .zip(numbers.iter())
        .map(|((param, argument), number)| input(param, argument, *number, &promotion, device))
        .collect::<Result<_>>()?;

    let shape = layout::broadcast_shapes(arguments.iter().filter_map(|argument| match argument {
        Argument::Buffer(meta) => Some(meta.layout.shape()),
        Argument::Number(_) => None,
    }))?;
    let mut results = SmallVec::new();
    let mut dtypes: SmallVec<[DType; 2]> = SmallVec::new();
    for output in op.outputs {
        let result = match output.ty {
            TypeRef::Fixed(dtype) => dtype,
            ty => ty.resolve(promotion.result),
        };
        results.push(result);
        dtypes.push(match output.like.and_then(|param| arguments.get(param)) {
            Some(Argument::Buffer(meta)) => meta.dtype,
            _ => result,
        });
    }
    let outputs = match wanted {
        Outputs::New { dtype: chosen } => {
            let layout = new_layout(op, arguments, &shape)?;
            let meta = |dtype| Meta { dtype: chosen.unwrap_or(dtype), device, layout: layout.clone() };
            dtypes.into_iter().map(meta).collect()
        }
        Outputs::Given(given) => given_outputs(op, arguments, given, &shape, &results)?,
    };
    Ok(Inference { device, compute, inputs, results, outputs })
}

/// The dtypes that one promotion gives.
#[derive(Clone, Copy)]
struct Promotion {
    /// What tensor operands are converted to first.
    joined: DType,
    result: DType,
    compute: DType,
}

impl Promotion {
    fn of(op: &OpDef, common: DType) -> Promotion {
        let kind = op.promote.kind;
        let result = dtype::result_dtype(kind, common);
        let joined = match kind {
            Kind::IntToFloat | Kind::BoolToLong | Kind::ToDouble => result,
            Kind::Default | Kind::NoOpmath | Kind::AlwaysBool | Kind::ComplexToFloat => common,
        };
        let compute = match op.promote.compute {
            Compute::OpMath => dtype::compute_dtype(kind, common),
            Compute::Storage => joined,
        };
        Promotion { joined, result, compute }
    }
}

/// Each parameter marked as a number got one, and the counts agree.
fn check_roles<D: Extent>(op: &OpDef, arguments: &[Argument<'_, D>]) -> Result<()> {
    if op.params.len() != arguments.len() {
        let message = format!("takes {} arguments, got {}", op.params.len(), arguments.len());
        return Err(Error::new(ErrorKind::Value, message));
    }
    for (param, argument) in op.params.iter().zip(arguments) {
        if let (Role::Number, Argument::Buffer(meta)) = (param.role, argument) {
            let message =
                format!("`{}` is a number, got {meta}; read the value on the host first", param.name);
            return Err(Error::new(ErrorKind::Value, message));
        }
    }
    Ok(())
}

/// The one device of all buffers; 0-d host buffers follow the others.
fn common_device<D: Extent>(op: &OpDef, arguments: &[Argument<'_, D>], given: &[&Meta<D>]) -> Result<Device> {
    let outputs = op.outputs.iter().map(|output| output.name).zip(given.iter().copied());
    let inputs = op.params.iter().zip(arguments).filter_map(|(param, argument)| match argument {
        Argument::Buffer(meta) => Some((param.name, *meta)),
        Argument::Number(_) => None,
    });
    let mut found: Option<(&str, &Meta<D>)> = None;
    for (name, meta) in outputs.chain(inputs) {
        let follows = |meta: &Meta<D>| meta.device == Device::Cpu && meta.layout.rank() == 0;
        match found {
            None => found = Some((name, meta)),
            Some((_, other)) if other.device == meta.device => {}
            Some((_, other)) if follows(other) => found = Some((name, meta)),
            Some(_) if follows(meta) => {}
            Some((first, other)) => {
                let message = format!(
                    "`{first}` is on {} and `{name}` on {}; move one with `to_device`",
                    other.device, meta.device
                );
                return Err(Error::new(ErrorKind::Device, message));
            }
        }
    }
    for (output, meta) in op.outputs.iter().zip(given) {
        if let Some((name, other)) = found.filter(|(_, other)| other.device != meta.device) {
            let message = format!(
                "output `{}` is on {} and `{name}` on {}; give an output on {}",
                output.name, meta.device, other.device, other.device
            );
            return Err(Error::new(ErrorKind::Device, message));
        }
    }
    Ok(found.map_or(Device::Cpu, |(_, meta)| meta.device))
}

/// The common dtype of the operands that promote, checked against what the op and its parameters take.
fn common_dtype<D: Extent>(op: &OpDef, arguments: &[Argument<'_, D>]) -> Result<DType> {
    let mut promoting = op.params.iter().zip(arguments).filter(|(param, _)| param.promotes).peekable();
    let common = if promoting.peek().is_some() {
        let dtypes = promoting.map(|(_, argument)| tiered(argument));
        let common = match op.promote.kind {
            // Nothing needs to fit but f64.
            Kind::ToDouble => {
                let is_complex = dtypes.into_iter().any(|operand| operand.dtype.is_complex());
                if is_complex { DType::C128 } else { DType::F64 }
            }
            _ => dtype::result_type(dtypes)?,
        };
        if !op.dtypes.contains(common) {
            let message = format!("{common} is not supported; supported are {}", op.dtypes);
            return Err(Error::new(ErrorKind::DType, message));
        }
        common
    } else {
        DType::F32
    };
    for (param, argument) in op.params.iter().zip(arguments).filter(|(param, _)| !param.promotes) {
        let dtype = match (argument, param.role) {
            (Argument::Buffer(meta), _) => meta.dtype,
            (Argument::Number(number), Role::Tensor) => number.default_dtype(),
            (Argument::Number(_), Role::Number) => continue,
        };
        if !param.accepts.contains(dtype) {
            let message = format!("`{}` is {dtype}; it takes {}", param.name, param.accepts);
            return Err(Error::new(ErrorKind::DType, message));
        }
    }
    Ok(common)
}

fn tiered<D: Extent>(argument: &Argument<'_, D>) -> Tiered {
    match argument {
        Argument::Buffer(meta) => {
            let tier = if meta.layout.rank() == 0 { Tier::ZeroDim } else { Tier::Tensor };
            Tiered { dtype: meta.dtype, tier }
        }
        Argument::Number(number) => Tiered { dtype: number.default_dtype(), tier: Tier::Number },
    }
}

/// Replaces numbers that an integer computation dtype can't hold, for ops that ask for it.
///
/// A comparison with a number outside the dtype's range has the same answer for every element as a comparison with
/// an infinity of that sign, so it is done in f32 against that infinity. Clamping saturates such a number.
fn exact_comparison<D: Extent>(
    op: &OpDef,
    arguments: &[Argument<'_, D>],
    compute: DType,
) -> (DType, SmallVec<[Option<Scalar>; 8]>) {
    let mut numbers: SmallVec<[Option<Scalar>; 8]> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Number(number) => Some(*number),
            Argument::Buffer(_) => None,
        })
        .collect();
    if op.numbers == Numbers::Wrap || !compute.is_int() {
        return (compute, numbers);
    }
    let mut compute_exact = compute;
    for number in numbers.iter_mut().flatten() {
        match (op.numbers, number.side_of(compute)) {
            (_, 0) | (Numbers::Wrap, _) => {}
            (Numbers::Exact, side) => {
                *number = Scalar::F64(f64::from(side) * f64::INFINITY);
                compute_exact = DType::F32;
            }
            (Numbers::Saturate, side) => *number = Scalar::limit(compute, side),
        }
    }
    (compute_exact, numbers)
}

fn input<D: Extent>(
    param: &ParamDef,
    argument: &Argument<'_, D>,
    number: Option<Scalar>,
    promotion: &Promotion,
    device: Device,
) -> Result<Input> {
    let lane = param.ty.resolve(promotion.compute);
    let source = match (argument, number) {
        (Argument::Buffer(meta), _) => {
            let joined = if param.promotes { promotion.joined } else { lane };
            let stored = meta.dtype;
            if meta.device == device {
                Source::Buffer { stored, joined }
            } else {
                Source::HostValue { stored, joined }
            }
        }
        (Argument::Number(given), number) => {
            let number = number.unwrap_or(*given);
            if param.role == Role::Number {
                check_number(param, number, lane)?;
            }
            Source::Number(number)
        }
    };
    Ok(Input { source, lane })
}

/// A parameter of an integer op must be an integer, one of a real op must be real.
fn check_number(param: &ParamDef, number: Scalar, lane: DType) -> Result<()> {
    let lossy = match (number.category(), lane.category()) {
        (Category::Complex, Category::Complex) | (Category::Float, Category::Float) => false,
        (Category::Complex, _) => true,
        (Category::Float, Category::Int | Category::Bool) => true,
        _ => false,
    };
    if lossy {
        let message = format!("`{}` = {number} cannot be used for a {lane} result", param.name);
        return Err(Error::new(ErrorKind::Value, message));
    }
    Ok(())
}

/// The layout that the operands' vote gives to new outputs.
fn new_layout<D: Extent>(op: &OpDef, arguments: &[Argument<'_, D>], shape: &[D]) -> Result<Layout<D>> {
    let mut entries: SmallVec<[Entry<'_, D>; 8]> = SmallVec::new();
    let listed = op.vote.iter().copied();
    let unlisted = (0..op.params.len()).filter(|index| !op.vote.contains(index));
    for (index, votes) in listed.map(|i| (i, true)).chain(unlisted.map(|i| (i, false))) {
        match arguments.get(index) {
            Some(Argument::Buffer(meta)) => entries.push(Entry::from(&meta.layout)),
            Some(Argument::Number(_)) if votes => entries.push(Entry { shape: &[], strides: &[] }),
            _ => {}
        }
    }
    let strides = layout::output_strides(&entries);
    Layout::from_parts(shape.iter().cloned().collect(), strides, D::Offset::default())
}

/// The given outputs, with empty ones resized.
fn given_outputs<D: Extent>(
    op: &OpDef,
    arguments: &[Argument<'_, D>],
    given: &[&Meta<D>],
    shape: &[D],
    results: &[DType],
) -> Result<SmallVec<[Meta<D>; 2]>> {
    if given.len() != op.outputs.len() {
        let message = format!("has {} outputs, got {} buffers", op.outputs.len(), given.len());
        return Err(Error::new(ErrorKind::Value, message));
    }
    // A number that is converted into a given output fills it.
    let fills = op.casts_freely && arguments.iter().all(|argument| matches!(argument, Argument::Number(_)));
    op.outputs
        .iter()
        .zip(given)
        .zip(results)
        .map(|((output, meta), &result)| {
            // A result of a dtype that the signature or the kind fixes is not converted, but truth values are, and the
            // f32 that integers become.
            let is_fixed = output.like.is_none()
                && match output.ty {
                    TypeRef::Fixed(dtype) => !matches!(dtype, DType::Bool | DType::F32),
                    _ => op.promote.kind == Kind::ToDouble,
                };
            let fits = if is_fixed { result == meta.dtype } else { dtype::can_cast(result, meta.dtype) };
            if !op.casts_freely && !fits {
                let message = format!(
                    "result is {result}, which output `{}` of {} cannot take; give an output of {result}",
                    output.name, meta.dtype
                );
                return Err(Error::new(ErrorKind::DType, message));
            }
            if fills || meta.layout.has_shape(shape, Place::new("fitting the output")) {
                return Ok((*meta).clone());
            }
            if meta.layout.is_empty() {
                let layout = new_layout(op, arguments, shape)?;
                return Ok(Meta { layout, ..(*meta).clone() });
            }
            let message = format!(
                "output `{}` is {:?} and the result {:?}; give an output of that shape, or an empty one to be resized",
                output.name,
                meta.layout.shape(),
                shape
            );
            Err(Error::new(ErrorKind::Shape, message))
        })
        .collect()
}
