//! Views: other shapes and orders of the same elements.
//!
//! Every method returns a layout whose elements are among those of `self` (or says why there is none), so a view never
//! leaves the storage. Axes count from 0, or from the end if negative. None of them copies: `reshape` fails where strides
//! cannot express the result.

use super::strides::extent;
use super::{Layout, Shape, Strides, broadcast_strides, check_shape, contiguous_strides, shape_error};
use crate::error::Result;
use smallvec::SmallVec;

impl Layout {
    /// Any shape and strides on a storage of `storage_len` elements.
    ///
    /// # Errors
    /// Parts that are no layout, or elements outside the storage.
    pub fn as_strided(
        shape: &[usize],
        strides: &[isize],
        offset: isize,
        storage_len: usize,
    ) -> Result<Layout> {
        let layout = Layout::new(shape, strides, offset)?;
        match layout.span() {
            Some((low, high)) if low < 0 || high.unsigned_abs() >= storage_len => Err(shape_error(format!(
                "as_strided {shape:?} with strides {strides:?} and offset {offset} covers elements {low} to {high} \
                 of a storage of {storage_len}; stay inside"
            ))),
            _ => Ok(layout),
        }
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// Not every axis exactly once.
    pub fn permute(&self, axes: &[isize]) -> Result<Layout> {
        let order = self.distinct_axes(axes)?;
        if order.len() != self.rank() {
            return Err(shape_error(format!(
                "cannot permute {:?} by {axes:?}: name each of the {} axes once",
                self.shape(),
                self.rank()
            )));
        }
        Ok(Layout {
            shape: order.iter().map(|&axis| self.shape[axis]).collect(),
            strides: order.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        })
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// An axis out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Layout> {
        let (a, b) = (self.axis(a)?, self.axis(b)?);
        let mut layout = self.clone();
        layout.shape.swap(a, b);
        layout.strides.swap(a, b);
        Ok(layout)
    }

    /// The transposed matrix; vectors and single elements stay as they are.
    ///
    /// # Errors
    /// A rank above 2.
    pub fn t(&self) -> Result<Layout> {
        match self.rank() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            rank => Err(shape_error(format!(
                "t of {:?} of rank {rank}; use transpose or permute above rank 2",
                self.shape()
            ))),
        }
    }

    /// Every `step`-th index of `start..end` on one axis; bounds below 0 count from the end, bounds beyond it are cut.
    ///
    /// # Errors
    /// An axis out of range, or a step of 0.
    pub fn slice(&self, axis: isize, start: isize, end: isize, step: usize) -> Result<Layout> {
        let axis = self.axis(axis)?;
        if step == 0 {
            return Err(shape_error(format!(
                "cannot slice axis {axis} of {:?} with step 0; use 1 or more, and flip to go backward",
                self.shape()
            )));
        }
        let size = self.shape[axis];
        let clamp = |bound: isize| from_end(bound, size).unwrap_or(0).min(size);
        let (start, end) = (clamp(start), clamp(end));
        let count = end.saturating_sub(start).div_ceil(step);
        Ok(self.restrict(axis, start, count, step))
    }

    /// The opposite direction on these axes.
    ///
    /// # Errors
    /// An axis out of range or named twice.
    pub fn flip(&self, axes: &[isize]) -> Result<Layout> {
        let axes = self.distinct_axes(axes)?;
        let mut layout = self.clone();
        if self.is_empty() {
            return Ok(layout);
        }
        for axis in axes.into_iter().filter(|&axis| self.shape[axis] > 1) {
            layout.offset += extent(self.shape[axis] - 1) * self.strides[axis];
            layout.strides[axis] = -self.strides[axis];
        }
        Ok(layout)
    }

