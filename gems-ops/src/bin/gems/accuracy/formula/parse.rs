//! The text of a device function as a tree.
//!
//! The text is CUDA C++ that the macro wrote: one operation a statement, every name declared once.

use gems_ops::op::{DeviceFn, Piece};

/// A function, and those that it calls.
#[derive(Debug)]
pub(super) struct Function {
    /// How many names it has; the first are its parameters.
    pub(super) names: usize,
    pub(super) body: Vec<Stmt>,
    pub(super) calls: Vec<Function>,
}

#[derive(Debug)]
pub(super) enum Stmt {
    /// One name, or the members of a tuple.
    Set(Vec<usize>, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Return(Expr),
}

#[derive(Debug)]
pub(super) enum Expr {
    /// As it stands in the text.
    Literal(f64),
    Name(usize),
    /// A function of the prelude, without what its type is.
    Prelude(String, Vec<Expr>),
    /// A function of the list of calls.
    Call(usize, Vec<Expr>),
    /// A cast: the type and the value.
    Cast(String, Box<Expr>),
    Tuple(Vec<Expr>),
    Operator(&'static str, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// What cannot be read: the rest of the text.
pub(super) type Unread = String;

/// Operators, the loosest first.
const OPERATORS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/"]];

impl Function {
    pub(super) fn parse(device: &DeviceFn) -> Result<Function, Unread> {
        let mut text = String::new();
        for piece in device.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Name => text.push_str("self"),
                Piece::Call(index) => text.push_str(&index.to_string()),
                Piece::Line(_) => {}
            }
        }
        let mut reader = Reader { rest: &text, names: Vec::new() };
        reader.until(" self(")?;
        while !reader.eat(")") {
            reader.eat("const ");
            reader.ty()?;
            reader.declare()?;
            reader.eat(",");
        }
        reader.expect("{")?;
        let body = reader.block()?;
        let names = reader.names.len();
        let calls = device.calls.iter().map(|callee| Function::parse(callee)).collect::<Result<_, _>>()?;
        Ok(Function { names, body, calls })
    }
}

struct Reader<'t> {
    rest: &'t str,
    names: Vec<&'t str>,
}

impl<'t> Reader<'t> {
    fn unread<T>(&self) -> Result<T, Unread> {
        Err(self.rest.chars().take(60).collect())
    }

    fn until(&mut self, mark: &str) -> Result<(), Unread> {
        match self.rest.split_once(mark) {
            Some((_, rest)) => self.rest = rest,
            None => return self.unread(),
        }
        Ok(())
    }

    fn eat(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, word: &str) -> Result<(), Unread> {
        if self.eat(word) { Ok(()) } else { self.unread() }
    }

