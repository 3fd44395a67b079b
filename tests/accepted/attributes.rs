//! Attributes of the function stay where they belong.
#![deny(missing_docs, deprecated)]
use gems_ops::prelude::*;

/// First line.
///
/// Third line.
#[doc(alias = "twice")]
#[deprecated = "of no use"]
#[pointwise_dynamic]
#[inline(never)]
#[must_use]
pub fn double<T: Number>(x: T) -> T {
    x + x
}

#[pointwise_dynamic]
#[cfg(test)]
#[expect(unused_variables, reason = "an example")]
fn present<T: Number>(x: T) -> T {
    let unused = x;
    x
}

#[test]
fn attributes_of_the_function_stay_where_they_belong() {
    assert_eq!(double::DEF.doc, "First line.\n\nThird line.");
    assert_eq!(present::scalar(1), 1);
}
