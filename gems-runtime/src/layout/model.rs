//! What views and rules of layouts are tested against: every index, one by one.

#![expect(clippy::cast_possible_wrap, reason = "numbers in tests are small")]

use super::Layout;
use proptest::prelude::*;
use proptest::sample::Index;

/// Every index of a shape, the last axis fastest.
pub(super) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &extent| {
        let longer = |index: &Vec<usize>, i| index.iter().copied().chain([i]).collect();
        all.iter().flat_map(|index| (0..extent).map(move |i| longer(index, i))).collect()
    })
}

/// The offset of one element.
pub(super) fn offset_at(layout: &Layout, index: &[usize]) -> isize {
    layout.offset + index.iter().zip(&layout.strides).map(|(&i, stride)| i as isize * stride).sum::<isize>()
}

/// The offsets of all elements, in the order of `indices`.
pub(super) fn offsets(layout: &Layout) -> Vec<isize> {
    indices(&layout.shape).iter().map(|index| offset_at(layout, index)).collect()
}

/// Layouts of few elements, with strides as odd as the invariants allow.
pub(super) fn any_layout() -> impl Strategy<Value = Layout> {
    let axis = prop_oneof![
        8 => (0usize..5, -9isize..10),
        1 => (0usize..2, prop_oneof![Just(isize::MIN), Just(isize::MAX)]),
    ];
    (prop::collection::vec(axis, 0..5), -20isize..20).prop_filter_map("no layout", |(axes, offset)| {
        let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        Layout::new(&shape, &strides, offset).ok()
    })
}

/// A view has this shape, is a valid layout, and shows at each index the element of `source` at the mapped one.
#[track_caller]
pub(super) fn check(source: &Layout, view: &Layout, shape: &[usize], map: impl Fn(&[usize]) -> Vec<usize>) {
    assert_eq!(view.shape(), shape);
    assert!(Layout::new(view.shape(), view.strides(), view.offset()).is_ok(), "{view:?}");
    for index in indices(shape) {
        assert_eq!(offset_at(view, &index), offset_at(source, &map(&index)), "{source:?} to {view:?}");
    }
}

/// An index with another value on one axis.
pub(super) fn replaced(index: &[usize], axis: usize, value: usize) -> Vec<usize> {
    let mut index = index.to_vec();
    index[axis] = value;
    index
}

/// A layout and one of its axes, by its index and by one of its two numbers.
pub(super) fn with_axis() -> impl Strategy<Value = (Layout, usize, isize)> {
    let layout = any_layout().prop_filter("rank 0", |layout| layout.rank() > 0);
    (layout, any::<Index>(), any::<bool>()).prop_map(|(layout, choice, from_end)| {
        let axis = choice.index(layout.rank());
        let number = axis as isize - if from_end { layout.rank() as isize } else { 0 };
        (layout, axis, number)
    })
}
