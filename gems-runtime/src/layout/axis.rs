//! Axes: what their numbers mean, their order, and views with more or fewer of them.
//!
//! Axes count from 0, or from the end if negative. Every view shows elements of `self` and no other, so none leaves the
//! storage; nothing is copied.

use super::extent::as_stride;
use super::{Extent, Layout, broadcast_strides, check_shape, shape_error};
use crate::error::Result;
use smallvec::SmallVec;

impl<D: Extent> Layout<D> {
    /// The axes in another order.
    ///
    /// # Errors
    /// Not every axis exactly once.
    pub fn permute(&self, axes: &[isize]) -> Result<Layout<D>> {
        let order = self.distinct_axes(axes)?;
        if order.len() != self.rank() {
            return Err(shape_error(format!(
                "cannot permute {:?} by {axes:?}: name each of the {} axes once",
                self.shape(),
                self.rank()
            )));
        }
        Ok(Layout {
            shape: order.iter().map(|&axis| self.shape[axis].clone()).collect(),
            strides: order.iter().map(|&axis| self.strides[axis].clone()).collect(),
            offset: self.offset.clone(),
        })
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// An axis out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Layout<D>> {
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
    pub fn t(&self) -> Result<Layout<D>> {
        match self.rank() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            rank => Err(shape_error(format!(
                "t of {:?} of rank {rank}; use transpose or permute above rank 2",
                self.shape()
            ))),
        }
    }