    /// Indices `start..start + len` on one axis; a start below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    pub fn narrow(&self, axis: isize, start: isize, len: usize) -> Result<Layout> {
        let axis = self.axis(axis)?;
        let size = self.shape[axis];
        let first = from_end(start, size);
        match first.filter(|first| first.checked_add(len).is_some_and(|end| end <= size)) {
            Some(first) => Ok(self.restrict(axis, first, len, 1)),
            None => Err(shape_error(format!(
                "cannot narrow axis {axis} of {:?} to {len} from {start}; stay within its {size} indices",
                self.shape()
            ))),
        }
    }

    /// One index of an axis, which goes away; an index below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    pub fn select(&self, axis: isize, index: isize) -> Result<Layout> {
        let axis = self.axis(axis)?;
        let size = self.shape[axis];
        let Some(position) = from_end(index, size).filter(|&position| position < size) else {
            return Err(shape_error(format!(
                "index {index} is out of range on axis {axis} of {:?}; it has {size} indices",
                self.shape()
            )));
        };
        let mut layout = self.restrict(axis, position, 1, 1);
        layout.remove(axis);
        Ok(layout)
    }

    /// Pieces of `size` indices of one axis; the last one may be shorter.
    ///
    /// # Errors
    /// An axis out of range, or a size of 0 for an axis that is not empty.
    pub fn split(&self, axis: isize, size: usize) -> Result<Vec<Layout>> {
        let axis = self.axis(axis)?;
        let total = self.shape[axis];
        if size == 0 && total > 0 {
            return Err(shape_error(format!(
                "cannot split axis {axis} of {:?} into pieces of 0; use 1 or more",
                self.shape()
            )));
        }
        let pieces = total.div_ceil(size.max(1)).max(1);
        Ok((0..pieces)
            .map(|piece| self.restrict(axis, piece * size, size.min(total - piece * size), 1))
            .collect())
    }

    /// At most `pieces` pieces of one axis, all of the same size but the last; exactly `pieces` empty ones of an empty
    /// axis.
    ///
    /// # Errors
    /// An axis out of range, or no pieces.
    pub fn chunk(&self, axis: isize, pieces: usize) -> Result<Vec<Layout>> {
        let size = self.shape[self.axis(axis)?];
        match (pieces, size) {
            (0, _) => Err(shape_error(format!(
                "cannot cut axis {axis} of {:?} into 0 pieces; use 1 or more",
                self.shape()
            ))),
            (_, 0) => Ok(vec![self.clone(); pieces]),
            _ => self.split(axis, size.div_ceil(pieces)),
        }
    }

    /// Axes of size 1 stretched to the extents of `shape`, new axes in front; -1 keeps an extent.
    ///
    /// # Errors
    /// A shape to which this one does not broadcast.
    pub fn expand(&self, shape: &[isize]) -> Result<Layout> {
        let missing = shape.len().checked_sub(self.rank());
        let kept =
            |axis: usize| missing.and_then(|missing| axis.checked_sub(missing)).map(|own| self.shape[own]);
        let target: Option<Shape> = (0..)
            .zip(shape)
            .map(|(axis, &extent)| if extent == -1 { kept(axis) } else { usize::try_from(extent).ok() })
            .collect();
        match target {
            Some(target) => self.broadcast_to(&target),
            None => Err(shape_error(format!(
                "cannot expand {:?} to {shape:?}: give 0 or more, or -1 to keep an existing axis",
                self.shape()
            ))),
        }
    }

    /// Axes of size 1 stretched to the extents of `shape`, new axes in front.
    ///
    /// # Errors
    /// A shape to which this one does not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        check_shape(shape)?;
        let strides = broadcast_strides(self, shape)?;
        Ok(Layout { shape: Shape::from_slice(shape), strides, offset: self.offset })
    }

    /// A new axis of size 1 at this place; -1 is behind the last one.
    ///
    /// # Errors
    /// A place out of range, or a rank above [`MAX_RANK`](super::MAX_RANK).
    pub fn unsqueeze(&self, axis: isize) -> Result<Layout> {
        let places = self.rank() + 1;
        let Some(axis) = from_end(axis, places).filter(|&axis| axis < places) else {
            return Err(shape_error(format!(
                "cannot put an axis at {axis} of {:?}; use {} to {}",
                self.shape(),
                -extent(places),
                self.rank()
            )));
        };
        let stride = match self.shape.get(axis) {
            Some(&size) => self.strides[axis].saturating_mul(extent(size)),
            None => 1,
        };
        let mut layout = self.clone();
        layout.shape.insert(axis, 1);
        layout.strides.insert(axis, stride);
        check_shape(&layout.shape)?;
        Ok(layout)
    }

    /// Without this axis if its size is 1, else unchanged.
    ///
    /// # Errors
    /// An axis out of range.
    pub fn squeeze(&self, axis: isize) -> Result<Layout> {
        let axis = self.axis(axis)?;
        let mut layout = self.clone();
        if self.shape[axis] == 1 {
            layout.remove(axis);
        }
        Ok(layout)
    }

    /// Without axes of size 1.
    #[must_use]
    pub fn squeeze_all(&self) -> Layout {
        let kept = || (0..self.rank()).filter(|&axis| self.shape[axis] != 1);
        Layout {
            shape: kept().map(|axis| self.shape[axis]).collect(),
            strides: kept().map(|axis| self.strides[axis]).collect(),
            offset: self.offset,
        }
    }

    /// The same elements in row-major order under another shape; one extent may be -1 and follows from the others.
    ///
    /// # Errors
    /// Another number of elements, an extent that does not follow, or strides that cannot express the shape.
    pub fn reshape(&self, shape: &[isize]) -> Result<Layout> {
        let shape = self.complete(shape)?;
        check_shape(&shape)?;
        let strides = if shape == self.shape {
            self.strides.clone()
        } else if self.is_empty() {
            contiguous_strides(&shape)
        } else {
            self.regrouped(&shape).ok_or_else(|| {
                shape_error(format!(
                    "cannot view {:?} with strides {:?} as {shape:?}; copy it first",
                    self.shape(),
                    self.strides()
                ))
            })?
        };
        Ok(Layout { shape, strides, offset: self.offset })
    }

    /// Axes `start` to `end`, both included, as one; a rank-0 layout becomes rank 1.
    ///
    /// # Errors
    /// An axis out of range, `start` behind `end`, or strides that cannot express the shape.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Layout> {
        if self.rank() == 0 {
            return self.unsqueeze(0);
        }
        let (start, end) = (self.axis(start)?, self.axis(end)?);
        if start > end {
            return Err(shape_error(format!(
                "cannot flatten axes {start} to {end} of {:?}; give the outer one first",
                self.shape()
            )));
        }
        let merged = self.shape[start..=end].iter().product();
        let shape = self.shape[..start].iter().chain([&merged]).chain(&self.shape[end + 1..]);
        self.reshape(&shape.map(|&size| extent(size)).collect::<Strides>())
    }

    /// Elements whose indices on axes `a` and `b` differ by `offset` (`b` is ahead), as a new last axis.
    ///
    /// # Errors
    /// An axis out of range, or the same one twice.
    pub fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Layout> {
        let axes = self.distinct_axes(&[a, b])?;
        let (a, b) = (axes[0], axes[1]);
        let skipped = offset.unsigned_abs();
        let (skip_a, skip_b) = if offset < 0 { (skipped, 0) } else { (0, skipped) };
        let len = self.shape[a].saturating_sub(skip_a).min(self.shape[b].saturating_sub(skip_b));
        let mut layout = self.restrict(a, skip_a.min(self.shape[a]), len, 1).restrict(
            b,
            skip_b.min(self.shape[b]),
            len,
            1,
        );
        let stride = self.strides[a].saturating_add(self.strides[b]);
        layout.remove(a.max(b));
        layout.remove(a.min(b));
        layout.shape.push(len);
        layout.strides.push(stride);
        Ok(layout)
    }

    /// Windows of `size` indices of one axis, every `step` indices: the axis counts windows, a new last one runs inside.
    ///
    /// # Errors
    /// An axis out of range, a window longer than the axis, or a step of 0.
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Layout> {
        let axis = self.axis(axis)?;
        let total = self.shape[axis];
        if size > total || step == 0 {
            return Err(shape_error(format!(
                "cannot unfold axis {axis} of {:?} into windows of {size} with step {step}; a window has at most \
                 {total} indices and a step is 1 or more",
                self.shape()
            )));
        }
        let mut layout = self.restrict(axis, 0, (total - size) / step + 1, step);
        layout.shape.push(size);
        layout.strides.push(self.strides[axis]);
        check_shape(&layout.shape)?;
        Ok(layout)
    }

    /// Every `step`-th of `count` indices from `start` on, all of which exist.
    fn restrict(&self, axis: usize, start: usize, count: usize, step: usize) -> Layout {
        let mut layout = self.clone();
        layout.shape[axis] = count;
        // A stride that is cut off belongs to an axis on which no step is taken.
        layout.strides[axis] = self.strides[axis].saturating_mul(extent(step));
        if !layout.is_empty() {
            layout.offset += extent(start) * self.strides[axis];
        }
        layout
    }

    fn remove(&mut self, axis: usize) {
        self.shape.remove(axis);
        self.strides.remove(axis);
    }

    /// The axis that a number from 0, or from the end, means.
    fn axis(&self, axis: isize) -> Result<usize> {
        from_end(axis, self.rank()).filter(|&axis| axis < self.rank()).ok_or_else(|| {
            shape_error(match self.rank() {
                0 => format!("axis {axis} is out of range: a layout of rank 0 has no axis"),
                rank => format!(
                    "axis {axis} is out of range for {:?} of rank {rank}; use {} to {}",
                    self.shape(),
                    -extent(rank),
                    rank - 1
                ),
            })
        })
    }

    fn distinct_axes(&self, axes: &[isize]) -> Result<SmallVec<[usize; 6]>> {
        let mut distinct = SmallVec::new();
        for &number in axes {
            let axis = self.axis(number)?;
            if distinct.contains(&axis) {
                return Err(shape_error(format!(
                    "axis {axis} of {:?} is named twice in {axes:?}; name it once",
                    self.shape()
                )));
            }
            distinct.push(axis);
        }
        Ok(distinct)
    }

    /// The shape with its -1 filled in, checked to have the same number of elements.
    fn complete(&self, shape: &[isize]) -> Result<Shape> {
        let fail =
            |reason: &str| shape_error(format!("cannot view {:?} as {shape:?}: {reason}", self.shape()));
        let numel = self.numel();
        let mut unknown = None;
        let mut known = 1usize;
        let mut complete = Shape::with_capacity(shape.len());
        for (axis, &size) in shape.iter().enumerate() {
            match usize::try_from(size) {
                Ok(size) => known = known.saturating_mul(size),
                Err(_) if size == -1 && unknown.is_none() => unknown = Some(axis),
                Err(_) => return Err(fail("one extent may be -1, all others are 0 or more")),
            }
            complete.push(size.unsigned_abs());
        }
        if let Some(axis) = unknown {
            if known == 0 {
                return Err(fail("-1 may be anything beside an extent of 0; write the extent"));
            }
            complete[axis] = numel / known;
            known = known.saturating_mul(complete[axis]);
        }
        if known != numel {
            return Err(fail(&format!("it has {numel} elements; keep their number")));
        }
        Ok(complete)
    }

    /// Strides for another shape of the same, nonzero number of elements, if its axes only cut runs of axes that lie
    /// behind each other.
    fn regrouped(&self, shape: &[usize]) -> Option<Strides> {
        let mut strides = Strides::from_elem(1, shape.len());
        let mut targets = (0..shape.len()).rev().peekable();
        let mut own = self.squeeze_all();
        while let (Some(mut run), Some(stride)) = (own.shape.pop(), own.strides.pop()) {
            while let (Some(&outer), Some(&outer_stride)) = (own.shape.last(), own.strides.last()) {
                if stride.checked_mul(extent(run)) != Some(outer_stride) {
                    break;
                }
                run *= outer;
                own.remove(own.rank() - 1);
            }
            let mut covered = 1;
            while let Some(axis) = targets.next_if(|&axis| covered < run || shape[axis] == 1) {
                strides[axis] = stride.saturating_mul(extent(covered));
                covered *= shape[axis];
            }
            if covered != run {
                return None;
            }
        }
        Some(strides)
    }
}

/// The index that a number from 0, or from the end if negative, means; may be past the end.
fn from_end(index: isize, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    }
}
