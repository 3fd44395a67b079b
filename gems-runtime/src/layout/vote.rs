//! Strides of a result: the operands vote on the order of its axes.
//!
//! Guarantees PyTorch's TensorIterator rule, exactly; the strides are dense. Negative strides, which PyTorch lacks,
//! vote with their absolute value.
//! Does not look at dtypes, and expects shapes that broadcast.

use super::extent::equal_shapes;
use super::strides::{contiguous_strides, is_channels_last, is_contiguous, is_dense};
use super::{Extent, Layout, Place, Quantity, Stride};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// An operand with a vote: a layout, or a number in place of one.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a, D: Extent = usize> {
    /// Extents, outermost first, before broadcasting.
    pub(crate) shape: &'a [D],
    /// Strides in elements, one an axis.
    pub(crate) strides: &'a [D::Stride],
}

impl<'a, D: Extent> From<&'a Layout<D>> for Entry<'a, D> {
    fn from(layout: &'a Layout<D>) -> Entry<'a, D> {
        Entry { shape: layout.shape(), strides: layout.strides() }
    }
}

/// Strides of a result.
type Steps<D> = SmallVec<[<D as Extent>::Stride; 6]>;

/// Order of axes, innermost first.
type Axes = SmallVec<[usize; 6]>;

/// Strides of a result of these operands.
///
/// The entries are a given output that keeps its shape, then every buffer operand and every number in place of one (as
/// rank 0), in the order of parameters. The first entry with an opinion decides.
///
/// # Examples
/// ```
/// use gems_runtime::layout::{Layout, output_strides};
///
/// let columns = Layout::new(&[2, 3], &[1, 2], 0)?;
/// let row = Layout::contiguous(&[3])?;
/// assert_eq!(output_strides(&[(&columns).into(), (&row).into()]).as_slice(), [1, 2]);
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
#[must_use]
pub fn output_strides<D: Extent>(entries: &[Entry<'_, D>]) -> SmallVec<[D::Stride; 6]> {
    if !entries.iter().any(|entry| entry.strides.iter().any(Stride::is_negative)) {
        return vote(entries);
    }
    let strides: SmallVec<[Steps<D>; 8]> = entries.iter().map(|entry| absolute(entry.strides)).collect();
    let entries: SmallVec<[Entry<'_, D>; 8]> =
        entries.iter().zip(&strides).map(|(entry, strides)| Entry { shape: entry.shape, strides }).collect();
    vote(&entries)
}

/// Strides of a copy of one buffer: its own if it is dense, else dense ones in the same order of axes.
#[must_use]
pub fn keep_format_strides<D: Extent>(entry: Entry<'_, D>) -> SmallVec<[D::Stride; 6]> {
    let strides = absolute(entry.strides);
    if is_dense(entry.shape, &strides) {
        return strides;
    }
    let axes = axes_by_vote(&[Entry { shape: entry.shape, strides: &strides }], entry.shape);
    packed(entry.shape, &axes)
}

fn absolute<S: Stride>(strides: &[S]) -> SmallVec<[S; 6]> {
    strides.iter().map(Stride::magnitude).collect()
}

fn vote<D: Extent>(entries: &[Entry<'_, D>]) -> Steps<D> {
    let shape = broadcast(entries);
    if let Some(strides) = agreed(entries, &shape) {
        return strides;
    }
    let axes = axes_by_vote(entries, &shape);
    if axes.iter().copied().eq((0..shape.len()).rev()) {
        return contiguous_strides(&shape);
    }
    packed(&shape, &axes)
}

/// The common shape of entries that are known to broadcast.
fn broadcast<D: Extent>(entries: &[Entry<'_, D>]) -> SmallVec<[D; 6]> {
    let rank = entries.iter().map(|entry| entry.shape.len()).max().unwrap_or(0);
    let mut shape = SmallVec::from_elem(D::from(1), rank);
    for entry in entries {
        for (common, extent) in shape[rank - entry.shape.len()..].iter_mut().zip(entry.shape) {
            if !extent.is(1) {
                *common = extent.clone();
            }
        }
    }
    shape
}

/// The strides that need no vote: nothing is broadcast and all entries have the same format.
fn agreed<D: Extent>(entries: &[Entry<'_, D>], shape: &[D]) -> Option<Steps<D>> {
    let place = Place::new("comparing operands");
    let (first, others) = entries.split_first()?;
    if !entries.iter().all(|entry| equal_shapes(entry.shape, shape, place)) {
        return None;
    }
    if entries.iter().all(|entry| is_contiguous(entry.shape, entry.strides)) {
        return Some(contiguous_strides(shape));
    }
    if entries.iter().all(|entry| is_channels_last(entry.shape, entry.strides)) {
        return Some(packed(shape, &[1, 3, 2, 0]));
    }
    (is_dense(first.shape, first.strides)
        && others.iter().all(|entry| equal_shapes(entry.strides, first.strides, place)))
    .then(|| first.strides.iter().cloned().collect())
}

/// Insertion sort of the axes, innermost first; an undecided pair keeps its order and the search goes on behind it.
fn axes_by_vote<D: Extent>(entries: &[Entry<'_, D>], shape: &[D]) -> Axes {
    let mut axes: Axes = (0..shape.len()).rev().collect();
    for start in 1..axes.len() {
        let mut moving = start;
        for earlier in (0..start).rev() {
            match order(entries, shape, axes[earlier], axes[moving]) {
                Ordering::Greater => {
                    axes.swap(earlier, moving);
                    moving = earlier;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    axes
}

/// Whether axis `a` must lie outside `b` (greater), inside (less), or nobody cares.
fn order<D: Extent>(entries: &[Entry<'_, D>], shape: &[D], a: usize, b: usize) -> Ordering {
    let place = Place::new("ordering axes").axis(a);
    for entry in entries {
        let (Some(of_a), Some(of_b)) = (stride_on(entry, shape, a), stride_on(entry, shape, b)) else {
            continue;
        };
        match of_a.compare(of_b, place) {
            // Of two axes with the same stride, the longer one lies outside.
            Ordering::Equal if !shape[a].at_most(&shape[b], place) => return Ordering::Greater,
            Ordering::Equal => {}
            decided => return decided,
        }
    }
    Ordering::Equal
}

/// The stride of an entry on an axis of the common shape, unless it is broadcast there.
fn stride_on<'a, D: Extent>(entry: &Entry<'a, D>, shape: &[D], axis: usize) -> Option<&'a D::Stride> {
    let own = (axis + entry.shape.len()).checked_sub(shape.len())?;
    let steps = (!entry.shape[own].is(1) || shape[axis].is(1)) && !entry.strides[own].is(0);
    steps.then(|| &entry.strides[own])
}

/// Strides without gaps for this order of axes, innermost first; 0 outside an empty axis.
fn packed<D: Extent>(shape: &[D], axes: &[usize]) -> Steps<D> {
    let mut strides = SmallVec::from_elem(D::Stride::from(0), shape.len());
    let mut run = D::Stride::from(1);
    for &axis in axes {
        strides[axis] = run.clone();
        run = shape[axis].step_over(&run);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (&'static [(&'static [usize], &'static [isize])], &'static [isize]);

    #[track_caller]
    fn check((entries, expected): Case) {
        let list: Vec<_> = entries.iter().map(|&(shape, strides)| Entry { shape, strides }).collect();
        assert_eq!(output_strides(&list).as_slice(), expected, "{entries:?}");
    }

    /// Recorded from PyTorch 2.15.
    const RECORDED: &[Case] = &[
        (&[(&[2, 3, 4], &[12, 4, 1])], &[12, 4, 1]),
        (&[(&[2, 3, 4], &[12, 1, 3])], &[12, 1, 3]),
        (&[(&[2, 2], &[2, 4])], &[1, 2]),
        (&[(&[3, 4], &[1, 0])], &[4, 1]),
        (&[(&[3, 4], &[1, 0]), (&[3, 4], &[1, 3])], &[1, 3]),
        (&[(&[2, 3, 4, 5], &[60, 1, 15, 3])], &[60, 1, 15, 3]),
        (&[(&[2, 3, 4, 5], &[60, 1, 15, 3]), (&[1, 3, 1, 1], &[3, 1, 1, 1])], &[60, 1, 15, 3]),
        (&[(&[2, 3, 4, 5], &[60, 1, 15, 3]), (&[2, 3, 4, 5], &[60, 20, 5, 1])], &[60, 1, 15, 3]),
        (&[(&[2, 3, 4, 5], &[60, 20, 5, 1]), (&[2, 3, 4, 5], &[60, 1, 15, 3])], &[60, 20, 5, 1]),
        (&[(&[3, 1, 1], &[1, 1, 1]), (&[2, 3, 4, 5], &[60, 1, 15, 3])], &[60, 1, 15, 3]),
        (&[(&[2, 3, 1, 1], &[3, 1, 3, 3])], &[3, 1, 1, 1]),
        (&[(&[2, 3, 1, 1], &[3, 1, 3, 3]), (&[], &[])], &[3, 1, 3, 3]),
        (&[(&[2, 1, 3], &[3, 50, 1])], &[3, 3, 1]),
        (&[(&[2, 1, 3], &[3, 50, 1]), (&[], &[])], &[3, 6, 1]),
        (&[(&[4, 1], &[1, 4]), (&[1, 5], &[7, 1])], &[5, 1]),
        (&[(&[1, 5], &[7, 1]), (&[4, 1], &[1, 4])], &[5, 1]),
        (&[(&[4, 4], &[1, 4]), (&[4], &[1])], &[1, 4]),
        (&[(&[4], &[1]), (&[4, 4], &[1, 4])], &[1, 4]),
        (&[(&[2, 2, 5, 1], &[5, 6, 7, 0]), (&[2, 2, 5, 1], &[0, 5, 1, 10])], &[1, 2, 4, 4]),
        (&[(&[3, 0, 2], &[1, 3, 3]), (&[1, 1, 2], &[2, 2, 1])], &[1, 3, 0]),
        (&[(&[2, 3], &[1, 2]), (&[2, 3], &[3, 1]), (&[3], &[1])], &[1, 2]),
        (&[(&[2, 3], &[3, 1]), (&[2, 3], &[1, 2]), (&[3], &[1])], &[3, 1]),
        (&[(&[1, 3], &[1, 1]), (&[2, 1], &[1, 1]), (&[2, 3], &[1, 2])], &[1, 2]),
        (&[(&[3, 2, 2], &[4, 1, 1])], &[4, 2, 1]),
        (&[(&[5, 1, 5], &[5, 2, 1])], &[5, 5, 1]),
        (&[(&[], &[])], &[]),
        (&[(&[], &[]), (&[3], &[2])], &[1]),
    ];

    #[test]
    fn recorded_layouts_are_reproduced() {
        for &case in RECORDED {
            check(case);
        }
    }

    #[test]
    fn negative_strides_vote_with_their_absolute_value() {
        check((&[(&[2, 3], &[-3, -1])], &[3, 1]));
        check((&[(&[2, 3], &[-1, 2])], &[1, 2]));
        check((&[(&[3, 4], &[1, 0]), (&[3, 4], &[1, -3])], &[1, 3]));
    }

    #[test]
    fn no_entry_is_a_result_of_rank_0() {
        check((&[], &[]));
    }

    #[test]
    fn a_copy_keeps_dense_strides_and_packs_others() {
        let keep =
            |shape: &[usize], strides: &[isize]| keep_format_strides(Entry { shape, strides }).to_vec();
        assert_eq!(keep(&[2, 3, 4], &[12, 1, 3]), [12, 1, 3]);
        assert_eq!(keep(&[2, 3], &[1, -2]), [1, 2]);
        assert_eq!(keep(&[2, 3, 4], &[24, 1, 6]), [12, 1, 3]);
        assert_eq!(keep(&[3, 4], &[0, 1]), [4, 1]);
        assert_eq!(keep(&[2, 2], &[1, 1]), [2, 1]);
        assert_eq!(keep(&[3, 0, 2], &[1, 9, 9]), [1, 9, 9]);
    }
}
