//! Reshaping: the same elements in the same order under another shape, as a view.
//!
//! Guarantees: no copy is made, and a view is found whenever there is one.

use super::extent::equal_shapes;
use super::{Extent, Layout, Place, check_shape, contiguous_strides, product, shape_error};
use crate::error::Result;
use smallvec::SmallVec;

const PLACE: Place = Place::new("reshaping");

impl<D: Extent> Layout<D> {
    /// The same elements in row-major order under another shape; one extent may be -1 and follows from the others.
    ///
    /// # Errors
    /// Another number of elements, an extent that does not follow, or strides that cannot express the shape.
    pub fn reshape(&self, shape: &[isize]) -> Result<Layout<D>> {
        let (complete, numel) = self.complete(shape)?;
        self.reshaped(complete, &numel, &shape)
    }

    /// The same elements in row-major order under another shape.
    ///
    /// # Errors
    /// Another number of elements, or strides that cannot express the shape.
    pub fn reshape_to(&self, shape: &[D]) -> Result<Layout<D>> {
        self.reshaped(shape.iter().cloned().collect(), &product(shape), &shape)
    }

    /// Axes `start` to `end`, both included, as one; a rank-0 layout becomes rank 1.
    ///
    /// # Errors
    /// An axis out of range, `start` behind `end`, or strides that cannot express the shape.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Layout<D>> {
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
        let merged = product(&self.shape[start..=end]);
        let shape = self.shape[..start].iter().chain([&merged]).chain(&self.shape[end + 1..]);
        self.reshape_to(&shape.cloned().collect::<SmallVec<[D; 6]>>())
    }

    /// The shape with its -1 filled in, and its number of elements.
    fn complete(&self, shape: &[isize]) -> Result<(SmallVec<[D; 6]>, D)> {
        let mut unknown = None;
        let mut complete = SmallVec::with_capacity(shape.len());
        for (axis, &size) in shape.iter().enumerate() {
            match usize::try_from(size) {
                Ok(_) => {}
                Err(_) if size == -1 && unknown.is_none() => unknown = Some(axis),
                Err(_) => return Err(self.misfit(&shape, "one extent may be -1, all others are 0 or more")),
            }
            // The -1 counts as 1 until it is known.
            complete.push(D::from(size.unsigned_abs()));
        }
        let mut known: D = product(&complete);
        if let Some(axis) = unknown {
            if known.is(0) {
                return Err(self.misfit(&shape, "-1 may be anything beside an extent of 0; write the extent"));
            }
            complete[axis] = self.numel().div_ceil(&known, PLACE.axis(axis));
            known = known.times(&complete[axis]);
        }
        Ok((complete, known))
    }

    /// Under a shape of `product` elements that the caller gave in the form `asked`.
    fn reshaped(
        &self,
        shape: SmallVec<[D; 6]>,
        product: &D,
        asked: &impl std::fmt::Debug,
    ) -> Result<Layout<D>> {
        let numel = self.numel();
        if !product.equals(&numel, PLACE) {
            return Err(self.misfit(asked, &format!("it has {numel:?} elements; keep their number")));
        }
        check_shape(&shape)?;
        // Where no axis has 0 or 1 elements, regrouping gives the same strides.
        let keeps_strides = self.shape.iter().any(|extent| extent.is(0) || extent.is(1))
            && equal_shapes(&shape, &self.shape, PLACE);
        let strides = if keeps_strides {
            self.strides.clone()
        } else if self.is_empty() {
            contiguous_strides(&shape)
        } else {
            self.regrouped(&shape).ok_or_else(|| {
                shape_error(format!(
                    "cannot view {:?} with strides {:?} as {shape:?}; take `contiguous` of it first",
                    self.shape(),
                    self.strides()
                ))
            })?
        };
        Ok(Layout { shape, strides, offset: self.offset.clone() })
    }

    /// Strides for another shape of the same, nonzero number of elements, if its axes only cut runs of axes that lie
    /// behind each other.
    fn regrouped(&self, shape: &[D]) -> Option<SmallVec<[D::Stride; 6]>> {
        let mut strides = SmallVec::from_elem(D::Stride::from(1), shape.len());
        let mut targets = (0..shape.len()).rev().peekable();
        let mut own = self.squeeze_all();
        while let (Some(mut run), Some(stride)) = (own.shape.pop(), own.strides.pop()) {
            while let (Some(outer), Some(outer_stride)) = (own.shape.last(), own.strides.last()) {
                if !run.steps_to(&stride, outer_stride, PLACE) {
                    break;
                }
                run = run.times(outer);
                own.remove(own.rank() - 1);
            }
            let mut covered = D::from(1);
            while let Some(axis) =
                targets.next_if(|&axis| shape[axis].is(1) || !run.at_most(&covered, PLACE.axis(axis)))
            {
                strides[axis] = covered.step_over(&stride);
                covered = covered.times(&shape[axis]);
            }
            if !covered.equals(&run, PLACE) {
                return None;
            }
        }
        Some(strides)
    }

    fn misfit(&self, shape: &impl std::fmt::Debug, reason: &str) -> crate::error::Error {
        shape_error(format!("cannot view {:?} as {shape:?}: {reason}", self.shape()))
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "numbers in tests are small")]
mod tests {
    use super::super::model::{any_layout, offsets};
    use super::*;
    use crate::layout::has_internal_overlap;
    use proptest::prelude::*;
    use proptest::sample::Index;

