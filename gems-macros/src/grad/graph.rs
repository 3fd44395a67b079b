//! Values of a formula and of its derivative as one graph, in which equal values are one node.
//!
//! Guarantees: operands come before what uses them; a value that a person would not write (`1 * x`, `x + 0`,
//! `-(-x)`) is not made. Rewrites are only those that change no result, but for the sign of a zero.
//! Values have no place: which ones get a name, and in which branch, is decided in `place`.

use proc_macro2::{Ident, Span};

use crate::methods::{Constant, Method};
use crate::model::{Comparison, Literal, LiteralValue};
use crate::types::{BOOL, Generic, Type};

/// Position in [`Graph::nodes`].
pub(crate) type NodeId = usize;

/// A value.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    /// The name that the value has or deserves.
    pub(crate) name: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeKind {
    /// The n-th parameter of the derivative.
    Param(usize),
    Literal(Literal),
    Const(usize),
    Index {
        array: usize,
        index: NodeId,
    },
    Assoc {
        owner: Type,
        constant: &'static Constant,
    },
    Method {
        method: &'static Method,
        args: Vec<NodeId>,
    },
    Compare {
        op: Comparison,
        lhs: NodeId,
        rhs: NodeId,
    },
    Logic {
        and: bool,
        lhs: NodeId,
        rhs: NodeId,
    },
    Cast(NodeId),
    Call {
        callee: usize,
        args: Vec<NodeId>,
    },
    /// A member of a tuple.
    Member {
        of: NodeId,
        index: usize,
    },
    /// `if`: only the side that is chosen is computed.
    Select {
        cond: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
}

/// All values of one derivative.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    pub(crate) generic: Option<&'a Generic>,
    pub(crate) nodes: Vec<Node>,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(generic: Option<&'a Generic>) -> Graph<'a> {
        Graph { generic, nodes: Vec::new() }
    }

    /// The value of this kind, which may exist already.
    pub(crate) fn node(&mut self, kind: NodeKind, ty: Type, span: Span) -> NodeId {
        let known = self.nodes.iter().position(|node| node.kind == kind && node.ty == ty);
        known.unwrap_or_else(|| {
            self.nodes.push(Node { kind, ty, span, name: None });
            self.nodes.len() - 1
        })
    }

    pub(crate) fn ty(&self, node: NodeId) -> &Type {
        &self.nodes[node].ty
    }

    pub(crate) fn kind(&self, node: NodeId) -> &NodeKind {
        &self.nodes[node].kind
    }

    /// Names a value, unless it has a name or needs none.
    pub(crate) fn name(&mut self, node: NodeId, name: impl FnOnce() -> Ident) {
        if !self.is_leaf(node) && self.nodes[node].name.is_none() {
            self.nodes[node].name = Some(name());
        }
    }

    /// Whether the value is a parameter or a constant.
    pub(crate) fn is_leaf(&self, node: NodeId) -> bool {
        matches!(
            self.kind(node),
            NodeKind::Param(_) | NodeKind::Literal(_) | NodeKind::Const(_) | NodeKind::Assoc { .. }
        )
    }

    /// Zero as a literal of this type.
    pub(crate) fn zero(&mut self, ty: &Type, span: Span) -> NodeId {
        let value = match ty {
            Type::Fixed(dtype) if dtype.is_float() => LiteralValue::Float("0.0".to_owned()),
            _ => LiteralValue::Int(0),
        };
        self.number(value, ty, span)
    }

    /// A literal of this type.
    pub(crate) fn number(&mut self, value: LiteralValue, ty: &Type, span: Span) -> NodeId {
        let value = match (value, ty) {
            (LiteralValue::Int(value), Type::Fixed(dtype)) if dtype.is_float() => {
                LiteralValue::Float(format!("{value}.0"))
            }
            (value, _) => value,
        };
        let text = match &value {
            LiteralValue::Bool(_) => String::new(),
            LiteralValue::Int(value) => value.to_string(),
            LiteralValue::Float(text) => text.clone(),
        };
        self.node(NodeKind::Literal(Literal { value, negative: false, text }), ty.clone(), span)
    }

    /// The number that a literal is.
    pub(crate) fn literal(&self, node: NodeId) -> Option<f64> {
        let NodeKind::Literal(literal) = self.kind(node) else { return None };
        let value = match &literal.value {
            LiteralValue::Bool(_) => return None,
            #[expect(clippy::cast_precision_loss, reason = "asked for small numbers only")]
            LiteralValue::Int(value) => *value as f64,
            LiteralValue::Float(text) => text.parse().ok()?,
        };
        Some(if literal.negative { -value } else { value })
    }

    pub(crate) fn is_zero(&self, node: NodeId) -> bool {
        self.literal(node) == Some(0.0)
    }

    /// An operation of the table.
    pub(crate) fn method(&mut self, name: &str, args: &[NodeId], span: Span) -> NodeId {
        if let ("conj", NodeKind::Method { method, args }) = (name, self.kind(args[0]))
            && method.name == "conj"
        {
            return args[0];
        }
        let ty = self.ty(args[0]).clone();
        let Some(method) = Method::find(name, ty.traits(self.generic)) else { return args[0] };
        let result = method.result.of(&ty, self.generic);
        self.node(NodeKind::Method { method, args: args.to_vec() }, result, span)
    }

    /// The operand of a negation.
    fn negated(&self, node: NodeId) -> Option<NodeId> {
        match self.kind(node) {
            NodeKind::Method { method, args } if method.name == "neg" => Some(args[0]),
            _ => None,
        }
    }

    pub(crate) fn neg(&mut self, x: NodeId, span: Span) -> NodeId {
        if let Some(inner) = self.negated(x) {
            return inner;
        }
        if self.is_zero(x) {
            return x;
        }
        match self.kind(x) {
            NodeKind::Literal(literal) => {
                let literal = Literal { negative: !literal.negative, ..literal.clone() };
                let ty = self.ty(x).clone();
                self.node(NodeKind::Literal(literal), ty, span)
            }
            NodeKind::Select { cond, then, otherwise } => {
                let (cond, then, otherwise) = (*cond, *then, *otherwise);
                let (then, otherwise) = (self.neg(then, span), self.neg(otherwise, span));
                self.select(cond, then, otherwise)
            }
            _ => self.method("neg", &[x], span),
        }
    }

    pub(crate) fn add(&mut self, x: NodeId, y: NodeId, span: Span) -> NodeId {
        if self.is_zero(x) {
            return y;
        }
        if self.is_zero(y) {
            return x;
        }
        if let Some(y) = self.negated(y) {
            return self.method("sub", &[x, y], span);
        }
        if let Some(x) = self.negated(x) {
            return self.method("sub", &[y, x], span);
        }
        if let (Some((c, a, b)), Some((d, p, q))) = (self.branches(x), self.branches(y))
            && c == d
        {
            let (then, otherwise) = (self.add(a, p, span), self.add(b, q, span));
            return self.select(c, then, otherwise);
        }
        self.method("add", &[x, y], span)
    }

    pub(crate) fn sub(&mut self, x: NodeId, y: NodeId, span: Span) -> NodeId {
        if self.is_zero(y) {
            return x;
        }
        if let Some(y) = self.negated(y) {
            return self.add(x, y, span);
        }
        if self.is_zero(x) { self.neg(y, span) } else { self.method("sub", &[x, y], span) }
    }

    pub(crate) fn mul(&mut self, x: NodeId, y: NodeId, span: Span) -> NodeId {
        for (one, other) in [(x, y), (y, x)] {
            match self.literal(one) {
                Some(1.0) => return other,
                Some(-1.0) => return self.neg(other, span),
                _ => {}
            }
        }
        match (self.negated(x), self.negated(y)) {
            (Some(x), Some(y)) => self.mul(x, y, span),
            (Some(x), None) => {
                let product = self.mul(x, y, span);
                self.neg(product, span)
            }
            (None, Some(y)) => {
                let product = self.mul(x, y, span);
                self.neg(product, span)
            }
            (None, None) => self.method("mul", &[x, y], span),
        }
    }

    pub(crate) fn div(&mut self, x: NodeId, y: NodeId, span: Span) -> NodeId {
        if self.literal(y) == Some(1.0) || self.is_zero(x) {
            return x;
        }
        match (self.negated(x), self.negated(y)) {
            (Some(x), Some(y)) => self.div(x, y, span),
            (Some(x), None) => {
                let quotient = self.div(x, y, span);
                self.neg(quotient, span)
            }
            (None, Some(y)) => {
                let quotient = self.div(x, y, span);
                self.neg(quotient, span)
            }
            (None, None) => self.method("div", &[x, y], span),
        }
    }

    /// Condition, first and second side of an `if`.
    pub(crate) fn branches(&self, node: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
        match self.kind(node) {
            NodeKind::Select { cond, then, otherwise } => Some((*cond, *then, *otherwise)),
            _ => None,
        }
    }

    pub(crate) fn select(&mut self, cond: NodeId, then: NodeId, otherwise: NodeId) -> NodeId {
        let (then, otherwise) = (self.under(then, cond, true), self.under(otherwise, cond, false));
        if then == otherwise {
            return then;
        }
        let (ty, span) = (self.ty(then).clone(), self.nodes[cond].span);
        self.node(NodeKind::Select { cond, then, otherwise }, ty, span)
    }

    /// The value where a condition is known, also inside other `if`s.
    pub(crate) fn under(&mut self, node: NodeId, cond: NodeId, holds: bool) -> NodeId {
        match self.branches(node) {
            Some((known, then, otherwise)) if known == cond => {
                self.under(if holds { then } else { otherwise }, cond, holds)
            }
            Some((other, then, otherwise)) => {
                let sides = (self.under(then, cond, holds), self.under(otherwise, cond, holds));
                if sides == (then, otherwise) { node } else { self.select(other, sides.0, sides.1) }
            }
            None => node,
        }
    }

    pub(crate) fn compare(&mut self, op: Comparison, lhs: NodeId, rhs: NodeId, span: Span) -> NodeId {
        self.node(NodeKind::Compare { op, lhs, rhs }, BOOL, span)
    }

    pub(crate) fn cast(&mut self, value: NodeId, ty: &Type, span: Span) -> NodeId {
        if self.ty(value) == ty {
            return value;
        }
        self.node(NodeKind::Cast(value), ty.clone(), span)
    }

    /// Whether a value is zero where some condition says so, because what it belongs to was not taken.
    pub(crate) fn may_be_dead(&self, node: NodeId) -> bool {
        match self.kind(node) {
            NodeKind::Select { then, otherwise, .. } => {
                [*then, *otherwise].into_iter().any(|side| self.is_zero(side) || self.may_be_dead(side))
            }
            _ => false,
        }
    }

    /// The members of a sum if every one of them may be dead, so that the sum may be; else the value itself.
    pub(crate) fn parts(&mut self, node: NodeId) -> Vec<NodeId> {
        let parts = self.addends(node);
        if parts.iter().all(|&part| self.may_be_dead(part)) { parts } else { vec![node] }
    }

    fn addends(&mut self, node: NodeId) -> Vec<NodeId> {
        let (x, y, negative) = match self.kind(node) {
            NodeKind::Method { method, args } if matches!(method.name, "add" | "sub") => {
                (args[0], args[1], method.name == "sub")
            }
            _ => return vec![node],
        };
        let (mut addends, others) = (self.addends(x), self.addends(y));
        let span = self.nodes[node].span;
        let signed = others.into_iter().map(|other| if negative { self.neg(other, span) } else { other });
        addends.extend(signed);
        addends
    }
}

/// Whether values of a type have a derivative.
pub(crate) fn is_differentiable(ty: &Type) -> bool {
    match ty {
        Type::Generic | Type::Real | Type::Complex => true,
        Type::Fixed(dtype) => dtype.category() >= crate::dtype::Category::Float,
        Type::Index | Type::Tuple(_) | Type::Unit | Type::Var(_) | Type::Error => false,
    }
}
