//! Strides of a result: the operands vote on the order of its axes.
//!
//! Guarantees PyTorch's TensorIterator rule, exactly; the strides are dense. Negative strides, which PyTorch lacks,
//! vote with their absolute value.
//! Does not look at dtypes, and expects shapes that broadcast.

use super::strides::extent;
use super::{Layout, Shape, Strides, contiguous_strides, is_channels_last, is_contiguous, is_dense};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// An operand with a vote.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Extents, outermost first, before broadcasting.
    pub shape: &'a [usize],
    /// Strides in elements, one an axis.
    pub strides: &'a [isize],
}

impl<'a> From<&'a Layout> for Entry<'a> {
    fn from(layout: &'a Layout) -> Entry<'a> {
        Entry { shape: layout.shape(), strides: layout.strides() }
    }
}

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
pub fn output_strides(entries: &[Entry<'_>]) -> Strides {
    if entries.iter().all(|entry| entry.strides.iter().all(|&stride| stride >= 0)) {
        return vote(entries);
    }
    let strides: SmallVec<[Strides; 8]> = entries.iter().map(|entry| absolute(entry.strides)).collect();
    let entries: SmallVec<[Entry<'_>; 8]> =
        entries.iter().zip(&strides).map(|(entry, strides)| Entry { shape: entry.shape, strides }).collect();
    vote(&entries)
}

/// Strides of a copy of one buffer: its own if it is dense, else dense ones in the same order of axes.
#[must_use]
pub fn keep_format_strides(entry: Entry<'_>) -> Strides {
    let strides = absolute(entry.strides);
    if is_dense(entry.shape, &strides) {
        return strides;
    }
    let entry = Entry { shape: entry.shape, strides: &strides };
    packed(entry.shape, &axes_by_vote(&[entry], entry.shape))
}

fn absolute(strides: &[isize]) -> Strides {
    strides.iter().map(|stride| stride.saturating_abs()).collect()
}

fn vote(entries: &[Entry<'_>]) -> Strides {
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
fn broadcast(entries: &[Entry<'_>]) -> Shape {
    let rank = entries.iter().map(|entry| entry.shape.len()).max().unwrap_or(0);
    let mut shape = Shape::from_elem(1, rank);
    for entry in entries {
        for (common, &extent) in shape[rank - entry.shape.len()..].iter_mut().zip(entry.shape) {
            if extent != 1 {
                *common = extent;
            }
        }
    }
    shape
}

/// The strides that need no vote: nothing is broadcast and all entries have the same format.
fn agreed(entries: &[Entry<'_>], shape: &[usize]) -> Option<Strides> {
    let (first, others) = entries.split_first()?;
    if entries.iter().any(|entry| entry.shape != shape) {
        return None;
    }
    if entries.iter().all(|entry| is_contiguous(entry.shape, entry.strides)) {
        return Some(contiguous_strides(shape));
    }
    if entries.iter().all(|entry| is_channels_last(entry.shape, entry.strides)) {
        return Some(packed(shape, &[1, 3, 2, 0]));
    }
    (is_dense(first.shape, first.strides) && others.iter().all(|entry| entry.strides == first.strides))
        .then(|| Strides::from_slice(first.strides))
}

/// Insertion sort of the axes, innermost first; an undecided pair keeps its order and the search goes on behind it.
fn axes_by_vote(entries: &[Entry<'_>], shape: &[usize]) -> Axes {
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
fn order(entries: &[Entry<'_>], shape: &[usize], a: usize, b: usize) -> Ordering {
    for entry in entries {
        let (of_a, of_b) = (stride_on(entry, shape, a), stride_on(entry, shape, b));
        if of_a == 0 || of_b == 0 {
            continue;
        }
        match of_a.cmp(&of_b) {
            // Of two axes with the same stride, the longer one lies outside.
            Ordering::Equal if shape[a] > shape[b] => return Ordering::Greater,
            Ordering::Equal => {}
            decided => return decided,
        }
    }
    Ordering::Equal
}

/// The stride of an entry on an axis of the common shape; 0 where it is broadcast.
fn stride_on(entry: &Entry<'_>, shape: &[usize], axis: usize) -> isize {
    match (axis + entry.shape.len()).checked_sub(shape.len()) {
        Some(own) if entry.shape[own] != 1 || shape[axis] == 1 => entry.strides[own],
        _ => 0,
    }
}

/// Strides without gaps for this order of axes, innermost first; 0 outside an empty axis.
fn packed(shape: &[usize], axes: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut run = 1isize;
    for &axis in axes {
        strides[axis] = run;
        run = run.saturating_mul(extent(shape[axis]));
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
