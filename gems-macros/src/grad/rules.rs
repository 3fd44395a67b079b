//! Gradients of single operations: the column of the methods table, read into the graph.
//!
//! A rule is an expression of the scalar language. In it `g` is the gradient of the result, `r` the result, `x`, `y` and
//! `z` the operands, `e` the second member of a result that is a pair, and `T` the type of `x`. A literal has the type of
//! what it meets, else that of `x`. `v.widen()` is a real number as the type of `x`; on real types `conj`, `re` and
//! `widen` are the value itself and `im` is zero, so one rule serves real and complex numbers; where it cannot,
//! `x.is_complex()` tells them apart.

use proc_macro2::Span;
use syn::{BinOp, Expr, Pat, Stmt, UnOp};

use super::graph::{Graph, NodeId, NodeKind};
use crate::methods::Constant;
use crate::model::{Comparison, LiteralValue};
use crate::types::{BOOL, Type};

/// Names of the operands in rules.
const OPERANDS: [&str; 3] = ["x", "y", "z"];

/// The values that a rule speaks of.
pub(super) struct Rule<'r> {
    pub(super) gradient: NodeId,
    /// The result, or its members.
    pub(super) results: &'r [NodeId],
    pub(super) operands: &'r [NodeId],
    pub(super) span: Span,
}

impl Rule<'_> {
    /// The value of a rule's text.
    pub(super) fn apply(&self, text: &str, graph: &mut Graph<'_>) -> NodeId {
        let mut names = vec![("g".to_owned(), self.gradient)];
        names.extend(["r", "e"].iter().zip(self.results).map(|(name, &node)| ((*name).to_owned(), node)));
        names.extend(OPERANDS.iter().zip(self.operands).map(|(name, &node)| ((*name).to_owned(), node)));
        let operand = graph.ty(self.operands[0]).clone();
        let mut reader = Reader { graph, names, operand, span: self.span };
        let expr: Expr = syn::parse_str(text).unwrap_or_else(|_| syn::parse_quote!(g));
        reader.expr(&expr, None)
    }
}

struct Reader<'r, 'g> {
    graph: &'r mut Graph<'g>,
    names: Vec<(String, NodeId)>,
    /// The type of `x`.
    operand: Type,
    span: Span,
}

impl Reader<'_, '_> {
    /// The value of an expression; a literal in it that meets nothing has the type `wanted`.
    fn expr(&mut self, expr: &Expr, wanted: Option<&Type>) -> NodeId {
        match expr {
            Expr::Paren(inner) => self.expr(&inner.expr, wanted),
            Expr::Lit(lit) => self.literal(&lit.lit, wanted),
            Expr::Path(path) => self.path(&path.path),
            Expr::Unary(unary) => {
                let value = self.expr(&unary.expr, wanted);
                match unary.op {
                    UnOp::Neg(_) => self.graph.neg(value, self.span),
                    _ => value,
                }
            }
            Expr::Binary(binary) => self.binary(binary, wanted),
            Expr::MethodCall(call) => self.call(call),
            Expr::If(branch) => self.branch(branch, wanted),
            Expr::Block(block) => self.block(&block.block, wanted),
            _ => self.names[0].1,
        }
    }

    fn literal(&mut self, lit: &syn::Lit, wanted: Option<&Type>) -> NodeId {
        let value = match lit {
            syn::Lit::Float(float) => LiteralValue::Float(float.base10_digits().to_owned()),
            syn::Lit::Int(int) => LiteralValue::Int(int.base10_parse().unwrap_or_default()),
            _ => LiteralValue::Int(0),
        };
        let ty = wanted.unwrap_or(&self.operand).clone();
        self.graph.number(value, &ty, self.span)
    }

    fn path(&mut self, path: &syn::Path) -> NodeId {
        let name = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if let Some(constant) = Constant::find(&name) {
            let owner = self.operand.clone();
            return self.graph.node(NodeKind::Assoc { owner: owner.clone(), constant }, owner, self.span);
        }
        self.names.iter().rev().find(|known| known.0 == name).map_or(self.names[0].1, |known| known.1)
    }

