//! Rules about bodies: one function a rule, the rule in English above it.
//!
//! Behind these rules writing cannot fail. What rustc says better (two types that differ, a condition that is not
//! bool, assignment without `mut`) is left to rustc.

mod range;

use crate::dtype::DType;
use crate::errors::{Errors, choices};
use crate::model::{Body, Comparison, Expr, ExprKind, LiteralValue, StmtKind};
use crate::signature::Signature;
use crate::types::{Generic, Trait, Type};

/// Checks a body.
pub(crate) fn check(signature: &Signature, body: &Body, errors: &Errors) {
    let ctx = Ctx { generic: signature.generic.as_ref(), errors };
    body.block.each(&mut |expr| {
        ctx.type_is_known(expr);
        ctx.literal_fits_its_type(expr);
        ctx.method_has_its_trait(expr);
        ctx.constant_has_its_trait(expr);
        ctx.order_needs_real(expr);
        ctx.equality_needs_numbers(expr);
        ctx.position_is_an_integer(expr);
        ctx.cast_is_between_scalars(expr);
    });
    ctx.loops_count_integers(body);
    ctx.constants_have_one_name(body);
    parameter_decides_the_type(signature, errors);
}

struct Ctx<'a> {
    generic: Option<&'a Generic>,
    errors: &'a Errors,
}

