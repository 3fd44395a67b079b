//! Expressions: from syntax to the model, with types as far as they are known.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{BinOp, UnOp};

use super::literal::Suffix;
use super::{Named, Reader};
use crate::dtype::DType;
use crate::errors::list;
use crate::methods::{Arg, Constant, Method, Res, suggestion};
use crate::model::{Block, Callee, Comparison, Expr, ExprKind, Literal, LiteralValue};
use crate::types::{self, BOOL, TUPLE_OF_ONE, Type};

/// The operation of an arithmetic or bit operator.
fn operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::BitAnd(_) => "bitand",
        BinOp::BitOr(_) => "bitor",
        BinOp::BitXor(_) => "bitxor",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        _ => return None,
    })
}

/// The operation of an operator that also assigns.
pub(super) fn assigned_operator(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "add",
        BinOp::SubAssign(_) => "sub",
        BinOp::MulAssign(_) => "mul",
        BinOp::DivAssign(_) => "div",
        BinOp::RemAssign(_) => "rem",
        BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOrAssign(_) => "bitor",
        BinOp::BitXorAssign(_) => "bitxor",
        BinOp::ShlAssign(_) => "shl",
        BinOp::ShrAssign(_) => "shr",
        _ => return None,
    })
}

fn comparison(op: &BinOp) -> Option<Comparison> {
    Some(match op {
        BinOp::Eq(_) => Comparison::Eq,
        BinOp::Ne(_) => Comparison::Ne,
        BinOp::Lt(_) => Comparison::Lt,
        BinOp::Le(_) => Comparison::Le,
        BinOp::Gt(_) => Comparison::Gt,
        BinOp::Ge(_) => Comparison::Ge,
        _ => return None,
    })
}

