//! From the graph back to the model: which values get a name, and in which branch each is computed.
//!
//! A value is named where it is used more than once, where the author named it, and where it would be an `if` inside
//! an operation. It stands in the innermost block that holds all of its uses, so nothing is computed for a branch that is
//! not taken unless something else needs it.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};
use quote::format_ident;

use super::graph::{Graph, NodeId, NodeKind};
use crate::model::{Block, Body, Callee, Const, Expr, ExprKind, Local, Stmt, StmtKind};
use crate::types::Type;

/// A parameter that the derivative may use.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
}

/// Which parameters some values need.
pub(crate) fn used_params(graph: &Graph<'_>, results: &[NodeId]) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    let mut seen = vec![false; graph.nodes.len()];
    let mut open = results.to_vec();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node], true) {
            continue;
        }
        if let NodeKind::Param(param) = graph.kind(node) {
            used.insert(*param);
        }
        open.extend(operands(graph.kind(node)));
    }
    used
}

/// The body that computes some values from some of the parameters.
pub(crate) fn place(
    graph: &Graph<'_>,
    results: &[NodeId],
    params: &[Param],
    kept: &[usize],
    callees: &[Callee],
    consts: &[Const],
) -> Body {
    let mut placer = Placer {
        graph,
        regions: vec![Region { parent: None, depth: 0 }],
        sides: vec![None; graph.nodes.len()],
        home: vec![None; graph.nodes.len()],
        uses: vec![0; graph.nodes.len()],
        local: vec![None; graph.nodes.len()],
        names: consts.iter().map(|constant| constant.item.ident.to_string()).collect(),
        body: Body::default(),
        callees,
    };
    for &param in kept {
        let Param { ident, ty } = params[param].clone();
        placer.names.insert(ident.to_string());
        placer.body.locals.push(Local { ident, ty, mutable: false });
    }
    for (node, value) in graph.nodes.iter().enumerate() {
        if let NodeKind::Param(param) = value.kind {
            placer.local[node] = kept.iter().position(|&known| known == param);
        }
    }
    let tail = placer.tail(results, 0);
    placer.settle();
    placer.body.consts = consts.to_vec();
    let block = placer.tail_block(&tail);
    placer.body.block = block;
    placer.body
}

/// Operands of a value, conditions and sides of an `if` too.
fn operands(kind: &NodeKind) -> Vec<NodeId> {
    match kind {
        NodeKind::Param(_) | NodeKind::Literal(_) | NodeKind::Const(_) | NodeKind::Assoc { .. } => Vec::new(),
        NodeKind::Index { index: inner, .. } | NodeKind::Cast(inner) | NodeKind::Member { of: inner, .. } => {
            vec![*inner]
        }
        NodeKind::Method { args, .. } | NodeKind::Call { args, .. } => args.clone(),
        NodeKind::Compare { lhs, rhs, .. } | NodeKind::Logic { lhs, rhs, .. } => vec![*lhs, *rhs],
        NodeKind::Select { cond, then, otherwise } => vec![*cond, *then, *otherwise],
    }
}

/// Position in [`Placer::regions`]; 0 is the whole body.
type RegionId = usize;

/// A side of an `if`.
#[derive(Debug)]
struct Region {
    parent: Option<RegionId>,
    depth: usize,
}

/// How the results are given: at once, or by an `if` that decides about all of them.
#[derive(Debug)]
enum Tail {
    Values { region: RegionId, results: Vec<NodeId> },
    If { region: RegionId, cond: NodeId, then: Box<Tail>, otherwise: Box<Tail> },
}

struct Placer<'a, 'g> {
    graph: &'a Graph<'g>,
    regions: Vec<Region>,
    /// For each `if` the regions of its sides.
    sides: Vec<Option<[RegionId; 2]>>,
    /// For each value in use the innermost region that holds all of its uses.
    home: Vec<Option<RegionId>>,
    uses: Vec<usize>,
    /// For each named value its local.
    local: Vec<Option<usize>>,
    names: BTreeSet<String>,
    body: Body,
    callees: &'a [Callee],
}

impl Placer<'_, '_> {
    fn region(&mut self, parent: RegionId) -> RegionId {
        let depth = self.regions[parent].depth + 1;
        self.regions.push(Region { parent: Some(parent), depth });
        self.regions.len() - 1
    }

    /// The innermost region that holds both.
    fn common(&self, mut a: RegionId, mut b: RegionId) -> RegionId {
        while a != b {
            let (deep, other) = if self.regions[a].depth >= self.regions[b].depth { (a, b) } else { (b, a) };
            let Some(parent) = self.regions[deep].parent else { return deep };
            (a, b) = (parent, other);
        }
        a
    }

