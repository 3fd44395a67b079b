//! The gradient of a memory from that of a view of it.
//!
//! Views that show every element once give a view of the gradient: permuted, flipped, with other axes of size 1, or
//! row-major under another shape. Axes along which the view is broadcast are summed. Everything else is written into zeros, at the places that were read.

use super::dim::Dim;
use crate::buffer::{Buffer, Meta, SymbolicBuffer, Views};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Extent, Layout, Place, Quantity, Stride, contiguous_strides};
use crate::op::Operand;
use crate::op::builtin::{gradient_add, gradient_copy};
use smallvec::SmallVec;

/// Most pieces into which a view that shows elements several times is cut.
const MOST_PIECES: usize = 64;

/// The gradient of a memory so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Gradient {
    /// From uses of all elements.
    whole: Option<SymbolicBuffer>,
    /// From uses of some of them; laid out as the memory.
    parts: Option<SymbolicBuffer>,
}

impl Gradient {
    /// Adds the gradient of a view of the memory.
    ///
    /// # Errors
    /// `Unsupported` if the view shows elements too many times.
    pub(super) fn add(
        &mut self,
        memory: &Meta<Dim>,
        view: &Layout<Dim>,
        gradient: SymbolicBuffer,
    ) -> Result<()> {
        let (view, gradient) = sum_broadcast_axes(memory, view, gradient)?;
        if let Some(whole) = as_whole(memory, &view, &gradient)? {
            self.whole = Some(sum(self.whole.take(), whole)?);
            return Ok(());
        }
        let first = self.parts.is_none();
        let parts = match self.parts.take() {
            Some(parts) => parts,
            None => gradient.filled_like(memory, 0.0)?,
        };
        scatter(&parts, &view, &gradient, first, &mut 0)?;
        self.parts = Some(parts);
        Ok(())
    }

    /// The sum of all that was added; none if that is nothing.
    pub(super) fn total(self) -> Result<Option<SymbolicBuffer>> {
        match (self.whole, self.parts) {
            (Some(whole), Some(parts)) => sum(Some(whole), parts).map(Some),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// Takes away the gradient of a part of the memory, which was written there.
    ///
    /// # Errors
    /// `Overlap` if elements of the part share memory.
    pub(super) fn take_part(
        &mut self,
        memory: &Meta<Dim>,
        part: &Layout<Dim>,
    ) -> Result<Option<SymbolicBuffer>> {
        let Some(total) = std::mem::take(self).total()? else { return Ok(None) };
        let rest = total.filled_like(memory, 0.0)?;
        let all = memory.layout.clone();
        write(&rest, &all, &total)?;
        let taken = copy(&rest.with_layout(part.clone())?)?;
        write(&rest, part, &taken.filled(0.0)?)?;
        self.parts = Some(rest);
        Ok(Some(taken))
    }
}

/// The sum of two gradients of one value.
fn sum(sum: Option<SymbolicBuffer>, other: SymbolicBuffer) -> Result<SymbolicBuffer> {
    match sum {
        None => Ok(other),
        Some(sum) => one(SymbolicBuffer::run(gradient_add::DEF, &[(&sum).into(), (&other).into()], None)?),
    }
}

/// The same values in new memory.
pub(super) fn copy(buffer: &SymbolicBuffer) -> Result<SymbolicBuffer> {
    one(SymbolicBuffer::run(gradient_copy::DEF, &[buffer.into()], None)?)
}

fn one(results: SmallVec<[SymbolicBuffer; 2]>) -> Result<SymbolicBuffer> {
    results.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Value, "the op has no result"))
}

/// Writes into a part of a buffer.
fn write(buffer: &SymbolicBuffer, part: &Layout<Dim>, values: &SymbolicBuffer) -> Result<()> {
    let mut part = buffer.with_layout(part.clone())?;
    SymbolicBuffer::call_out(gradient_copy::DEF, &[values.into()], &mut [&mut part])
}

/// Sums the axes of a view that step nowhere; they have size 1 afterwards.
fn sum_broadcast_axes(
    memory: &Meta<Dim>,
    view: &Layout<Dim>,
    gradient: SymbolicBuffer,
) -> Result<(Layout<Dim>, SymbolicBuffer)> {
    let stays = |(size, stride): (&Dim, &Dim)| !size.is(1) && stride.is(0);
    let axes = || view.shape().iter().zip(view.strides());
    if *view == memory.layout || !axes().any(stays) {
        return Ok((view.clone(), gradient));
    }
    let shape: SmallVec<[Dim; 6]> =
        axes().map(|axis| if stays(axis) { Dim::from(1usize) } else { axis.0.clone() }).collect();
    let layout = Layout::from_parts(shape.clone(), view.strides().into(), view.start().clone())?;
    let like = SymbolicBuffer::symbolic(memory.dtype, &shape, memory.device)?;
    Ok((layout, gradient.sum_like(&like)?))
}

