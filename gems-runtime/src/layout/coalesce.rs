//! Axis order and coalescing for all operands of one call.
//!
//! Guarantees: every element keeps its address in every operand; no two neighbors of the result can be merged.
//! Does not look at dtypes, alignment or devices; no heap allocation up to rank 6 and 8 operands.

use super::extent::as_stride;
use super::{Shape, Strides};
use smallvec::SmallVec;

/// The axes over which a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coalesced {
    /// Extents, outermost first; none is 1. Empty for a single element, `[0]` for no element.
    pub extents: Shape,
    /// Strides of each operand on these axes, in elements.
    pub strides: SmallVec<[Strides; 8]>,
}

/// Drops, orders and merges the axes of a call.
///
/// `strides` holds one list an operand, as long as `shape` and 0 where the operand is broadcast. The first operand, the
/// output, decides the order: its smallest absolute stride is innermost. The others break ties, in their order.
pub(crate) fn coalesce(shape: &[usize], strides: &[&[isize]]) -> Coalesced {
    debug_assert!(strides.iter().all(|strides| strides.len() == shape.len()));
    if shape.contains(&0) {
        let strides = strides.iter().map(|_| Strides::from_elem(0, 1)).collect();
        return Coalesced { extents: Shape::from_elem(0, 1), strides };
    }
    let mut axes: SmallVec<[usize; 6]> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
    axes.sort_by(|&a, &b| magnitudes(strides, b).cmp(magnitudes(strides, a)));

    let mut extents = Shape::new();
    let mut merged: SmallVec<[Strides; 8]> = strides.iter().map(|_| Strides::new()).collect();
    for axis in axes {
        let joins = merged.iter().zip(strides).all(|(outer, inner)| {
            outer.last().is_some_and(|&outer| inner[axis].checked_mul(as_stride(shape[axis])) == Some(outer))
        });
        match extents.last_mut() {
            Some(outer) if joins => *outer *= shape[axis],
            _ => {
                extents.push(shape[axis]);
                merged.iter_mut().for_each(|strides| strides.push(0));
            }
        }
        for (merged, strides) in merged.iter_mut().zip(strides) {
            if let Some(last) = merged.last_mut() {
                *last = strides[axis];
            }
        }
    }
    Coalesced { extents, strides: merged }
}

/// Absolute strides of all operands on one axis.
fn magnitudes(strides: &[&[isize]], axis: usize) -> impl Iterator<Item = usize> {
    strides.iter().map(move |strides| strides[axis].unsigned_abs())
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "numbers in tests are small")]
mod tests {
    use super::super::model::indices;
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(shape: &[usize], strides: &[&[isize]], extents: &[usize], merged: &[&[isize]]) {
        let result = coalesce(shape, strides);
        assert_eq!(result.extents.as_slice(), extents);
        assert_eq!(result.strides.iter().map(|strides| strides.as_slice()).collect::<Vec<_>>(), merged);
    }

    #[test]
    fn contiguous_operands_become_one_axis() {
        check(&[2, 3, 4], &[&[12, 4, 1], &[12, 4, 1]], &[24], &[&[1], &[1]]);
        check(&[2, 3, 4], &[&[1, 2, 6], &[1, 2, 6]], &[24], &[&[1], &[1]]);
        check(&[2, 1, 4], &[&[4, 99, 1], &[4, 0, 1]], &[8], &[&[1], &[1]]);
    }

    #[test]
    fn the_output_decides_the_order() {
        check(&[2, 3], &[&[1, 2], &[3, 1]], &[3, 2], &[&[2, 1], &[1, 3]]);
        check(&[2, 3], &[&[3, 1], &[1, 2]], &[2, 3], &[&[3, 1], &[1, 2]]);
    }

    #[test]
    fn broadcast_axes_merge_only_with_broadcast_axes() {
        check(&[2, 3, 4], &[&[12, 4, 1], &[0, 0, 1]], &[6, 4], &[&[4, 1], &[0, 1]]);
        check(&[2, 3, 4], &[&[12, 4, 1], &[0, 4, 1]], &[2, 12], &[&[12, 1], &[0, 1]]);
        check(&[2, 3], &[&[3, 1], &[0, 0]], &[6], &[&[1], &[0]]);
    }

    #[test]
    fn negative_strides_merge_when_they_agree() {
        check(&[2, 3], &[&[3, 1], &[-3, -1]], &[6], &[&[1], &[-1]]);
        check(&[2, 3], &[&[3, 1], &[3, -1]], &[2, 3], &[&[3, 1], &[3, -1]]);
    }

    #[test]
    fn one_element_needs_no_axis_and_no_element_one() {
        check(&[], &[&[], &[]], &[], &[&[], &[]]);
        check(&[1, 1], &[&[5, 5]], &[], &[&[]]);
        check(&[3, 0], &[&[1, 3], &[0, 0]], &[0], &[&[0], &[0]]);
    }

    #[test]
    fn rank_6_with_8_operands_needs_no_heap() {
        let strides: [isize; 6] = [500, 200, 90, 30, 10, 2];
        let result = coalesce(&[2; 6], &[strides.as_slice(); 8]);
        assert_eq!(result.extents.len(), 6);
        assert!(!result.extents.spilled() && !result.strides.spilled());
        assert!(result.strides.iter().all(|strides| !strides.spilled()));
    }

    /// Offsets of every operand at every index, sorted.
    fn addresses(shape: &[usize], strides: &[&[isize]]) -> Vec<Vec<isize>> {
        let at = |index: &Vec<usize>, strides: &[isize]| {
            index.iter().zip(strides).map(|(&i, stride)| i as isize * stride).sum()
        };
        let mut all: Vec<Vec<isize>> = indices(shape)
            .iter()
            .map(|index| strides.iter().map(|strides| at(index, strides)).collect())
            .collect();
        all.sort();
        all
    }

    /// Strides among which some fit each other.
    fn stride() -> impl Strategy<Value = isize> {
        prop_oneof![-3isize..4, prop::sample::select(vec![-6, 6, 12, 24])]
    }

    proptest! {
        #[test]
        fn coalescing_keeps_every_address(
            axes in prop::collection::vec((0usize..5, prop::array::uniform3(stride())), 0..6),
        ) {
            let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            let strides: Vec<Vec<isize>> =
                (0..3).map(|operand| axes.iter().map(|axis| axis.1[operand]).collect()).collect();
            let strides: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
            let result = coalesce(&shape, &strides);
            let merged: Vec<&[isize]> = result.strides.iter().map(|strides| strides.as_slice()).collect();
            prop_assert_eq!(addresses(&shape, &strides), addresses(&result.extents, &merged));
            prop_assert!(!result.extents.contains(&1));
            prop_assert!(merged[0].is_sorted_by_key(|stride| std::cmp::Reverse(stride.unsigned_abs())));
        }

        #[test]
        fn any_permutation_of_a_contiguous_output_becomes_one_axis(
            shape in prop::collection::vec(1usize..5, 1..8),
            order in any::<prop::sample::Index>(),
        ) {
            let mut axes: Vec<usize> = (0..shape.len()).collect();
            axes.rotate_left(order.index(shape.len()));
            axes.swap(0, order.index(shape.len()));
            let contiguous = super::super::contiguous_strides(&shape);
            let shape: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
            let strides: Vec<isize> = axes.iter().map(|&axis| contiguous[axis]).collect();
            prop_assert!(coalesce(&shape, &[&strides, &strides]).extents.len() <= 1);
        }
    }
}
