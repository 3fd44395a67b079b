//! Identifiers of generated code: valid and unique, and no word of C++ or of the kernel's own.

use crate::layout::MAX_RANK;
use std::collections::BTreeSet;

/// Words that an identifier must not be: C++ keywords, CUDA's own names, macros of the C library, the names every
/// kernel uses.
const RESERVED: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t \
    char8_t class co_await co_return co_yield compl consteval constinit \
    concept const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit \
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union \
    unsigned using virtual void volatile wchar_t while xor xor_eq \
    assert errno linux unix half I NULL NAN INFINITY HUGE_VAL EOF \
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

    /// `want`, or `want_2`, `want_3`, … if it is taken, in the letters that C++ has.
    pub(crate) fn unique(&mut self, want: &str) -> String {
        let want = valid(want);
        let candidates =
            std::iter::once(want.clone()).chain((2..).map(|count: usize| format!("{want}_{count}")));
        let name = candidates.into_iter().find(|name| !self.used.contains(name)).unwrap_or_default();
        self.used.insert(name.clone());
        name
    }
}

/// The name as C++ can spell it: ASCII letters, digits and single underscores, a letter first.
pub(crate) fn valid(name: &str) -> String {
    let mut text = String::new();
    for c in name.trim_start_matches("r#").chars() {
        match c {
            c if c.is_ascii_alphanumeric() => text.push(c),
            c if c.is_alphanumeric() => text.push_str(&format!("u{:x}", u32::from(c))),
            _ if text.ends_with('_') => {}
            _ => text.push('_'),
        }
    }
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert(0, 'v');
    }
    text
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
        assert_eq!(names.unique("NULL"), "NULL_2");
    }

    #[test]
    fn names_are_spelled_as_cpp_can() {
        assert_eq!(valid("log_1p"), "log_1p");
        assert_eq!(valid("größe"), "gruf6udfe");
        assert_eq!(valid("__shared__"), "v_shared_");
        assert_eq!(valid("my op-2"), "my_op_2");
        assert_eq!(valid("2x"), "v2x");
        assert_eq!(valid(""), "v");
    }
}
