//! Row-major strides and what strides say about the order of elements.
//!
//! Strides of axes of size 1 never count. Empty shapes are contiguous and dense. "Dense" looks at the absolute value of
//! strides, so a flipped view of a dense one is dense; the other tests take strides as they are.

use super::{Extent, Place, Quantity, Stride};
use smallvec::SmallVec;

/// Strides of a row-major layout without gaps; an extent of 0 counts as 1.
///
/// For shapes that fit a [`Layout`](super::Layout); strides of larger ones are cut off at `isize::MAX`.
#[must_use]
pub fn contiguous_strides<D: Extent>(shape: &[D]) -> SmallVec<[D::Stride; 6]> {
    let mut strides: SmallVec<[D::Stride; 6]> = SmallVec::from_elem(D::Stride::from(1), shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] =
            if shape[axis].is(0) { strides[axis].clone() } else { shape[axis].step_over(&strides[axis]) };
    }
    strides
}

/// Whether an extent is 0.
pub(super) fn has_zero<D: Extent>(shape: &[D]) -> bool {
    shape.iter().any(|extent| extent.is(0))
}

/// Whether elements lie row-major without gaps.
pub(super) fn is_contiguous<D: Extent>(shape: &[D], strides: &[D::Stride]) -> bool {
    has_zero(shape) || is_packed((0..shape.len()).rev(), shape, strides)
}

/// Whether elements of a rank-4 shape (batch, channels, height, width) lie in the order batch, height, width, channels
/// without gaps.
pub(super) fn is_channels_last<D: Extent>(shape: &[D], strides: &[D::Stride]) -> bool {
    shape.len() == 4 && is_packed([1, 3, 2, 0], shape, strides)
}

/// Whether the axes, innermost first, follow each other without gaps.
fn is_packed<D: Extent>(axes: impl IntoIterator<Item = usize>, shape: &[D], strides: &[D::Stride]) -> bool {
    let place = Place::new("comparing strides");
    let mut expected = D::Stride::from(1);
    for axis in axes {
        if !shape[axis].is(1) {
            if !strides[axis].equals(&expected, place.axis(axis)) {
                return false;
            }
            expected = shape[axis].step_over(&expected);
        }
    }
    true
}

/// Whether elements fill a range without gap or overlap, in any order of axes and directions.
pub(super) fn is_dense<D: Extent>(shape: &[D], strides: &[D::Stride]) -> bool {
    if has_zero(shape) {
        return true;
    }
    let place = Place::new("comparing strides");
    let mut axes: SmallVec<[(D::Stride, &D); 6]> = shape
        .iter()
        .zip(strides)
        .filter(|(extent, _)| !extent.is(1))
        .map(|(extent, stride)| (stride.magnitude(), extent))
        .collect();
    axes.sort_by(|a, b| a.0.compare(&b.0, place).then_with(|| a.1.compare(b.1, place)));
    let mut expected = D::Stride::from(1);
    axes.into_iter().all(|(stride, extent)| {
        let fits = stride.equals(&expected, place);
        expected = extent.step_over(&expected);
        fits
    })
}

/// Absolute stride and extent of every axis whose size is not 1.
pub(super) fn axes_that_step(shape: &[usize], strides: &[isize]) -> impl Iterator<Item = (usize, usize)> {
    let axes = shape.iter().zip(strides).filter(|&(&extent, _)| extent != 1);
    axes.map(|(&extent, &stride)| (stride.unsigned_abs(), extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_strides_count_zero_as_one() {
        assert_eq!(contiguous_strides::<usize>(&[]).as_slice(), [0; 0]);
        assert_eq!(contiguous_strides(&[2, 3, 4]).as_slice(), [12, 4, 1]);
        assert_eq!(contiguous_strides(&[2, 0, 4]).as_slice(), [4, 4, 1]);
        assert_eq!(contiguous_strides(&[9, usize::MAX, 2]).as_slice(), [isize::MAX, 2, 1]);
    }

    #[test]
    fn contiguity_ignores_axes_of_size_one() {
        assert!(is_contiguous(&[2, 1, 3], &[3, 50, 1]));
        assert!(is_contiguous(&[2, 0], &[-7, 9]));
        assert!(is_contiguous::<usize>(&[], &[]));
        assert!(!is_contiguous(&[2, 3], &[1, 2]));
        assert!(!is_contiguous(&[3], &[-1]));
    }

    #[test]
    fn channels_last_needs_rank_4_and_no_gaps() {
        assert!(is_channels_last(&[2, 3, 4, 5], &[60, 1, 15, 3]));
        assert!(is_channels_last(&[2, 3, 1, 1], &[3, 1, 9, 9]));
        assert!(!is_channels_last(&[2, 3, 4, 5], &[60, 20, 5, 1]));
        assert!(!is_channels_last(&[2, 3, 4, 5], &[120, 1, 15, 3]));
        assert!(!is_channels_last(&[3, 4, 5], &[1, 15, 3]));
    }

    #[test]
    fn dense_means_every_address_of_the_range_once() {
        assert!(is_dense(&[2, 3, 4], &[12, 1, 3]));
        assert!(is_dense(&[2, 3], &[-1, 2]));
        assert!(is_dense(&[2, 1, 3], &[3, 77, -1]));
        assert!(is_dense(&[0, 3], &[0, 0]));
        assert!(is_dense::<usize>(&[], &[]));
        assert!(!is_dense(&[2, 3], &[4, 1]));
        assert!(!is_dense(&[2, 3], &[0, 1]));
        assert!(!is_dense(&[2, 2], &[1, 1]));
    }
}