    fn binary(&mut self, binary: &syn::ExprBinary, wanted: Option<&Type>) -> NodeId {
        let is_literal = |expr: &Expr| matches!(expr, Expr::Lit(_));
        let (lhs, rhs) = if is_literal(&binary.left) {
            let rhs = self.expr(&binary.right, wanted);
            let ty = self.graph.ty(rhs).clone();
            (self.expr(&binary.left, Some(&ty)), rhs)
        } else {
            let lhs = self.expr(&binary.left, wanted);
            let ty = self.graph.ty(lhs).clone();
            (lhs, self.expr(&binary.right, Some(&ty)))
        };
        let (graph, span) = (&mut *self.graph, self.span);
        let comparison = match binary.op {
            BinOp::Add(_) => return graph.add(lhs, rhs, span),
            BinOp::Sub(_) => return graph.sub(lhs, rhs, span),
            BinOp::Mul(_) => return graph.mul(lhs, rhs, span),
            BinOp::Div(_) => return graph.div(lhs, rhs, span),
            BinOp::And(_) | BinOp::Or(_) => return self.logic(matches!(binary.op, BinOp::And(_)), lhs, rhs),
            BinOp::Lt(_) => Comparison::Lt,
            BinOp::Le(_) => Comparison::Le,
            BinOp::Gt(_) => Comparison::Gt,
            BinOp::Ge(_) => Comparison::Ge,
            BinOp::Ne(_) => Comparison::Ne,
            _ => Comparison::Eq,
        };
        graph.compare(comparison, lhs, rhs, span)
    }

    fn logic(&mut self, and: bool, lhs: NodeId, rhs: NodeId) -> NodeId {
        self.graph.node(NodeKind::Logic { and, lhs, rhs }, BOOL, self.span)
    }

    fn call(&mut self, call: &syn::ExprMethodCall) -> NodeId {
        let name = call.method.to_string();
        let receiver = self.expr(&call.receiver, None);
        let ty = self.graph.ty(receiver).clone();
        let complex = may_be_complex(&ty, self.graph);
        match name.as_str() {
            "conj" | "re" if !complex => return receiver,
            "im" if !complex => return self.graph.zero(&ty, self.span),
            "widen" => {
                let target = self.operand.clone();
                return self.graph.cast(receiver, &target, self.span);
            }
            _ => {}
        }
        let mut args = vec![receiver];
        args.extend(call.args.iter().map(|arg| self.expr(arg, Some(&ty))));
        self.graph.method(&name, &args, self.span)
    }

    fn branch(&mut self, branch: &syn::ExprIf, wanted: Option<&Type>) -> NodeId {
        let gradient = self.names[0].1;
        let wanted = wanted.unwrap_or(self.graph.ty(gradient)).clone();
        if let Expr::MethodCall(call) = &*branch.cond
            && call.method == "is_complex"
        {
            return self.by_kind(branch, &wanted);
        }
        let cond = self.expr(&branch.cond, None);
        match *self.graph.kind(cond) {
            // On real types the question for the imaginary part is answered.
            NodeKind::Compare { op: Comparison::Eq, lhs, rhs }
                if self.graph.is_zero(lhs) && self.graph.is_zero(rhs) =>
            {
                self.block(&branch.then_branch, Some(&wanted))
            }
            _ => self.sides(branch, cond, &wanted),
        }
    }

    /// One side for complex numbers, the other for real ones; where a type may be either, the root of −1 tells.
    fn by_kind(&mut self, branch: &syn::ExprIf, wanted: &Type) -> NodeId {
        if !may_be_complex(&self.operand, self.graph) {
            let real = branch.else_branch.as_ref().map_or(&*branch.cond, |(_, real)| real);
            return self.expr(real, Some(wanted));
        }
        let operand = self.operand.clone();
        let one = self.graph.number(LiteralValue::Int(1), &operand, self.span);
        let minus_one = self.graph.neg(one, self.span);
        let root = self.graph.method("sqrt", &[minus_one], self.span);
        let cond = self.graph.compare(Comparison::Eq, root, root, self.span);
        self.sides(branch, cond, wanted)
    }

    fn sides(&mut self, branch: &syn::ExprIf, cond: NodeId, wanted: &Type) -> NodeId {
        let then = self.block(&branch.then_branch, Some(wanted));
        let otherwise = match &branch.else_branch {
            Some((_, otherwise)) => self.expr(otherwise, Some(wanted)),
            None => then,
        };
        self.graph.select(cond, then, otherwise)
    }

    fn block(&mut self, block: &syn::Block, wanted: Option<&Type>) -> NodeId {
        let mut value = self.names[0].1;
        for stmt in &block.stmts {
            match stmt {
                Stmt::Local(local) => self.local(local),
                Stmt::Expr(expr, _) => value = self.expr(expr, wanted),
                Stmt::Item(_) | Stmt::Macro(_) => {}
            }
        }
        value
    }