/// The gradient as a view of the memory's shape, if the view showed every element once, all in row-major order, or so that
/// each axis is one of the memory's, perhaps the other way round.
fn as_whole(
    memory: &Meta<Dim>,
    view: &Layout<Dim>,
    gradient: &SymbolicBuffer,
) -> Result<Option<SymbolicBuffer>> {
    if *view == memory.layout {
        return Ok(Some(gradient.clone()));
    }
    let numel = |layout: &Layout<Dim>| layout.shape().iter().fold(Dim::from(1usize), |n, size| n.times(size));
    let is_row_major =
        |layout: &Layout<Dim>| layout.strides() == contiguous_strides(layout.shape()).as_slice();
    let same_elements =
        view.start() == memory.layout.start() && numel(view).is_known_to_equal(&numel(&memory.layout));
    if same_elements && [&memory.layout, view, &gradient.meta().layout].into_iter().all(is_row_major) {
        let Meta { layout: whole, .. } = memory;
        let start = gradient.meta().layout.start().clone();
        let layout = Layout::from_parts(whole.shape().into(), whole.strides().into(), start)?;
        return gradient.with_layout(layout).map(Some);
    }
    let mut left: Vec<usize> = (0..view.rank()).filter(|&axis| !view.shape()[axis].is(1)).collect();
    let mut flipped: SmallVec<[isize; 6]> = SmallVec::new();
    let mut axes: SmallVec<[Option<usize>; 6]> = SmallVec::new();
    for (size, stride) in memory.layout.shape().iter().zip(memory.layout.strides()) {
        if size.is(1) {
            axes.push(None);
            continue;
        }
        let same = |&axis: &usize| {
            view.shape()[axis] == *size && view.strides()[axis].magnitude() == stride.magnitude()
        };
        let Some(found) = left.iter().position(same) else { return Ok(None) };
        let axis = left.remove(found);
        if view.strides()[axis] != *stride {
            flipped.push(axis.cast_signed());
        }
        axes.push(Some(axis));
    }
    if !left.is_empty() {
        return Ok(None);
    }
    let gradient = gradient.flip(&flipped)?;
    let layout = &gradient.meta().layout;
    let stride = |axis: &Option<usize>| axis.map_or(Dim::from(0usize), |axis| layout.strides()[axis].clone());
    let strides = axes.iter().map(stride).collect();
    let layout = Layout::from_parts(memory.layout.shape().into(), strides, layout.start().clone())?;
    gradient.with_layout(layout).map(Some)
}

/// Whether no two indices of a view show one element, at all sizes that satisfy the guards. Where some do at the sizes
/// seen nothing is asked: cutting the view is right for any sizes.
fn shows_each_once(view: &Layout<Dim>) -> bool {
    const PLACE: Place = Place::new("comparing the steps of a view");
    if layout::has_internal_overlap(&view.seen()) {
        return false;
    }
    let axes = view.shape().iter().zip(view.strides()).filter(|(size, _)| !size.is(1));
    let mut axes: SmallVec<[(&Dim, Dim); 6]> =
        axes.map(|(size, stride)| (size, stride.magnitude())).collect();
    axes.sort_by_key(|(_, stride)| Dim::seen(stride));
    // Behind all elements that the axes so far reach.
    let mut end = Dim::from(1usize);
    for (axis, (size, stride)) in axes.iter().enumerate() {
        if !end.at_most(stride, PLACE) {
            // They interleave, which holds for these numbers.
            let all = view.shape().iter().chain(view.strides());
            all.for_each(|dim| {
                dim.equals(&Dim::from(dim.seen()), PLACE);
            });
            return true;
        }
        let Some((_, outer)) = axes.get(axis + 1) else { break };
        let whole = size.times(stride);
        let steps_over_whole = Dim::seen(&whole) <= Dim::seen(outer);
        end = if steps_over_whole {
            whole
        } else {
            size.minus(&1usize.into(), PLACE).times(stride).plus(&end, PLACE)
        };
    }
    true
}

/// Writes a gradient to the places of a view, or adds it there; piece by piece where elements are shown several times.
fn scatter(
    target: &SymbolicBuffer,
    view: &Layout<Dim>,
    gradient: &SymbolicBuffer,
    first: bool,
    pieces: &mut usize,
) -> Result<()> {
    if shows_each_once(view) {
        *pieces += 1;
        if *pieces > MOST_PIECES {
            let message = format!(
                "a view shows elements so often that its gradient takes more than {MOST_PIECES} sums; use wider steps, or fewer windows"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if first {
            return write(target, view, gradient);
        }
        let mut place = target.with_layout(view.clone())?;
        let sum = one(SymbolicBuffer::run(
            gradient_add::DEF,
            &[Operand::Buffer(&place), Operand::Buffer(gradient)],
            None,
        )?)?;
        return SymbolicBuffer::call_out(gradient_copy::DEF, &[(&sum).into()], &mut [&mut place]);
    }
    // A window is usually shorter than the axis that it moves along.
    let shortest = (0..view.rank())
        .filter(|&axis| !view.shape()[axis].is(1))
        .min_by_key(|&axis| Extent::seen(&view.shape()[axis]));
    let Some(axis) = shortest else { return write(target, view, gradient) };
    for index in 0..view.shape()[axis].number(Place::new("cutting a view").axis(axis)) {
        let (axis, index) = (axis.cast_signed(), index.cast_signed());
        let piece = view.select(axis, index)?;
        scatter(target, &piece, &gradient.select(axis, index)?, first && index == 0, pieces)?;
    }
    Ok(())
}