    fn use_in(&mut self, node: NodeId, region: RegionId) {
        self.uses[node] += 1;
        self.home[node] = Some(match self.home[node] {
            Some(home) => self.common(home, region),
            None => region,
        });
    }

    /// An `if` about all results, where the same condition decides most of them and no other one any.
    fn tail(&mut self, results: &[NodeId], region: RegionId) -> Tail {
        let conds: Vec<NodeId> =
            results.iter().filter_map(|&result| self.graph.branches(result)).map(|(cond, ..)| cond).collect();
        let leaves = results.iter().filter(|&&result| self.graph.is_leaf(result)).count();
        let cond = conds.first().copied();
        let fits = |cond: NodeId| {
            conds.iter().all(|&other| other == cond)
                && (conds.len() > 1 || conds.len() + leaves == results.len())
        };
        let Some(cond) = cond.filter(|&cond| fits(cond)) else {
            for &result in results {
                self.use_in(result, region);
            }
            return Tail::Values { region, results: results.to_vec() };
        };
        self.use_in(cond, region);
        let [then, otherwise] = [true, false].map(|holds| {
            let side = self.region(region);
            let side_of = |&result: &NodeId| match self.graph.branches(result) {
                Some((_, then, otherwise)) => {
                    if holds {
                        then
                    } else {
                        otherwise
                    }
                }
                None => result,
            };
            let results: Vec<_> = results.iter().map(side_of).collect();
            Box::new(self.tail(&results, side))
        });
        Tail::If { region, cond, then, otherwise }
    }

    /// Finds the home of every value, users before operands, and names those that need it.
    fn settle(&mut self) {
        for node in (0..self.graph.nodes.len()).rev() {
            let Some(home) = self.home[node] else { continue };
            match self.graph.kind(node) {
                &NodeKind::Select { cond, then, otherwise } => {
                    let sides = [self.region(home), self.region(home)];
                    self.sides[node] = Some(sides);
                    self.use_in(cond, home);
                    self.use_in(then, sides[0]);
                    self.use_in(otherwise, sides[1]);
                }
                kind => {
                    let is_operation = !matches!(kind, NodeKind::Member { .. });
                    for operand in operands(kind) {
                        self.use_in(operand, home);
                        // An `if` inside an operation reads badly.
                        if is_operation && self.graph.branches(operand).is_some() {
                            self.uses[operand] += 1;
                        }
                    }
                }
            }
        }
        for node in 0..self.graph.nodes.len() {
            let value = &self.graph.nodes[node];
            let named = self.uses[node] > 1 || value.name.is_some();
            let is_tuple = matches!(value.ty, Type::Tuple(_));
            let is_member = matches!(value.kind, NodeKind::Member { .. });
            if self.home[node].is_none() || self.graph.is_leaf(node) || is_tuple || !(named || is_member) {
                continue;
            }
            let ident = self.unique(value.name.as_ref(), value.span);
            self.body.locals.push(Local { ident, ty: value.ty.clone(), mutable: false });
            self.local[node] = Some(self.body.locals.len() - 1);
        }
    }

    /// The wanted name or `t`, with a number if it is taken.
    fn unique(&mut self, wanted: Option<&Ident>, span: Span) -> Ident {
        let base = wanted.map_or_else(|| "t".to_owned(), ToString::to_string);
        let mut name = base.clone();
        let mut n = 0_usize;
        while !self.names.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        match wanted {
            Some(ident) if name == base => ident.clone(),
            Some(ident) => format_ident!("{}_{}", ident, n, span = span),
            None => format_ident!("{}", name, span = span),
        }
    }

    fn tail_block(&mut self, tail: &Tail) -> Block {
        let (region, value) = match tail {
            Tail::Values { region, results } => {
                let stmts = self.stmts(*region);
                let mut values: Vec<Expr> = results.iter().map(|&result| self.expr(result)).collect();
                let value = match values.len() {
                    1 => values.swap_remove(0),
                    _ => {
                        let ty = Type::Tuple(values.iter().map(|value| value.ty.clone()).collect());
                        let span = values.first().map_or_else(Span::call_site, |value| value.span);
                        Expr { kind: ExprKind::Tuple(values), ty, span }
                    }
                };
                return Block { stmts, tail: Some(Box::new(value)) };
            }
            Tail::If { region, cond, then, otherwise } => {
                let stmts = self.stmts(*region);
                let cond = self.expr(*cond);
                let (then, otherwise) = (self.tail_block(then), self.tail_block(otherwise));
                let (ty, span) = (then.ty(), cond.span);
                let kind = ExprKind::If { cond: Box::new(cond), then, otherwise };
                (stmts, Expr { kind, ty, span })
            }
        };
        Block { stmts: region, tail: Some(Box::new(value)) }
    }

