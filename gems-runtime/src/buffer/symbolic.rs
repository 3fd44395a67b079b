//! A buffer without memory: what a call would give, before there is anything to compute.
//!
//! **Invariant:** there is no pointer in this type and no way to get one; asking it for data does not compile.
//! Views of one buffer know that they share its memory. Ops are not recorded here.

use crate::buffer::{Buffer, Meta};
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Extent, Layout, Place, Quantity, Stride};
use crate::op::builtin::gradient_fill;
use crate::op::{OpDef, Operand};
use crate::plan::{self, Argument, Outputs, Placed};
use crate::trace::{Dim, Recorded, Recorder, Scope, Start, Traced};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Dtype, device and layout of a buffer that need not exist; its sizes may be open.
///
/// Ops on it infer the dtype, shape and strides that the same call on [`StridedBuffer`](crate::buffer::StridedBuffer)s gives, through the same code.
/// Where that depends on an open size, the [`Scope`] of the size records a guard.
///
/// # Examples
/// ```
/// use gems_runtime::buffer::{Buffer, StridedBuffer, SymbolicBuffer, Views};
/// use gems_runtime::trace::{Policy, Scope};
///
/// let x = StridedBuffer::from_vec(vec![0.0f32; 24], &[2, 12])?;
/// let scope = Scope::new(Policy::Guard);
/// let x = SymbolicBuffer::like_symbolic(x.meta(), "x", &scope)?;
/// assert_eq!(x.to_string(), "f32[x.shape[0], x.shape[1]]");
/// assert_eq!(x.flatten(0, 1)?.to_string(), "f32[x.shape[0]*x.shape[1]]");
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
#[derive(Clone)]
pub struct SymbolicBuffer {
    meta: Meta<Dim>,
    /// At the sizes seen.
    seen: Meta,
    /// Identity of the memory there would be.
    memory: Arc<()>,
    /// The trace that the buffer belongs to.
    traced: Option<Traced>,
}

impl SymbolicBuffer {
    /// A contiguous buffer.
    ///
    /// # Errors
    /// `Shape` if the number of elements overflows.
    pub fn new(dtype: DType, shape: &[usize], device: Device) -> Result<SymbolicBuffer> {
        Ok(SymbolicBuffer::with_meta(Meta { dtype, device, layout: Layout::contiguous(shape)? }))
    }

    /// A buffer of any layout.
    #[must_use]
    pub fn with_meta(meta: Meta) -> SymbolicBuffer {
        let layout = Layout::<Dim>::from(&meta.layout);
        let open = Meta { dtype: meta.dtype, device: meta.device, layout };
        SymbolicBuffer { meta: open, seen: meta, memory: Arc::default(), traced: None }
    }

    /// The description of an existing buffer.
    #[must_use]
    pub fn like(buffer: &impl Buffer<Size = usize>) -> SymbolicBuffer {
        SymbolicBuffer::with_meta(buffer.meta().clone())
    }

    /// A contiguous buffer of sizes that may be open.
    ///
    /// # Errors
    /// `Shape` if the number of elements overflows; `Value` if the sizes belong to several scopes.
    pub fn symbolic(dtype: DType, shape: &[Dim], device: Device) -> Result<SymbolicBuffer> {
        one_scope(shape)?;
        Ok(SymbolicBuffer::fresh(Meta { dtype, device, layout: Layout::row_major(shape)? }))
    }

    /// A buffer of sizes and strides that may be open.
    ///
    /// # Errors
    /// `Shape` if the parts are no layout; `Value` if they belong to several scopes.
    pub fn symbolic_strided(
        dtype: DType,
        shape: &[Dim],
        strides: &[Dim],
        device: Device,
    ) -> Result<SymbolicBuffer> {
        let layout = open_layout(shape, strides, Start::default())?;
        Ok(SymbolicBuffer::fresh(Meta { dtype, device, layout }))
    }

