//! Identifiers of generated code: unique, and no word of C++ or of the kernel's own.

use crate::layout::MAX_RANK;
use std::collections::BTreeSet;

/// Words that an identifier must not be: C++ keywords, CUDA's own names, the names every kernel uses.
const RESERVED: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl \
    concept const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit \
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union \
    unsigned using virtual void volatile wchar_t while xor xor_eq \
    blockIdx blockDim gridDim threadIdx warpSize i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 f8e4m3fn f8e5m2 c32 \
    c64 c128 math op T Axes axes lead end first whole total begin unit fused by inner outer across down column policy i k v a b c r s t";

/// The identifiers in use in one scope.
#[derive(Debug)]
pub(crate) struct Names {
    used: BTreeSet<String>,
}

impl Names {
    /// A scope in which only the reserved words are taken.
    pub(crate) fn new() -> Names {
        let indices = (0..MAX_RANK).flat_map(|axis| [format!("i{axis}"), format!("rest{axis}")]);
        Names { used: RESERVED.split_ascii_whitespace().map(str::to_owned).chain(indices).collect() }
    }

    /// `want`, or `want_2`, `want_3`, … if it is taken.
    pub(crate) fn unique(&mut self, want: &str) -> String {
        let want = want.trim_start_matches("r#");
        let candidates =
            std::iter::once(want.to_owned()).chain((2..).map(|count: usize| format!("{want}_{count}")));
        let name = candidates.into_iter().find(|name| !self.used.contains(name)).unwrap_or_default();
        self.used.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut names = Names::new();
        assert_eq!(names.unique("x"), "x");
        assert_eq!(names.unique("x"), "x_2");
        assert_eq!(names.unique("double"), "double_2");
        assert_eq!(names.unique("r#total"), "total_2");
    }
}