    /// Axes of size 1 stretched to the extents of `shape`, new axes in front; -1 keeps an extent.
    ///
    /// # Errors
    /// A shape to which this one does not broadcast.
    pub fn expand(&self, shape: &[isize]) -> Result<Layout<D>> {
        let missing = shape.len().checked_sub(self.rank());
        let kept = |axis: usize| {
            missing.and_then(|missing| axis.checked_sub(missing)).map(|own| self.shape[own].clone())
        };
        let given = |extent: isize| usize::try_from(extent).ok().map(D::from);
        let target: Option<SmallVec<[D; 6]>> = (0..)
            .zip(shape)
            .map(|(axis, &extent)| if extent == -1 { kept(axis) } else { given(extent) })
            .collect();
        match target {
            Some(target) => self.stretched(target),
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
    pub fn broadcast_to(&self, shape: &[D]) -> Result<Layout<D>> {
        self.stretched(shape.iter().cloned().collect())
    }

    fn stretched(&self, shape: SmallVec<[D; 6]>) -> Result<Layout<D>> {
        check_shape(&shape)?;
        let strides = broadcast_strides(self, &shape)?;
        Ok(Layout { shape, strides, offset: self.offset.clone() })
    }

    /// A new axis of size 1 at this place; -1 is behind the last one.
    ///
    /// # Errors
    /// A place out of range, or a rank above [`MAX_RANK`](super::MAX_RANK).
    pub fn unsqueeze(&self, axis: isize) -> Result<Layout<D>> {
        let places = self.rank() + 1;
        let Some(axis) = from_end(axis, places).filter(|&axis| axis < places) else {
            return Err(shape_error(format!(
                "cannot put an axis at {axis} of {:?}; use {} to {}",
                self.shape(),
                -as_stride(places),
                self.rank()
            )));
        };
        let stride = match self.shape.get(axis) {
            Some(extent) => extent.step_over(&self.strides[axis]),
            None => D::Stride::from(1),
        };
        let mut layout = self.clone();
        layout.shape.insert(axis, D::from(1));
        layout.strides.insert(axis, stride);
        check_shape(&layout.shape)?;
        Ok(layout)
    }

    /// Without this axis if its size is 1, else unchanged.
    ///
    /// # Errors
    /// An axis out of range.
    pub fn squeeze(&self, axis: isize) -> Result<Layout<D>> {
        let axis = self.axis(axis)?;
        let mut layout = self.clone();
        if self.shape[axis].is(1) {
            layout.remove(axis);
        }
        Ok(layout)
    }

    /// Without axes of size 1.
    #[must_use]
    pub fn squeeze_all(&self) -> Layout<D> {
        let kept = || (0..self.rank()).filter(|&axis| !self.shape[axis].is(1));
        Layout {
            shape: kept().map(|axis| self.shape[axis].clone()).collect(),
            strides: kept().map(|axis| self.strides[axis].clone()).collect(),
            offset: self.offset.clone(),
        }
    }

    pub(super) fn remove(&mut self, axis: usize) {
        self.shape.remove(axis);
        self.strides.remove(axis);
    }

    /// The axis that a number from 0, or from the end, means.
    pub(crate) fn axis(&self, axis: isize) -> Result<usize> {
        from_end(axis, self.rank()).filter(|&axis| axis < self.rank()).ok_or_else(|| {
            shape_error(match self.rank() {
                0 => format!("axis {axis} is out of range: a layout of rank 0 has no axis"),
                rank => format!(
                    "axis {axis} is out of range for {:?} of rank {rank}; use {} to {}",
                    self.shape(),
                    -as_stride(rank),
                    rank - 1
                ),
            })
        })
    }

    pub(super) fn distinct_axes(&self, axes: &[isize]) -> Result<SmallVec<[usize; 6]>> {
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
pub(super) fn from_end(index: isize, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "numbers in tests are small")]
mod tests {
    use super::super::model::{any_layout, check, offsets, with_axis};
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
        fn permute_and_transpose_reorder_indices((x, a, number) in with_axis(), other in any::<Index>()) {
            let b = other.index(x.rank());
            let swapped = |index: &[usize]| {
                let mut index = index.to_vec();
                index.swap(a, b);
                index
            };
            let shape = swapped(x.shape());
            check(&x, &x.transpose(number, b as isize).unwrap(), &shape, swapped);

            let rank = x.rank() as isize;
            let axes: Vec<isize> = (0..rank).map(|axis| (axis + number).rem_euclid(rank)).collect();
            let shape: Vec<usize> = axes.iter().map(|&axis| x.shape()[axis as usize]).collect();
            check(&x, &x.permute(&axes).unwrap(), &shape, |index| {
                let mut original = vec![0; x.rank()];
                axes.iter().zip(index).for_each(|(&axis, &i)| original[axis as usize] = i);
                original
            });
        }

        #[test]
        fn expand_repeats(x in any_layout(), factor in 0usize..4) {
            let mut shape = vec![factor];
            shape.extend(x.shape().iter().map(|&size| if size == 1 { factor } else { size }));
            check(&x, &x.broadcast_to(&shape).unwrap(), &shape, |index| {
                let own = index[1..].iter().zip(x.shape());
                own.map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
            });
            let mut kept = vec![-1; x.rank()];
            prop_assert_eq!(&x.expand(&kept).unwrap(), &x);
            kept.insert(0, factor as isize);
            let shape = [&[factor], x.shape()].concat();
            check(&x, &x.expand(&kept).unwrap(), &shape, |index| index[1..].to_vec());
        }

        #[test]
        fn squeeze_undoes_unsqueeze(x in any_layout(), place in any::<Index>()) {
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
    }

    #[test]
    fn small_layouts_transpose_to_themselves() {
        assert_eq!(layout(&[2, 3]).t().unwrap().strides(), [1, 3]);
        assert_eq!(layout(&[3]).t().unwrap(), layout(&[3]));
        assert_eq!(layout(&[]).t().unwrap(), layout(&[]));
    }

    #[test]
    fn new_axes_continue_the_strides() {
        assert_eq!(layout(&[2, 3]).unsqueeze(0).unwrap().strides(), [6, 3, 1]);
        assert_eq!(layout(&[2, 3]).unsqueeze(-1).unwrap().strides(), [3, 1, 1]);
    }

    #[test]
    fn errors_name_axis_shape_and_way_out() {
        let x = layout(&[2, 3, 4]);
        check_error(x.transpose(0, 3), "axis 3 is out of range for [2, 3, 4] of rank 3; use -3 to 2");
        check_error(layout(&[]).squeeze(0), "axis 0 is out of range: a layout of rank 0 has no axis");
        check_error(x.permute(&[0, 1]), "cannot permute [2, 3, 4] by [0, 1]: name each of the 3 axes once");
        check_error(x.t(), "t of [2, 3, 4] of rank 3; use transpose or permute above rank 2");
        check_error(
            x.expand(&[-1, 2, 3, 4]),
            "cannot expand [2, 3, 4] to [-1, 2, 3, 4]: give 0 or more, or -1 to keep an existing axis",
        );
        check_error(x.expand(&[5, 3, 4]), "cannot broadcast [2, 3, 4] to [5, 3, 4]: axis 0 has 2 and 5");
        check_error(x.unsqueeze(4), "cannot put an axis at 4 of [2, 3, 4]; use -4 to 3");
        check_error(layout(&[1; 64]).unsqueeze(0), "rank 65 is above the highest, 64; merge axes");
        check_error(
            x.broadcast_to(&[1 << 62, 2, 3, 4]),
            "[4611686018427387904, 2, 3, 4] has more elements than 9223372036854775807; use smaller extents",
        );
    }
}
