//! Values: one operation on names and literals, with its operands written as statements before it.

use super::{Code, Dest, Piece, Writer, code, words};
use crate::dtype::DType;
use crate::methods::Method;
use crate::model::{Block, Const, Expr, ExprKind};
use crate::types::{Trait, Type};

impl Writer<'_> {
    /// One operation on names and literals; its operands are written as statements first.
    pub(super) fn value(&mut self, expr: &Expr) -> Code {
        match &expr.kind {
            ExprKind::Literal(literal) => {
                self.ty(&expr.ty);
                code(words::literal(literal, &expr.ty))
            }
            ExprKind::Local(local) => code(&self.names[*local]),
            ExprKind::Const(id) => {
                let Const { dtype, values, .. } = &self.body.consts[*id];
                code(values.first().map(|value| self.const_value(value, *dtype)).unwrap_or_default())
            }
            ExprKind::Assoc { owner, constant } => code(self.limit(owner, constant.name)),
            ExprKind::Index { array, index } => self.element(*array, index),
            ExprKind::Method { method, args } => self.method(method, args),
            ExprKind::Compare { op, lhs, rhs } => {
                let [lhs, rhs] = self.atoms([&**lhs, &**rhs]);
                code(format!("{lhs} {} {rhs}", op.symbol()))
            }
            ExprKind::Logic { and, lhs, rhs } => self.logic(*and, lhs, rhs),
            ExprKind::Cast(value) if value.ty == expr.ty => self.value(value),
            ExprKind::Cast(value) => {
                let from = value.ty.clone();
                let value = self.atom(value);
                code(self.cast(&value, &from, &expr.ty))
            }
            ExprKind::Call { callee, args } => {
                let args = self.atom_list(args);
                let mut text = code("op::");
                text.push(Piece::Call(*callee));
                text.extend(code(format!("({})", args.join(", "))));
                text
            }
            ExprKind::If { cond, then, otherwise } if is_choice(then, otherwise) => {
                let cond = self.atom(cond);
                let mut branch =
                    |block: &Block| block.tail.as_ref().map_or_else(String::new, |tail| self.atom(tail));
                let (then, otherwise) = (branch(then), branch(otherwise));
                code(format!("{cond} ? {then} : {otherwise}"))
            }
            ExprKind::If { .. } => code(self.copy(expr)),
            ExprKind::Block(block) => {
                self.stmts(block);
                block.tail.as_ref().map_or_else(Vec::new, |tail| self.value(tail))
            }
            ExprKind::Tuple(members) => {
                let ty = self.ty(&expr.ty);
                let members = self.atom_list(members);
                code(format!("{ty}{{{}}}", members.join(", ")))
            }
            ExprKind::Error => Vec::new(),
        }
    }

    /// A name or literal with the value of the expression.
    pub(super) fn atom(&mut self, expr: &Expr) -> String {
        if !is_atom(expr) {
            return self.copy(expr);
        }
        match self.value(expr).pop() {
            Some(Piece::Text(text)) => text,
            _ => String::new(),
        }
    }

    /// A new name with the value of the expression.
    pub(super) fn copy(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::If { then, otherwise, .. } if !is_choice(then, otherwise) => {
                let name = self.namer.temporary();
                self.store(expr, Dest::Declare { name: &name, mutable: false });
                name
            }
            _ => {
                let value = self.value(expr);
                let (name, ty) = (self.namer.temporary(), self.ty(&expr.ty));
                self.declare(expr.span, &ty, &name, false, value);
                name
            }
        }
    }

    /// Operands from left to right. A mutable name is copied if an operand behind it has statements.
    fn atom_list<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<String> {
        let exprs: Vec<&Expr> = exprs.into_iter().collect();
        let mut atoms = Vec::new();
        for (i, expr) in exprs.iter().enumerate() {
            let may_change =
                self.is_mutable(expr) && exprs[i + 1..].iter().any(|later| has_statements(later));
            atoms.push(if may_change { self.copy(expr) } else { self.atom(expr) });
        }
        atoms
    }

    pub(super) fn atoms<const N: usize>(&mut self, exprs: [&Expr; N]) -> [String; N] {
        let mut atoms = self.atom_list(exprs).into_iter();
        std::array::from_fn(|_| atoms.next().unwrap_or_default())
    }

    /// Whether an expression is written as the name of something that may change.
    pub(super) fn is_mutable(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Local(local) => self.body.locals[*local].mutable,
            ExprKind::Cast(value) => value.ty == expr.ty && self.is_mutable(value),
            _ => false,
        }
    }

    fn method(&mut self, method: &Method, args: &[Expr]) -> Code {
        let receiver = args[0].ty.clone();
        let args = self.atom_list(args);
        let is_float = match &receiver {
            Type::Generic => self.generic.is_some_and(|generic| generic.bound == Trait::Float),
            Type::Fixed(dtype) => dtype.is_float(),
            other => *other == Type::Index,
        };
        match (method.operator, args.as_slice()) {
            (Some(operator), [lhs, rhs]) if is_float => return code(format!("{lhs} {operator} {rhs}")),
            (None, [value]) if method.name == "not" && receiver == Type::Fixed(DType::Bool) => {
                return code(format!("!{value}"));
            }
            _ => {}
        }
        let name = self.prelude(method.cuda, &[receiver]);
        code(format!("{name}({})", args.join(", ")))
    }

    /// Both sides are pure, so the right one may be computed anyway, unless it runs another function.
    fn logic(&mut self, and: bool, lhs: &Expr, rhs: &Expr) -> Code {
        if !is_costly(rhs) {
            let [lhs, rhs] = self.atoms([lhs, rhs]);
            return code(format!("{lhs} {} {rhs}", if and { "&&" } else { "||" }));
        }
        let value = self.value(lhs);
        let name = self.namer.temporary();
        self.declare(lhs.span, "bool", &name, true, value);
        self.line(rhs.span, code(format!("if ({}{name}) {{", if and { "" } else { "!" })));
        self.depth += 1;
        self.store(rhs, Dest::Assign(&name));
        self.depth -= 1;
        self.brace("}");
        code(name)
    }

    fn cast(&mut self, value: &str, from: &Type, to: &Type) -> String {
        let name = self.prelude("cast", &[to.clone(), from.clone()]);
        let to = self.ty(to);
        format!("{name}<{to}>({value})")
    }

    /// An element of a constant array; a position behind the end means the last element.
    fn element(&mut self, array: usize, index: &Expr) -> Code {
        let span = index.span;
        let last = self.body.consts[array].values.len().saturating_sub(1);
        if let Some(position) = index.as_position().filter(|position| *position <= last) {
            return code(format!("{}[{position}]", self.const_names[array]));
        }
        let mut position = self.atom(index);
        if index.ty != Type::Index {
            let value = self.cast(&position, &index.ty, &Type::Index);
            let name = self.namer.temporary();
            self.declare(span, "u64", &name, false, code(value));
            position = name;
        }
        let (test, inside) = (self.namer.temporary(), self.namer.temporary());
        self.declare(span, "bool", &test, false, code(format!("{position} < u64({last})")));
        self.declare(span, "u64", &inside, false, code(format!("{test} ? {position} : u64({last})")));
        code(format!("{}[{inside}]", self.const_names[array]))
    }
}

