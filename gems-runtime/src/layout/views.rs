//! Views: other shapes and orders of the same elements.
//!
//! Every method returns a layout whose elements are among those of `self` (or says why there is none), so a view never
//! leaves the storage. Axes count from 0, or from the end if negative. None of them copies.

use super::strides::extent;
use super::{Layout, Shape, broadcast_strides, check_shape, shape_error};
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

    pub(super) fn remove(&mut self, axis: usize) {
        self.shape.remove(axis);
        self.strides.remove(axis);
    }

    /// The axis that a number from 0, or from the end, means.
    pub(super) fn axis(&self, axis: isize) -> Result<usize> {
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
}

/// The index that a number from 0, or from the end if negative, means; may be past the end.
fn from_end(index: isize, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "numbers in tests are small")]
mod tests {
    use super::super::tests::{any_layout, indices, offset_at, offsets};
    use super::*;
    use crate::layout::Strides;
    use proptest::prelude::*;
    use proptest::sample::Index;

    fn layout(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    /// A view has this shape, is a valid layout, and shows at each index the element of `source` at the mapped one.
    #[track_caller]
    fn check(source: &Layout, view: &Layout, shape: &[usize], map: impl Fn(&[usize]) -> Vec<usize>) {
        assert_eq!(view.shape(), shape);
        assert!(Layout::new(view.shape(), view.strides(), view.offset()).is_ok(), "{view:?}");
        for index in indices(shape) {
            assert_eq!(offset_at(view, &index), offset_at(source, &map(&index)), "{source:?} to {view:?}");
        }
    }

    fn replaced(index: &[usize], axis: usize, value: usize) -> Vec<usize> {
        let mut index = index.to_vec();
        index[axis] = value;
        index
    }

    /// An axis by both of its numbers.
    fn pick(layout: &Layout, choice: Index, negative: bool) -> (usize, isize) {
        let axis = choice.index(layout.rank());
        (axis, axis as isize - if negative { layout.rank() as isize } else { 0 })
    }

    fn with_axis() -> impl Strategy<Value = (Layout, usize, isize)> {
        let layout = any_layout().prop_filter("rank 0", |layout| layout.rank() > 0);
        (layout, any::<Index>(), any::<bool>()).prop_map(|(layout, choice, negative)| {
            let (axis, number) = pick(&layout, choice, negative);
            (layout, axis, number)
        })
    }

    proptest! {
        #[test]
        fn permute_and_transpose_reorder_indices((x, a, number) in with_axis(), other in any::<Index>()) {
            let b = other.index(x.rank());
            let swapped = |index: &[usize]| {
                let mut index = index.to_vec();
                index.swap(a, b);
                index
            };
            let shape = swapped(x.shape());
            check(&x, &x.transpose(number, b as isize).unwrap(), &shape, swapped);

            let axes: Vec<isize> = (0..x.rank() as isize).map(|axis| (axis + number).rem_euclid(x.rank() as isize)).collect();
            let shape: Vec<usize> = axes.iter().map(|&axis| x.shape()[axis as usize]).collect();
            check(&x, &x.permute(&axes).unwrap(), &shape, |index| {
                let mut original = vec![0; x.rank()];
                axes.iter().zip(index).for_each(|(&axis, &i)| original[axis as usize] = i);
                original
            });
        }

        #[test]
        fn slice_takes_what_a_loop_takes(
            (x, axis, number) in with_axis(), start in -7isize..8, end in -7isize..8, step in 1usize..4,
        ) {
            let size = x.shape()[axis] as isize;
            let clamp = |bound: isize| (if bound < 0 { bound + size } else { bound }).clamp(0, size);
            let taken: Vec<usize> = (clamp(start)..clamp(end)).step_by(step).map(|i| i as usize).collect();
            let view = x.slice(number, start, end, step).unwrap();
            check(&x, &view, &replaced(x.shape(), axis, taken.len()), |index| {
                replaced(index, axis, taken[index[axis]])
            });
        }

        #[test]
        fn flip_reverses_and_undoes_itself((x, axis, number) in with_axis()) {
            let view = x.flip(&[number]).unwrap();
            check(&x, &view, x.shape(), |index| replaced(index, axis, x.shape()[axis] - 1 - index[axis]));
            prop_assert_eq!(view.flip(&[number]).unwrap(), x);
        }

        #[test]
        fn select_and_narrow_take_existing_indices(
            (x, axis, number) in with_axis(), start in -7isize..8, len in 0usize..7,
        ) {
            let size = x.shape()[axis];
            let first = if start < 0 { start + size as isize } else { start };
            let is_index = first >= 0 && (first as usize) < size;
            match x.select(number, start) {
                Ok(view) => {
                    prop_assert!(is_index);
                    let mut shape = x.shape().to_vec();
                    shape.remove(axis);
                    check(&x, &view, &shape, |index| {
                        let mut index = index.to_vec();
                        index.insert(axis, first as usize);
                        index
                    });
                }
                Err(_) => prop_assert!(!is_index),
            }
            match x.narrow(number, start, len) {
                Ok(view) => {
                    let shape = replaced(x.shape(), axis, len);
                    check(&x, &view, &shape, |index| replaced(index, axis, index[axis] + first as usize));
                }
                Err(_) => prop_assert!(first < 0 || first as usize + len > size),
            }
        }

        #[test]
        fn pieces_cover_the_axis_in_order((x, axis, number) in with_axis(), size in 1usize..6) {
            let total = x.shape()[axis];
            for (pieces, longest) in [
                (x.split(number, size).unwrap(), size),
                (x.chunk(number, size).unwrap(), total.div_ceil(size)),
            ] {
                let mut first = 0;
                for piece in &pieces {
                    let len = longest.min(total - first);
                    let shape = replaced(x.shape(), axis, len);
                    check(&x, piece, &shape, |index| replaced(index, axis, index[axis] + first));
                    first += len;
                }
                prop_assert_eq!(first, total);
            }
            prop_assert_eq!(x.split(number, size).unwrap().len(), total.div_ceil(size).max(1));
        }

        #[test]
        fn expand_repeats_and_squeeze_undoes_unsqueeze(x in any_layout(), factor in 0usize..4, place in any::<Index>()) {
            let mut shape = vec![factor];
            shape.extend(x.shape().iter().map(|&size| if size == 1 { factor } else { size }));
            check(&x, &x.broadcast_to(&shape).unwrap(), &shape, |index| {
                let own = index[1..].iter().zip(x.shape());
                own.map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
            });
            let mut kept = vec![-1; x.rank()];
            prop_assert_eq!(&x.expand(&kept).unwrap(), &x);
            kept.insert(0, factor as isize);
            check(&x, &x.expand(&kept).unwrap(), &[&[factor], x.shape()].concat(), |index| index[1..].to_vec());

            let axis = place.index(x.rank() + 1) as isize;
            let longer = x.unsqueeze(axis).unwrap();
            prop_assert_eq!(offsets(&longer), offsets(&x));
            prop_assert_eq!(&longer, &x.unsqueeze(axis - x.rank() as isize - 1).unwrap());
            prop_assert_eq!(longer.shape()[axis as usize], 1);
            prop_assert_eq!(&longer.squeeze(axis).unwrap(), &x);
            let small = longer.squeeze_all();
            prop_assert!(!small.shape().contains(&1));
            prop_assert_eq!(offsets(&small), offsets(&x));
        }

        #[test]
        fn diagonal_walks_two_axes_at_once(
            (x, a, number) in with_axis(), other in any::<Index>(), offset in -5isize..6,
        ) {
            let b = other.index(x.rank());
            let view = x.diagonal(offset, number, b as isize);
            if a == b {
                prop_assert!(view.is_err());
                return Ok(());
            }
            let (rows, columns) = (x.shape()[a] as isize, x.shape()[b] as isize);
            let walked: Vec<usize> =
                (0..rows).filter(|row| (0..columns).contains(&(row + offset))).map(|row| row as usize).collect();
            let rest: Vec<usize> = (0..x.rank()).filter(|&axis| axis != a && axis != b).collect();
            let mut shape: Vec<usize> = rest.iter().map(|&axis| x.shape()[axis]).collect();
            shape.push(walked.len());
            check(&x, &view.unwrap(), &shape, |index| {
                let mut original = vec![0; x.rank()];
                rest.iter().zip(index).for_each(|(&axis, &i)| original[axis] = i);
                original[a] = walked[index[rest.len()]];
                original[b] = original[a].wrapping_add_signed(offset);
                original
            });
        }

        #[test]
        fn unfold_shows_windows((x, axis, number) in with_axis(), size in 0usize..6, step in 0usize..4) {
            let total = x.shape()[axis];
            match x.unfold(number, size, step) {
                Ok(view) => {
                    let mut shape = replaced(x.shape(), axis, (total - size) / step + 1);
                    shape.push(size);
                    check(&x, &view, &shape, |index| {
                        replaced(&index[..x.rank()], axis, index[axis] * step + index[x.rank()])
                    });
                }
                Err(_) => prop_assert!(step == 0 || size > total),
            }
        }
    }

    #[test]
    fn views_stay_inside_the_storage() {
        assert!(Layout::as_strided(&[2, 3], &[3, 1], 4, 10).is_ok());
        assert!(Layout::as_strided(&[3], &[-1], 2, 3).is_ok());
        assert!(Layout::as_strided(&[0], &[1], 99, 3).is_ok());
        for (shape, strides, offset, storage_len) in
            [(&[2, 3], &[3, 1], 5, 10), (&[2, 3], &[3, -1], 1, 10), (&[1, 1], &[0, 0], 10, 10)]
        {
            assert!(Layout::as_strided(shape, strides, offset, storage_len).is_err());
        }
        assert_eq!(
            Layout::as_strided(&[3], &[2], 6, 10).unwrap_err().to_string(),
            "as_strided [3] with strides [2] and offset 6 covers elements 6 to 10 of a storage of 10; stay inside"
        );
    }

    #[test]
    fn small_layouts_transpose_to_themselves() {
        assert_eq!(layout(&[2, 3]).t().unwrap().strides(), [1, 3]);
        assert_eq!(layout(&[3]).t().unwrap(), layout(&[3]));
        assert_eq!(layout(&[]).t().unwrap(), layout(&[]));
    }

    #[test]
    fn empty_axes_chunk_into_as_many_pieces_as_asked() {
        assert_eq!(layout(&[2, 0]).chunk(1, 3).unwrap(), vec![layout(&[2, 0]); 3]);
        assert_eq!(layout(&[0]).split(0, 0).unwrap().len(), 1);
    }

    #[test]
    fn new_axes_continue_the_strides() {
        assert_eq!(layout(&[2, 3]).unsqueeze(0).unwrap().strides(), [6, 3, 1]);
        assert_eq!(layout(&[2, 3]).unsqueeze(-1).unwrap().strides(), [3, 1, 1]);
    }

    #[test]
    fn errors_name_axis_shape_and_way_out() {
        #[track_caller]
        fn check<T: std::fmt::Debug>(result: Result<T>, expected: &str) {
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
        let x = layout(&[2, 3, 4]);
        check(x.transpose(0, 3), "axis 3 is out of range for [2, 3, 4] of rank 3; use -3 to 2");
        check(layout(&[]).squeeze(0), "axis 0 is out of range: a layout of rank 0 has no axis");
        check(x.permute(&[0, 1]), "cannot permute [2, 3, 4] by [0, 1]: name each of the 3 axes once");
        check(x.flip(&[1, -2]), "axis 1 of [2, 3, 4] is named twice in [1, -2]; name it once");
        check(x.t(), "t of [2, 3, 4] of rank 3; use transpose or permute above rank 2");
        check(
            x.slice(1, 0, 3, 0),
            "cannot slice axis 1 of [2, 3, 4] with step 0; use 1 or more, and flip to go backward",
        );
        check(x.narrow(2, 2, 3), "cannot narrow axis 2 of [2, 3, 4] to 3 from 2; stay within its 4 indices");
        check(x.select(-1, 4), "index 4 is out of range on axis 2 of [2, 3, 4]; it has 4 indices");
        check(x.split(0, 0), "cannot split axis 0 of [2, 3, 4] into pieces of 0; use 1 or more");
        check(x.chunk(0, 0), "cannot cut axis 0 of [2, 3, 4] into 0 pieces; use 1 or more");
        check(
            x.expand(&[-1, 2, 3, 4]),
            "cannot expand [2, 3, 4] to [-1, 2, 3, 4]: give 0 or more, or -1 to keep an existing axis",
        );
        check(x.expand(&[5, 3, 4]), "cannot broadcast [2, 3, 4] to [5, 3, 4]: axis 0 has 2 and 5");
        check(x.unsqueeze(4), "cannot put an axis at 4 of [2, 3, 4]; use -4 to 3");
        check(
            x.unfold(1, 4, 1),
            "cannot unfold axis 1 of [2, 3, 4] into windows of 4 with step 1; a window has at most 3 indices and a \
             step is 1 or more",
        );
        check(layout(&[1; 64]).unsqueeze(0), "rank 65 is above the highest, 64; merge axes");
        check(
            x.broadcast_to(&[1 << 62, 2, 3, 4]),
            "[4611686018427387904, 2, 3, 4] has more elements than \
             9223372036854775807; use smaller extents",
        );
    }

    #[test]
    fn extreme_numbers_are_errors_or_cut() {
        let x = layout(&[2, 3]);
        assert_eq!(x.slice(1, isize::MIN, isize::MAX, usize::MAX).unwrap().shape(), [2, 1]);
        assert!(x.narrow(1, 1, usize::MAX).is_err());
        assert!(x.narrow(1, isize::MIN, 1).is_err());
        assert!(x.select(isize::MIN, 0).is_err());
        assert!(x.select(0, isize::MIN).is_err());
        assert_eq!(x.diagonal(isize::MIN, 0, 1).unwrap().shape(), [0]);
        assert_eq!(x.split(1, usize::MAX).unwrap().len(), 1);
        assert!(x.expand(&[isize::MIN, 3]).is_err());
        assert_eq!(x.unfold(0, 1, usize::MAX).unwrap().shape(), [1, 3, 1]);
        let strange: Strides = [isize::MIN].into_iter().collect();
        assert_eq!(Layout::new(&[1], &strange, 0).unwrap().flip(&[0]).unwrap().strides(), [isize::MIN]);
    }
}