    /// Letters, digits and colons.
    fn word(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// What stands in angle brackets right here.
    fn bracket(&mut self) -> Option<&'t str> {
        let inner = self.rest.strip_prefix('<').filter(|rest| !rest.starts_with([' ', '=']))?;
        let mut depth = 1;
        let end = inner.find(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        self.rest = &inner[end + 1..];
        Some(&inner[..end])
    }

    fn ty(&mut self) -> Result<(), Unread> {
        let word = self.word();
        self.bracket();
        if word.is_empty() { self.unread() } else { Ok(()) }
    }

    fn declare(&mut self) -> Result<usize, Unread> {
        match self.word() {
            "" => self.unread(),
            name => {
                self.names.push(name);
                Ok(self.names.len() - 1)
            }
        }
    }

    /// Statements to the closing brace.
    fn block(&mut self) -> Result<Vec<Stmt>, Unread> {
        let mut block = Vec::new();
        while !self.eat("}") {
            if let Some(stmt) = self.stmt()? {
                block.push(stmt);
            }
        }
        Ok(block)
    }

    fn stmt(&mut self) -> Result<Option<Stmt>, Unread> {
        if self.eat("return ") {
            let value = self.expr()?;
            self.expect(";")?;
            return Ok(Some(Stmt::Return(value)));
        }
        if self.eat("if (") {
            let condition = self.expr()?;
            self.expect(") {")?;
            let then = self.block()?;
            let otherwise = if self.eat("else {") { self.block()? } else { Vec::new() };
            return Ok(Some(Stmt::If(condition, then, otherwise)));
        }
        self.eat("const ");
        let start = self.rest;
        let word = self.word();
        let targets = match self.names.iter().position(|name| *name == word) {
            Some(name) => vec![name],
            None => {
                self.rest = start;
                self.ty()?;
                if self.eat("[") {
                    let mut members = Vec::new();
                    while !self.eat("]") {
                        members.push(self.declare()?);
                        self.eat(",");
                    }
                    members
                } else {
                    vec![self.declare()?]
                }
            }
        };
        if self.eat(";") {
            return Ok(None);
        }
        self.expect("=")?;
        let value = self.expr()?;
        self.expect(";")?;
        Ok(Some(Stmt::Set(targets, value)))
    }

    fn expr(&mut self) -> Result<Expr, Unread> {
        let condition = self.operators(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let then = self.expr()?;
        self.expect(":")?;
        Ok(Expr::Choose(Box::new(condition), Box::new(then), Box::new(self.expr()?)))
    }

    fn operators(&mut self, level: usize) -> Result<Expr, Unread> {
        let Some(words) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.operators(level + 1)?;
        while let Some(word) = words.iter().find(|word| self.eat(word)) {
            left = Expr::Operator(word, Box::new(left), Box::new(self.operators(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Unread> {
        if self.eat("!") {
            return Ok(Expr::Not(Box::new(self.unary()?)));
        }
        if self.eat("(") {
            let inner = self.expr()?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.literal();
        }
        let mut word = self.word().to_owned();
        let bracket = self.bracket();
        if bracket.is_some() {
            word += self.word();
        }
        if self.eat("{") {
            return Ok(Expr::Tuple(self.list("}")?));
        }
        if !self.eat("(") {
            return match self.names.iter().position(|name| *name == word) {
                Some(name) => Ok(Expr::Name(name)),
                None if word == "true" || word == "false" => {
                    Ok(Expr::Literal(f64::from(u8::from(word == "true"))))
                }
                None => self.unread(),
            };
        }
        let arguments = self.list(")")?;
        if let Some(name) = word.strip_prefix("op::") {
            return Ok(Expr::Call(name.parse().or_else(|_| self.unread())?, arguments));
        }
        let name = word.strip_prefix("math::").unwrap_or(&word);
        match (name, arguments.len()) {
            ("T" | "f64" | "f32" | "i32" | "i64" | "bool" | "real_t" | "cast", 1) => {
                let ty = bracket.filter(|_| name == "cast").unwrap_or("T").to_owned();
                let ty = if matches!(name, "real_t" | "cast") { ty } else { name.to_owned() };
                let value = arguments.into_iter().next().map_or_else(|| self.unread(), Ok)?;
                Ok(Expr::Cast(ty, Box::new(value)))
            }
            _ => Ok(Expr::Prelude(name.to_owned(), arguments)),
        }
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expr>, Unread> {
        let mut list = Vec::new();
        while !self.eat(end) {
            list.push(self.expr()?);
            self.eat(",");
        }
        Ok(list)
    }

    fn literal(&mut self) -> Result<Expr, Unread> {
        let is_exponent = |at: usize| self.rest[..at].ends_with('e');
        let is_part = |(at, c): (usize, char)| {
            c.is_ascii_digit() || c == '.' || c == 'e' || (c == '-' && (at == 0 || is_exponent(at)))
        };
        let end = self.rest.char_indices().find(|&part| !is_part(part)).map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at(end);
        let value = text.parse().or_else(|_| self.unread())?;
        self.rest = rest;
        self.eat("f");
        Ok(Expr::Literal(value))
    }
}