impl Reader<'_> {
    pub(super) fn expr(&mut self, expr: &syn::Expr) -> Expr {
        match expr {
            syn::Expr::Paren(inner) => self.expr(&inner.expr),
            syn::Expr::Group(inner) => self.expr(&inner.expr),
            syn::Expr::Lit(lit) => self.literal(&lit.lit, false, lit.span()),
            syn::Expr::Path(path) if path.qself.is_none() => self.path(&path.path),
            syn::Expr::Unary(unary) => self.unary(unary),
            syn::Expr::Binary(binary) => self.binary(binary),
            syn::Expr::MethodCall(call) => self.method_call(call),
            syn::Expr::Call(call) => self.call(call),
            syn::Expr::If(branch) => self.if_value(branch),
            syn::Expr::Block(block) if block.label.is_none() => {
                let read = self.value_block(&block.block);
                let ty = read.ty();
                Expr { kind: ExprKind::Block(read), ty, span: block.span() }
            }
            syn::Expr::Cast(cast) => self.cast(cast),
            syn::Expr::Tuple(tuple) if tuple.elems.len() == 1 => {
                self.errors.at(tuple, TUPLE_OF_ONE);
                Expr::error(tuple.span())
            }
            syn::Expr::Tuple(tuple) if !tuple.elems.is_empty() => {
                let members: Vec<Expr> = tuple.elems.iter().map(|elem| self.expr(elem)).collect();
                let ty = Type::Tuple(members.iter().map(|member| member.ty.clone()).collect());
                Expr { kind: ExprKind::Tuple(members), ty, span: tuple.span() }
            }
            syn::Expr::Index(index) => self.index(index),
            syn::Expr::Field(field) => {
                // Of something wrong the mistake is reported already.
                if self.expr(&field.base).ty != Type::Error {
                    self.refuse(expr);
                }
                Expr::error(field.span())
            }
            other => {
                self.refuse(other);
                Expr::error(other.span())
            }
        }
    }

    fn literal(&mut self, lit: &syn::Lit, negative: bool, span: Span) -> Expr {
        let Some((literal, suffix)) = Literal::read(lit, negative) else {
            self.errors.at(lit, "this literal is not supported here; expected a number, `true` or `false`");
            return Expr::error(span);
        };
        let ty = match (&suffix, &literal.value) {
            (Suffix::Type(ty), _) => ty.clone(),
            (Suffix::None, LiteralValue::Int(_)) => self.infer.int(),
            (Suffix::None, _) => self.infer.float(),
        };
        Expr { kind: ExprKind::Literal(literal), ty, span }
    }

    fn path(&mut self, path: &syn::Path) -> Expr {
        let span = path.span();
        if let Some(ident) = path.get_ident() {
            let (kind, ty) = match self.lookup(ident) {
                Some(Named::Local(local)) => (ExprKind::Local(local), self.body.locals[local].ty.clone()),
                Some(Named::Const(id)) if self.body.consts[id].is_array => {
                    self.errors
                        .at(path, format_args!("`{ident}` is an array; take an element, as in `{ident}[0]`"));
                    return Expr::error(span);
                }
                Some(Named::Const(id)) => (ExprKind::Const(id), Type::Fixed(self.body.consts[id].dtype)),
                None => {
                    self.unknown_name(ident);
                    return Expr::error(span);
                }
            };
            return Expr { kind, ty, span };
        }
        match self.associated(path) {
            Some((owner, constant)) => {
                let ty = constant.result.of(&owner, self.generic);
                Expr { kind: ExprKind::Assoc { owner, constant }, ty, span }
            }
            None => {
                self.refuse_path(path);
                Expr::error(span)
            }
        }
    }

    /// `T::NAME`, `f32::NAME` or `T::Real::NAME`.
    pub(super) fn associated(&self, path: &syn::Path) -> Option<(Type, &'static Constant)> {
        let mut owner = path.clone();
        let name = owner.segments.pop()?.into_value().ident.to_string();
        owner.segments.pop_punct();
        let constant = Constant::find(&name)?;
        Some((self.owner_type(&owner)?, constant))
    }

    /// The type that a path names, without a report if it names none.
    fn owner_type(&self, path: &syn::Path) -> Option<Type> {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let is_parameter = |name: &str| self.generic.is_some_and(|generic| generic.ident == name);
        let known = match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [name] => is_parameter(name) || DType::from_name(name).is_some_and(DType::is_scalar_type),
            [name, "Real" | "Complex"] => is_parameter(name),
            _ => false,
        };
        known.then(|| {
            types::parse(
                &syn::Type::Path(syn::TypePath { qself: None, path: path.clone() }),
                self.generic,
                self.errors,
            )
        })
    }

    fn unknown_name(&self, ident: &syn::Ident) {
        let name = ident.to_string();
        if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
            self.errors.at(
                ident,
                format_args!(
                    "the value of `{name}` is out of sight here; move `const {name}` into the function"
                ),
            );
            return;
        }
        let params: Vec<String> = self.signature.params.iter().map(|param| param.ident.to_string()).collect();
        let params = list(params.iter().map(String::as_str));
        self.errors.at(
            ident,
            format_args!(
                "`{name}` is neither a parameter nor a name bound by `let`; parameters are {params}"
            ),
        );
    }

    fn refuse_path(&self, path: &syn::Path) {
        let mut owner = path.clone();
        let last =
            owner.segments.pop().map(|segment| segment.into_value().ident.to_string()).unwrap_or_default();
        owner.segments.pop_punct();
        let of = self.generic.map_or_else(|| "f64".to_owned(), |generic| generic.ident.to_string());
        let standard =
            path.segments.first().is_some_and(|first| first.ident == "std" || first.ident == "core")
                || path.segments.iter().any(|segment| segment.ident == "consts");
        if self.owner_type(&owner).is_some() {
            let hint = match suggestion(&last, Constant::names()) {
                Some(near) => format!("write `{near}`"),
                None => format!("expected one of {}", crate::errors::choices(Constant::names())),
            };
            self.errors.at(path, format_args!("there is no constant `{last}`; {hint}"));
        } else if standard && Constant::find(&last).is_some() {
            self.errors.at(path, format_args!("constants belong to the type here; write `{of}::{last}`"));
        } else {
            self.errors.at(
                path,
                format_args!(
                    "the value of `{last}` is out of sight here; move `const {last}` into the function"
                ),
            );
        }
    }

    fn unary(&mut self, unary: &syn::ExprUnary) -> Expr {
        let span = unary.op.span();
        match (&unary.op, &*unary.expr) {
            (UnOp::Neg(_), syn::Expr::Lit(lit)) => self.literal(&lit.lit, true, unary.span()),
            (UnOp::Neg(_), operand) => {
                let operand = self.expr(operand);
                self.method("neg", span, vec![operand])
            }
            (UnOp::Not(_), operand) => {
                let operand = self.expr(operand);
                self.method("not", span, vec![operand])
            }
            _ => {
                self.errors.at(unary, "references are not supported here; scalars are passed by value");
                Expr::error(span)
            }
        }
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> Expr {
        let span = binary.op.span();
        let lhs = self.expr(&binary.left);
        let rhs = self.expr(&binary.right);
        if let Some(name) = operator(&binary.op) {
            return self.method(name, span, vec![lhs, rhs]);
        }
        let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
        if let Some(op) = comparison(&binary.op) {
            self.infer.unify(&lhs.ty, &rhs.ty);
            return Expr { kind: ExprKind::Compare { op, lhs, rhs }, ty: BOOL, span };
        }
        if assigned_operator(&binary.op).is_some() {
            self.errors.at(binary.op, "an assignment has no value; write it as a statement of its own");
            return Expr::error(span);
        }
        self.infer.unify(&BOOL, &lhs.ty);
        self.infer.unify(&BOOL, &rhs.ty);
        let and = matches!(binary.op, BinOp::And(_));
        Expr { kind: ExprKind::Logic { and, lhs, rhs }, ty: BOOL, span }
    }

    fn method_call(&mut self, call: &syn::ExprMethodCall) -> Expr {
        let receiver = self.expr(&call.receiver);
        let args: Vec<Expr> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let name = call.method.to_string();
        let span = call.method.span();
        let Some(row) = Method::find(&name, None) else {
            let hint = match suggestion(&name, Method::names()) {
                Some(near) => format!("write `{near}`"),
                None => {
                    "call a `#[device_fn]` instead, or see the traits of `math` for what there is".to_owned()
                }
            };
            self.errors.at(&call.method, format_args!("there is no method `{name}` here; {hint}"));
            return Expr::error(span);
        };
        if let Some(turbofish) = &call.turbofish {
            self.errors.at(turbofish, "type arguments are not supported here; remove them");
        }
        if args.len() != row.args.len() {
            let (wanted, found) = (row.args.len(), args.len());
            let plural = if wanted == 1 { "" } else { "s" };
            self.errors.at(
                &call.method,
                format_args!("`{name}` takes {wanted} argument{plural} behind the receiver, not {found}"),
            );
            return Expr::error(span);
        }
        self.method(row.name, span, std::iter::once(receiver).chain(args).collect())
    }

    /// An operation of the table on operands that fit it in number.
    pub(super) fn method(&mut self, name: &'static str, span: Span, args: Vec<Expr>) -> Expr {
        let receiver = args[0].ty.clone();
        let Some(row) = Method::find(name, None) else { return Expr::error(span) };
        for (arg, wanted) in args[1..].iter().zip(row.args) {
            let wanted = match wanted {
                Arg::Same => receiver.clone(),
                Arg::Real => Res::Real.of(&receiver, self.generic),
                Arg::I32 => Type::Fixed(DType::I32),
            };
            self.infer.unify(&wanted, &arg.ty);
        }
        // Operators keep an open type open, so that literals beside each other find their type later.
        let keeps_open = row.operator.is_some() || matches!(name, "neg" | "rem" | "shl" | "shr");
        let receiver = if keeps_open { self.infer.look(&receiver) } else { self.infer.decide(&receiver) };
        let row = Method::find(name, receiver.traits(self.generic)).unwrap_or(row);
        let ty = row.result.of(&receiver, self.generic);
        Expr { kind: ExprKind::Method { method: row, args }, ty, span }
    }

    fn call(&mut self, call: &syn::ExprCall) -> Expr {
        let args: Vec<Expr> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let span = call.func.span();
        let syn::Expr::Path(syn::ExprPath { path, qself: None, .. }) = &*call.func else {
            self.errors.at(&call.func, "only functions can be called here; name a `#[device_fn]`");
            return Expr::error(span);
        };
        if !self.is_callable(path) {
            return Expr::error(span);
        }
        let called = Callee::new(path.clone());
        if called.home.is_ident(self.signature.name()) {
            self.errors.at(path, "recursion is not supported; write a `while` loop in a `#[device_fn]`");
            return Expr::error(span);
        }
        let ty = self.infer.call(args.first().map(|arg| arg.ty.clone()));
        let callees = &mut self.body.callees;
        let callee = callees.iter().position(|known| known.path == *path).unwrap_or_else(|| {
            callees.push(called);
            callees.len() - 1
        });
        Expr { kind: ExprKind::Call { callee, args }, ty, span }
    }

    /// Whether a path can be an annotated function; reports if not.
    fn is_callable(&self, path: &syn::Path) -> bool {
        let last = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let mut owner = path.clone();
        owner.segments.pop();
        owner.segments.pop_punct();
        if let Some(typed) = path.segments.iter().find(|segment| !segment.arguments.is_none()) {
            self.errors.at(&typed.arguments, "type arguments are not supported here; remove them");
        } else if path.get_ident().is_some_and(|ident| self.lookup(ident).is_some()) {
            self.errors.at(path, format_args!("`{last}` is a value, not a function"));
        } else if let Some(owner) = self.owner_type(&owner) {
            let owner = owner.describe(self.generic);
            if last == "from" {
                self.errors
                    .at(path, format_args!("conversions are written with `as` here, as in `x as {owner}`"));
            } else {
                self.errors.at(path, format_args!("write this as a method, as in `x.{last}(…)`"));
            }
        } else if last.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.errors.at(path, "structs and enums are not supported here; return a tuple of scalars");
        } else if path.get_ident().is_some() && Method::names().any(|name| name == last) {
            self.errors.at(
                path,
                format_args!(
                    "`{last}` is a method here: write `x.{last}(…)`; a `#[device_fn]` of this name is called as \
                     `self::{last}(…)`"
                ),
            );
        } else {
            return true;
        }
        false
    }

    fn if_value(&mut self, branch: &syn::ExprIf) -> Expr {
        let cond = Box::new(self.condition(&branch.cond));
        let then = self.value_block(&branch.then_branch);
        let span = branch.if_token.span;
        let Some((_, otherwise)) = &branch.else_branch else {
            self.errors.at_span(span, "`if` without `else` has no value; add an `else` branch");
            return Expr::error(span);
        };
        let otherwise = match &**otherwise {
            syn::Expr::Block(block) => self.value_block(&block.block),
            other => {
                let value = self.expr(other);
                let mut block = Block::default();
                Self::close(&mut block, value);
                block
            }
        };
        let (a, b) = (then.ty(), otherwise.ty());
        let ty = if then.diverges() { b.clone() } else { a.clone() };
        if !then.diverges() && !otherwise.diverges() {
            self.infer.unify(&a, &b);
        }
        Expr { kind: ExprKind::If { cond, then, otherwise }, ty, span }
    }

    fn cast(&mut self, cast: &syn::ExprCast) -> Expr {
        let value = self.expr(&cast.expr);
        let target = match types::parse(&cast.ty, self.generic, self.errors) {
            Type::Tuple(_) => {
                self.errors.at(&cast.ty, "a value cannot be cast to a tuple; cast each member");
                Type::Error
            }
            target => target,
        };
        if matches!(value.kind, ExprKind::Literal(_)) {
            self.infer.adopt(&value.ty, &target);
        }
        self.infer.decide(&value.ty);
        Expr { kind: ExprKind::Cast(Box::new(value)), ty: target, span: cast.as_token.span }
    }

    fn index(&mut self, index: &syn::ExprIndex) -> Expr {
        let position = Box::new(self.expr(&index.index));
        let array = match &*index.expr {
            syn::Expr::Path(path) => path.path.get_ident().and_then(|ident| self.lookup(ident)),
            _ => None,
        };
        match array {
            Some(Named::Const(array)) if self.body.consts[array].is_array => {
                let ty = Type::Fixed(self.body.consts[array].dtype);
                Expr { kind: ExprKind::Index { array, index: position }, ty, span: index.span() }
            }
            Some(Named::Local(local)) if self.body.locals[local].ty == Type::Error => {
                Expr::error(index.span())
            }
            _ => {
                self.errors
                    .at(&index.expr, "only arrays declared by `const` inside the function can be indexed");
                Expr::error(index.span())
            }
        }
    }
}