    /// A buffer like an existing one, with its sizes above 1 open: each is a symbol, named as in `x.shape[0]`.
    ///
    /// Strides that follow from sizes are products of them; others above 1 are symbols as well (`x.strides[0]`).
    ///
    /// # Errors
    /// `Shape` if the layout has elements beyond the address space; none that comes from a buffer has.
    pub fn like_symbolic(meta: &Meta, name: &str, scope: &Scope) -> Result<SymbolicBuffer> {
        let open = |(axis, &size): (usize, &usize)| scope.symbol(&format!("{name}.shape[{axis}]"), size);
        let shape: SmallVec<[Dim; 6]> = meta.layout.shape().iter().enumerate().map(open).collect();
        SymbolicBuffer::like_with_dims(meta, &shape, name, scope)
    }

    /// As [`SymbolicBuffer::like_symbolic`], with these sizes.
    ///
    /// # Errors
    /// `Shape` if the sizes seen are not the buffer's; `Value` if they belong to another scope.
    pub fn like_with_dims(meta: &Meta, shape: &[Dim], name: &str, scope: &Scope) -> Result<SymbolicBuffer> {
        let seen: SmallVec<[usize; 6]> = shape.iter().map(Extent::seen).collect();
        if seen.as_slice() != meta.layout.shape() {
            let message =
                format!("sizes {shape:?} are {seen:?}, not {:?}; give those seen", meta.layout.shape());
            return Err(Error::new(ErrorKind::Shape, message));
        }
        let strides = strides_by_sizes(&meta.layout, shape, name, scope);
        let layout = open_layout(shape, &strides, Start::at(meta.layout.offset()))?;
        Ok(SymbolicBuffer::fresh(Meta { dtype: meta.dtype, device: meta.device, layout }))
    }

    fn fresh(meta: Meta<Dim>) -> SymbolicBuffer {
        SymbolicBuffer::in_memory(meta, Arc::default())
    }

    fn in_memory(meta: Meta<Dim>, memory: Arc<()>) -> SymbolicBuffer {
        let seen = Meta { dtype: meta.dtype, device: meta.device, layout: meta.layout.seen() };
        SymbolicBuffer { meta, seen, memory, traced: None }
    }

    /// This buffer as an input of a trace.
    pub(crate) fn into_input(self, recorder: &Recorder, index: usize, name: &str) -> SymbolicBuffer {
        let traced = recorder.input(index, name, &self.meta);
        SymbolicBuffer { traced: Some(traced), ..self }
    }

    /// A view of a memory of a trace.
    pub(crate) fn recorded(meta: Meta<Dim>, traced: Traced) -> SymbolicBuffer {
        SymbolicBuffer { traced: Some(traced), ..SymbolicBuffer::fresh(meta) }
    }

    /// The memory it has in a trace.
    pub(crate) fn traced(&self) -> Option<&Traced> {
        self.traced.as_ref()
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.meta.dtype
    }

    /// Where the memory would be.
    #[must_use]
    pub fn device(&self) -> Device {
        self.meta.device
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.meta.layout.rank()
    }

    /// Step of each axis as a number, in elements. As [`Buffer::shape`], this guards open strides.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        read(self.meta.layout.strides());
        self.seen.layout.strides()
    }

    /// Number of elements as a number. As [`Buffer::shape`], this guards an open one.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.meta.layout.numel().number(HOST)
    }

    /// The extent of an axis as a number, guarded; an axis below 0 counts from the end.
    ///
    /// # Errors
    /// `Shape` if the axis is out of range; `Guard` if the scope is strict and the extent is open.
    pub fn extent(&self, axis: isize) -> Result<usize> {
        let axis = self.meta.layout.axis(axis)?;
        let extent = self.meta.layout.shape()[axis].number(HOST.axis(axis));
        self.settled(Ok(extent))
    }

    /// The description at the sizes seen, guarding nothing: for texts and previews, not for decisions.
    #[must_use]
    pub const fn seen(&self) -> &Meta {
        &self.seen
    }

    /// Whether both are views of one memory.
    #[must_use]
    pub fn shares_memory(&self, other: &SymbolicBuffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Where the buffer would lie, if that does not depend on open sizes. Its memory is a space of its own.
    fn placed(&self) -> Option<Placed<'_>> {
        let fixed = self.seen.layout == self.meta.layout;
        let size = isize::try_from(self.seen.dtype.size()).unwrap_or(isize::MAX);
        let offset = self.seen.layout.offset().saturating_mul(size) as i64;
        // Half of all addresses lie before the element of offset 0, which strides may reach.
        let address = (u64::MAX / 2).wrapping_add_signed(offset);
        fixed.then(|| Placed { meta: &self.seen, space: Arc::as_ptr(&self.memory).addr(), address })
    }

    /// The scope of the open sizes; none if all are numbers.
    #[must_use]
    pub fn scope(&self) -> Option<&Scope> {
        let layout = &self.meta.layout;
        layout.shape().iter().chain(layout.strides()).find_map(Dim::scope)
    }
}

