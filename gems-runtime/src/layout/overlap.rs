//! Whether memory is shared: inside one layout, and between an output and an input.
//!
//! Guarantees: an answer of "no overlap" is true. Where an exact answer would cost too much, the answer is the careful
//! one: the layout overlaps itself, the input is to be copied.
//! Does not know which storage a region is in; regions in different storages need no question.

use super::Layout;
use super::strides::axes_that_step;
use smallvec::SmallVec;
use std::ops::Range;

/// Highest number of elements for an exact test of one layout.
const EXACT_LIMIT: usize = 1 << 22;

/// The memory of an operand.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// Address of the element of index 0, in bytes.
    pub address: u64,
    /// Bytes of one element.
    pub element_size: usize,
    /// Shape and strides; the offset does not count.
    pub layout: &'a Layout,
}

/// How an output and an input share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// No byte is in both.
    None,
    /// The same elements at the same indices: every thread reads before it writes.
    Full,
    /// Elements are shared at different indices: an error.
    Partial,
    /// Perhaps shared; copy the input first and go on.
    Copy,
}

/// Whether two indices of a layout have the same address; also true if that is too costly to find out.
#[must_use]
pub fn has_internal_overlap(layout: &Layout) -> bool {
    if layout.is_empty() {
        return false;
    }
    let mut axes: Axes = axes_that_step(layout.shape(), layout.strides()).collect();
    let (nested, reach) = nest(&mut axes);
    !nested && shares_an_address(&axes, reach)
}

/// Sorts axes by stride: whether every axis steps over all that the smaller ones reach, and how far all reach.
fn nest(axes: &mut Axes) -> (bool, usize) {
    axes.sort_unstable();
    let (mut nested, mut reach) = (true, 0usize);
    for &mut (stride, extent) in axes {
        nested &= stride > reach;
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
    }
    (nested, reach)
}

/// Absolute stride and extent of axes.
type Axes = SmallVec<[(usize, usize); 6]>;

/// The exact test, up to a limit: lists every address; `reach` is the highest.
fn shares_an_address(axes: &[(usize, usize)], reach: usize) -> bool {
    let numel: usize = axes.iter().map(|&(_, extent)| extent).product();
    if numel > EXACT_LIMIT || numel > reach.saturating_add(1) {
        return true;
    }
    let mut addresses = vec![0usize];
    for &(stride, extent) in axes {
        addresses = addresses.iter().flat_map(|&from| (0..extent).map(move |i| from + i * stride)).collect();
    }
    addresses.sort_unstable();
    addresses.windows(2).any(|pair| pair[0] == pair[1])
}

/// How an output shares memory with an input of the same storage.
#[must_use]
pub fn overlap(output: Region<'_>, input: Region<'_>) -> Overlap {
    let (Some(written), Some(read)) = (output.bytes(), input.bytes()) else {
        return Overlap::None;
    };
    if written.end <= read.start || read.end <= written.start {
        Overlap::None
    } else if output.is_same(&input) {
        Overlap::Full
    } else if output.layout.is_dense() && input.layout.is_dense() {
        Overlap::Partial
    } else if output.interleaves(&input) || output.takes_turns(&input) {
        Overlap::None
    } else {
        Overlap::Copy
    }
}

