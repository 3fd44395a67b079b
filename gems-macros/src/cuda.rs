//! From the model to CUDA C++: the text of one device function.
//!
//! Guarantees one operation a statement, each with a name: the one that the user gave by `let`, else `t0`, `t1`, …
//! Prelude functions are called as `math::name`, other device functions as `op::name`; what the text calls is listed.
//! The text is the same for every type that `T` can be; the emitter supplies names and the prelude.

#[cfg(test)]
mod tests;
mod words;

use proc_macro2::Span;

use crate::dtype::DType;
use crate::methods::Method;
use crate::model::{Block, Body, Const, ConstValue, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::names::Namer;
use crate::signature::Signature;
use crate::types::{Generic, Type};

/// A device function.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) pieces: Code,
    /// Prelude functions in order of first use.
    pub(crate) uses: Vec<Use>,
}

/// Text with places that the emitter fills.
pub(crate) type Code = Vec<Piece>;

/// Part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// The name of this function.
    Name,
    /// The name of a callee.
    Call(usize),
    /// What follows comes from this line.
    Line(usize),
}

/// A prelude function and the types that select its overload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) types: Vec<Type>,
}

/// Writes the device function.
pub(crate) fn write(signature: &Signature, body: &Body) -> Device {
    let mut namer = Namer::default();
    let const_names = body.consts.iter().map(|constant| namer.local(&constant.item.ident)).collect();
    let names: Vec<String> = body.locals.iter().map(|local| namer.local(&local.ident)).collect();
    let mut writer = Writer {
        body,
        generic: signature.generic.as_ref(),
        names,
        const_names,
        namer,
        device: Device { pieces: Vec::new(), uses: Vec::new() },
        depth: 1,
    };
    writer.head(signature);
    for id in 0..body.consts.len() {
        writer.array(id);
    }
    writer.stmts(&body.block);
    if let Some(tail) = &body.block.tail {
        writer.store(tail, Dest::Return);
    }
    writer.text("}\n");
    writer.device.pieces = join(writer.device.pieces);
    writer.device
}

/// Where the value of an expression goes.
#[derive(Clone, Copy)]
enum Dest<'n> {
    /// A new name.
    Declare { name: &'n str, mutable: bool },
    /// A name that exists.
    Assign(&'n str),
    /// The result of the function.
    Return,
}

struct Writer<'a> {
    body: &'a Body,
    generic: Option<&'a Generic>,
    /// Names of the locals.
    names: Vec<String>,
    const_names: Vec<String>,
    namer: Namer,
    device: Device,
    depth: usize,
}

fn code(text: impl Into<String>) -> Code {
    vec![Piece::Text(text.into())]
}

