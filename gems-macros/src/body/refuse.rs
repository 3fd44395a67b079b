//! What to write instead of the expressions that the language does not have.

use syn::spanned::Spanned;

use super::Reader;

impl Reader<'_> {
    pub(super) fn refuse_macro(&self, mac: &syn::Macro) {
        self.errors.at(
            &mac.path,
            "macros are not supported here; write the expression out or call a `#[device_fn]`",
        );
    }

    /// Reports an expression that the language does not have, at its first token.
    pub(super) fn refuse(&self, expr: &syn::Expr) {
        let (span, message) = match expr {
            syn::Expr::Closure(closure) => (
                closure.or1_token.span,
                "closures are not supported here; write a `#[device_fn]` and call it",
            ),
            syn::Expr::Reference(reference) => {
                (reference.and_token.span, "references are not supported here; scalars are passed by value")
            }
            syn::Expr::Match(branch) => {
                (branch.match_token.span, "`match` is not supported here; write `if … else if … else`")
            }
            syn::Expr::Let(binding) => {
                (binding.let_token.span, "`if let` is not supported here; compare with `==`")
            }
            syn::Expr::Try(attempt) => {
                (attempt.question_token.span, "`?` is not supported here; a scalar function cannot fail")
            }
            syn::Expr::Macro(mac) => return self.refuse_macro(&mac.mac),
            syn::Expr::Unsafe(block) => {
                (block.unsafe_token.span, "`unsafe` is not supported here; a scalar function only computes")
            }
            syn::Expr::Async(block) => {
                (block.async_token.span, "`async` is not supported here; a scalar function only computes")
            }
            syn::Expr::Await(wait) => {
                (wait.await_token.span, "`.await` is not supported here; a scalar function only computes")
            }
            syn::Expr::Struct(literal) => {
                (literal.path.span(), "structs are not supported here; return a tuple of scalars")
            }
            syn::Expr::Field(field) => {
                (field.member.span(), "fields are not supported here; take a tuple apart by `let (a, b) = …`")
            }
            syn::Expr::Range(range) => {
                (range.limits.span(), "ranges are only supported in `for i in a..b` of a `#[device_fn]`")
            }
            syn::Expr::Array(array) => (
                array.bracket_token.span.open(),
                "arrays are only supported as `const` items inside the function",
            ),
            syn::Expr::Repeat(array) => (
                array.bracket_token.span.open(),
                "arrays are only supported as `const` items inside the function",
            ),
            syn::Expr::Loop(lop) => {
                (lop.loop_token.span, "`loop` is not supported here; write `while` in a `#[device_fn]`")
            }
            syn::Expr::While(lop) => (lop.while_token.span, self.loop_message()),
            syn::Expr::ForLoop(lop) => (lop.for_token.span, self.loop_message()),
            syn::Expr::Break(stop) => (stop.break_token.span, self.loop_message()),
            syn::Expr::Continue(next) => (next.continue_token.span, self.loop_message()),
            syn::Expr::Return(leave) => (
                leave.return_token.span,
                "`return` is not supported here; make the value the last expression of the block",
            ),
            syn::Expr::Assign(assign) => {
                (assign.eq_token.span, "an assignment has no value; write it as a statement of its own")
            }
            syn::Expr::Block(block) => (block.span(), "labels are not supported here"),
            other => {
                (other.span(), "this expression is not part of the scalar language; see its description")
            }
        };
        self.errors.at_span(span, message);
    }

    fn loop_message(&self) -> &'static str {
        if self.is_device_fn() {
            "a loop has no value; assign to a `mut` name inside it"
        } else {
            "loops are only supported in `#[device_fn]`; move this one into a function of its own and call it"
        }
    }
}
