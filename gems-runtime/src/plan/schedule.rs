//! Which kernel computes a call, and with what launch.
//!
//! One ordered list of steps: broadcast strides, drop, order and merge axes, index width, access class, vector width,
//! grid. Decides from layouts, dtypes and addresses as integers alone, so every back end gets the same plan.

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Layout};
use crate::op::OpDef;
use crate::plan::infer::{Inference, Input, Source};
use crate::plan::spec::{
    Access, Body, Class, IndexWidth, KernelSpec, LaunchArgs, OperandSpec, OutputSpec, Plan,
};
use smallvec::SmallVec;

/// Where an operand lies: its layout, and the byte address of its first element.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// Shape and strides in elements.
    pub layout: &'a Layout,
    /// Byte address of the element with all indices 0, as a plain number.
    pub address: u64,
}

/// Bytes of one vector load.
const VECTOR_BYTES: usize = 16;
/// Most bytes that one operand's vector may take in registers.
const WIDEST_VECTOR_BYTES: usize = 64;
/// Two vectors of 16 bytes an operand and blocks of 128 threads: within 1 % of the best variant of every contiguous
/// case tried on an H200; one vector with 256 threads lost 9 % on gelu_and_mul in bf16.
const VECTORS: u32 = 2;
const FLAT_THREADS: u32 = 128;
/// Elements of a thread of a strided kernel: loads in flight without many registers for indices.
const STRIDED_ITEMS: u32 = 4;
const STRIDED_THREADS: u32 = 256;
/// Blocks that one launch may have.
const MAX_BLOCKS: u64 = (1 << 31) - 1;