impl Ctx<'_> {
    /// The type of every call is decided by its use or by its first argument.
    fn type_is_known(&self, expr: &Expr) {
        if let (ExprKind::Call { .. }, Type::Var(_)) = (&expr.kind, &expr.ty) {
            self.errors
                .at_span(expr.span, "the type of this call is not known; bind it with `let name: Type`");
        }
    }

    /// Float literals are floats; integer literals are integers, or of the type parameter if that is a number.
    fn literal_fits_its_type(&self, expr: &Expr) {
        let ExprKind::Literal(literal) = &expr.kind else { return };
        let ty = expr.ty.describe(self.generic);
        let text = &literal.text;
        let message = match (&literal.value, &expr.ty) {
            (LiteralValue::Int(_), Type::Fixed(dtype)) if dtype.is_float() => {
                format!("`{text}` is an integer where {ty} is needed; write `{text}.0`")
            }
            (LiteralValue::Float(_), Type::Fixed(dtype)) if dtype.is_int() => {
                format!("`{text}` is a float where {ty} is needed; write an integer or cast with `as`")
            }
            (LiteralValue::Float(_), Type::Index) => format!("`{text}` is a float where {ty} is needed"),
            (LiteralValue::Float(_), ty_ref)
                if ty_ref.is_generic() && !ty_ref.has(Trait::Analytic, self.generic) =>
            {
                format!(
                    "`{text}` is a float where {ty} is needed, which may be an integer; bound it by `Float` or `Analytic`"
                )
            }
            (LiteralValue::Int(_), ty_ref)
                if ty_ref.is_generic() && !ty_ref.has(Trait::Number, self.generic) =>
            {
                format!("`{text}` is a number where {ty} is needed; bound it by `Number`")
            }
            _ => match range::excess(literal, &expr.ty) {
                Some(range) => format!("`{}` does not fit {ty}, which holds {range}", literal.signed()),
                None => return,
            },
        };
        self.errors.at_span(expr.span, message);
    }

    /// An operation is one of the traits that its first operand has.
    fn method_has_its_trait(&self, expr: &Expr) {
        let ExprKind::Method { method, args } = &expr.kind else { return };
        let receiver = &args[0].ty;
        if receiver.has(method.owner, self.generic) {
            return;
        }
        let (name, owner, ty) = (method.name, method.owner.name(), receiver.describe(self.generic));
        let message = match receiver {
            Type::Index if matches!(name, "add" | "sub" | "mul") => return,
            Type::Index => format!("usize has no `{name}` here, it only counts; use i64"),
            Type::Tuple(_) => format!("a tuple has no `{name}`; take it apart by `let (a, b) = …`"),
            Type::Unit | Type::Var(_) | Type::Error => return,
            Type::Fixed(_) => format!("{ty} has no `{name}`; it belongs to types of the trait `{owner}`"),
            _ if self.may_be_bound_by(method.owner) => {
                format!("{ty} has no `{name}`; bound it by `{owner}`")
            }
            _ => format!("{ty} has no `{name}`, which belongs to types of the trait `{owner}`"),
        };
        self.errors.at_span(expr.span, message);
    }

    /// Whether the function's bound could be another one of the same line.
    fn may_be_bound_by(&self, wanted: Trait) -> bool {
        self.generic.is_some_and(|generic| wanted.implies(generic.bound) || generic.bound == Trait::Real)
    }

    /// An associated constant is one of the traits that its type has.
    fn constant_has_its_trait(&self, expr: &Expr) {
        let ExprKind::Assoc { owner, constant } = &expr.kind else { return };
        if !owner.has(constant.owner, self.generic) {
            let (name, ty, wanted) = (constant.name, owner.describe(self.generic), constant.owner.name());
            self.errors.at_span(
                expr.span,
                format_args!("{ty} has no `{name}`; it belongs to types of the trait `{wanted}`"),
            );
        }
    }

    /// `<`, `<=`, `>` and `>=` need real numbers.
    fn order_needs_real(&self, expr: &Expr) {
        let ExprKind::Compare { op, lhs, .. } = &expr.kind else { return };
        let is_scalar = lhs.ty.is_generic() || matches!(lhs.ty, Type::Fixed(_));
        if op.orders() && is_scalar && !lhs.ty.has(Trait::Real, self.generic) {
            let ty = lhs.ty.describe(self.generic);
            let hint = if lhs.ty == Type::Generic { "bound it by `Real`" } else { "compare its parts" };
            self.errors.at_span(expr.span, format_args!("{ty} has no order; {hint}"));
        }
    }

    /// `==` and `!=` compare numbers; stored bits and tuples cannot be compared in C++.
    fn equality_needs_numbers(&self, expr: &Expr) {
        let ExprKind::Compare { op: Comparison::Eq | Comparison::Ne, lhs, .. } = &expr.kind else { return };
        if matches!(lhs.ty, Type::Tuple(_)) {
            self.errors.at_span(expr.span, "tuples cannot be compared; take them apart by `let (a, b) = …`");
        } else if lhs.ty.is_generic() && !lhs.ty.has(Trait::Number, self.generic) {
            let ty = lhs.ty.describe(self.generic);
            self.errors.at_span(expr.span, format_args!("{ty} cannot be compared; bound it by `Number`"));
        }
    }

    /// An array is indexed by an integer.
    fn position_is_an_integer(&self, expr: &Expr) {
        let ExprKind::Index { index, .. } = &expr.kind else { return };
        let is_integer = match &index.ty {
            Type::Index | Type::Error => true,
            Type::Fixed(dtype) => dtype.is_int(),
            _ => false,
        };
        if !is_integer {
            let ty = index.ty.describe(self.generic);
            self.errors
                .at_span(index.span, format_args!("{ty} cannot index an array; cast it with `as usize`"));
        }
    }

    /// Casts are between scalars; usize only from and to integers.
    fn cast_is_between_scalars(&self, expr: &Expr) {
        let ExprKind::Cast(value) = &expr.kind else { return };
        let is_int = |ty: &Type| match ty {
            Type::Index | Type::Error => true,
            Type::Fixed(dtype) => dtype.is_int(),
            _ => false,
        };
        if matches!(value.ty, Type::Tuple(_)) {
            self.errors.at_span(expr.span, "a tuple cannot be cast; cast each member");
        } else if (expr.ty == Type::Index && !is_int(&value.ty))
            || (value.ty == Type::Index && !is_int(&expr.ty))
        {
            self.errors.at_span(expr.span, "usize is cast from and to integers only; go through `i64`");
        }
    }

    /// `for` counts with i32, i64, usize or another integer.
    fn loops_count_integers(&self, body: &Body) {
        each_loop(&body.block, &mut |start| {
            let is_integer = match &start.ty {
                Type::Index | Type::Error => true,
                Type::Fixed(dtype) => dtype.is_int(),
                _ => false,
            };
            if !is_integer {
                let ty = start.ty.describe(self.generic);
                let integers = choices([DType::I32.name(), DType::I64.name(), "usize"]);
                self.errors.at_span(start.span, format_args!("`for` cannot count in {ty}; use {integers}"));
            }
        });
    }

    /// Constants are written at the top of the function, so each name stands once.
    fn constants_have_one_name(&self, body: &Body) {
        for (i, constant) in body.consts.iter().enumerate() {
            let ident = &constant.item.ident;
            if body.consts[..i].iter().any(|other| other.item.ident == *ident) {
                self.errors
                    .at(ident, format_args!("`{ident}` is declared twice; give each constant its own name"));
            }
        }
    }
}

fn each_loop(block: &crate::model::Block, f: &mut dyn FnMut(&Expr)) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::For { start, body, .. } => {
                f(start);
                each_loop(body, f);
            }
            StmtKind::While { body, .. } | StmtKind::Block(body) => each_loop(body, f),
            StmtKind::If { then, otherwise, .. } => {
                each_loop(then, f);
                otherwise.iter().for_each(|otherwise| each_loop(otherwise, f));
            }
            _ => {}
        }
    }
}

/// C++ finds the type parameter from the arguments, so one of them has that type.
fn parameter_decides_the_type(signature: &Signature, errors: &Errors) {
    let Some(generic) = &signature.generic else { return };
    if !signature.params.iter().any(|param| matches!(param.ty, Type::Generic | Type::Error)) {
        let name = &generic.ident;
        errors.at(
            name,
            format_args!("no parameter has the type `{name}`; add one or remove the type parameter"),
        );
    }
}
