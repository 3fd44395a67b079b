//! Reverse mode: from the gradients of a function's results to those of its parameters.
//!
//! Walks the model backward, statement by statement. What flows through an `if` is kept under its condition, and where
//! a value was not taken nothing flows at all, so that no `0 · ∞` comes out of a dead branch.
//! What has no derivative is reported at its token.

use std::collections::BTreeMap;

use proc_macro2::Span;
use quote::format_ident;

use super::graph::{Graph, NodeId, NodeKind, is_differentiable};
use super::rules::Rule;
use crate::errors::Errors;
use crate::methods::Method;
use crate::model::{Block, Body, Callee, Expr, ExprKind, Local, LocalId, Stmt, StmtKind};
use crate::types::{Generic, Type};

/// A member of a local's value.
type Place = (LocalId, usize);

/// What a function's derivative is made of.
#[derive(Debug)]
pub(crate) struct Derivative<'a> {
    pub(crate) graph: Graph<'a>,
    pub(crate) callees: Vec<Callee>,
    /// For each parameter the gradient, if its type has one.
    pub(crate) gradients: Vec<Option<NodeId>>,
}

/// The values that a derivative starts from, as parameters of the graph.
#[derive(Debug)]
pub(crate) struct Seeds {
    /// For each result its gradient, if its type has one.
    pub(crate) cotangents: Vec<Option<NodeId>>,
    /// For each parameter its value.
    pub(crate) params: Vec<NodeId>,
    /// For each result its value, if that is given.
    pub(crate) results: Option<Vec<NodeId>>,
}

/// Differentiates a body.
pub(crate) fn derive<'a>(
    body: &Body,
    seeds: &Seeds,
    graph: Graph<'a>,
    active: &[bool],
    errors: &Errors,
) -> Derivative<'a> {
    let mut reverse = Reverse::new(body, seeds, graph, active, errors);
    reverse.mark(&body.block);
    let results = reverse.block_values(&body.block);
    reverse.block(&body.block, &seeds.cotangents);
    let gradients = (0..seeds.params.len())
        .map(|param| {
            let Local { ident, ty, .. } = &body.locals[param];
            is_differentiable(ty).then(|| match reverse.flows.remove(&(param, 0)) {
                Some(gradient) => gradient,
                None => reverse.graph.zero(ty, ident.span()),
            })
        })
        .collect();
    // A result that is given stands for its formula everywhere.
    for (&result, &given) in results.iter().zip(seeds.results.iter().flatten()) {
        if !reverse.graph.is_leaf(result) {
            reverse.graph.nodes[result].kind = reverse.graph.kind(given).clone();
        }
    }
    Derivative { graph: reverse.graph, callees: reverse.callees, gradients }
}

/// The values of a body's results.
pub(crate) fn values<'a>(
    body: &Body,
    seeds: &Seeds,
    graph: Graph<'a>,
    errors: &Errors,
) -> (Graph<'a>, Vec<NodeId>) {
    let mut reverse = Reverse::new(body, seeds, graph, &[], errors);
    let results = reverse.block_values(&body.block);
    (reverse.graph, results)
}

struct Reverse<'a, 'b> {
    graph: Graph<'a>,
    body: &'b Body,
    callees: Vec<Callee>,
    /// For each local the members of its value.
    values: Vec<Vec<NodeId>>,
    /// For each local whether it depends on a parameter whose gradient is wanted.
    active: Vec<bool>,
    /// Values of the body's expressions, by address.
    known: BTreeMap<*const Expr, Vec<NodeId>>,
    /// Gradients that have reached a local so far.
    flows: BTreeMap<Place, NodeId>,
    errors: &'b Errors,
}

impl<'a, 'b> Reverse<'a, 'b> {
    fn new(body: &'b Body, seeds: &Seeds, graph: Graph<'a>, active: &[bool], errors: &'b Errors) -> Self {
        let mut values = vec![Vec::new(); body.locals.len()];
        for (value, &param) in values.iter_mut().zip(&seeds.params) {
            *value = vec![param];
        }
        let mut active = active.to_vec();
        active.resize(body.locals.len(), false);
        let (callees, known, flows) = (body.callees.clone(), BTreeMap::new(), BTreeMap::new());
        Reverse { graph, body, callees, values, active, known, flows, errors }
    }

    fn generic(&self) -> Option<&Generic> {
        self.graph.generic
    }

