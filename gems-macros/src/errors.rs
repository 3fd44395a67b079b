//! The collecting context for mistakes in the user's code.
//!
//! Stages record mistakes and go on, so one build shows all of them. A gate ends a group of stages; dropping a context
//! with mistakes that no gate has seen is a bug in the macro and asserts.
//! Does not decide what is emitted instead: that is the fallback's job.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Mistakes found so far, in order of discovery.
#[derive(Default)]
pub(crate) struct Errors {
    list: RefCell<Vec<syn::Error>>,
    unseen: Cell<bool>,
}

/// The mistakes of a failed gate, as `compile_error!` calls.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) TokenStream);

impl Errors {
    /// Records a mistake that covers these tokens.
    pub(crate) fn at(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Records a mistake at one place.
    pub(crate) fn at_span(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Records what `syn` found.
    pub(crate) fn push(&self, error: syn::Error) {
        self.list.borrow_mut().push(error);
        self.unseen.set(true);
    }

    /// Fails if anything has been recorded.
    pub(crate) fn gate(&self) -> Result<(), Failed> {
        self.unseen.set(false);
        let list = self.list.borrow();
        if list.is_empty() {
            return Ok(());
        }
        Err(Failed(list.iter().map(syn::Error::to_compile_error).collect()))
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        debug_assert!(
            !self.unseen.get() || std::thread::panicking(),
            "mistakes were recorded after the last gate"
        );
    }
}

/// `a`, `b` and `c`, each in backquotes; for lists in messages.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `a`, `b` or `c`: as [`list`], for alternatives.
pub(crate) fn choices<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_reports_every_mistake() {
        let errors = Errors::default();
        errors.at_span(Span::call_site(), "one");
        errors.at_span(Span::call_site(), "two");
        let Failed(tokens) = errors.gate().unwrap_err();
        let text = tokens.to_string();
        assert!(text.contains("\"one\"") && text.contains("\"two\""), "{text}");
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(list(["x"]), "`x`");
        assert_eq!(list(["x", "y", "z"]), "`x`, `y` and `z`");
        assert_eq!(choices(["x", "y"]), "`x` or `y`");
    }
}
