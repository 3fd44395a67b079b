//! Which kernel computes a call, and with what launch.
//!
//! One ordered list of steps: broadcast strides, drop, order and merge axes, class, index width, vector width, access
//! of each operand, launch. Decides from layouts, dtypes and addresses as integers alone, so every back end gets the
//! same plan.

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Coalesced, Layout};
use crate::op::OpDef;
use crate::plan::infer::{Inference, Source};
use crate::plan::policy::{self, Machine, Reach};
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

/// A call as the planner sees it.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What is computed for each element.
    pub body: Body,
    /// The shape of the outputs, to which all inputs broadcast.
    pub shape: &'a [usize],
    /// One an input of the body.
    pub inputs: SmallVec<[RequestedInput<'a>; 8]>,
    /// One an output of the body.
    pub outputs: SmallVec<[RequestedOutput<'a>; 2]>,
    /// Whether no output shares memory with an input.
    pub disjoint: bool,
}

/// An input of a [`Request`].
#[derive(Clone, Copy, Debug)]
pub struct RequestedInput<'a> {
    /// Where it lies; `None` for a number, which is passed by value in the lane's dtype.
    pub placement: Option<Placement<'a>>,
    /// The dtypes that it passes through: in memory, common with the other operands, of the function.
    pub chain: [DType; 3],
}

/// An output of a [`Request`].
#[derive(Clone, Copy, Debug)]
pub struct RequestedOutput<'a> {
    /// Where it lies.
    pub placement: Placement<'a>,
    /// The dtypes that it passes through: of the function, of the result, in memory.
    pub chain: [DType; 3],
}

/// Bytes of one vector load.
const VECTOR_BYTES: u32 = 16;
/// Blocks that one launch may have.
pub(super) const MAX_BLOCKS: u64 = (1 << 31) - 1;
/// Most elements for 32-bit indices: those of the last block run past the end, by less than the rest up to 2^31.
const MOST_I32: usize = (1 << 31) - (1 << 20);
/// Extents of both axes from which on a tile pays.
const TILE_FROM: usize = 16;

