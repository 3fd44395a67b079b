//! A model as Rust source, the way a person writes it: operators, methods, `let` and `if`.
//!
//! For display only; what is compiled is written by `rust`.

use std::fmt::Write;

use quote::ToTokens;

use crate::model::{Block, Body, Expr, ExprKind, LiteralValue, Stmt, StmtKind};
use crate::signature::Signature;
use crate::types::{Generic, Type};

/// Columns after which an `if` or a tuple is broken into lines.
const WIDTH: usize = 100;

/// The function as source text.
pub(crate) fn write(signature: &Signature, body: &Body) -> String {
    let generic = signature.generic.as_ref();
    let printer = Printer { body, generic };
    let mut text = String::from("fn ");
    text.push_str(&signature.name().to_string());
    if let Some(generic) = generic {
        let _ = write!(text, "<{}: {}>", generic.ident, generic.bound.name());
    }
    let params: Vec<String> = signature
        .params
        .iter()
        .map(|param| {
            let number = if param.is_number { "#[param] " } else { "" };
            format!("{number}{}: {}", param.ident, param.ty.describe(generic))
        })
        .collect();
    let _ = writeln!(text, "({}) -> {} {{", params.join(", "), signature.result().describe(generic));
    printer.block(&body.block, 1, &mut text);
    text.push('}');
    text
}

struct Printer<'a> {
    body: &'a Body,
    generic: Option<&'a Generic>,
}

/// How tightly an expression binds, from `||` up to a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    If,
    Or,
    And,
    Comparison,
    Sum,
    Product,
    Cast,
    Sign,
    Call,
}