    /// Finds the locals that depend on what is differentiated.
    fn mark(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let { local, value } => {
                    self.mark_inside(value);
                    self.active[*local] = self.is_active(value);
                }
                StmtKind::LetTuple { locals, value } => {
                    self.mark_inside(value);
                    let active = self.is_active(value);
                    locals.iter().flatten().for_each(|local| self.active[*local] = active);
                }
                _ => {}
            }
        }
        if let Some(tail) = &block.tail {
            self.mark_inside(tail);
        }
    }

    fn mark_inside(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Block(block) => self.mark(block),
            ExprKind::If { then, otherwise, .. } => {
                self.mark(then);
                self.mark(otherwise);
            }
            ExprKind::Method { args, .. } | ExprKind::Call { args, .. } | ExprKind::Tuple(args) => {
                args.iter().for_each(|arg| self.mark_inside(arg));
            }
            ExprKind::Cast(value) => self.mark_inside(value),
            _ => {}
        }
    }

    fn is_active(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.each(&mut |part| {
            if let ExprKind::Local(local) = part.kind {
                found |= self.active[local] && has_differentiable(&part.ty);
            }
        });
        found
    }

    // Values.

    fn block_values(&mut self, block: &Block) -> Vec<NodeId> {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let { local, value } => {
                    let members = self.values(value);
                    self.bind(*local, members);
                }
                StmtKind::LetTuple { locals, value } => {
                    let mut members = self.values(value).into_iter();
                    for (local, width) in locals.iter().zip(value.ty.widths()) {
                        let own = members.by_ref().take(width).collect();
                        if let Some(local) = *local {
                            self.bind(local, own);
                        }
                    }
                }
                StmtKind::Block(block) => {
                    self.block_values(block);
                }
                _ => self.refuse(stmt),
            }
        }
        block.tail.as_ref().map_or_else(Vec::new, |tail| self.values(tail))
    }

    /// Gives a local the members of its value.
    fn bind(&mut self, local: LocalId, members: Vec<NodeId>) {
        if let [one] = members.as_slice() {
            let ident = self.body.locals[local].ident.clone();
            self.graph.name(*one, || ident);
        }
        self.values[local] = members;
    }

    fn refuse(&self, stmt: &Stmt) {
        let what = match stmt.kind {
            StmtKind::While { .. } | StmtKind::For { .. } => "a loop",
            StmtKind::Assign { .. } => "an assignment",
            StmtKind::Return(_) | StmtKind::If { .. } => "a statement that may leave the function",
            _ => "this statement",
        };
        self.errors.at_span(
            stmt.span,
            format_args!("{what} is not differentiated; give the derivative by `grad(backward = path)`"),
        );
    }

    fn value(&mut self, expr: &Expr) -> NodeId {
        let values = self.values(expr);
        values.first().copied().unwrap_or_else(|| self.graph.zero(&Type::Generic, expr.span))
    }

    fn list(&mut self, exprs: &[Expr]) -> Vec<NodeId> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    /// The members of an expression's value, those of tuples inside a tuple one by one.
    fn values(&mut self, expr: &Expr) -> Vec<NodeId> {
        let key = std::ptr::from_ref(expr);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let values = self.new_values(expr);
        self.known.insert(key, values.clone());
        values
    }

    fn new_values(&mut self, expr: &Expr) -> Vec<NodeId> {
        let kind = match &expr.kind {
            ExprKind::Literal(literal) => NodeKind::Literal(literal.clone()),
            ExprKind::Local(local) => return self.values[*local].clone(),
            ExprKind::Const(id) => NodeKind::Const(*id),
            ExprKind::Index { array, index } => NodeKind::Index { array: *array, index: self.value(index) },
            ExprKind::Assoc { owner, constant } => NodeKind::Assoc { owner: owner.clone(), constant },
            ExprKind::Method { method, args } => {
                let args = self.list(args);
                // Under the derivative's bound the operation may belong to another trait.
                let traits = self.graph.ty(args[0]).traits(self.generic());
                let method = Method::find(method.name, traits).unwrap_or(method);
                NodeKind::Method { method, args }
            }
            ExprKind::Compare { op, lhs, rhs } => {
                NodeKind::Compare { op: *op, lhs: self.value(lhs), rhs: self.value(rhs) }
            }
            ExprKind::Logic { and, lhs, rhs } => {
                NodeKind::Logic { and: *and, lhs: self.value(lhs), rhs: self.value(rhs) }
            }
            ExprKind::Cast(inner) => {
                let value = self.value(inner);
                return vec![self.graph.cast(value, &expr.ty, expr.span)];
            }
            ExprKind::Call { callee, args } => NodeKind::Call { callee: *callee, args: self.list(args) },
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.value(cond);
                let (then, otherwise) = (self.block_values(then), self.block_values(otherwise));
                return then
                    .into_iter()
                    .zip(otherwise)
                    .map(|(then, otherwise)| self.graph.select(cond, then, otherwise))
                    .collect();
            }
            ExprKind::Block(block) => return self.block_values(block),
            ExprKind::Tuple(members) => {
                return members.iter().flat_map(|member| self.values(member)).collect();
            }
            ExprKind::Error => return Vec::new(),
        };
        let node = self.graph.node(kind, expr.ty.clone(), expr.span);
        self.members(node)
    }

    /// The members of a value; a value of one type is its only member.
    fn members(&mut self, node: NodeId) -> Vec<NodeId> {
        let Type::Tuple(types) = self.graph.ty(node).clone() else { return vec![node] };
        let span = self.graph.nodes[node].span;
        let member = |(index, ty)| self.graph.node(NodeKind::Member { of: node, index }, ty, span);
        types.into_iter().enumerate().map(member).collect()
    }

    // Gradients.

    /// Adds what flows into a place.
    fn flow(&mut self, place: Place, gradient: NodeId, span: Span) {
        let sum = match self.flows.remove(&place) {
            Some(before) => self.graph.add(before, gradient, span),
            None => gradient,
        };
        self.flows.insert(place, sum);
    }

    fn block(&mut self, block: &Block, gradients: &[Option<NodeId>]) {
        if let Some(tail) = &block.tail {
            self.pull(tail, gradients);
        }
        for stmt in block.stmts.iter().rev() {
            let (locals, value) = match &stmt.kind {
                StmtKind::Let { local, value } => {
                    let members = self.values[*local].len();
                    let gradients: Vec<_> = (0..members).map(|i| self.flows.remove(&(*local, i))).collect();
                    if let [Some(gradient)] = gradients.as_slice() {
                        self.graph
                            .name(*gradient, || format_ident!("grad_{}", self.body.locals[*local].ident));
                    }
                    (gradients, value)
                }
                StmtKind::LetTuple { locals, value } => {
                    let places = locals.iter().zip(value.ty.widths());
                    let places = places.flat_map(|(local, width)| (0..width).map(move |i| (*local, i)));
                    let of = |(local, i): (Option<LocalId>, usize)| {
                        local.and_then(|local| self.flows.remove(&(local, i)))
                    };
                    (places.map(of).collect(), value)
                }
                _ => continue,
            };
            if locals.iter().any(Option::is_some) {
                self.pull(value, &locals);
            }
        }
    }

    /// Hands the gradients of an expression's members on to what the expression is made of.
    fn pull(&mut self, expr: &Expr, gradients: &[Option<NodeId>]) {
        if !self.is_active(expr) || gradients.iter().all(Option::is_none) {
            return;
        }
        match &expr.kind {
            ExprKind::Local(local) => {
                for (i, (gradient, ty)) in gradients.iter().zip(expr.ty.leaves()).enumerate() {
                    if let Some(gradient) = *gradient
                        && self.active[*local]
                        && is_differentiable(ty)
                    {
                        self.flow((*local, i), gradient, expr.span);
                    }
                }
            }
            ExprKind::Block(block) => self.block(block, gradients),
            ExprKind::Tuple(members) => {
                let mut rest = gradients;
                for (member, width) in members.iter().zip(expr.ty.widths()) {
                    let (own, others) = rest.split_at(width.min(rest.len()));
                    self.pull(member, own);
                    rest = others;
                }
            }
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.value(cond);
                let sides = [(then, true), (otherwise, false)].map(|(side, holds)| {
                    let before = std::mem::take(&mut self.flows);
                    let mut inside = |gradient: NodeId| self.graph.under(gradient, cond, holds);
                    let gradients: Vec<_> =
                        gradients.iter().map(|gradient| gradient.map(&mut inside)).collect();
                    self.block(side, &gradients);
                    std::mem::replace(&mut self.flows, before)
                });
                self.join(cond, sides, expr.span);
            }
            ExprKind::Cast(value) if !is_differentiable(&value.ty) || !is_differentiable(&expr.ty) => {}
            ExprKind::Cast(_) | ExprKind::Method { .. } | ExprKind::Call { .. } => {
                self.pull_operation(expr, gradients);
            }
            _ => {}
        }
    }

    /// Adds what flowed on the two sides of a condition.
    fn join(&mut self, cond: NodeId, sides: [BTreeMap<Place, NodeId>; 2], span: Span) {
        let [then, otherwise] = sides;
        let mut places: Vec<Place> = then.keys().chain(otherwise.keys()).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let known = then.get(&place).or(otherwise.get(&place)).copied().unwrap_or_default();
            let zero = self.graph.zero(&self.graph.ty(known).clone(), span);
            let [then, otherwise] = [&then, &otherwise].map(|side| side.get(&place).copied().unwrap_or(zero));
            let gradient = self.graph.select(cond, then, otherwise);
            self.flow(place, gradient, span);
        }
    }

    /// An operation; where its value is dead, nothing flows through it.
    fn pull_operation(&mut self, expr: &Expr, gradients: &[Option<NodeId>]) {
        let mut parts_of = |gradient: &Option<NodeId>| gradient.map(|gradient| self.graph.parts(gradient));
        let parts: Vec<Vec<NodeId>> =
            gradients.iter().map(|gradient| parts_of(gradient).unwrap_or_default()).collect();
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        if most > 1 {
            for k in 0..most {
                let part: Vec<_> = parts.iter().map(|parts| parts.get(k).copied()).collect();
                self.pull_operation(expr, &part);
            }
            return;
        }
        let alive: Vec<NodeId> =
            gradients.iter().flatten().copied().filter(|&gradient| !self.graph.is_zero(gradient)).collect();
        let Some(&first) = alive.first() else { return };
        if let (true, Some((cond, ..))) =
            (alive.iter().all(|&gradient| self.graph.may_be_dead(gradient)), self.graph.branches(first))
        {
            let sides = [true, false].map(|holds| {
                let before = std::mem::take(&mut self.flows);
                let mut side = |gradient: NodeId| self.graph.under(gradient, cond, holds);
                let gradients: Vec<_> = gradients.iter().map(|gradient| gradient.map(&mut side)).collect();
                self.pull_operation(expr, &gradients);
                std::mem::replace(&mut self.flows, before)
            });
            return self.join(cond, sides, expr.span);
        }
        match &expr.kind {
            ExprKind::Method { method, args } => self.pull_method(expr, method, args, gradients),
            ExprKind::Call { callee, args } => self.pull_call(expr, *callee, args, gradients),
            ExprKind::Cast(value) => {
                let gradient = self.graph.cast(first, &value.ty, expr.span);
                self.pull(value, &[Some(gradient)]);
            }
            _ => {}
        }
    }

    fn pull_method(
        &mut self,
        expr: &Expr,
        method: &'static Method,
        args: &[Expr],
        gradients: &[Option<NodeId>],
    ) {
        let Some(gradient) = gradients.first().copied().flatten() else { return };
        let results = self.values(expr);
        let operands = self.list(args);
        let traits = self.graph.ty(operands[0]).traits(self.generic());
        let method = Method::find(method.name, traits).unwrap_or(method);
        if method.gradients.is_empty() {
            let name = method.name;
            self.errors.at_span(
                expr.span,
                format_args!(
                    "`{name}` has no derivative rule; give the function's by `grad(backward = path)`"
                ),
            );
            return;
        }
        for (arg, rule) in args.iter().zip(method.gradients) {
            if !self.is_active(arg) {
                continue;
            }
            let rules = Rule { gradient, results: &results, operands: &operands, span: expr.span };
            let gradient = rules.apply(rule, &mut self.graph);
            if !self.graph.is_zero(gradient) {
                self.pull(arg, &[Some(gradient)]);
            }
        }
    }

    /// `callee::backward(gradients of its results, its arguments)` gives the gradients of its float arguments.
    fn pull_call(&mut self, expr: &Expr, callee: usize, args: &[Expr], gradients: &[Option<NodeId>]) {
        let mut operands = Vec::new();
        for (gradient, ty) in gradients.iter().zip(expr.ty.leaves()) {
            if is_differentiable(ty) {
                operands.push(gradient.unwrap_or_else(|| self.graph.zero(ty, expr.span)));
            }
        }
        operands.extend(self.list(args));
        let wanted: Vec<(&Expr, Type)> =
            args.iter().filter(|arg| is_differentiable(&arg.ty)).map(|arg| (arg, arg.ty.clone())).collect();
        let ty = match wanted.as_slice() {
            [(_, ty)] => ty.clone(),
            several => Type::Tuple(several.iter().map(|(_, ty)| ty.clone()).collect()),
        };
        let callee = self.backward_of(callee);
        let call = self.graph.node(NodeKind::Call { callee, args: operands }, ty, expr.span);
        let results = self.members(call);
        for ((arg, _), gradient) in wanted.into_iter().zip(results) {
            self.pull(arg, &[Some(gradient)]);
        }
    }

    fn backward_of(&mut self, callee: usize) -> usize {
        let Callee { path, home, order } = self.callees[callee].clone();
        let order = order + 1;
        let known = self.callees.iter().position(|known| known.home == home && known.order == order);
        known.unwrap_or_else(|| {
            self.callees.push(Callee { path, home, order });
            self.callees.len() - 1
        })
    }
}

fn has_differentiable(ty: &Type) -> bool {
    ty.leaves().into_iter().any(is_differentiable)
}
