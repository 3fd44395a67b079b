//! Indices: views of some of the elements, or in another direction.
//!
//! Every view shows elements of `self` and no other, so none leaves the storage; nothing is copied. Only `as_strided`
//! starts from the storage instead and is given its length.

use super::{Extent, Layout, Place, Stride, check_shape, shape_error};
use crate::error::{Error, ErrorKind, Result};

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
}

impl<D: Extent> Layout<D> {
    /// Every `step`-th index of `start..end` on one axis; bounds below 0 count from the end, bounds beyond it are cut.
    ///
    /// # Errors
    /// An axis out of range, or a step of 0.
    pub fn slice(&self, axis: isize, start: isize, end: isize, step: usize) -> Result<Layout<D>> {
        let axis = self.axis(axis)?;
        if step == 0 {
            return Err(shape_error(format!(
                "cannot slice axis {axis} of {:?} with step 0; use 1 or more, and flip to go backward",
                self.shape()
            )));
        }
        let place = Place::new("slicing").axis(axis);
        let size = &self.shape[axis];
        let clamp = |bound: isize| match usize::try_from(bound) {
            Ok(index) => D::from(index).least(size, place),
            Err(_) => size.minus(&D::from(bound.unsigned_abs()), place),
        };
        let (start, end) = (clamp(start), clamp(end));
        let count = end.minus(&start, place).div_ceil(&D::from(step), place);
        Ok(self.restrict(axis, &start, count, step))
    }

    /// The opposite direction on these axes.
    ///
    /// # Errors
    /// An axis out of range or named twice.
    pub fn flip(&self, axes: &[isize]) -> Result<Layout<D>> {
        let axes = self.distinct_axes(axes)?;
        let mut layout = self.clone();
        if self.is_empty() {
            return Ok(layout);
        }
        for axis in axes.into_iter().filter(|&axis| !self.shape[axis].is(1)) {
            layout.offset = self.shape[axis].offset_of_last(&layout.offset, &self.strides[axis]);
            layout.strides[axis] = self.strides[axis].negated();
        }
        Ok(layout)
    }

    /// Indices `start..start + len` on one axis; a start below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    pub fn narrow(&self, axis: isize, start: isize, len: usize) -> Result<Layout<D>> {
        let axis = self.axis(axis)?;
        match self.first_of(axis, start, len, Place::new("narrowing").axis(axis)) {
            Some(first) => Ok(self.restrict(axis, &first, D::from(len), 1)),
            None => Err(shape_error(format!(
                "cannot narrow axis {axis} of {:?} to {len} from {start}; stay within its {:?} indices",
                self.shape(),
                self.shape[axis]
            ))),
        }
    }

    /// One index of an axis, which goes away; an index below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    pub fn select(&self, axis: isize, index: isize) -> Result<Layout<D>> {
        let axis = self.axis(axis)?;
        let Some(first) = self.first_of(axis, index, 1, Place::new("selecting").axis(axis)) else {
            return Err(shape_error(format!(
                "index {index} is out of range on axis {axis} of {:?}; it has {:?} indices",
                self.shape(),
                self.shape[axis]
            )));
        };
        let mut layout = self.restrict(axis, &first, D::from(1), 1);
        layout.remove(axis);
        Ok(layout)
    }

    /// Pieces of `size` indices of one axis; the last one may be shorter.
    ///
    /// # Errors
    /// An axis out of range, a size of 0 for an axis that is not empty, or more pieces than memory.
    pub fn split(&self, axis: isize, size: usize) -> Result<Vec<Layout<D>>> {
        let axis = self.axis(axis)?;
        if size == 0 && !self.shape[axis].is(0) {
            return Err(shape_error(format!(
                "cannot split axis {axis} of {:?} into pieces of 0; use 1 or more",
                self.shape()
            )));
        }
        self.pieces(axis, &D::from(size.max(1)), Place::new("splitting").axis(axis))
    }

    /// At most `pieces` pieces of one axis, all of the same size but the last; exactly `pieces` empty ones of an empty
    /// axis.
    ///
    /// # Errors
    /// An axis out of range, no pieces, or more than memory.
    pub fn chunk(&self, axis: isize, pieces: usize) -> Result<Vec<Layout<D>>> {
        let axis = self.axis(axis)?;
        let place = Place::new("chunking").axis(axis);
        if pieces == 0 {
            return Err(shape_error(format!(
                "cannot cut axis {axis} of {:?} into 0 pieces; use 1 or more",
                self.shape()
            )));
        }
        if self.shape[axis].is(0) {
            return collect(pieces, |_| self.clone());
        }
        let size = self.shape[axis].div_ceil(&D::from(pieces), place);
        self.pieces(axis, &size, place)
    }

    /// Pieces of `size` indices, which is not 0; at least one.
    fn pieces(&self, axis: usize, size: &D, place: Place) -> Result<Vec<Layout<D>>> {
        let total = &self.shape[axis];
        let count = total.div_ceil(size, place).number(place).max(1);
        collect(count, |piece| {
            let start = D::from(piece).times(size);
            let len = if piece + 1 < count { size.clone() } else { total.minus(&start, place) };
            self.restrict(axis, &start, len, 1)
        })
    }

    /// Elements whose indices on axes `a` and `b` differ by `offset` (`b` is ahead), as a new last axis.
    ///
    /// # Errors
    /// An axis out of range, or the same one twice.
    pub fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Layout<D>> {
        let axes = self.distinct_axes(&[a, b])?;
        let (a, b) = (axes[0], axes[1]);
        let place = Place::new("taking a diagonal").axis(a);
        let (none, skipped) = (D::from(0), D::from(offset.unsigned_abs()));
        let (skip_a, skip_b) = if offset < 0 { (skipped, none) } else { (none, skipped) };
        let (of_a, of_b) = (self.shape[a].minus(&skip_a, place), self.shape[b].minus(&skip_b, place.axis(b)));
        let len = of_a.least(&of_b, place);
        let mut layout = self.restrict(a, &skip_a, len.clone(), 1).restrict(b, &skip_b, len.clone(), 1);
        let stride = self.strides[a].joined(&self.strides[b], place);
        layout.remove(a.max(b));
        layout.remove(a.min(b));
        layout.shape.push(len);
        layout.strides.push(stride);
        Ok(layout)
    }

    /// Windows of `size` indices of one axis, every `step` indices: the axis counts windows, a new last one is inside.
    ///
    /// # Errors
    /// An axis out of range, a window longer than the axis, or a step of 0.
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Layout<D>> {
        let axis = self.axis(axis)?;
        let place = Place::new("unfolding").axis(axis);
        let total = &self.shape[axis];
        let length = D::from(size);
        if step == 0 || !length.at_most(total, place) {
            return Err(shape_error(format!(
                "cannot unfold axis {axis} of {:?} into windows of {size} with step {step}; a window has at most \
                 {total:?} indices and a step is 1 or more",
                self.shape()
            )));
        }
        let starts = total.plus(&D::from(1), place).minus(&length, place);
        let mut layout = self.restrict(axis, &D::from(0), starts.div_ceil(&D::from(step), place), step);
        layout.shape.push(length);
        layout.strides.push(self.strides[axis].clone());
        check_shape(&layout.shape)?;
        Ok(layout)
    }

    /// Every `step`-th of `count` indices from `start` on, all of which exist.
    fn restrict(&self, axis: usize, start: &D, count: D, step: usize) -> Layout<D> {
        let mut layout = self.clone();
        layout.shape[axis] = count;
        // A stride that is cut off belongs to an axis on which no step is taken.
        layout.strides[axis] = D::from(step).step_over(&self.strides[axis]);
        if !layout.is_empty() {
            layout.offset = D::offset_at(&layout.offset, start, &self.strides[axis]);
        }
        layout
    }

    /// The index that `start` means, if there are `len` indices from there on.
    fn first_of(&self, axis: usize, start: isize, len: usize, place: Place) -> Option<D> {
        let size = &self.shape[axis];
        let from_end = start.unsigned_abs();
        match usize::try_from(start) {
            Ok(first) => D::from(first.checked_add(len)?).at_most(size, place).then(|| D::from(first)),
            Err(_) if len > from_end => None,
            Err(_) => D::from(from_end).at_most(size, place).then(|| size.minus(&D::from(from_end), place)),
        }
    }
}

