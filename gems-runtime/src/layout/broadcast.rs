//! Broadcasting: the common shape of operands, and strides that stretch an operand to it.
//!
//! Axes are aligned at the innermost one; an extent of 1 stretches to any other, 0 included.

use super::{Extent, Layout, Place, check_shape, shape_error};
use crate::error::Result;
use smallvec::SmallVec;

/// The shape to which all of these broadcast; `[]` for none.
///
/// # Errors
/// Two extents on one axis that differ and are not 1, or a result with too many elements for a [`Layout`].
pub fn broadcast_shapes<'a, D, I>(shapes: I) -> Result<SmallVec<[D; 6]>>
where
    D: Extent + 'a,
    I: IntoIterator<Item = &'a [D], IntoIter: Clone>,
{
    let place = Place::new("broadcasting");
    let shapes = shapes.into_iter();
    let rank = shapes.clone().map(<[D]>::len).max().unwrap_or(0);
    let mut result: SmallVec<[D; 6]> = SmallVec::from_elem(D::from(1), rank);
    for (operand, shape) in shapes.clone().enumerate() {
        for (axis, extent) in (rank - shape.len()..).zip(shape) {
            if result[axis].is(1) {
                result[axis] = extent.clone();
            } else if !extent.is(1) && !result[axis].equals(extent, place.operand(operand).axis(axis)) {
                let first = shapes.clone().find(|shape| stretches(shape, rank, axis)).unwrap_or(shape);
                return Err(shape_error(format!(
                    "cannot broadcast {first:?} with {shape:?}: axis {axis} has {:?} and {extent:?}",
                    result[axis]
                )));
            }
        }
    }
    check_shape(&result)?;
    Ok(result)
}

/// Whether a shape decides an axis of the common shape.
fn stretches<D: Extent>(shape: &[D], rank: usize, axis: usize) -> bool {
    (axis + shape.len()).checked_sub(rank).is_some_and(|axis| !shape[axis].is(1))
}

/// Strides with which a layout covers `shape`: 0 on axes that are stretched or missing.
///
/// # Errors
/// A shape to which the layout does not broadcast.
pub fn broadcast_strides<D: Extent>(layout: &Layout<D>, shape: &[D]) -> Result<SmallVec<[D::Stride; 6]>> {
    let place = Place::new("expanding");
    let fail =
        |reason: String| shape_error(format!("cannot broadcast {:?} to {shape:?}: {reason}", layout.shape()));
    let Some(missing) = shape.len().checked_sub(layout.rank()) else {
        return Err(fail(format!("the rank falls from {} to {}", layout.rank(), shape.len())));
    };
    let mut strides = SmallVec::from_elem(D::Stride::from(0), shape.len());
    for (axis, (extent, stride)) in (missing..).zip(layout.shape().iter().zip(layout.strides())) {
        if extent.equals(&shape[axis], place.axis(axis)) {
            strides[axis] = stride.clone();
        } else if !extent.is(1) {
            return Err(fail(format!("axis {axis} has {extent:?} and {:?}", shape[axis])));
        }
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;
    use proptest::prelude::*;

    fn shapes(list: &[&[usize]]) -> Result<Shape> {
        broadcast_shapes(list.iter().copied())
    }

    #[test]
    fn shapes_align_at_the_innermost_axis() {
        assert_eq!(shapes(&[]).unwrap().as_slice(), [0; 0]);
        assert_eq!(shapes(&[&[8, 1, 6], &[7, 1]]).unwrap().as_slice(), [8, 7, 6]);
        assert_eq!(shapes(&[&[], &[3], &[2, 1]]).unwrap().as_slice(), [2, 3]);
        assert_eq!(shapes(&[&[1, 3], &[0, 1]]).unwrap().as_slice(), [0, 3]);
    }

    #[test]
    fn broadcast_rejects_unequal_axes() {
        let message = |list: &[&[usize]]| shapes(list).unwrap_err().to_string();
        assert_eq!(
            message(&[&[8, 1, 6], &[7, 5]]),
            "cannot broadcast [8, 1, 6] with [7, 5]: axis 2 has 6 and 5"
        );
        assert_eq!(
            message(&[&[5, 1], &[], &[4], &[2, 1, 3]]),
            "cannot broadcast [4] with [2, 1, 3]: axis 2 has 4 and 3"
        );
        assert_eq!(message(&[&[0], &[2]]), "cannot broadcast [0] with [2]: axis 0 has 0 and 2");
        assert!(message(&[&[1 << 40, 1], &[1 << 40]]).contains("more elements"));
    }

    #[test]
    fn stretched_and_missing_axes_get_stride_zero() {
        let layout = Layout::new(&[3, 1, 1], &[5, 7, 9], 2).unwrap();
        assert_eq!(broadcast_strides(&layout, &[2, 3, 4, 1]).unwrap().as_slice(), [0, 5, 0, 9]);
        assert_eq!(
            broadcast_strides(&layout, &[4, 1, 1]).unwrap_err().to_string(),
            "cannot broadcast [3, 1, 1] to [4, 1, 1]: axis 0 has 3 and 4"
        );
        assert!(broadcast_strides(&layout, &[3]).unwrap_err().to_string().contains("rank falls from 3 to 1"));
    }

    fn shape() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(prop_oneof![2 => Just(1usize), 1 => 0usize..4], 0..5)
    }

    proptest! {
        #[test]
        fn broadcasting_obeys_its_laws(a in shape(), b in shape(), c in shape()) {
            let both = |x: &[usize], y: &[usize]| shapes(&[x, y]).ok();
            prop_assert_eq!(both(&a, &b), both(&b, &a));
            prop_assert_eq!(both(&a, &a), Some(Shape::from_slice(&a)));
            prop_assert_eq!(both(&a, &[]), Some(Shape::from_slice(&a)));
            let all = shapes(&[&a, &b, &c]).ok();
            let left = both(&a, &b).and_then(|ab| both(&ab, &c));
            let right = both(&b, &c).and_then(|bc| both(&a, &bc));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(&left, &all);
            if let Some(all) = all {
                for shape in [&a, &b, &c] {
                    prop_assert!(broadcast_strides(&Layout::contiguous(shape).unwrap(), &all).is_ok());
                }
            }
        }
    }
}