    fn contiguous(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    fn as_extents(shape: &[usize]) -> Vec<isize> {
        shape.iter().map(|&size| size as isize).collect()
    }

    /// Some shape of this many elements.
    fn factored(mut numel: usize, choices: &[Index]) -> Vec<usize> {
        let mut shape = Vec::new();
        for choice in choices {
            let divisors: Vec<usize> = (1..=numel.max(1)).filter(|&d| numel.is_multiple_of(d)).collect();
            shape.push(divisors[choice.index(divisors.len())]);
            numel /= shape[shape.len() - 1];
        }
        shape.push(numel);
        shape
    }

    #[test]
    fn one_extent_follows_from_the_others() {
        let x = contiguous(&[2, 3, 4]);
        assert_eq!(x.reshape(&[4, -1]).unwrap(), contiguous(&[4, 6]));
        assert_eq!(x.reshape(&[-1]).unwrap(), contiguous(&[24]));
        assert_eq!(contiguous(&[0, 3]).reshape(&[-1, 3]).unwrap(), contiguous(&[0, 3]));
        assert_eq!(contiguous(&[]).reshape(&[1, -1]).unwrap(), contiguous(&[1, 1]));
        assert_eq!(contiguous(&[2, 3]).reshape(&[1, -1, 1]).unwrap(), contiguous(&[1, 6, 1]));
    }

    #[test]
    fn strides_are_kept_where_axes_are_only_cut() {
        let x = Layout::new(&[4, 6], &[10, 1], 3).unwrap();
        assert_eq!(x.reshape(&[2, 2, 3, 2]).unwrap().strides(), [20, 10, 2, 1]);
        assert_eq!(Layout::new(&[4], &[-2], 9).unwrap().reshape(&[2, 2]).unwrap().strides(), [-4, -2]);
        assert_eq!(Layout::new(&[4], &[0], 0).unwrap().reshape(&[2, 2]).unwrap().strides(), [0, 0]);
        assert_eq!(x.flatten(-1, 1).unwrap(), x);
        assert_eq!(contiguous(&[2, 3, 4]).flatten(1, 2).unwrap(), contiguous(&[2, 12]));
        assert_eq!(contiguous(&[]).flatten(0, -1).unwrap().shape(), [1]);
    }

    #[test]
    fn errors_say_to_copy_or_what_does_not_add_up() {
        let message = |result: Result<Layout>| result.unwrap_err().to_string();
        let x = contiguous(&[2, 3]).t().unwrap();
        assert_eq!(
            message(x.reshape(&[6])),
            "cannot view [3, 2] with strides [1, 3] as [6]; take `contiguous` of it first"
        );
        assert_eq!(
            message(x.reshape(&[4, 2])),
            "cannot view [3, 2] as [4, 2]: it has 6 elements; keep their number"
        );
        assert_eq!(
            message(x.reshape(&[4, -1])),
            "cannot view [3, 2] as [4, -1]: it has 6 elements; keep their number"
        );
        assert_eq!(
            message(x.reshape(&[-1, -1])),
            "cannot view [3, 2] as [-1, -1]: one extent may be -1, all others are 0 or more"
        );
        assert_eq!(
            message(contiguous(&[0]).reshape(&[0, -1])),
            "cannot view [0] as [0, -1]: -1 may be anything beside an extent of 0; write the extent"
        );
        assert_eq!(
            message(x.flatten(1, 0)),
            "cannot flatten axes 1 to 0 of [3, 2]; give the outer one first"
        );
        assert!(x.reshape(&[isize::MAX, isize::MAX]).is_err());
        assert!(contiguous(&[0]).reshape(&[0, isize::MAX, isize::MAX]).is_err());
    }

    proptest! {
        #[test]
        fn a_view_keeps_the_order_of_elements(
            x in any_layout(), choices in prop::collection::vec(any::<Index>(), 0..4),
        ) {
            let shape = factored(x.numel(), &choices);
            match x.reshape(&as_extents(&shape)) {
                Ok(view) => {
                    prop_assert_eq!(view.shape(), shape.as_slice());
                    prop_assert_eq!(offsets(&view), offsets(&x));
                    prop_assert!(Layout::new(view.shape(), view.strides(), view.offset()).is_ok());
                }
                Err(_) => prop_assert!(!x.is_contiguous()),
            }
        }

        #[test]
        fn a_view_is_refused_only_where_there_is_none(x in any_layout(), size in 2usize..5) {
            // Into one axis, and one axis into two: a view exists exactly if steps are equal.
            let all = offsets(&x);
            let steps_equal = all.windows(3).all(|w| w[1] - w[0] == w[2] - w[1]);
            prop_assert_eq!(x.reshape(&[-1]).is_ok(), steps_equal);
            if all.len().is_multiple_of(size) && !all.is_empty() {
                let rows: Vec<&[isize]> = all.chunks(size).collect();
                let step = rows[0][1] - rows[0][0];
                let exists = rows.iter().all(|row| row.windows(2).all(|w| w[1] - w[0] == step))
                    && rows.windows(3).all(|w| w[1][0] - w[0][0] == w[2][0] - w[1][0]);
                prop_assert_eq!(x.reshape(&[-1, size as isize]).is_ok(), exists);
            }
        }

        #[test]
        fn reshaping_back_gives_the_same_elements(x in any_layout()) {
            if let Ok(flat) = x.flatten(0, -1) {
                let back = flat.reshape(&as_extents(x.shape())).unwrap();
                prop_assert_eq!(offsets(&back), offsets(&x));
                prop_assert_eq!(has_internal_overlap(&back), has_internal_overlap(&x));
            }
        }
    }
}