/// Where numbers are read by code that the trace can't see.
const HOST: Place = Place::new("the host reading");

/// Guards the open ones of these.
fn read(dims: &[Dim]) {
    for (axis, dim) in dims.iter().enumerate() {
        let place = HOST.axis(axis);
        dim.equals(&Dim::from(dim.seen()), place);
    }
}

/// The one scope of these sizes.
fn one_scope<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Result<Option<&'a Scope>> {
    let mut scopes = dims.into_iter().filter_map(Dim::scope);
    let first = scopes.next();
    match first.and_then(|first| scopes.find(|scope| !scope.is_same(first))) {
        None => Ok(first),
        Some(_) => {
            let message = "sizes of two scopes meet; make all symbols of a trace in one scope";
            Err(Error::new(ErrorKind::Value, message))
        }
    }
}

fn open_layout(shape: &[Dim], strides: &[Dim], start: Start) -> Result<Layout<Dim>> {
    one_scope(shape.iter().chain(strides))?;
    Layout::from_parts(shape.iter().cloned().collect(), strides.iter().cloned().collect(), start)
}

/// Strides as products of sizes where they step over an inner axis, as symbols elsewhere.
fn strides_by_sizes(layout: &Layout, shape: &[Dim], name: &str, scope: &Scope) -> SmallVec<[Dim; 6]> {
    let magnitude = |axis: usize| layout.strides()[axis].unsigned_abs();
    let mut inner_first: SmallVec<[usize; 6]> = (0..layout.rank()).rev().collect();
    inner_first.sort_by_key(|&axis| (magnitude(axis), layout.shape()[axis]));
    let mut strides: SmallVec<[Dim; 6]> = SmallVec::from_elem(Dim::from(0usize), layout.rank());
    for (position, &axis) in inner_first.iter().enumerate() {
        let stepped_over = inner_first[..position]
            .iter()
            .rev()
            .find(|&&inner| magnitude(inner).checked_mul(layout.shape()[inner]) == Some(magnitude(axis)));
        let stride = match (magnitude(axis), stepped_over) {
            (small @ (0 | 1), _) => Dim::from(small),
            (_, Some(&inner)) => shape[inner].step_over(&strides[inner].magnitude()),
            (large, None) => scope.symbol(&format!("{name}.strides[{axis}]"), large),
        };
        strides[axis] = match layout.strides()[axis] {
            // It has no opposite.
            isize::MIN => Dim::from(isize::MIN),
            step if step < 0 => stride.negated(),
            _ => stride,
        };
    }
    strides
}