impl Region<'_> {
    /// The range of bytes from the lowest to the highest element; none if empty.
    fn bytes(&self) -> Option<Range<i128>> {
        let (low, high) = self.layout.span()?;
        let size = self.element_size as i128;
        let at =
            |offset: isize| i128::from(self.address) + (offset as i128 - self.layout.offset() as i128) * size;
        Some(at(low)..at(high) + size)
    }

    /// Whether every index has the same bytes in both.
    fn is_same(&self, other: &Region<'_>) -> bool {
        self.address == other.address && self.steps_as(other)
    }

    /// Whether both have the same shape, strides and size of elements.
    fn steps_as(&self, other: &Region<'_>) -> bool {
        fn axes(layout: &Layout) -> impl Iterator<Item = (&usize, &isize)> {
            layout.shape().iter().zip(layout.strides()).filter(|&(&extent, _)| extent != 1)
        }
        self.element_size == other.element_size && axes(self.layout).eq(axes(other.layout))
    }

    /// Whether both step alike and the way from one to the other nests among their strides, as for the halves of rows.
    fn takes_turns(&self, other: &Region<'_>) -> bool {
        let distance = self.address.abs_diff(other.address);
        let size = self.element_size as u64;
        let Ok(elements) = usize::try_from(distance / size) else { return false };
        let mut axes: Axes = axes_that_step(self.layout.shape(), self.layout.strides()).collect();
        axes.push((elements, 2));
        distance.is_multiple_of(size) && self.steps_as(other) && nest(&mut axes).0
    }

    /// Whether no byte is shared because both step by multiples of one length and meet it at different places.
    fn interleaves(&self, other: &Region<'_>) -> bool {
        let period = gcd(self.period(), other.period());
        if period == 0 {
            return false;
        }
        let distance = (i128::from(self.address) - i128::from(other.address)).rem_euclid(period);
        other.element_size as i128 <= distance && distance + self.element_size as i128 <= period
    }

    /// The greatest length in bytes of which every step is a multiple; 0 if there is no step.
    fn period(&self) -> i128 {
        axes_that_step(self.layout.shape(), self.layout.strides())
            .fold(0, |period, (stride, _)| gcd(period, stride as i128 * self.element_size as i128))
    }
}

/// Greatest common divisor of numbers that are not negative; 0 divides nothing but itself.
fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "numbers in tests are small")]
mod tests {
    use super::super::model::{any_layout, offsets};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn layout(shape: &[usize], strides: &[isize]) -> Layout {
        Layout::new(shape, strides, 0).unwrap()
    }

    #[track_caller]
    fn check(output: (u64, &Layout), input: (u64, &Layout), expected: Overlap) {
        let region = |(address, layout)| Region { address, element_size: 4, layout };
        assert_eq!(overlap(region(output), region(input)), expected);
    }

    #[test]
    fn the_same_view_overlaps_fully() {
        let a = layout(&[3, 1, 4], &[4, 9, 1]);
        check((64, &a), (64, &layout(&[3, 4], &[4, 1])), Overlap::Full);
        check((64, &a), (64, &layout(&[3, 4], &[8, 1])), Overlap::Copy);
        let gapped = layout(&[3, 4], &[8, 1]);
        check((64, &gapped), (64, &gapped), Overlap::Full);
    }

    #[test]
    fn dense_views_that_meet_otherwise_overlap_partly() {
        let square = layout(&[3, 3], &[3, 1]);
        check((64, &square), (64, &layout(&[3, 3], &[1, 3])), Overlap::Partial);
        check((64, &square), (68, &square), Overlap::Partial);
        check((64, &square), (64 + 36, &square), Overlap::None);
        check((64 + 36, &square), (64, &square), Overlap::None);
        check((64, &layout(&[4], &[1])), (76, &layout(&[4], &[-1])), Overlap::Partial);
    }

    #[test]
    fn interleaved_views_do_not_overlap() {
        let evens = layout(&[5], &[2]);
        check((64, &evens), (68, &evens), Overlap::None);
        check((68, &evens), (64, &evens), Overlap::None);
        check((64, &evens), (72, &evens), Overlap::Copy);
        check((64, &layout(&[3, 2], &[4, 1])), (72, &layout(&[3, 2], &[4, 1])), Overlap::None);
        check((72, &layout(&[3, 2], &[4, 1])), (64, &layout(&[3, 2], &[4, 1])), Overlap::None);
        check((64, &layout(&[3, 2], &[4, 1])), (68, &layout(&[3, 2], &[4, 1])), Overlap::Copy);
    }

