//! The typed model of a scalar function: what the C++ and the Rust writer read.
//!
//! Contract:
//! * Every [`Expr`] has its final type; [`Type::Var`] and [`Type::Error`] occur only before the second gate.
//! * Expressions are pure and total: they write nothing and cannot fail, so an operand may be computed early or not
//!   at all. A [`ExprKind::Block`] or [`ExprKind::If`] may hold statements; those run in order, before what follows.
//! * Operands are evaluated from left to right.
//! * Every name is a [`Local`] with its own id, so shadowing is gone. A local is written before it is read.
//! * `x += y` is an [`StmtKind::Assign`] of a sum. Only mutable locals are assigned.
//! * A block that ends in `return`, `break` or `continue` has no tail; where another block of the same `if` has a
//!   value, the `if` has that value.
//! * Constants are scalars or arrays of one concrete type, given by literals.
//! * Positions in arrays are clamped to the last element by the writers; there is no other bound.
//!
//! Spans are the user's, for errors of rustc and for source lines.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Ident;

use crate::dtype::DType;
use crate::methods::{Constant, Method};
use crate::types::Type;

/// Position in [`Body::locals`].
pub(crate) type LocalId = usize;

/// A function body; the locals of the parameters come first, in order.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) locals: Vec<Local>,
    pub(crate) consts: Vec<Const>,
    /// Paths of the functions that the body calls, without duplicates.
    pub(crate) callees: Vec<Callee>,
    pub(crate) block: Block,
    /// Whether a loop stands somewhere in it.
    pub(crate) has_loops: bool,
}

impl Body {
    /// The callees with the types of their arguments, each combination once.
    pub(crate) fn instances(&self) -> Vec<(usize, Vec<Type>)> {
        let mut instances = Vec::new();
        self.block.each(&mut |expr| {
            if let ExprKind::Call { callee, args } = &expr.kind {
                let instance = (*callee, args.iter().map(|arg| arg.ty.clone()).collect());
                if !instances.contains(&instance) {
                    instances.push(instance);
                }
            }
        });
        instances
    }
}

/// A named value.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) mutable: bool,
}

/// A `const` item of the body.
#[derive(Clone, Debug)]
pub(crate) struct Const {
    pub(crate) item: syn::ItemConst,
    pub(crate) dtype: DType,
    /// The one value of a scalar, all values of an array.
    pub(crate) values: Vec<ConstValue>,
    pub(crate) is_array: bool,
}

/// A value that is known when the text is written.
#[derive(Clone, Debug)]
pub(crate) enum ConstValue {
    Literal(Literal),
    Assoc(&'static Constant),
}

/// An annotated function that the body calls, or a derivative of one.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    /// The path of the function, as written.
    pub(crate) path: syn::Path,
    /// The path of the type that holds its device form.
    pub(crate) home: syn::Path,
    /// How many times it was differentiated.
    pub(crate) order: usize,
}

/// Statements and the value behind them.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) tail: Option<Box<Expr>>,
}

/// A statement and where it stands.
#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Let {
        local: LocalId,
        value: Expr,
    },
    /// Takes a tuple apart; `None` for `_`.
    LetTuple {
        locals: Vec<Option<LocalId>>,
        value: Expr,
    },
    Assign {
        local: LocalId,
        /// Where the name stands.
        place: Span,
        value: Expr,
    },
    If {
        cond: Expr,
        then: Block,
        otherwise: Option<Block>,
    },
    While {
        cond: Expr,
        body: Block,
    },
    /// Counts up from `start` to below `end`.
    For {
        local: LocalId,
        start: Expr,
        end: Expr,
        body: Block,
    },
    Block(Block),
    Break,
    Continue,
    Return(Expr),
}

/// A value.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Literal(Literal),
    Local(LocalId),
    /// A scalar constant of the body.
    Const(usize),
    /// An element of a constant array of the body.
    Index {
        array: usize,
        index: Box<Expr>,
    },
    /// `owner::NAME`.
    Assoc {
        owner: Type,
        constant: &'static Constant,
    },
    /// An operator or method; the receiver comes first.
    Method {
        method: &'static Method,
        args: Vec<Expr>,
    },
    Compare {
        op: Comparison,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    /// `&&` or `||`.
    Logic {
        and: bool,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    Cast(Box<Expr>),
    /// Callee is a position in [`Body::callees`].
    Call {
        callee: usize,
        args: Vec<Expr>,
    },
    If {
        cond: Box<Expr>,
        then: Block,
        otherwise: Block,
    },
    Block(Block),
    Tuple(Vec<Expr>),
    /// Wrong, and reported already.
    Error,
}

/// A literal with the sign in front of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    pub(crate) value: LiteralValue,
    pub(crate) negative: bool,
    /// As written, without suffix.
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LiteralValue {
    Bool(bool),
    Int(u64),
    /// Decimal digits without underscores.
    Float(String),
}

impl Literal {
    /// As written, with its sign.
    pub(crate) fn signed(&self) -> String {
        format!("{}{}", if self.negative { "-" } else { "" }, self.text)
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// The spelling, which is the same in Rust and C++.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparison::Eq => "==",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
        }
    }

    /// Whether the operands need an order.
    pub(crate) fn orders(self) -> bool {
        !matches!(self, Comparison::Eq | Comparison::Ne)
    }
}