    /// The named values whose home is the region.
    fn stmts(&mut self, region: RegionId) -> Vec<Stmt> {
        let here: Vec<NodeId> =
            (0..self.graph.nodes.len()).filter(|&node| self.home[node] == Some(region)).collect();
        let mut stmts = Vec::new();
        for node in here {
            let span = self.graph.nodes[node].span;
            let kind = match (&self.graph.nodes[node].ty, self.graph.kind(node), self.local[node]) {
                (Type::Tuple(members), _, _) => {
                    let locals = (0..members.len())
                        .map(|index| {
                            let member = NodeKind::Member { of: node, index };
                            let known = self.graph.nodes.iter().position(|node| node.kind == member)?;
                            self.local[known]
                        })
                        .collect();
                    StmtKind::LetTuple { locals, value: self.operation(node) }
                }
                (_, NodeKind::Param(_) | NodeKind::Member { .. }, _) | (_, _, None) => continue,
                (_, _, Some(local)) => StmtKind::Let { local, value: self.operation(node) },
            };
            stmts.push(Stmt { kind, span });
        }
        stmts
    }

    /// A value: by its name if it has one.
    fn expr(&mut self, node: NodeId) -> Expr {
        match self.local[node] {
            Some(local) => {
                let value = &self.graph.nodes[node];
                // A value of several places is found by its name, whichever macro wrote the place.
                let span = value.span.resolved_at(self.body.locals[local].ident.span());
                Expr { kind: ExprKind::Local(local), ty: value.ty.clone(), span }
            }
            None => self.operation(node),
        }
    }

    fn boxed(&mut self, node: NodeId) -> Box<Expr> {
        Box::new(self.expr(node))
    }

    fn operation(&mut self, node: NodeId) -> Expr {
        let value = &self.graph.nodes[node];
        let kind = match &value.kind {
            // Parameters have names; a member is named with its tuple.
            NodeKind::Param(_) | NodeKind::Member { .. } => ExprKind::Error,
            NodeKind::Literal(literal) => ExprKind::Literal(literal.clone()),
            NodeKind::Const(id) => ExprKind::Const(*id),
            NodeKind::Index { array, index } => ExprKind::Index { array: *array, index: self.boxed(*index) },
            NodeKind::Assoc { owner, constant } => ExprKind::Assoc { owner: owner.clone(), constant },
            NodeKind::Method { method, args } => {
                ExprKind::Method { method, args: args.iter().map(|&arg| self.expr(arg)).collect() }
            }
            NodeKind::Compare { op, lhs, rhs } => {
                ExprKind::Compare { op: *op, lhs: self.boxed(*lhs), rhs: self.boxed(*rhs) }
            }
            NodeKind::Logic { and, lhs, rhs } => {
                ExprKind::Logic { and: *and, lhs: self.boxed(*lhs), rhs: self.boxed(*rhs) }
            }
            NodeKind::Cast(inner) => ExprKind::Cast(self.boxed(*inner)),
            NodeKind::Call { callee, args } => {
                let callee = self.callee(*callee);
                ExprKind::Call { callee, args: args.iter().map(|&arg| self.expr(arg)).collect() }
            }
            NodeKind::Select { cond, then, otherwise } => {
                let cond = self.boxed(*cond);
                let [first, second] = self.sides[node].unwrap_or_default();
                let (then, otherwise) = (self.side(first, *then), self.side(second, *otherwise));
                ExprKind::If { cond, then, otherwise }
            }
        };
        Expr { kind, ty: value.ty.clone(), span: value.span }
    }

    fn side(&mut self, region: RegionId, value: NodeId) -> Block {
        Block { stmts: self.stmts(region), tail: Some(self.boxed(value)) }
    }

    /// The position of a callee among those in use.
    fn callee(&mut self, callee: usize) -> usize {
        let Callee { home, order, .. } = &self.callees[callee];
        let used = &mut self.body.callees;
        used.iter().position(|known| known.home == *home && known.order == *order).unwrap_or_else(|| {
            used.push(self.callees[callee].clone());
            used.len() - 1
        })
    }
}
