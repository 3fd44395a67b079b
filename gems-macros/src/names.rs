//! Names in the C++ text.
//!
//! Guarantees: every name that it gives is a valid C++ identifier, no keyword, no name that the generated text uses
//! itself, and unique in its function. Names of the user stay as they are where that is possible.

use std::collections::BTreeSet;

/// C++20 and CUDA words, macros of the C library, and what device text names itself.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "half",
    "NULL",
    "NAN",
    "INFINITY",
    "HUGE_VAL",
    "EOF",
    "assert",
    "errno",
    "linux",
    "unix",
    "I",
    "T",
    "math",
    "op",
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
    "f8e4m3fn",
    "f8e5m2",
    "f16",
    "bf16",
    "f32",
    "f64",
    "c32",
    "c64",
    "c128",
];

/// Whether C++ or the generated text uses this word itself.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Gives names within one function.
#[derive(Default)]
pub(crate) struct Namer {
    taken: BTreeSet<String>,
    temporaries: usize,
}

impl Namer {
    /// A name as near as possible to the user's.
    pub(crate) fn local(&mut self, ident: &proc_macro2::Ident) -> String {
        self.unique(&sanitize(&ident.to_string()))
    }

    /// A name for an intermediate value: `t0`, `t1`, …
    pub(crate) fn temporary(&mut self) -> String {
        loop {
            let name = format!("t{}", self.temporaries);
            self.temporaries += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    fn unique(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut n = 0;
        while is_reserved(&name) || !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        name
    }
}

/// The name in ASCII letters, without the forms that C++ keeps for itself.
fn sanitize(name: &str) -> String {
    let name = name.trim_start_matches("r#");
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || (c == '_' && !text.ends_with('_')) {
            text.push(c);
        } else if c != '_' {
            text.push_str(&format!("u{:x}", u32::from(c)));
        }
    }
    if text.starts_with('_') {
        text.insert(0, 'v');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::format_ident;

    #[test]
    fn names_are_valid_and_unique() {
        let mut namer = Namer::default();
        let mut local = |name: &str| namer.local(&format_ident!("{name}"));
        assert_eq!(local("x"), "x");
        assert_eq!(local("x"), "x_1");
        assert_eq!(local("new"), "new_1");
        assert_eq!(local("_unused"), "v_unused");
        assert_eq!(local("a__b"), "a_b");
        assert_eq!(local("α"), "u3b1");
        assert_eq!(local("r#fn"), "fn");
    }

    #[test]
    fn temporaries_avoid_names_of_the_user() {
        let mut namer = Namer::default();
        namer.local(&format_ident!("t0"));
        assert_eq!(namer.temporary(), "t1");
    }
}