    #[test]
    fn interleaving_respects_both_element_sizes() {
        let pairs = layout(&[4], &[4]);
        let wide = layout(&[4], &[2]);
        let output = Region { address: 0, element_size: 2, layout: &pairs };
        let input = |address| Region { address, element_size: 4, layout: &wide };
        assert_eq!(overlap(output, input(2)), Overlap::None);
        assert_eq!(overlap(output, input(4)), Overlap::None);
        assert_eq!(overlap(output, input(6)), Overlap::Copy);
    }

    #[test]
    fn empty_and_broadcast_inputs_are_decided() {
        let a = layout(&[2, 3], &[3, 1]);
        check((64, &a), (64, &layout(&[0, 3], &[3, 1])), Overlap::None);
        check((64, &a), (64, &layout(&[2, 3], &[0, 1])), Overlap::Copy);
        check((64, &a), (64, &layout(&[3], &[1])), Overlap::Partial);
        check((64, &layout(&[], &[])), (64, &layout(&[5], &[0])), Overlap::Copy);
    }

    #[test]
    fn a_layout_may_overlap_itself() {
        let overlaps = |shape: &[usize], strides: &[isize]| has_internal_overlap(&layout(shape, strides));
        assert!(overlaps(&[3], &[0]));
        assert!(overlaps(&[3, 3], &[1, 1]));
        assert!(overlaps(&[3, 4], &[3, 1]));
        assert!(!overlaps(&[1, 3], &[0, 1]));
        assert!(!overlaps(&[3, 0], &[0, 0]));
        assert!(!overlaps(&[3, 4], &[-4, 1]));
        // 0, 3, 6 and 0, 5, 10: not nested, and no sum occurs twice.
        assert!(!overlaps(&[3, 3], &[3, 5]));
        assert!(!overlaps(&[2, 3, 2], &[-4, -3, -8]));
        assert!(!overlaps(&[], &[]));
    }

    #[test]
    fn a_layout_too_large_to_test_counts_as_overlapping() {
        // Nothing meets here, but only the exact test could tell.
        assert!(!has_internal_overlap(&layout(&[2, 3], &[3, 2])));
        assert!(has_internal_overlap(&layout(&[2, 3, 1 << 21], &[3, 2, 100])));
    }

    /// Offsets from the element of index 0, in the order of indices.
    fn relative(layout: &Layout) -> Vec<isize> {
        offsets(layout).into_iter().map(|offset| offset - layout.offset).collect()
    }

    fn bytes(region: &Region<'_>) -> BTreeSet<i64> {
        let size = region.element_size as i64;
        let first = |offset| region.address as i64 + (offset - region.layout.offset) as i64 * size;
        offsets(region.layout).into_iter().flat_map(|offset| first(offset)..first(offset) + size).collect()
    }

    proptest! {
        #[test]
        fn internal_overlap_is_what_counting_says(layout in any_layout()) {
            let all = offsets(&layout);
            let distinct: BTreeSet<_> = all.iter().collect();
            prop_assert_eq!(has_internal_overlap(&layout), distinct.len() < all.len());
        }

        #[test]
        fn classification_agrees_with_the_bytes(
            a in any_layout(),
            b in prop_oneof![3 => any_layout().prop_map(Some), 1 => Just(None)],
            (size_a, size_b) in prop::sample::select(vec![(4, 4), (2, 2), (2, 4), (8, 2), (1, 1)]),
            shift in prop_oneof![1 => Just(0u64), 3 => 0u64..40],
        ) {
            let b = b.unwrap_or_else(|| a.clone());
            let output = Region { address: 1000, element_size: size_a, layout: &a };
            let input = Region { address: 980 + shift, element_size: size_b, layout: &b };
            let shared = bytes(&output).intersection(&bytes(&input)).count();
            match overlap(output, input) {
                Overlap::None => prop_assert_eq!(shared, 0),
                Overlap::Partial => prop_assert!(shared > 0),
                Overlap::Full => prop_assert!(
                    output.address == input.address && size_a == size_b && relative(&a) == relative(&b)
                ),
                Overlap::Copy => prop_assert!(!(a.is_dense() && b.is_dense())),
            }
        }
    }
}
