//! From the model to CUDA C++: the text of one device function.
//!
//! Guarantees one operation a statement, each with a name: the one that the user gave by `let`, else `t0`, `t1`, …
//! Prelude functions are called as `math::name`, other device functions as `op::name`; what the text calls is listed.
//! The text is the same for every type that `T` can be; the emitter supplies names and the prelude.

#[cfg(test)]
mod tests;
mod value;
mod words;

use proc_macro2::Span;

use crate::dtype::DType;
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
        // A vectorized kernel calls the function for each element: a loop should not stand there as often.
        let is_called = self.body.has_loops || signature.is_never_inlined();
        let inline = if is_called { "__noinline__" } else { "__forceinline__" };
        self.text(&format!("__device__ {inline} {result} "));
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
            // In C++ they come from bits, which no constant expression does.
            let is_computed = values.iter().any(|value| {
                matches!(value, ConstValue::Assoc(constant) if ["INFINITY", "NEG_INFINITY", "NAN"].contains(&constant.name))
            });
            let values: Vec<String> = values.iter().map(|value| self.const_value(value, *dtype)).collect();
            let ty = dtype.name();
            let storage = if is_computed { "const" } else { "static constexpr" };
            let text = format!("{storage} {ty} {name}[{n}] = {{{}}};", values.join(", "));
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
            StmtKind::Assign { local, value, .. } => {
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
                let [start, mut last] = self.atoms([start, end]);
                // The bound is read once, before the loop.
                if self.is_mutable(end) {
                    last = self.copy(end);
                }
                self.line(
                    stmt.span,
                    code(format!("for ({ty} {name} = {start}; {name} < {last}; ++{name}) {{")),
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
            ExprKind::If { cond, then, otherwise } if !value::is_choice(then, otherwise) => {
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
}