/// The plan of a call that `inference` describes.
///
/// `inputs` has a placement for each parameter that is a buffer; `disjoint` says that no output shares memory with
/// an input.
///
/// # Errors
/// More elements than one launch can address.
pub fn schedule(
    op: &'static OpDef,
    inference: &Inference,
    inputs: &[Option<Placement<'_>>],
    outputs: &[Placement<'_>],
    disjoint: bool,
) -> Result<Plan> {
    let shape = inference.shape();
    let merged = merge_axes(shape, inputs, outputs).map_err(|error| error.in_op(op.name))?;
    let flat = merged.extents.len() <= 1
        && merged.strides.iter().all(|strides| strides.iter().all(|&stride| stride == 0 || stride == 1));
    let numel: usize = shape.iter().product();
    let (output_strides, input_strides) = merged.strides.split_at(outputs.len());

    let class = if flat {
        Class::Flat { width: vector_width(inference, inputs), vectors: VECTORS, threads: FLAT_THREADS }
    } else {
        let index = if needs_i64_index(&merged.extents, merged.strides.iter().map(|s| s.as_slice())) {
            IndexWidth::I64
        } else {
            IndexWidth::I32
        };
        let rank = u32::try_from(merged.extents.len()).unwrap_or(u32::MAX);
        Class::Strided { rank, index, items: STRIDED_ITEMS, threads: STRIDED_THREADS }
    };

    let mut strides_of_buffers = input_strides.iter();
    let mut all_input_strides = SmallVec::new();
    let mut input_specs = SmallVec::new();
    for (input, placement) in inference.inputs.iter().zip(inputs) {
        let strides = placement.and_then(|_| strides_of_buffers.next()).cloned().unwrap_or_default();
        input_specs.push(operand_spec(input, placement.as_ref(), &strides, class));
        all_input_strides.push(strides);
    }
    let output_specs = op
        .outputs
        .iter()
        .zip(outputs)
        .zip(inference.outputs.iter().zip(&inference.results))
        .map(|((output, placement), (meta, &result))| OutputSpec {
            access: match class {
                Class::Flat { width, .. } => contiguous(placement.address, meta.dtype, width),
                Class::Strided { .. } => Access::Strided,
            },
            lane: output.ty.resolve(inference.compute),
            result,
            stored: meta.dtype,
        })
        .collect();

    let blocks = (numel as u64).div_ceil(u64::from(class.items_per_block()));
    if blocks > MAX_BLOCKS {
        let message = format!("{numel} elements are more than one launch can address; split the call");
        return Err(Error::new(ErrorKind::Shape, message).in_op(op.name));
    }
    let spec = KernelSpec {
        body: Body::Op { op, compute: inference.compute },
        inputs: input_specs,
        outputs: output_specs,
        class,
        disjoint,
    };
    let args = LaunchArgs {
        numel,
        extents: merged.extents,
        input_strides: all_input_strides,
        output_strides: output_strides.iter().cloned().collect(),
        blocks,
    };
    tracing::trace!(kernel = %spec, blocks, "scheduled");
    Ok(Plan { spec, args })
}

/// Axes of all buffers after dropping, ordering and merging; outputs come first.
fn merge_axes(
    shape: &[usize],
    inputs: &[Option<Placement<'_>>],
    outputs: &[Placement<'_>],
) -> Result<layout::Coalesced> {
    let broadcast = outputs
        .iter()
        .chain(inputs.iter().flatten())
        .map(|placement| layout::broadcast_strides(placement.layout, shape))
        .collect::<Result<SmallVec<[layout::Strides; 8]>>>()?;
    let strides: SmallVec<[&[isize]; 8]> = broadcast.iter().map(|strides| strides.as_slice()).collect();
    Ok(layout::coalesce(shape, &strides))
}

/// Elements of one vector: 16 bytes of the narrowest buffer, less if the widest would take too many registers.
fn vector_width(inference: &Inference, inputs: &[Option<Placement<'_>>]) -> u32 {
    let loaded = inference.inputs.iter().zip(inputs).filter(|(_, placement)| placement.is_some());
    let sizes = loaded
        .filter_map(|(input, _)| match input.source {
            Source::Buffer { stored, .. } => Some(stored.size()),
            Source::Number(_) | Source::HostValue { .. } => None,
        })
        .chain(inference.outputs.iter().map(|output| output.dtype.size()));
    let (narrowest, widest) =
        sizes.fold((VECTOR_BYTES, 1), |(low, high), size| (low.min(size), high.max(size)));
    let width = (VECTOR_BYTES / narrowest).min(WIDEST_VECTOR_BYTES / widest).max(1);
    u32::try_from(width).unwrap_or(1)
}

/// Whether some index or element offset does not fit 31 bits; never if there is no element.
#[must_use]
pub fn needs_i64_index<'a>(extents: &[usize], strides: impl Iterator<Item = &'a [isize]>) -> bool {
    const LIMIT: u128 = 1 << 31;
    let numel: u128 = extents.iter().map(|&extent| extent as u128).product();
    let reaches = |strides: &[isize]| {
        let reach: u128 = extents
            .iter()
            .zip(strides)
            .map(|(&extent, &stride)| extent.saturating_sub(1) as u128 * stride.unsigned_abs() as u128)
            .sum();
        reach >= LIMIT
    };
    numel >= LIMIT || (numel != 0 && strides.into_iter().any(reaches))
}

fn operand_spec(
    input: &Input,
    placement: Option<&Placement<'_>>,
    strides: &[isize],
    class: Class,
) -> OperandSpec {
    let lane = input.lane;
    let (stored, joined) = match input.source {
        Source::Buffer { stored, joined } => (stored, joined),
        Source::Number(_) | Source::HostValue { .. } => (lane, lane),
    };
    let access = match (placement, class) {
        (None, _) => Access::Value,
        (Some(_), _) if strides.iter().all(|&stride| stride == 0) => Access::Single,
        (Some(placement), Class::Flat { width, .. }) => contiguous(placement.address, stored, width),
        (Some(_), Class::Strided { .. }) => Access::Strided,
    };
    OperandSpec { access, stored, joined, lane }
}

fn contiguous(address: u64, dtype: DType, width: u32) -> Access {
    let bytes = (dtype.size() as u64 * u64::from(width)).min(VECTOR_BYTES as u64);
    Access::Contiguous { aligned: address.is_multiple_of(bytes) }
}