impl Printer<'_> {
    /// The lines of a block.
    fn block(&self, block: &Block, depth: usize, text: &mut String) {
        for stmt in &block.stmts {
            self.stmt(stmt, depth, text);
        }
        if let Some(tail) = &block.tail {
            self.lines("", tail, "", depth, text);
        }
    }

    fn stmt(&self, stmt: &Stmt, depth: usize, text: &mut String) {
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                let name = &self.body.locals[*local].ident;
                self.lines(&format!("let {name} = "), value, ";", depth, text);
            }
            StmtKind::LetTuple { locals, value } => {
                let name = |local: &Option<usize>| {
                    local.map_or_else(|| "_".to_owned(), |local| self.body.locals[local].ident.to_string())
                };
                let names: Vec<String> = locals.iter().map(name).collect();
                self.lines(&format!("let ({}) = ", names.join(", ")), value, ";", depth, text);
            }
            _ => {}
        }
    }

    /// An expression between two texts, on one line if it fits.
    fn lines(&self, before: &str, expr: &Expr, after: &str, depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        let line = format!("{indent}{before}{}{after}\n", self.expr(expr, Binding::If));
        if let (ExprKind::Tuple(members), true) = (&expr.kind, line.len() > WIDTH) {
            let _ = writeln!(text, "{indent}{before}(");
            for member in members {
                self.lines("", member, ",", depth + 1, text);
            }
            let _ = writeln!(text, "{indent}){after}");
            return;
        }
        let ExprKind::If { cond, then, otherwise } = &expr.kind else {
            text.push_str(&line);
            return;
        };
        if line.len() <= WIDTH && then.stmts.is_empty() && otherwise.stmts.is_empty() {
            text.push_str(&line);
            return;
        }
        let _ = writeln!(text, "{indent}{before}if {} {{", self.expr(cond, Binding::Or));
        self.block(then, depth + 1, text);
        self.otherwise(otherwise, after, depth, text);
    }

    /// `} else …`, with another `if` on the same line.
    fn otherwise(&self, block: &Block, after: &str, depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        if let (true, Some(ExprKind::If { cond, then, otherwise })) =
            (block.stmts.is_empty(), block.tail.as_ref().map(|tail| &tail.kind))
        {
            let _ = writeln!(text, "{indent}}} else if {} {{", self.expr(cond, Binding::Or));
            self.block(then, depth + 1, text);
            return self.otherwise(otherwise, after, depth, text);
        }
        let _ = writeln!(text, "{indent}}} else {{");
        self.block(block, depth + 1, text);
        let _ = writeln!(text, "{indent}}}{after}");
    }

    /// An expression, in parentheses where it binds less tightly than its surroundings need.
    fn expr(&self, expr: &Expr, needed: Binding) -> String {
        let (binding, text) = self.bound(expr);
        if binding < needed { format!("({text})") } else { text }
    }

    fn bound(&self, expr: &Expr) -> (Binding, String) {
        match &expr.kind {
            ExprKind::Literal(literal) => {
                let sign = if literal.negative { "-" } else { "" };
                let text = match &literal.value {
                    LiteralValue::Bool(value) => value.to_string(),
                    LiteralValue::Int(_) | LiteralValue::Float(_) => literal.text.clone(),
                };
                (if literal.negative { Binding::Sign } else { Binding::Call }, format!("{sign}{text}"))
            }
            ExprKind::Local(local) => (Binding::Call, self.body.locals[*local].ident.to_string()),
            ExprKind::Const(id) => (Binding::Call, self.body.consts[*id].item.ident.to_string()),
            ExprKind::Index { array, index } => {
                let (array, index) = (&self.body.consts[*array].item.ident, self.expr(index, Binding::If));
                (Binding::Call, format!("{array}[{index}]"))
            }
            ExprKind::Assoc { owner, constant } => {
                (Binding::Call, format!("{}::{}", self.ty(owner), constant.name))
            }
            ExprKind::Method { method, args } => self.method(method.name, args),
            ExprKind::Compare { op, lhs, rhs } => {
                let [lhs, rhs] = [lhs, rhs].map(|side| self.expr(side, Binding::Sum));
                (Binding::Comparison, format!("{lhs} {} {rhs}", op.symbol()))
            }
            ExprKind::Logic { and: true, lhs, rhs } => {
                let [lhs, rhs] = [lhs, rhs].map(|side| self.expr(side, Binding::And));
                (Binding::And, format!("{lhs} && {rhs}"))
            }
            ExprKind::Logic { and: false, lhs, rhs } => {
                let [lhs, rhs] = [lhs, rhs].map(|side| self.expr(side, Binding::Or));
                (Binding::Or, format!("{lhs} || {rhs}"))
            }
            ExprKind::Cast(value) => {
                (Binding::Cast, format!("{} as {}", self.expr(value, Binding::Cast), self.ty(&expr.ty)))
            }
            ExprKind::Call { callee, args } => {
                let callee = self.body.callees[*callee].rust_path();
                let callee = callee.to_token_stream().to_string().replace(' ', "");
                (Binding::Call, format!("{callee}({})", self.list(args)))
            }
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond, Binding::Or);
                let sides = [then, otherwise].map(|side| self.inline(side));
                (
                    Binding::If,
                    format!("if {cond} {{ {} }} else {}", sides[0], self.braced(otherwise, &sides[1])),
                )
            }
            ExprKind::Block(block) => (Binding::Call, format!("{{ {} }}", self.inline(block))),
            ExprKind::Tuple(members) => (Binding::Call, format!("({})", self.list(members))),
            ExprKind::Error => (Binding::Call, String::new()),
        }
    }

    /// The other side of an `if`: in braces unless it is an `if` itself.
    fn braced(&self, block: &Block, inline: &str) -> String {
        let is_if = block.tail.as_ref().is_some_and(|tail| matches!(tail.kind, ExprKind::If { .. }));
        if is_if && block.stmts.is_empty() { inline.to_owned() } else { format!("{{ {inline} }}") }
    }

    fn inline(&self, block: &Block) -> String {
        let mut text = String::new();
        for stmt in &block.stmts {
            let mut line = String::new();
            self.stmt(stmt, 0, &mut line);
            let _ = write!(text, "{} ", line.trim_end());
        }
        if let Some(tail) = &block.tail {
            text.push_str(&self.expr(tail, Binding::If));
        }
        text
    }

    fn list(&self, exprs: &[Expr]) -> String {
        let exprs: Vec<String> = exprs.iter().map(|expr| self.expr(expr, Binding::If)).collect();
        exprs.join(", ")
    }

    fn method(&self, name: &str, args: &[Expr]) -> (Binding, String) {
        const OPERATORS: [(&str, &str, Binding, Binding); 5] = [
            ("add", "+", Binding::Sum, Binding::Product),
            ("sub", "-", Binding::Sum, Binding::Product),
            ("mul", "*", Binding::Product, Binding::Cast),
            ("div", "/", Binding::Product, Binding::Cast),
            ("rem", "%", Binding::Product, Binding::Cast),
        ];
        match args {
            [lhs, rhs] if OPERATORS.iter().any(|row| row.0 == name) => {
                let (_, symbol, binding, right) =
                    OPERATORS.iter().find(|row| row.0 == name).copied().unwrap_or(OPERATORS[0]);
                let text = format!("{} {symbol} {}", self.expr(lhs, binding), self.expr(rhs, right));
                (binding, text)
            }
            [value] if name == "neg" => (Binding::Sign, format!("-{}", self.expr(value, Binding::Sign))),
            [value] if name == "not" => (Binding::Sign, format!("!{}", self.expr(value, Binding::Sign))),
            [receiver, rest @ ..] => {
                let receiver = self.expr(receiver, Binding::Call);
                (Binding::Call, format!("{receiver}.{name}({})", self.list(rest)))
            }
            [] => (Binding::Call, String::new()),
        }
    }

    fn ty(&self, ty: &Type) -> String {
        ty.describe(self.generic)
    }
}
