//! The text of an annotated function as its author wrote it, for display.
//!
//! Guarantees line breaks and indentation as in the file. Comments are lost: a macro does not see plain ones, and the
//! doc comment is kept elsewhere. Where tokens have no places (a function made by another macro) the text is one line.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The source text of a function's own tokens; tokens that went through `syn` have lost the ends of their groups.
pub(crate) fn text(tokens: TokenStream) -> String {
    let tokens = without_docs(tokens);
    let mut leaves = Vec::new();
    flatten(tokens.clone(), &mut leaves);
    let ordered = leaves.windows(2).all(|pair| pair[0].end <= pair[1].start);
    if !ordered {
        return tokens.to_string();
    }
    let Some(first) = leaves.first() else { return String::new() };
    // Columns count from the line on which the function begins.
    let margin = leaves.iter().filter(|leaf| leaf.start.0 == first.start.0).map(|leaf| leaf.start.1).min();
    let margin = margin.unwrap_or(0);
    let mut text = String::new();
    let mut at = first.start;
    for leaf in &leaves {
        if leaf.start.0 > at.0 {
            text.push_str(&"\n".repeat(leaf.start.0 - at.0));
            text.push_str(&" ".repeat(leaf.start.1.saturating_sub(margin)));
        } else {
            text.push_str(&" ".repeat(leaf.start.1 - at.1));
        }
        text.push_str(&leaf.text);
        at = leaf.end;
    }
    text
}

/// The tokens without `#[doc = …]`, which is what a doc comment is to a macro.
fn without_docs(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let is_doc = match (&token, kept.last()) {
            (TokenTree::Group(group), Some(TokenTree::Punct(hash))) if hash.as_char() == '#' => {
                group.stream().into_iter().next().is_some_and(|first| first.to_string() == "doc")
            }
            _ => false,
        };
        if is_doc {
            kept.pop();
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

struct Leaf {
    text: String,
    /// Line and column.
    start: (usize, usize),
    end: (usize, usize),
}

fn flatten(tokens: TokenStream, leaves: &mut Vec<Leaf>) {
    let leaf = |text: String, span: proc_macro2::Span| {
        let (start, end) = (span.start(), span.end());
        Leaf { text, start: (start.line, start.column), end: (end.line, end.column) }
    };
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                leaves.push(leaf(open.to_owned(), group.span_open()));
                flatten(group.stream(), leaves);
                leaves.push(leaf(close.to_owned(), group.span_close()));
            }
            other => leaves.push(leaf(other.to_string(), other.span())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_written() {
        let source = "fn f<T: Float>(x: T) -> T {\n    let y = x + 0.5;\n\n    -y.exp()\n}";
        assert_eq!(text(source.parse().unwrap()), source);
    }

    #[test]
    fn indentation_of_the_surroundings_is_taken_off() {
        let source = "    fn f() {\n        1\n    }";
        assert_eq!(text(source.parse().unwrap()), "fn f() {\n    1\n}");
    }

    #[test]
    fn the_doc_comment_is_left_out() {
        assert_eq!(text("/// Adds.\n#[inline]\nfn f() {}".parse().unwrap()), "#[inline]\nfn f() {}");
    }

    #[test]
    fn tokens_without_places_still_have_a_text() {
        let tokens = quote::quote!(
            fn f() {
                1
            }
        );
        assert!(text(tokens).contains("fn f"));
    }
}
