//! From the user's function body to the model: scopes and statements.
//!
//! Guarantees a model for every body: what is not in the language is recorded and replaced by a wrong expression.
//! Types are found on the way (`infer`) and written into the model at the end.
//! Does not check that operations fit their operands' types; see `check`.

mod consts;
mod expr;
mod literal;
mod refuse;

use std::collections::BTreeSet;

use proc_macro2::Span;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Pat};

use crate::args::Attribute;
use crate::errors::Errors;
use crate::infer::Infer;
use crate::model::{Block, Body, Expr, ExprKind, Local, LocalId, Stmt, StmtKind};
use crate::signature::Signature;
use crate::types::{self, BOOL, Generic, Type};

/// Reads the body of a function.
pub(crate) fn read(block: &syn::Block, signature: &Signature, attribute: Attribute, errors: &Errors) -> Body {
    let mut reader = Reader {
        errors,
        signature,
        generic: signature.generic.as_ref(),
        attribute,
        infer: Infer::new(signature.generic.as_ref()),
        body: Body::default(),
        scopes: vec![Vec::new()],
    };
    for param in &signature.params {
        if reader.lookup(&param.ident).is_some() {
            let name = &param.ident;
            errors.at(name, format_args!("two parameters are named `{name}`; choose another name"));
        }
        reader.declare(&param.ident, param.ty.clone(), param.mutable);
    }
    for pattern in &signature.patterns {
        reader.declare_wrong(pattern);
    }
    if !signature.has_result() {
        // Whether the last expression is a value or a statement is unknown.
        return reader.finish(Block::default());
    }
    let block = reader.value_block(block);
    if let Some(tail) = &block.tail {
        reader.infer.unify(&signature.result(), &tail.ty);
    }
    reader.finish(block)
}

/// What a name in scope means.
#[derive(Clone, Copy)]
enum Named {
    Local(LocalId),
    Const(usize),
}

struct Reader<'a> {
    errors: &'a Errors,
    signature: &'a Signature,
    generic: Option<&'a Generic>,
    attribute: Attribute,
    infer: Infer<'a>,
    body: Body,
    /// Names in scope, innermost last.
    scopes: Vec<Vec<(String, Named)>>,
}