/// A list of views; an axis can have more indices than memory has room for layouts.
fn collect<D: Extent>(len: usize, view: impl Fn(usize) -> Layout<D>) -> Result<Vec<Layout<D>>> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|cause| {
        Error::new(ErrorKind::Memory, format!("no memory for {len} views; use fewer pieces"))
            .with_source(cause)
    })?;
    list.extend((0..len).map(view));
    Ok(list)
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "numbers in tests are small")]
mod tests {
    use super::super::model::{check, replaced, with_axis};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    fn layout(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    #[track_caller]
    fn check_error<T: std::fmt::Debug>(result: Result<T>, expected: &str) {
        assert_eq!(result.unwrap_err().to_string(), expected);
    }

    proptest! {
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
            let has_column = |row: &isize| (0..columns).contains(&(row + offset));
            let walked: Vec<usize> = (0..rows).filter(has_column).map(|row| row as usize).collect();
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
    fn empty_axes_chunk_into_as_many_pieces_as_asked() {
        assert_eq!(layout(&[2, 0]).chunk(1, 3).unwrap(), vec![layout(&[2, 0]); 3]);
        assert_eq!(layout(&[0]).split(0, 0).unwrap().len(), 1);
    }

    #[test]
    fn errors_name_axis_shape_and_way_out() {
        let x = layout(&[2, 3, 4]);
        check_error(x.flip(&[1, -2]), "axis 1 of [2, 3, 4] is named twice in [1, -2]; name it once");
        check_error(
            x.slice(1, 0, 3, 0),
            "cannot slice axis 1 of [2, 3, 4] with step 0; use 1 or more, and flip to go backward",
        );
        check_error(
            x.narrow(2, 2, 3),
            "cannot narrow axis 2 of [2, 3, 4] to 3 from 2; stay within its 4 indices",
        );
        check_error(x.select(-1, 4), "index 4 is out of range on axis 2 of [2, 3, 4]; it has 4 indices");
        check_error(x.split(0, 0), "cannot split axis 0 of [2, 3, 4] into pieces of 0; use 1 or more");
        check_error(x.chunk(0, 0), "cannot cut axis 0 of [2, 3, 4] into 0 pieces; use 1 or more");
        check_error(
            x.unfold(1, 4, 1),
            "cannot unfold axis 1 of [2, 3, 4] into windows of 4 with step 1; a window has at most 3 indices and a \
             step is 1 or more",
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
        let endless = layout(&[1]).expand(&[isize::MAX]).unwrap();
        assert_eq!(endless.split(0, 1).unwrap_err().kind(), ErrorKind::Memory);
        assert_eq!(layout(&[0]).chunk(0, usize::MAX).unwrap_err().kind(), ErrorKind::Memory);
        assert!(x.expand(&[isize::MIN, 3]).is_err());
        assert_eq!(x.unfold(0, 1, usize::MAX).unwrap().shape(), [1, 3, 1]);
        assert!(endless.unfold(0, 2, 1).is_err());
        assert_eq!(Layout::new(&[1], &[isize::MIN], 0).unwrap().flip(&[0]).unwrap().strides(), [isize::MIN]);
    }
}