/// Whether an expression is written without a statement of its own.
fn is_atom(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Local(_)
        | ExprKind::Const(_)
        | ExprKind::Assoc { .. }
        | ExprKind::Error => true,
        ExprKind::Cast(value) => value.ty == expr.ty && is_atom(value),
        _ => false,
    }
}

/// Whether an `if` is a choice between two names or literals.
pub(super) fn is_choice(then: &Block, otherwise: &Block) -> bool {
    [then, otherwise]
        .iter()
        .all(|block| block.stmts.is_empty() && block.tail.as_ref().is_some_and(|tail| is_atom(tail)))
}

fn any(expr: &Expr, test: fn(&Expr) -> bool) -> bool {
    let mut found = false;
    expr.each(&mut |part| found |= test(part));
    found
}

/// Whether an expression contains statements.
fn has_statements(expr: &Expr) -> bool {
    any(expr, |part| match &part.kind {
        ExprKind::Block(block) => !block.stmts.is_empty(),
        ExprKind::If { then, otherwise, .. } => !(then.stmts.is_empty() && otherwise.stmts.is_empty()),
        _ => false,
    })
}

/// Whether an expression is worth a branch: it calls another function, or contains statements.
fn is_costly(expr: &Expr) -> bool {
    has_statements(expr) || any(expr, |part| matches!(part.kind, ExprKind::Call { .. }))
}