impl Reader<'_> {
    fn declare(&mut self, ident: &Ident, ty: Type, mutable: bool) -> LocalId {
        let id = self.add_local(ident.clone(), ty, mutable);
        self.name(ident, Named::Local(id));
        id
    }

    /// Adds a local that no name means.
    fn add_local(&mut self, ident: Ident, ty: Type, mutable: bool) -> LocalId {
        self.body.locals.push(Local { ident, ty, mutable });
        self.body.locals.len() - 1
    }

    fn name(&mut self, ident: &Ident, named: Named) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((ident.unraw().to_string(), named));
        }
    }

    fn lookup(&self, ident: &Ident) -> Option<Named> {
        let name = ident.unraw().to_string();
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev())
            .find(|entry| entry.0 == name)
            .map(|entry| entry.1)
    }

    fn is_device_fn(&self) -> bool {
        self.attribute == Attribute::DeviceFn
    }

    /// A block that must have a value, or leave before its end.
    fn value_block(&mut self, block: &syn::Block) -> Block {
        let mut read = self.block(block, true);
        if read.tail.is_none() && !read.diverges() {
            self.errors.at_span(
                block.brace_token.span.close(),
                "this block has no value; make the value its last expression, without `;`",
            );
            read.tail = Some(Box::new(Expr::error(block.span())));
        }
        read
    }

    /// A block of statements.
    fn statement_block(&mut self, block: &syn::Block) -> Block {
        self.block(block, false)
    }

    fn block(&mut self, block: &syn::Block, has_value: bool) -> Block {
        self.scopes.push(Vec::new());
        let mut read = Block::default();
        // A constant is known in the whole block, also before it.
        for stmt in &block.stmts {
            if let syn::Stmt::Item(syn::Item::Const(item)) = stmt {
                self.const_item(item);
            }
        }
        for (i, stmt) in block.stmts.iter().enumerate() {
            let is_last = i + 1 == block.stmts.len();
            match stmt {
                syn::Stmt::Local(local) => read.stmts.extend(self.local(local)),
                syn::Stmt::Item(syn::Item::Const(_)) => {}
                syn::Stmt::Item(item) => self.errors.at(
                    item,
                    "items other than `const` are not supported here; move this one out of the function",
                ),
                syn::Stmt::Macro(stmt) => self.refuse_macro(&stmt.mac),
                syn::Stmt::Expr(expr, semicolon) if is_last && has_value && !is_statement(expr) => {
                    if let Some(semicolon) = semicolon {
                        self.errors.at(semicolon, "this `;` drops the value of the block; remove it");
                    }
                    let value = self.expr(expr);
                    Self::close(&mut read, value);
                }
                syn::Stmt::Expr(expr, _) => read.stmts.extend(self.statement(expr)),
            }
        }
        self.scopes.pop();
        read
    }

    /// Makes an expression the value of a block, or a statement if it has none because all of its branches leave.
    fn close(block: &mut Block, value: Expr) {
        match value.kind {
            ExprKind::If { cond, then, otherwise } if then.diverges() && otherwise.diverges() => {
                let kind = StmtKind::If { cond: *cond, then, otherwise: Some(otherwise) };
                block.stmts.push(Stmt { kind, span: value.span });
            }
            _ => block.tail = Some(Box::new(value)),
        }
    }

    /// `let pattern: ty = value;`
    fn local(&mut self, local: &syn::Local) -> Option<Stmt> {
        let (pattern, annotation) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pattern => (pattern, None),
        };
        let Some(init) = &local.init else {
            self.errors.at(local, "a name needs its value at once; write `let name = value;`");
            self.declare_wrong(pattern);
            return None;
        };
        if let Some((token, _)) = &init.diverge {
            self.errors.at(token, "`let … else` is not supported here; write `if`");
        }
        let mut value = self.expr(&init.expr);
        if let Some(annotation) = annotation {
            let ty = types::parse(annotation, self.generic, self.errors);
            self.infer.unify(&ty, &value.ty);
            if self.infer.look(&value.ty) != ty && value.ty != Type::Error {
                // Different types: rustc reports that at the value, if the name has the type that the user gave it.
                value.ty = ty;
            }
        }
        let kind = match pattern {
            Pat::Tuple(tuple) => {
                self.check_names(tuple);
                let members: Vec<Type> = self.members(&value, tuple.elems.len());
                let locals =
                    tuple.elems.iter().zip(members).map(|(elem, ty)| self.pattern(elem, ty)).collect();
                StmtKind::LetTuple { locals, value }
            }
            Pat::Wild(wild) => {
                self.errors.at(wild, "`_` drops the value; give it a name or remove the statement");
                return None;
            }
            pattern => StmtKind::Let { local: self.pattern(pattern, value.ty.clone())?, value },
        };
        Some(Stmt { kind, span: local.let_token.span })
    }

    /// Types of the members of a value that is taken apart into `n` names.
    fn members(&mut self, value: &Expr, n: usize) -> Vec<Type> {
        let mut members = match self.infer.look(&value.ty) {
            Type::Tuple(members) => members,
            open @ Type::Var(_) => {
                let default = self.infer.default_of(&open);
                let members = (0..n).map(|_| self.infer.call(default.clone())).collect::<Vec<_>>();
                self.infer.unify(&open, &Type::Tuple(members.clone()));
                members
            }
            _ => Vec::new(),
        };
        members.resize(n, Type::Error);
        members
    }

    /// A tuple of names has several, and they differ.
    fn check_names(&self, tuple: &syn::PatTuple) {
        if tuple.elems.len() == 1 {
            self.errors.at(tuple, types::TUPLE_OF_ONE);
        }
        let mut names = BTreeSet::new();
        for elem in &tuple.elems {
            if let Pat::Ident(syn::PatIdent { ident, .. }) = elem
                && !names.insert(ident.unraw().to_string())
            {
                self.errors.at(ident, format_args!("`{ident}` is bound twice here; choose another name"));
            }
        }
    }

    /// Declares the name of a pattern; `None` for `_` and after a mistake.
    fn pattern(&mut self, pattern: &Pat, ty: Type) -> Option<LocalId> {
        match pattern {
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                if ident.mutability.is_some() && !self.is_device_fn() {
                    self.errors.at(
                        ident.mutability,
                        "`mut` is only supported in `#[device_fn]`; bind a new name with `let`",
                    );
                }
                if let Some(Named::Const(_)) = self.lookup(&ident.ident) {
                    let name = &ident.ident;
                    self.errors.at(name, format_args!("`{name}` is a constant here; choose another name"));
                }
                Some(self.declare(&ident.ident, ty, ident.mutability.is_some()))
            }
            Pat::Wild(_) => None,
            other => {
                self.errors
                    .at(other, "this pattern is not supported here; expected a name or a tuple of names");
                self.declare_wrong(other);
                None
            }
        }
    }

    /// Declares the names of a pattern whose statement is wrong, so that their uses are not reported.
    fn declare_wrong(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Ident(ident) => {
                self.declare(&ident.ident, Type::Error, true);
            }
            Pat::Tuple(tuple) => tuple.elems.iter().for_each(|elem| self.declare_wrong(elem)),
            Pat::Reference(reference) => self.declare_wrong(&reference.pat),
            _ => {}
        }
    }

    /// An expression whose value, if any, is not used.
    fn statement(&mut self, expr: &syn::Expr) -> Option<Stmt> {
        let kind = match expr {
            syn::Expr::Assign(assign) => self.assign(&assign.left, &assign.eq_token, None, &assign.right)?,
            syn::Expr::Binary(binary) => match expr::assigned_operator(&binary.op) {
                Some(method) => self.assign(&binary.left, &binary.op, Some(method), &binary.right)?,
                None => return self.unused(expr),
            },
            syn::Expr::If(branch) => {
                let cond = self.condition(&branch.cond);
                let then = self.statement_block(&branch.then_branch);
                let otherwise =
                    branch.else_branch.as_ref().map(|(_, otherwise)| self.else_statements(otherwise));
                StmtKind::If { cond, then, otherwise }
            }
            syn::Expr::Block(block) if block.label.is_none() => {
                StmtKind::Block(self.statement_block(&block.block))
            }
            syn::Expr::While(_)
            | syn::Expr::ForLoop(_)
            | syn::Expr::Break(_)
            | syn::Expr::Continue(_)
            | syn::Expr::Return(_)
                if !self.is_device_fn() =>
            {
                self.refuse(expr);
                return None;
            }
            syn::Expr::While(lop) => {
                self.refuse_label(lop.label.as_ref());
                self.body.has_loops = true;
                StmtKind::While { cond: self.condition(&lop.cond), body: self.statement_block(&lop.body) }
            }
            syn::Expr::ForLoop(lop) => self.for_loop(lop)?,
            syn::Expr::Break(stop) => {
                if let Some(value) = &stop.expr {
                    self.errors
                        .at(value, "`break` with a value is not supported here; assign it to a `mut` name");
                }
                self.refuse_lifetime(stop.label.as_ref());
                StmtKind::Break
            }
            syn::Expr::Continue(next) => {
                self.refuse_lifetime(next.label.as_ref());
                StmtKind::Continue
            }
            syn::Expr::Return(leave) => {
                let Some(value) = &leave.expr else {
                    self.errors.at(leave, "`return` needs the value of the function behind it");
                    return None;
                };
                let value = self.expr(value);
                self.infer.unify(&self.signature.result(), &value.ty);
                StmtKind::Return(value)
            }
            other => return self.unused(other),
        };
        Some(Stmt { kind, span: expr.span() })
    }

    /// A value that nobody uses; what is not in the language at all is reported as that.
    fn unused(&mut self, expr: &syn::Expr) -> Option<Stmt> {
        let value = self.expr(expr);
        if !matches!(value.kind, ExprKind::Error) {
            self.errors.at(expr, "the value of this statement is lost; bind it with `let` or remove it");
        }
        None
    }

    fn else_statements(&mut self, otherwise: &syn::Expr) -> Block {
        match otherwise {
            syn::Expr::Block(block) => self.statement_block(&block.block),
            other => Block { stmts: self.statement(other).into_iter().collect(), tail: None },
        }
    }

    /// `name = value`, or `name += value`.
    fn assign(
        &mut self,
        place: &syn::Expr,
        operator: &dyn ToTokens,
        method: Option<&'static str>,
        value: &syn::Expr,
    ) -> Option<StmtKind> {
        let value = self.expr(value);
        let local = match place {
            syn::Expr::Path(path) => path.path.get_ident().and_then(|ident| self.lookup(ident)),
            _ => None,
        };
        let Some(Named::Local(local)) = local else {
            self.errors.at(place, "this cannot be assigned to; expected the name of a `let mut`");
            return None;
        };
        let ty = self.body.locals[local].ty.clone();
        if !self.is_device_fn() {
            // Of a `let mut`, the `mut` is reported already.
            if !self.body.locals[local].mutable {
                self.errors.at(
                    operator,
                    "assignment is only supported in `#[device_fn]`; bind a new name with `let`",
                );
            }
            return None;
        }
        let value = match method {
            Some(method) => {
                let current = Expr { kind: ExprKind::Local(local), ty, span: place.span() };
                self.method(method, operator.span(), vec![current, value])
            }
            None => {
                self.infer.unify(&ty, &value.ty);
                value
            }
        };
        Some(StmtKind::Assign { local, place: place.span(), value })
    }

    /// `for i in start..end`
    fn for_loop(&mut self, lop: &syn::ExprForLoop) -> Option<StmtKind> {
        self.refuse_label(lop.label.as_ref());
        self.body.has_loops = true;
        let range = match &*lop.expr {
            syn::Expr::Range(syn::ExprRange {
                start: Some(start),
                limits: syn::RangeLimits::HalfOpen(_),
                end: Some(end),
                ..
            }) => Some((start, end)),
            syn::Expr::Range(range) if matches!(range.limits, syn::RangeLimits::Closed(_)) => {
                self.errors.at(&lop.expr, "`..=` is not supported here; write `a..b + 1`");
                None
            }
            other => {
                self.errors.at(other, "`for` counts only; write `for i in a..b`");
                None
            }
        };
        let (start, end) = match range {
            Some((start, end)) => (self.expr(start), self.expr(end)),
            None => (Expr::error(lop.expr.span()), Expr::error(lop.expr.span())),
        };
        self.infer.unify(&start.ty, &end.ty);
        self.scopes.push(Vec::new());
        let local = match &*lop.pat {
            Pat::Wild(wild) => {
                let ident = Ident::new("_i", Span::mixed_site().located_at(wild.span()));
                Some(self.add_local(ident, start.ty.clone(), false))
            }
            pattern => {
                if let Pat::Ident(syn::PatIdent { mutability: Some(mutability), .. }) = pattern {
                    self.errors
                        .at(mutability, "`for` counts by itself; assign to a `let mut` inside the loop");
                }
                self.pattern(pattern, start.ty.clone())
            }
        };
        let body = self.statement_block(&lop.body);
        self.scopes.pop();
        Some(StmtKind::For { local: local?, start, end, body })
    }

    fn condition(&mut self, cond: &syn::Expr) -> Expr {
        let cond = self.expr(cond);
        self.infer.unify(&BOOL, &cond.ty);
        cond
    }

    fn refuse_label(&self, label: Option<&syn::Label>) {
        self.refuse_lifetime(label.map(|label| &label.name));
    }

    fn refuse_lifetime(&self, label: Option<&syn::Lifetime>) {
        if let Some(label) = label {
            self.errors.at(label, "labels are not supported here; use a `mut` flag of type bool");
        }
    }

    /// Writes the found types into the model.
    fn finish(mut self, mut block: Block) -> Body {
        let mut body = self.body;
        block.each_mut(&mut |expr| expr.ty = self.infer.decide(&expr.ty));
        for local in &mut body.locals {
            local.ty = self.infer.decide(&local.ty);
        }
        body.block = block;
        body
    }
}

/// Whether an expression is one of those that have no value.
fn is_statement(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Assign(_)
        | syn::Expr::While(_)
        | syn::Expr::ForLoop(_)
        | syn::Expr::Break(_)
        | syn::Expr::Continue(_)
        | syn::Expr::Return(_) => true,
        syn::Expr::Binary(binary) => expr::assigned_operator(&binary.op).is_some(),
        _ => false,
    }
}

impl Expr {
    fn error(span: Span) -> Expr {
        Expr { kind: ExprKind::Error, ty: Type::Error, span }
    }
}