/// Joins texts that follow each other.
fn join(pieces: Code) -> Code {
    let mut joined: Code = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.device.pieces.push(Piece::Text(text.to_owned()));
    }

    /// A line that comes from the user's line at `span`.
    fn line(&mut self, span: Span, code: Code) {
        self.device.pieces.push(Piece::Line(span.start().line));
        self.text(&"    ".repeat(self.depth));
        self.device.pieces.extend(code);
        self.text("\n");
    }

    /// A line of braces.
    fn brace(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        self.text(&format!("{indent}{text}\n"));
    }

    /// Notes a prelude function and gives the name to call it by.
    fn prelude(&mut self, name: &str, types: &[Type]) -> String {
        let entry = Use { name: name.to_owned(), types: types.to_vec() };
        if !self.device.uses.contains(&entry) {
            self.device.uses.push(entry);
        }
        format!("math::{name}")
    }

    /// Spells a type and notes what it needs.
    fn ty(&mut self, ty: &Type) -> String {
        match ty {
            Type::Real => {
                self.prelude("real_t", &[Type::Generic]);
            }
            Type::Complex => {
                self.prelude("complex_t", &[Type::Generic]);
            }
            Type::Tuple(members) => {
                let name = self.prelude(&format!("tuple{}", members.len()), &[]);
                let members: Vec<String> = members.iter().map(|member| self.ty(member)).collect();
                return format!("{name}<{}>", members.join(", "));
            }
            _ => {}
        }
        words::scalar_type(ty).to_owned()
    }

    fn head(&mut self, signature: &Signature) {
        self.device.pieces.push(Piece::Line(signature.name().span().start().line));
        if signature.generic.is_some() {
            self.text("template <typename T>\n");
        }
        let result = self.ty(&signature.result());
        self.text(&format!("__device__ __forceinline__ {result} "));
        self.device.pieces.push(Piece::Name);
        let params: Vec<String> = (0..signature.params.len())
            .map(|i| {
                let local = &self.body.locals[i];
                let ty = self.ty(&local.ty);
                format!("{}{ty} {}", if local.mutable { "" } else { "const " }, self.names[i])
            })
            .collect();
        self.text(&format!("({}) {{\n", params.join(", ")));
    }

    /// The declaration of a constant array.
    fn array(&mut self, id: usize) {
        let Const { item, dtype, values, is_array } = &self.body.consts[id];
        if *is_array {
            let (name, n) = (self.const_names[id].clone(), values.len());
            let values: Vec<String> = values.iter().map(|value| self.const_value(value, *dtype)).collect();
            let ty = dtype.name();
            let text = format!("static constexpr {ty} {name}[{n}] = {{{}}};", values.join(", "));
            self.line(item.ident.span(), code(text));
        }
    }

    fn const_value(&mut self, value: &ConstValue, dtype: DType) -> String {
        match value {
            ConstValue::Literal(literal) => words::literal(literal, &Type::Fixed(dtype)),
            ConstValue::Assoc(constant) => self.limit(&Type::Fixed(dtype), constant.name),
        }
    }

    /// An associated constant of a type.
    fn limit(&mut self, owner: &Type, name: &str) -> String {
        let ty = self.ty(owner);
        match name {
            "ZERO" => format!("{ty}(0)"),
            "ONE" => format!("{ty}(1)"),
            name => {
                let limits = self.prelude("limits", std::slice::from_ref(owner));
                format!("{limits}<{ty}>::{name}()")
            }
        }
    }

    fn stmts(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    /// The statements of a block in braces that are written already.
    fn nested(&mut self, block: &Block) {
        self.depth += 1;
        self.stmts(block);
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                let name = self.names[*local].clone();
                self.store(value, Dest::Declare { name: &name, mutable: self.body.locals[*local].mutable });
            }
            StmtKind::LetTuple { locals, value } => self.let_tuple(stmt.span, locals, value),
            StmtKind::Assign { local, value } => {
                let name = self.names[*local].clone();
                self.store(value, Dest::Assign(&name));
            }
            StmtKind::If { cond, then, otherwise } => {
                let mut head = code("if (");
                head.extend(self.value(cond));
                head.extend(code(") {"));
                self.line(stmt.span, head);
                self.nested(then);
                if let Some(otherwise) = otherwise {
                    self.brace("} else {");
                    self.nested(otherwise);
                }
                self.brace("}");
            }
            StmtKind::While { cond, body } => self.while_loop(stmt.span, cond, body),
            StmtKind::For { local, start, end, body } => {
                let (ty, name) = (self.ty(&start.ty), self.names[*local].clone());
                let start = self.atom(start);
                // The bound is read once, before the loop.
                let end = if self.is_mutable(end) { self.copy(end) } else { self.atom(end) };
                self.line(
                    stmt.span,
                    code(format!("for ({ty} {name} = {start}; {name} < {end}; ++{name}) {{")),
                );
                self.nested(body);
                self.brace("}");
            }
            StmtKind::Block(block) => self.stmts(block),
            StmtKind::Break => self.line(stmt.span, code("break;")),
            StmtKind::Continue => self.line(stmt.span, code("continue;")),
            StmtKind::Return(value) => self.store(value, Dest::Return),
        }
    }

    /// A condition of several statements is computed inside the loop.
    fn while_loop(&mut self, span: Span, cond: &Expr, body: &Block) {
        let outside = std::mem::take(&mut self.device.pieces);
        self.depth += 1;
        let value = self.value(cond);
        let statements = std::mem::replace(&mut self.device.pieces, outside);
        self.depth -= 1;
        if statements.is_empty() {
            let mut head = code("while (");
            head.extend(value);
            head.extend(code(") {"));
            self.line(span, head);
        } else {
            self.line(span, code("while (true) {"));
            self.device.pieces.extend(statements);
            self.depth += 1;
            let name = self.namer.temporary();
            self.declare(span, "bool", &name, false, value);
            self.line(span, code(format!("if (!{name}) {{")));
            self.brace("    break;");
            self.brace("}");
            self.depth -= 1;
        }
        self.nested(body);
        self.brace("}");
    }

    fn let_tuple(&mut self, span: Span, locals: &[Option<LocalId>], value: &Expr) {
        let names: Vec<String> = locals
            .iter()
            .map(|local| local.map_or_else(|| self.namer.temporary(), |local| self.names[local].clone()))
            .collect();
        let mutable = locals.iter().flatten().any(|local| self.body.locals[*local].mutable);
        if let ExprKind::Tuple(members) = &value.kind {
            for (name, member) in names.iter().zip(members) {
                self.store(member, Dest::Declare { name, mutable });
            }
            return;
        }
        let mut text = code(format!("{}auto [{}] = ", if mutable { "" } else { "const " }, names.join(", ")));
        text.extend(self.value(value));
        text.extend(code(";"));
        self.line(span, text);
    }

    fn declare(&mut self, span: Span, ty: &str, name: &str, mutable: bool, value: Code) {
        let mut text = code(format!("{}{ty} {name} = ", if mutable { "" } else { "const " }));
        text.extend(value);
        text.extend(code(";"));
        self.line(span, text);
    }

    /// Writes statements that bring the value to its place.
    fn store(&mut self, expr: &Expr, dest: Dest<'_>) {
        match &expr.kind {
            ExprKind::Block(block) => self.store_block(block, dest),
            ExprKind::If { cond, then, otherwise } if !is_choice(then, otherwise) => {
                let mut dest = dest;
                if let Dest::Declare { name, .. } = dest {
                    let ty = self.ty(&expr.ty);
                    self.line(expr.span, code(format!("{ty} {name};")));
                    dest = Dest::Assign(name);
                }
                let mut head = code("if (");
                head.extend(self.value(cond));
                head.extend(code(") {"));
                self.line(expr.span, head);
                self.depth += 1;
                self.store_block(then, dest);
                self.depth -= 1;
                self.brace("} else {");
                self.depth += 1;
                self.store_block(otherwise, dest);
                self.depth -= 1;
                self.brace("}");
            }
            _ => {
                let value = self.value(expr);
                match dest {
                    Dest::Declare { name, mutable } => {
                        let ty = self.ty(&expr.ty);
                        self.declare(expr.span, &ty, name, mutable, value);
                    }
                    Dest::Assign(name) => {
                        let mut text = code(format!("{name} = "));
                        text.extend(value);
                        text.extend(code(";"));
                        self.line(expr.span, text);
                    }
                    Dest::Return => {
                        let mut text = code("return ");
                        text.extend(value);
                        text.extend(code(";"));
                        self.line(expr.span, text);
                    }
                }
            }
        }
    }

    fn store_block(&mut self, block: &Block, dest: Dest<'_>) {
        self.stmts(block);
        if let Some(tail) = &block.tail {
            self.store(tail, dest);
        }
    }

    /// One operation on names and literals; its operands are written as statements first.
    fn value(&mut self, expr: &Expr) -> Code {
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
    fn atom(&mut self, expr: &Expr) -> String {
        if !is_atom(expr) {
            return self.copy(expr);
        }
        match self.value(expr).pop() {
            Some(Piece::Text(text)) => text,
            _ => String::new(),
        }
    }

    /// A new name with the value of the expression.
    fn copy(&mut self, expr: &Expr) -> String {
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

    fn atoms<const N: usize>(&mut self, exprs: [&Expr; N]) -> [String; N] {
        let mut atoms = self.atom_list(exprs).into_iter();
        std::array::from_fn(|_| atoms.next().unwrap_or_default())
    }

    fn is_mutable(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Local(local) if self.body.locals[local].mutable)
    }

    fn method(&mut self, method: &Method, args: &[Expr]) -> Code {
        let receiver = args[0].ty.clone();
        let args = self.atom_list(args);
        let is_float = match &receiver {
            Type::Generic => self.generic.is_some_and(|generic| generic.bound == crate::types::Trait::Float),
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
fn is_choice(then: &Block, otherwise: &Block) -> bool {
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