/// Infers a call in the scope of its open sizes, so that guards name the op and its operands.
fn traced<T>(
    op: &'static OpDef,
    operands: &[Operand<'_, SymbolicBuffer>],
    outputs: &[&Meta<Dim>],
    infer: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let buffers = || {
        operands.iter().zip(op.params).filter_map(|(operand, param)| match operand {
            Operand::Buffer(buffer) => Some((param.name, &buffer.meta)),
            Operand::Scalar(_) => None,
        })
    };
    let metas = buffers().map(|(_, meta)| meta).chain(outputs.iter().copied());
    in_op(op.name, metas, buffers().map(|(name, _)| name).collect(), infer)
}

/// Infers with these buffers in the scope of their open sizes, in the name of an op and its operands.
fn in_op<'a, T>(
    op: &'static str,
    metas: impl Iterator<Item = &'a Meta<Dim>>,
    operands: SmallVec<[&'static str; 8]>,
    infer: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let dims = metas.flat_map(|meta| meta.layout.shape().iter().chain(meta.layout.strides()));
    match one_scope(dims).map_err(|error| error.in_op(op))? {
        None => infer(),
        Some(scope) => scope.in_op(op, operands, infer),
    }
}

impl SymbolicBuffer {
    /// A buffer like this one, contiguous, with one number in every element.
    pub(crate) fn filled(&self, number: f64) -> Result<SymbolicBuffer> {
        self.filled_like(&plan::infer_zeros(&self.meta)?, number)
    }

    /// A buffer of this description, in the trace of this one, with one number in every element.
    pub(crate) fn filled_like(&self, meta: &Meta<Dim>, number: f64) -> Result<SymbolicBuffer> {
        let number = Scalar::F64(number);
        let infer = || plan::infer(gradient_fill::DEF, &[Argument::Number(number)], Outputs::Given(&[meta]));
        let inference = traced(gradient_fill::DEF, &[], &[meta], infer)?;
        let traced = match &self.traced {
            Some(Traced { recorder, .. }) => {
                recorder.record(gradient_fill::DEF, &[Recorded::Number(number)], &inference, &[])?.pop()
            }
            None => None,
        };
        Ok(SymbolicBuffer { traced, ..SymbolicBuffer::fresh(meta.clone()) })
    }
}

impl Buffer for SymbolicBuffer {
    type Size = Dim;

    fn meta(&self) -> &Meta<Dim> {
        &self.meta
    }

    fn shape(&self) -> &[usize] {
        read(self.meta.layout.shape());
        self.seen.layout.shape()
    }

    fn unset(&self, layout: Layout<Dim>) -> Result<Self> {
        Ok(SymbolicBuffer::fresh(Meta { dtype: self.meta.dtype, device: self.meta.device, layout }))
    }

    fn with_layout(&self, layout: Layout<Dim>) -> Result<Self> {
        if let Some(Traced { recorder, memory }) = &self.traced {
            recorder.check_view(*memory, &layout)?;
        }
        let meta = Meta { dtype: self.meta.dtype, device: self.meta.device, layout };
        let view = SymbolicBuffer::in_memory(meta, self.memory.clone());
        Ok(SymbolicBuffer { traced: self.traced.clone(), ..view })
    }

    fn settled<T>(&self, answer: Result<T>) -> Result<T> {
        match self.scope() {
            Some(scope) => scope.settled(answer),
            None => answer,
        }
    }

    fn within<T>(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        others: &[&Self],
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let others: SmallVec<[&Meta<Dim>; 2]> = others.iter().map(|other| &other.meta).collect();
        traced(op, operands, &others, run)
    }

    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[Self; 2]>> {
        let arguments = plan::arguments(operands);
        let op = op.form(&arguments);
        let inference = traced(op, operands, &[], || plan::infer(op, &arguments, Outputs::New { dtype }))?;
        let traced = record(op, operands, &inference, &[])?;
        let results = inference.outputs.into_iter().map(SymbolicBuffer::fresh);
        Ok(results.zip(traced).map(|(result, traced)| SymbolicBuffer { traced, ..result }).collect())
    }

    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()> {
        let arguments = plan::arguments(operands);
        let op = op.form(&arguments);
        let inference = {
            let given: SmallVec<[&Meta<Dim>; 2]> = outputs.iter().map(|output| &output.meta).collect();
            traced(op, operands, &given, || plan::infer(op, &arguments, Outputs::Given(&given)))?
        };
        // An empty output of another shape is resized, as by a real call: it gets memory of its own.
        let resizes = |output: &SymbolicBuffer, meta: &Meta<Dim>| output.meta.layout != meta.layout;
        let results: SmallVec<[SymbolicBuffer; 2]> = outputs
            .iter()
            .zip(inference.outputs.iter().cloned())
            .map(|(output, meta)| {
                let memory = if resizes(output, &meta) { Arc::default() } else { output.memory.clone() };
                SymbolicBuffer::in_memory(meta, memory)
            })
            .collect();
        check_overlaps(op, operands, &results).map_err(|error| error.in_op(op.name))?;
        let traced = {
            let into: SmallVec<[Option<&Traced>; 2]> = outputs
                .iter()
                .zip(&inference.outputs)
                .map(|(output, meta)| output.traced.as_ref().filter(|_| !resizes(output, meta)))
                .collect();
            record(op, operands, &inference, &into)?
        };
        for ((output, result), traced) in outputs.iter_mut().zip(results).zip(traced) {
            **output = SymbolicBuffer { traced, ..result };
        }
        Ok(())
    }

    fn zeros_like(&self) -> Result<Self> {
        self.filled(0.0)
    }

    fn sum_like(&self, like: &Self) -> Result<Self> {
        let metas = [&self.meta, &like.meta].into_iter();
        let infer = || plan::infer_sum(&self.meta, &like.meta);
        let sums = in_op("sum_to", metas, SmallVec::new(), infer)?;
        let record = |traced: &Traced| traced.recorder.sum(&self.meta, traced.memory, &sums);
        let traced = self.traced.as_ref().map(record).transpose()?;
        Ok(SymbolicBuffer { traced, ..SymbolicBuffer::fresh(sums) })
    }
}

/// Records a call of traced operands, or of numbers alone in a trace; nothing to record where none is traced.
fn record(
    op: &'static OpDef,
    operands: &[Operand<'_, SymbolicBuffer>],
    inference: &plan::Inference<Dim>,
    into: &[Option<&Traced>],
) -> Result<Vec<Option<Traced>>> {
    let operands: SmallVec<[Recorded<'_>; 8]> = operands
        .iter()
        .map(|operand| match operand {
            Operand::Buffer(buffer) => Recorded::Buffer(&buffer.meta, buffer.traced.as_ref()),
            Operand::Scalar(number) => Recorded::Number(*number),
        })
        .collect();
    let inputs = operands.iter().filter_map(|operand| match operand {
        Recorded::Buffer(_, traced) => *traced,
        Recorded::Number(_) => None,
    });
    let has_buffers = operands.iter().any(|operand| matches!(operand, Recorded::Buffer(..)));
    let recorder = match inputs.chain(into.iter().copied().flatten()).next() {
        Some(Traced { recorder, .. }) => Some(recorder.clone()),
        None if has_buffers => None,
        None => Recorder::running(),
    };
    let Some(recorder) = recorder else { return Ok(vec![None; inference.outputs.len()]) };
    let traced = recorder.record(op, &operands, inference, into)?;
    Ok(traced.into_iter().map(Some).collect())
}

/// Refuses the overlaps that a real call refuses, among operands whose place is known; a real call checks them all.
fn check_overlaps(
    op: &OpDef,
    operands: &[Operand<'_, SymbolicBuffer>],
    outputs: &[SymbolicBuffer],
) -> Result<()> {
    let known: SmallVec<[_; 2]> = outputs.iter().map(SymbolicBuffer::placed).collect();
    plan::check_outputs(op, &known)?;
    for (i, operand) in operands.iter().enumerate() {
        let input = match operand {
            Operand::Buffer(buffer) => buffer.placed(),
            Operand::Scalar(_) => None,
        };
        for (o, &output) in known.iter().enumerate() {
            if let (Some(output), Some(input)) = (output, input) {
                plan::sharing(op, (o, output), (i, input))?;
            }
        }
    }
    Ok(())
}

impl PartialEq for SymbolicBuffer {
    /// Whether dtype, device and layout are known to be equal.
    fn eq(&self, other: &SymbolicBuffer) -> bool {
        self.meta == other.meta
    }
}

impl Eq for SymbolicBuffer {}

impl fmt::Display for SymbolicBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.meta)
    }
}

impl fmt::Debug for SymbolicBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "symbolic {:?}", self.meta)
    }
}