    fn local(&mut self, local: &syn::Local) {
        let Some(init) = &local.init else { return };
        match (&local.pat, &*init.expr) {
            (Pat::Ident(name), value) => {
                let value = self.expr(value, None);
                self.names.push((name.ident.to_string(), value));
            }
            (Pat::Tuple(names), Expr::Tuple(values)) => {
                for (name, value) in names.elems.iter().zip(&values.elems) {
                    if let Pat::Ident(name) = name {
                        let value = self.expr(value, None);
                        self.names.push((name.ident.to_string(), value));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether values of a type may have an imaginary part.
pub(super) fn may_be_complex(ty: &Type, graph: &Graph<'_>) -> bool {
    match ty {
        Type::Generic => graph.generic.is_some_and(|generic| generic.bound.may_be_complex()),
        Type::Complex => true,
        Type::Fixed(dtype) => dtype.category() == crate::dtype::Category::Complex,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proc_macro2::{TokenStream, TokenTree};

    use super::*;
    use crate::methods::Method;

    /// Words of a rule that are neither keywords nor names of methods.
    fn words(tokens: TokenStream, behind_dot: &mut bool, found: &mut BTreeSet<String>) {
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) if !*behind_dot => {
                    found.insert(ident.to_string());
                }
                TokenTree::Group(group) => words(group.stream(), behind_dot, found),
                _ => {}
            }
            *behind_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        }
    }

    #[test]
    fn rules_speak_of_what_there_is() {
        let methods: BTreeSet<&str> = Method::names().chain(["widen", "is_complex"]).collect();
        for row in Method::all() {
            assert!(row.gradients.len() <= 1 + row.args.len(), "{}", row.name);
            let known = ["g", "r", "e", "T", "if", "else", "let", "m", "u", "v"];
            let constants = ["PI", "MAX", "INFINITY", "FRAC_2_SQRT_PI"];
            for rule in row.gradients {
                let expr: Expr = syn::parse_str(rule).unwrap_or_else(|error| panic!("{}: {error}", row.name));
                let tokens = quote::ToTokens::to_token_stream(&expr);
                let mut found = BTreeSet::new();
                words(tokens, &mut false, &mut found);
                for word in found {
                    let operand = OPERANDS[..=row.args.len()].contains(&word.as_str());
                    assert!(
                        operand || known.contains(&word.as_str()) || constants.contains(&word.as_str()),
                        "{}: `{word}` in `{rule}`",
                        row.name
                    );
                }
                let mut calls = Calls { methods: &methods, rule };
                syn::visit::Visit::visit_expr(&mut calls, &expr);
            }
        }
    }

    struct Calls<'a> {
        methods: &'a BTreeSet<&'a str>,
        rule: &'a str,
    }

    impl<'ast> syn::visit::Visit<'ast> for Calls<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            let name = call.method.to_string();
            assert!(self.methods.contains(name.as_str()), "no method `{name}`, in `{}`", self.rule);
            syn::visit::visit_expr_method_call(self, call);
        }
    }

    #[test]
    fn values_that_nobody_would_write_are_not_made() {
        let generic = crate::types::Generic {
            ident: syn::parse_quote!(T),
            bound: crate::types::Trait::Float,
            others: Vec::new(),
        };
        let span = Span::call_site();
        let mut graph = Graph::new(Some(&generic));
        let [g, x] = [0, 1].map(|i| graph.node(NodeKind::Param(i), Type::Generic, span));
        let (zero, one) =
            (graph.zero(&Type::Generic, span), graph.number(LiteralValue::Int(1), &Type::Generic, span));
        assert_eq!(graph.mul(one, x, span), x);
        assert_eq!(graph.add(x, zero, span), x);
        let minus = graph.neg(x, span);
        assert_eq!(graph.neg(minus, span), x);
        let (sum, difference) = (graph.add(g, minus, span), graph.sub(g, x, span));
        assert_eq!(sum, difference);
        let product = graph.mul(g, x, span);
        let (left, right) = (graph.mul(g, minus, span), graph.neg(product, span));
        assert_eq!(left, right);
        let cond = graph.compare(Comparison::Gt, x, zero, span);
        let branch = graph.select(cond, g, zero);
        let inner = graph.select(cond, branch, x);
        assert_eq!(graph.branches(inner), Some((cond, g, x)));
        assert!(graph.may_be_dead(branch) && !graph.may_be_dead(inner));
    }
}