/// The plan of a call that `inference` describes, for the machine.
///
/// `inputs` has a placement for each parameter that is a buffer; `disjoint` says that no output shares memory with
/// an input.
///
/// # Errors
/// More elements than one launch can address.
pub fn schedule(
    machine: &Machine,
    op: &'static OpDef,
    inference: &Inference,
    inputs: &[Option<Placement<'_>>],
    outputs: &[Placement<'_>],
    disjoint: bool,
) -> Result<Plan> {
    let inputs = inference.inputs.iter().zip(inputs).map(|(input, &placement)| {
        let (stored, joined) = match input.source {
            Source::Buffer { stored, joined } => (stored, joined),
            Source::Number(_) | Source::HostValue { .. } => (input.lane, input.lane),
        };
        RequestedInput { placement, chain: [stored, joined, input.lane] }
    });
    let dtypes = inference.outputs.iter().zip(&inference.results);
    let outputs =
        op.outputs.iter().zip(outputs).zip(dtypes).map(|((output, &placement), (meta, &result))| {
            RequestedOutput { placement, chain: [output.ty.resolve(inference.compute), result, meta.dtype] }
        });
    schedule_request(
        machine,
        Request {
            body: Body::Op { op, compute: inference.compute },
            shape: inference.shape(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            disjoint,
        },
    )
}

/// The plan of a call for the machine.
///
/// # Errors
/// More elements than one launch can address.
pub fn schedule_request(machine: &Machine, request: Request<'_>) -> Result<Plan> {
    let name = request.body.name().to_owned();
    plan(machine, request).map_err(|error| error.in_op(&name))
}

fn plan(machine: &Machine, request: Request<'_>) -> Result<Plan> {
    let merged = merge_axes(&request)?;
    let numel: usize = request.shape.iter().product();
    let mut operands = Operands::new(&request, merged);
    let turned = operands.turned_axis();
    let class = match turned {
        _ if operands.is_flat() => operands.flat(machine, numel, request.body.is_heavy()),
        Some(axis) => {
            operands.move_inward(axis);
            operands.tiled(machine)
        }
        None => operands.rows(machine),
    };
    let inputs = operands.inputs.iter().map(|input| OperandSpec {
        access: operands.access(class, input),
        stored: input.chain[0],
        joined: input.chain[1],
        lane: input.chain[2],
    });
    let outputs = operands.outputs.iter().map(|output| OutputSpec {
        access: operands.access(class, output),
        lane: output.chain[0],
        result: output.chain[1],
        stored: output.chain[2],
    });
    let spec = KernelSpec {
        body: request.body,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        class,
        disjoint: request.disjoint,
    };
    let lead =
        if matches!(class, Class::Flat { peeled: true, .. }) { operands.lead(class.width()) } else { 0 };
    let units = operands.units(class);
    let total = match class {
        Class::Flat { .. } => numel as u64 + u64::from(lead),
        Class::Rows { .. } | Class::Tiled { .. } => units.iter().map(|&unit| unit as u64).product(),
    };
    let blocks = total.div_ceil(u64::from(class.units_per_block()));
    if blocks > MAX_BLOCKS {
        let message = format!("{numel} elements are more than one launch can address; split the call");
        return Err(Error::new(ErrorKind::Shape, message));
    }
    tracing::trace!(kernel = %spec, blocks, "scheduled");
    let args = LaunchArgs {
        numel,
        input_strides: operands.inputs.into_iter().map(|input| input.strides).collect(),
        output_strides: operands.outputs.into_iter().map(|output| output.strides).collect(),
        extents: operands.extents,
        units,
        lead,
        blocks,
    };
    Ok(Plan { spec, args })
}

/// Axes of all buffers after dropping, ordering and merging; outputs come first.
fn merge_axes(request: &Request<'_>) -> Result<Coalesced> {
    let placements = request.outputs.iter().map(|output| output.placement);
    let broadcast = placements
        .chain(request.inputs.iter().filter_map(|input| input.placement))
        .map(|placement| layout::broadcast_strides(placement.layout, request.shape))
        .collect::<Result<SmallVec<[layout::Strides; 8]>>>()?;
    let strides: SmallVec<[&[isize]; 8]> = broadcast.iter().map(|strides| strides.as_slice()).collect();
    Ok(layout::coalesce(request.shape, &strides))
}

/// One operand along the merged axes.
struct Operand {
    /// Byte address of its first element; none for a number.
    address: Option<u64>,
    /// In elements, outermost axis first; empty for a number.
    strides: SmallVec<[isize; 6]>,
    chain: [DType; 3],
    /// Bytes of an element in memory.
    size: u32,
}

impl Operand {
    fn inner(&self) -> isize {
        self.strides.last().copied().unwrap_or(0)
    }

    fn is_single(&self) -> bool {
        self.strides.iter().all(|&stride| stride == 0)
    }

    /// Bytes of one vector, or of one of the 16-byte parts that it is loaded in.
    fn vector_bytes(&self, width: u32) -> u64 {
        u64::from((self.size * width).min(VECTOR_BYTES))
    }

    /// Whether every vector is aligned: the first one, `before` elements in front of the first element, and the steps
    /// along all axes but `along`, on which vectors follow each other.
    fn is_aligned(&self, width: u32, before: u32, along: usize) -> bool {
        let bytes = self.vector_bytes(width);
        let size = u64::from(self.size);
        let first = self.address.unwrap_or(0).wrapping_sub(u64::from(before) * size);
        let mut others = self.strides.iter().enumerate().filter(|(axis, _)| *axis != along);
        first.is_multiple_of(bytes)
            && others.all(|(_, &stride)| (stride.unsigned_abs() as u64 * size).is_multiple_of(bytes))
    }
}

/// All operands along the merged axes.
struct Operands {
    extents: SmallVec<[usize; 6]>,
    inputs: SmallVec<[Operand; 8]>,
    outputs: SmallVec<[Operand; 2]>,
}

impl Operands {
    fn new(request: &Request<'_>, merged: Coalesced) -> Operands {
        let mut strides = merged.strides.into_iter();
        let outputs = request.outputs.iter().map(|output| Operand {
            address: Some(output.placement.address),
            strides: strides.next().unwrap_or_default(),
            chain: output.chain,
            size: size(output.chain[2]),
        });
        let outputs: SmallVec<[Operand; 2]> = outputs.collect();
        let inputs = request.inputs.iter().map(|input| Operand {
            address: input.placement.map(|placement| placement.address),
            strides: input.placement.and_then(|_| strides.next()).unwrap_or_default(),
            chain: input.chain,
            size: size(input.chain[0]),
        });
        Operands { extents: merged.extents, inputs: inputs.collect(), outputs }
    }

    fn all(&self) -> impl Iterator<Item = &Operand> {
        self.inputs.iter().chain(&self.outputs)
    }

    fn inner_axis(&self) -> usize {
        self.extents.len().saturating_sub(1)
    }

    fn inner_extent(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Extents of the two innermost axes.
    fn plane(&self) -> [usize; 2] {
        match *self.extents.as_slice() {
            [.., down, across] => [down, across],
            _ => [1, self.inner_extent()],
        }
    }

    fn is_flat(&self) -> bool {
        self.extents.len() <= 1 && self.all().all(|operand| matches!(operand.inner(), 0 | 1))
    }

    /// The axis along which most bytes that are scattered along the innermost axis are contiguous.
    fn turned_axis(&self) -> Option<usize> {
        let inner = self.inner_axis();
        let output_is_contiguous = self.outputs.first().is_some_and(|output| output.inner() == 1);
        if !output_is_contiguous || self.inner_extent() < TILE_FROM {
            return None;
        }
        let bytes_along = |axis: usize| -> u32 {
            let scattered = self.inputs.iter().filter(|input| input.inner().unsigned_abs() > 1);
            scattered.filter(|input| input.strides[axis].unsigned_abs() == 1).map(|input| input.size).sum()
        };
        let long = (0..inner).filter(|&axis| self.extents[axis] >= TILE_FROM);
        long.map(|axis| (bytes_along(axis), axis)).filter(|(bytes, _)| *bytes > 0).max().map(|(_, axis)| axis)
    }

    /// Moves an axis next to the innermost one.
    fn move_inward(&mut self, axis: usize) {
        let inner = self.inner_axis();
        self.extents[axis..inner].rotate_left(1);
        for operand in self.inputs.iter_mut().chain(&mut self.outputs) {
            if operand.strides.len() > inner {
                operand.strides[axis..inner].rotate_left(1);
            }
        }
    }

    /// Elements of one vector: 16 bytes of the widest operand that has vectors, so that neighbors in a warp load and
    /// store neighboring bytes of every operand.
    fn width(&self, machine: &Machine, has_vectors: impl Fn(&Operand) -> bool) -> u32 {
        let sizes = self.all().filter(|operand| has_vectors(operand)).map(|operand| operand.size);
        let (narrowest, widest) =
            sizes.fold((VECTOR_BYTES, 1), |(low, high), size| (low.min(size), high.max(size)));
        let bytes = machine.tuning.widest.unwrap_or(VECTOR_BYTES);
        (VECTOR_BYTES / narrowest).min(bytes / widest).max(1)
    }

    /// Size in bytes of the widest operand.
    fn widest(&self) -> u32 {
        self.all().filter(|operand| operand.address.is_some()).map(|operand| operand.size).max().unwrap_or(1)
    }

    fn flat(&self, machine: &Machine, numel: usize, is_heavy: bool) -> Class {
        let width = self.width(machine, |operand| operand.address.is_some());
        let n_vectors = (numel as u64).div_ceil(u64::from(width));
        let launch = policy::launch(
            machine,
            self.reach(if is_heavy { Reach::FlatHeavy } else { Reach::Flat }),
            self.widest(),
            self.loaded_bytes() * width,
            n_vectors,
        );
        let peeled = self.lead(width) != 0;
        Class::Flat { width, vectors: launch.vectors, threads: launch.threads, peeled }
    }

    fn rows(&self, machine: &Machine) -> Class {
        let steps_by_one = |operand: &Operand| operand.inner().unsigned_abs() == 1;
        let mut width = if self.all().any(steps_by_one) {
            self.width(machine, |o| o.address.is_some() && !o.is_single())
        } else {
            1
        };
        // At least three quarters of the elements of all vectors must be in their rows.
        let is_sparse = |width: u32| {
            let elements = self.row_units(width).saturating_mul(width as usize);
            self.inner_extent().saturating_mul(4) < elements.saturating_mul(3)
        };
        while width > 1 && is_sparse(width) {
            width /= 2;
        }
        let outer: u64 = self.extents[..self.inner_axis()].iter().map(|&extent| extent as u64).product();
        let n_vectors = outer * self.row_units(width) as u64;
        let by_elements = self.inputs.iter().any(|input| input.inner().unsigned_abs() > 1) || width == 1;
        let loaded = self.loaded_bytes() * width;
        let launch = policy::launch(
            machine,
            self.reach(if by_elements { Reach::Elements } else { Reach::Rows }),
            self.widest(),
            loaded,
            n_vectors,
        );
        let ragged =
            width > 1 && (self.shifts_rows(width) || !self.inner_extent().is_multiple_of(width as usize));
        Class::Rows {
            rank: self.rank(),
            index: self.index(),
            width,
            vectors: launch.vectors,
            threads: launch.threads,
            ragged,
        }
    }

    fn tiled(&self, machine: &Machine) -> Class {
        let width = self.width(machine, |operand| operand.address.is_some() && !operand.is_single());
        let turned = self.inputs.iter().filter(|input| self.is_turned(input)).map(|input| input.size);
        let (narrowest, bytes) =
            turned.fold((VECTOR_BYTES, 0), |(low, sum), size| (low.min(size), sum + size));
        let tile = policy::tile(machine, narrowest, bytes, width, self.plane());
        Class::Tiled {
            rank: self.rank(),
            index: self.index(),
            width,
            across: tile.across,
            down: tile.down,
            threads: tile.threads,
        }
    }

    fn reach(&self, reach: Reach) -> Reach {
        if self.loaded_bytes() == 0 { Reach::Stores } else { reach }
    }

    fn rank(&self) -> u32 {
        u32::try_from(self.extents.len()).unwrap_or(u32::MAX)
    }

    fn index(&self) -> IndexWidth {
        let strides = self.all().map(|operand| operand.strides.as_slice());
        let numel = self.extents.iter().product::<usize>();
        if numel > MOST_I32 || needs_i64_index(&self.extents, strides) {
            IndexWidth::I64
        } else {
            IndexWidth::I32
        }
    }

    /// Bytes that are loaded for one element; what is broadcast along the outer axes comes from the caches.
    fn loaded_bytes(&self) -> u32 {
        let streams = |input: &&Operand| {
            let reach = self.extents.iter().zip(&input.strides).filter(|(_, stride)| **stride != 0);
            reach.map(|(extent, _)| extent).product::<usize>() * 2 > self.extents.iter().product::<usize>()
        };
        self.inputs.iter().filter(streams).map(|input| input.size).sum()
    }

    fn is_turned(&self, input: &Operand) -> bool {
        let next = self.inner_axis().wrapping_sub(1);
        input.inner().unsigned_abs() > 1
            && input.strides.get(next).is_some_and(|stride| stride.unsigned_abs() == 1)
    }

    /// Elements from the aligned vector in which the first output begins to its first element, if whole elements lie
    /// between.
    fn lead(&self, width: u32) -> u32 {
        let Some(output) = self.outputs.first() else { return 0 };
        let past = output.address.unwrap_or(0) % output.vector_bytes(width);
        let size = u64::from(output.size);
        if past.is_multiple_of(size) { u32::try_from(past / size).unwrap_or(0) } else { 0 }
    }

    /// Whether rows of the first output begin between aligned vectors, so that their first vectors are parts.
    fn shifts_rows(&self, width: u32) -> bool {
        let inner = self.inner_axis();
        self.outputs.first().is_some_and(|output| output.inner() == 1 && !output.is_aligned(width, 0, inner))
    }

    /// Vectors of one row; one more where rows begin between aligned vectors.
    fn row_units(&self, width: u32) -> usize {
        let before = match self.outputs.first() {
            Some(output) if self.shifts_rows(width) => VECTOR_BYTES.div_ceil(output.size).min(width) - 1,
            _ => 0,
        };
        (self.inner_extent() + before as usize).div_ceil(width as usize)
    }

    fn units(&self, class: Class) -> SmallVec<[usize; 6]> {
        let mut units = self.extents.clone();
        let mut cut = |from_inner: usize, by: u32| {
            if let Some(axis) = units.len().checked_sub(1 + from_inner) {
                units[axis] = units[axis].div_ceil(by as usize);
            }
        };
        match class {
            Class::Flat { .. } => {}
            Class::Rows { width, .. } => {
                let row = self.row_units(width);
                if let Some(last) = units.last_mut() {
                    *last = row;
                }
            }
            Class::Tiled { across, down, .. } => {
                cut(0, across);
                cut(1, down);
            }
        }
        units
    }

    fn access(&self, class: Class, operand: &Operand) -> Access {
        let width = class.width();
        let inner = self.inner_axis();
        if operand.address.is_none() {
            return Access::Value;
        }
        let position = self.outputs.iter().position(|output| std::ptr::eq(output, operand));
        if operand.is_single() && position.is_none() {
            return Access::Single;
        }
        let is_first_output = position == Some(0);
        match class {
            Class::Flat { peeled, .. } => {
                let lead = if peeled { self.lead(width) } else { 0 };
                Access::Contiguous { aligned: operand.is_aligned(width, lead, inner) }
            }
            // Outputs are reached along the rows, in whatever order they lie.
            Class::Tiled { .. } if position.is_none() && self.is_turned(operand) => {
                let reversed = operand.strides[inner - 1] < 0;
                let before = if reversed { self.turned_width(width, operand) - 1 } else { 0 };
                Access::Tiled { reversed, aligned: operand.is_aligned(width, before, inner - 1) }
            }
            Class::Rows { .. } | Class::Tiled { .. } => {
                // Vectors of rows that begin anywhere are aligned for the first output alone.
                let fixed =
                    matches!(class, Class::Tiled { .. }) || is_first_output || !self.shifts_rows(width);
                let aligned = |before| width == 1 || (fixed && operand.is_aligned(width, before, inner));
                match operand.inner() {
                    1 => Access::Contiguous { aligned: aligned(0) },
                    -1 => Access::Reversed { aligned: aligned(width - 1) },
                    0 => Access::Repeated,
                    _ => Access::Strided,
                }
            }
        }
    }

    /// Elements of a vector along the axis of a turned operand: 16 bytes at most.
    fn turned_width(&self, width: u32, operand: &Operand) -> u32 {
        (VECTOR_BYTES / operand.size).min(width).max(1)
    }
}

fn size(dtype: DType) -> u32 {
    u32::try_from(dtype.size()).unwrap_or(VECTOR_BYTES)
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
