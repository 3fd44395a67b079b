//! From the model to Rust: the formula with operators and methods as trait calls.
//!
//! `x + 0.5 * y.exp()` becomes `Number::add(x, Number::mul(T::from_float(0.5), Analytic::exp(y)))` with absolute
//! paths. Guarantees that rustc finds every type that the model has: names carry their type, and so do literals and
//! calls. Tokens of the user keep their spans; what is new lies at the operator it stands for.
//! Every local and every constant has a name of its own, so that rustc finds the one that the model has, or none: names
//! that macros keep apart are one text to the model, and rustc then reports the use.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Literal as Token, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::model::{Block, Body, Expr, ExprKind, Literal, LiteralValue, Stmt, StmtKind};
use crate::signature::Signature;
use crate::types::{Generic, Type};

/// The statements of the function's body.
pub(crate) fn write(signature: &Signature, body: &Body, private: &TokenStream) -> TokenStream {
    let (names, const_names) = names(signature.params.len(), body);
    let consts: Vec<syn::ItemConst> = body
        .consts
        .iter()
        .zip(&const_names)
        .map(|(constant, name)| syn::ItemConst { ident: name.clone(), ..constant.item.clone() })
        .collect();
    let writer = Writer { body, names, const_names, generic: signature.generic.as_ref(), private };
    let block = writer.block(&body.block);
    quote!(#(#consts)* #block)
}

/// Names of the locals and of the constants. Parameters keep theirs, others do where nobody has it before them.
fn names(n_params: usize, body: &Body) -> (Vec<Ident>, Vec<Ident>) {
    let callees = body.callees.iter().filter_map(|callee| callee.path.get_ident());
    let mut taken: BTreeSet<String> = callees.map(|ident| ident.unraw().to_string()).collect();
    let (params, others) = body.locals.split_at(n_params);
    taken.extend(params.iter().map(|param| param.ident.unraw().to_string()));
    let mut unique = |ident: &Ident| {
        let numbered = (1..).map(|n: usize| format_ident!("{}_{}", ident, n, span = ident.span()));
        let mut candidates = std::iter::once(ident.clone()).chain(numbered);
        candidates.find(|name| taken.insert(name.unraw().to_string())).unwrap_or_else(|| ident.clone())
    };
    // Constants stand at the top of the function, where names of inner blocks would hide them.
    let consts = body.consts.iter().map(|constant| unique(&constant.item.ident)).collect();
    let params = params.iter().map(|param| param.ident.clone());
    let locals = params.chain(others.iter().map(|local| unique(&local.ident))).collect();
    (locals, consts)
}

/// A span for what the macro adds: shown at the user's token, known to lints as expanded.
fn added(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

struct Writer<'a> {
    body: &'a Body,
    /// Names of the locals.
    names: Vec<Ident>,
    const_names: Vec<Ident>,
    generic: Option<&'a Generic>,
    private: &'a TokenStream,
}

impl Writer<'_> {
    /// A block's content without braces.
    fn block(&self, block: &Block) -> TokenStream {
        let stmts = block.stmts.iter().map(|stmt| self.stmt(stmt));
        let tail = block.tail.as_ref().map(|tail| self.expr(tail));
        quote!(#(#stmts)* #tail)
    }

    fn stmt(&self, stmt: &Stmt) -> TokenStream {
        let span = added(stmt.span);
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                let (pattern, ty) = (self.binding(*local), self.ty(&self.body.locals[*local].ty));
                let value = self.expr(value);
                quote_spanned!(span=> let #pattern: #ty = #value;)
            }
            StmtKind::LetTuple { locals, value } => {
                let patterns =
                    locals.iter().map(|local| local.map_or_else(|| quote!(_), |local| self.binding(local)));
                let types = locals.iter().map(|local| {
                    local.map_or_else(|| quote!(_), |local| self.ty(&self.body.locals[local].ty))
                });
                let value = self.expr(value);
                quote_spanned!(span=> let (#(#patterns,)*): (#(#types,)*) = #value;)
            }
            StmtKind::Assign { local, place, value } => {
                let (name, value) = (at(&self.names[*local], *place), self.expr(value));
                quote_spanned!(span=> #name = #value;)
            }
            StmtKind::If { cond, then, otherwise } => {
                let (cond, then) = (self.expr(cond), self.block(then));
                let otherwise = otherwise.as_ref().map(|otherwise| {
                    let otherwise = self.block(otherwise);
                    quote!(else { #otherwise })
                });
                quote_spanned!(span=> if #cond { #then } #otherwise)
            }
            StmtKind::While { cond, body } => {
                let (cond, body) = (self.expr(cond), self.block(body));
                quote_spanned!(span=> while #cond { #body })
            }
            StmtKind::For { local, start, end, body } => {
                let name = &self.names[*local];
                let (start, end, body) = (self.operand(start), self.operand(end), self.block(body));
                quote_spanned!(span=> for #name in #start..#end { #body })
            }
            StmtKind::Block(block) => {
                let block = self.block(block);
                quote!({ #block })
            }
            StmtKind::Break => quote_spanned!(span=> break;),
            StmtKind::Continue => quote_spanned!(span=> continue;),
            StmtKind::Return(value) => {
                let value = self.expr(value);
                quote_spanned!(span=> return #value;)
            }
        }
    }

    fn binding(&self, local: usize) -> TokenStream {
        let (mutability, ident) = (self.body.locals[local].mutable.then(|| quote!(mut)), &self.names[local]);
        quote!(#mutability #ident)
    }

    fn expr(&self, expr: &Expr) -> TokenStream {
        let span = added(expr.span);
        let private = self.private;
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, &expr.ty, expr.span),
            ExprKind::Local(local) => at(&self.names[*local], expr.span).into_token_stream(),
            ExprKind::Const(id) => at(&self.const_names[*id], expr.span).into_token_stream(),
            ExprKind::Index { array, index } => {
                let name = &self.const_names[*array];
                let last = self.body.consts[*array].values.len().saturating_sub(1);
                if let Some(position) = index.as_position().filter(|position| *position <= last) {
                    return quote_spanned!(span=> #name[#position]);
                }
                let index = self.cast(index, &Type::Index);
                quote_spanned!(span=> #name[::core::cmp::Ord::min(#index, #last)])
            }
            ExprKind::Assoc { owner, constant } => {
                let (owner, name) = (self.ty(owner), Ident::new(constant.name, span));
                let home = Ident::new(constant.owner.name(), span);
                quote_spanned!(span=> <#owner as #private::math::#home>::#name)
            }
            ExprKind::Method { method, args } => {
                let is_index = args[0].ty == Type::Index;
                let values = args.iter().map(|arg| self.expr(arg));
                if is_index {
                    let name = Ident::new(&format!("wrapping_{}", method.name), span);
                    return quote_spanned!(span=> ::core::primitive::usize::#name(#(#values),*));
                }
                let (home, name) = (Ident::new(method.owner.name(), span), Ident::new(method.name, span));
                quote_spanned!(span=> #private::math::#home::#name(#(#values),*))
            }
            ExprKind::Compare { op, lhs, rhs } => {
                let (lhs, rhs) = (self.operand(lhs), self.operand(rhs));
                let op: TokenStream = op.symbol().parse().unwrap_or_default();
                let op = respan(op, span);
                quote!(#lhs #op #rhs)
            }
            ExprKind::Logic { and, lhs, rhs } => {
                let (lhs, rhs) = (self.operand(lhs), self.operand(rhs));
                if *and { quote_spanned!(span=> #lhs && #rhs) } else { quote_spanned!(span=> #lhs || #rhs) }
            }
            ExprKind::Cast(value) => {
                let value = self.cast(value, &expr.ty);
                quote_spanned!(span=> #value)
            }
            ExprKind::Call { callee, args } => {
                let (path, ty) = (self.body.callees[*callee].rust_path(), self.ty(&expr.ty));
                let args = args.iter().map(|arg| self.expr(arg));
                quote_spanned!(span=> #private::typed::<#ty>(#path(#(#args),*)))
            }
            ExprKind::If { cond, then, otherwise } => {
                let (cond, then, otherwise) = (self.expr(cond), self.block(then), self.block(otherwise));
                quote_spanned!(span=> if #cond { #then } else { #otherwise })
            }
            ExprKind::Block(block) => {
                let block = self.block(block);
                quote_spanned!(span=> { #block })
            }
            ExprKind::Tuple(members) => {
                let members = members.iter().map(|member| self.expr(member));
                quote_spanned!(span=> (#(#members,)*))
            }
            ExprKind::Error => TokenStream::new(),
        }
    }

    /// An operand of a comparison, of `&&` or of `..`: in parentheses where Rust needs them.
    fn operand(&self, expr: &Expr) -> TokenStream {
        match &expr.kind {
            ExprKind::Compare { .. } | ExprKind::Logic { .. } | ExprKind::If { .. } | ExprKind::Block(_) => {
                let value = self.expr(expr);
                quote!((#value))
            }
            ExprKind::Cast(value) if value.ty == expr.ty => self.operand(value),
            _ => self.expr(expr),
        }
    }

    fn cast(&self, value: &Expr, target: &Type) -> TokenStream {
        let (private, span) = (self.private, added(value.span));
        let tokens = self.expr(value);
        match (&value.ty, target) {
            (from, to) if from == to => tokens,
            (from, Type::Index) => {
                let from = self.ty(from);
                quote_spanned!(span=> #private::to_index(#private::cast::<#from, _>(#tokens)))
            }
            (Type::Index, to) => {
                let to = self.ty(to);
                quote_spanned!(span=> #private::cast::<_, #to>(#private::from_index(#tokens)))
            }
            (from, to) => {
                let (from, to) = (self.ty(from), self.ty(to));
                quote_spanned!(span=> #private::cast::<#from, #to>(#tokens))
            }
        }
    }

    fn literal(&self, literal: &Literal, ty: &Type, span: Span) -> TokenStream {
        let private = self.private;
        let sign = literal.negative.then(|| quote!(-));
        let owner = self.ty(ty);
        let at = added(span);
        let suffix = match ty {
            Type::Fixed(dtype) if dtype.is_scalar_type() => dtype.name(),
            Type::Index => "usize",
            _ => "",
        };
        if let LiteralValue::Bool(value) = literal.value {
            return quote_spanned!(span=> #value);
        }
        // A literal with a suffix is no longer the user's; lints would misread it.
        let value = number(&literal.text, suffix, if suffix.is_empty() { span } else { at });
        match literal.value {
            _ if !suffix.is_empty() => quote!(#sign #value),
            LiteralValue::Float(_) => {
                quote_spanned!(at=> <#owner as #private::math::Analytic>::from_float(#sign #value))
            }
            _ => quote_spanned!(at=> <#owner as #private::math::Number>::from_int(#sign #value)),
        }
    }

    fn ty(&self, ty: &Type) -> TokenStream {
        ty.rust(self.generic, self.private)
    }
}

/// A name in use at some place.
fn at(name: &Ident, span: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(span);
    name
}

/// A literal token with a suffix.
fn number(text: &str, suffix: &str, span: Span) -> TokenStream {
    let text = match (text.ends_with('.'), suffix) {
        (false, "") => text.to_owned(),
        (true, "") => format!("{text}0"),
        (false, suffix) => format!("{text}_{suffix}"),
        (true, suffix) => format!("{text}0_{suffix}"),
    };
    let Ok(mut token) = text.parse::<Token>() else { return TokenStream::new() };
    token.set_span(span);
    token.into_token_stream()
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