impl Callee {
    /// The function of this path. `op::scalar` belongs to the type `op`, `f::backward` is the derivative of `f`, and any
    /// other belongs to the type of its own name.
    pub(crate) fn new(path: syn::Path) -> Callee {
        let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let order = match last.as_str() {
            "scalar" => Some(0),
            name => (1..=2).find(|&order| derivative_name(order) == name),
        };
        let mut home = path.clone();
        if order.is_some() && path.segments.len() > 1 {
            home.segments.pop();
            home.segments.pop_punct();
        }
        Callee { path, home, order: order.unwrap_or_default() }
    }

    /// The path of the function, or of its derivative.
    pub(crate) fn rust_path(&self) -> syn::Path {
        if self.order == 0 { self.path.clone() } else { self.item(&derivative_name(self.order)) }
    }

    /// Its device form; that of a derivative by a trait, which says what is missing where there is none.
    pub(crate) fn device(&self, private: &TokenStream) -> TokenStream {
        let (home, order) = (&self.home, self.order);
        match order {
            0 => self.item(&device_name(0)).into_token_stream(),
            _ => quote_spanned!(self.span()=> <#home as #private::Derivative<#order>>::DEVICE),
        }
    }

    fn span(&self) -> Span {
        self.home.segments.last().map_or_else(Span::call_site, |last| last.ident.span())
    }

    fn item(&self, name: &str) -> syn::Path {
        let mut path = self.home.clone();
        path.segments.push(Ident::new(name, self.span()).into());
        path
    }
}

/// The name of the n-th derivative beside a function.
pub(crate) fn derivative_name(order: usize) -> String {
    if order == 1 { "backward".to_owned() } else { format!("backward{order}") }
}

/// The name of the device form of the n-th derivative; the function itself is the 0th.
pub(crate) fn device_name(order: usize) -> String {
    match order {
        0 => "DEVICE".to_owned(),
        order => format!("{}_DEVICE", derivative_name(order).to_uppercase()),
    }
}

impl Block {
    /// The type of the block's value.
    pub(crate) fn ty(&self) -> Type {
        self.tail.as_ref().map_or(Type::Unit, |tail| tail.ty.clone())
    }

    /// Whether control leaves the block before its end.
    pub(crate) fn diverges(&self) -> bool {
        self.tail.is_none()
            && match self.stmts.last().map(|stmt| &stmt.kind) {
                Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)) => true,
                Some(StmtKind::If { then, otherwise: Some(otherwise), .. }) => {
                    then.diverges() && otherwise.diverges()
                }
                Some(StmtKind::Block(block)) => block.diverges(),
                _ => false,
            }
    }
}

impl Expr {
    /// The position that a literal says.
    pub(crate) fn as_position(&self) -> Option<usize> {
        match &self.kind {
            ExprKind::Literal(Literal { value: LiteralValue::Int(value), negative: false, .. }) => {
                usize::try_from(*value).ok()
            }
            _ => None,
        }
    }
}

/// Two walks over every expression of a block, operands first: one that reads, one that writes.
macro_rules! walk {
    ($each:ident $(, $mutability:tt)?) => {
        impl Block {
            /// Calls `f` on every expression, operands first.
            pub(crate) fn $each(& $($mutability)? self, f: &mut dyn FnMut(& $($mutability)? Expr)) {
                for stmt in & $($mutability)? self.stmts {
                    match & $($mutability)? stmt.kind {
                        StmtKind::Let { value, .. }
                        | StmtKind::LetTuple { value, .. }
                        | StmtKind::Assign { value, .. }
                        | StmtKind::Return(value) => value.$each(f),
                        StmtKind::If { cond, then, otherwise } => {
                            cond.$each(f);
                            then.$each(f);
                            if let Some(otherwise) = otherwise {
                                otherwise.$each(f);
                            }
                        }
                        StmtKind::While { cond, body } => {
                            cond.$each(f);
                            body.$each(f);
                        }
                        StmtKind::For { start, end, body, .. } => {
                            start.$each(f);
                            end.$each(f);
                            body.$each(f);
                        }
                        StmtKind::Block(block) => block.$each(f),
                        StmtKind::Break | StmtKind::Continue => {}
                    }
                }
                if let Some(tail) = & $($mutability)? self.tail {
                    tail.$each(f);
                }
            }
        }

        impl Expr {
            /// Calls `f` on every expression inside this one, then on this one.
            pub(crate) fn $each(& $($mutability)? self, f: &mut dyn FnMut(& $($mutability)? Expr)) {
                match & $($mutability)? self.kind {
                    ExprKind::Literal(_)
                    | ExprKind::Local(_)
                    | ExprKind::Const(_)
                    | ExprKind::Assoc { .. }
                    | ExprKind::Error => {}
                    ExprKind::Index { index: inner, .. } | ExprKind::Cast(inner) => inner.$each(f),
                    ExprKind::Method { args, .. } | ExprKind::Call { args, .. } | ExprKind::Tuple(args) => {
                        for arg in args {
                            arg.$each(f);
                        }
                    }
                    ExprKind::Compare { lhs, rhs, .. } | ExprKind::Logic { lhs, rhs, .. } => {
                        lhs.$each(f);
                        rhs.$each(f);
                    }
                    ExprKind::If { cond, then, otherwise } => {
                        cond.$each(f);
                        then.$each(f);
                        otherwise.$each(f);
                    }
                    ExprKind::Block(block) => block.$each(f),
                }
                f(self);
            }
        }
    };
}

walk!(each);
walk!(each_mut, mut);
