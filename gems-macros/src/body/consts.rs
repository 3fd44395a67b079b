//! `const` items of a body: scalars and arrays of literals.

use quote::ToTokens;

use super::{Named, Reader};
use crate::model::{Const, ConstValue, Literal};
use crate::types::{self, Type};

impl Reader<'_> {
    pub(super) fn const_item(&mut self, item: &syn::ItemConst) {
        let (element, is_array) = match &*item.ty {
            syn::Type::Array(array) => (&*array.elem, true),
            ty => (ty, false),
        };
        // The type parameter is out of scope in an item.
        let dtype = match types::parse(element, None, self.errors) {
            Type::Fixed(dtype) => Some(dtype),
            Type::Error => None,
            _ => {
                self.errors.at(element, "a constant has a concrete type, such as `f64` or `i32`");
                None
            }
        };
        let values = match &*item.expr {
            syn::Expr::Array(array) if is_array && array.elems.is_empty() => {
                self.errors.at(array, "an array needs an element");
                None
            }
            syn::Expr::Array(array) if is_array => {
                array.elems.iter().map(|elem| self.const_value(elem)).collect()
            }
            syn::Expr::Repeat(repeat) if is_array => {
                self.errors.at(repeat, "write the elements of the array one by one");
                None
            }
            value if !is_array => self.const_value(value).map(|value| vec![value]),
            other => {
                self.errors.at(other, "write the elements of the array here, as in `[1.0, 2.0]`");
                None
            }
        };
        // A wrong constant still has a name, so that its uses are not reported.
        let (dtype, values) = match (dtype, values) {
            (Some(dtype), Some(values)) => (dtype, values),
            _ => (crate::dtype::DType::F64, Vec::new()),
        };
        self.body.consts.push(Const { item: item.clone(), dtype, values, is_array });
        let id = self.body.consts.len() - 1;
        self.name(&item.ident, Named::Const(id));
    }

    /// A literal, with or without a sign, or a constant of a primitive type.
    fn const_value(&mut self, expr: &syn::Expr) -> Option<ConstValue> {
        let value = match expr {
            syn::Expr::Lit(lit) => {
                Literal::read(&lit.lit, false).map(|(literal, _)| ConstValue::Literal(literal))
            }
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => match &**expr {
                syn::Expr::Lit(lit) => {
                    Literal::read(&lit.lit, true).map(|(literal, _)| ConstValue::Literal(literal))
                }
                _ => None,
            },
            syn::Expr::Path(path) => match self.associated(&path.path) {
                Some((Type::Fixed(_), constant)) => Some(ConstValue::Assoc(constant)),
                _ => None,
            },
            _ => None,
        };
        if value.is_none() {
            self.errors
                .at(expr.to_token_stream(), "the value of a constant must be a literal here, such as `0.5`");
        }
        value
    }
}
