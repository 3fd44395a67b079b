//! The signature of an annotated function: its type parameter, parameters and results.
//!
//! Guarantees that what is returned has names and as many results as the user wrote, even after a mistake, so that a
//! fallback can be emitted. Does not look into the body.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, FnArg, GenericParam, Ident, ItemFn, Pat, ReturnType, TypeParamBound};

use crate::args;
use crate::errors::{Errors, choices};
use crate::types::{self, Generic, Trait, Type};

/// Most parameters of an op; the CPU loop's tuples end there.
pub(crate) const MAX_PARAMS: usize = 23;
/// Most results of a function; the prelude's tuples end there.
pub(crate) const MAX_OUTPUTS: usize = 8;

/// A function's signature.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// The function without its body, and without the attributes that are ours.
    pub(crate) item: ItemFn,
    pub(crate) generic: Option<Generic>,
    pub(crate) params: Vec<Param>,
    pub(crate) outputs: Vec<Type>,
    /// Patterns in the place of names; reported, so uses of their names are not.
    pub(crate) patterns: Vec<Pat>,
    /// Lines of the doc comment.
    pub(crate) doc: Vec<String>,
    /// `#[cfg]`, which every emitted item needs.
    pub(crate) cfgs: Vec<Attribute>,
    /// `#[deprecated]`, `#[doc(hidden)]` and the like, which belong to the name.
    pub(crate) of_name: Vec<Attribute>,
    /// Every other attribute, which belongs to the formula.
    pub(crate) others: Vec<Attribute>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// Marked `#[param]`: always a number.
    pub(crate) is_number: bool,
    pub(crate) mutable: bool,
}

impl Signature {
    /// Reads the function's head.
    pub(crate) fn parse(mut item: ItemFn, attribute: args::Attribute, errors: &Errors) -> Signature {
        refuse_qualifiers(&mut item.sig, errors);
        let generic = parse_generics(&item.sig.generics, errors);
        let is_op = attribute == args::Attribute::PointwiseDynamic;
        let params: Vec<Param> = item
            .sig
            .inputs
            .iter_mut()
            .enumerate()
            .map(|(i, arg)| parse_param(arg, i, is_op, generic.as_ref(), errors))
            .collect();
        if params.len() > MAX_PARAMS {
            errors.at(&item.sig.inputs, format_args!("at most {MAX_PARAMS} parameters are supported"));
        }
        let patterns = patterns(&item.sig);
        let outputs = parse_outputs(&item.sig, generic.as_ref(), errors);
        let attributes = std::mem::take(&mut item.attrs);
        item.block.stmts.clear();
        let mut signature = Signature {
            item,
            generic,
            params,
            outputs,
            patterns,
            doc: Vec::new(),
            cfgs: Vec::new(),
            of_name: Vec::new(),
            others: Vec::new(),
        };
        signature.sort_attributes(attributes);
        signature
    }

    /// The function's name.
    pub(crate) fn name(&self) -> &Ident {
        &self.item.sig.ident
    }

    /// Whether the function takes `self`, so that it stands where no other items can stand.
    pub(crate) fn has_receiver(&self) -> bool {
        self.item.sig.receiver().is_some()
    }

    /// Whether the function says what it returns.
    pub(crate) fn has_result(&self) -> bool {
        self.item.sig.output != ReturnType::Default
    }

    /// Whether the results are a tuple in Rust.
    pub(crate) fn returns_tuple(&self) -> bool {
        matches!(&self.item.sig.output, ReturnType::Type(_, ty) if matches!(**ty, syn::Type::Tuple(_)))
    }

    /// The type of the returned value.
    pub(crate) fn result(&self) -> Type {
        match self.outputs.as_slice() {
            [one] if !self.returns_tuple() => one.clone(),
            several => Type::Tuple(several.to_vec()),
        }
    }

    /// Writes the bound as an absolute path, so that the trait need not be in scope: imported, its methods would
    /// stand beside those of the same names in `Ord` and `Iterator`.
    pub(crate) fn qualify_bound(&mut self, private: &TokenStream) {
        let bounds = self.item.sig.generics.type_params_mut().flat_map(|param| &mut param.bounds);
        for bound in bounds {
            if let TypeParamBound::Trait(bound) = bound
                && let Some(name) = bound.path.segments.last().map(|segment| segment.ident.clone())
                && Trait::from_name(&name.to_string()).is_some()
            {
                bound.path = syn::parse_quote!(#private::math::#name);
            }
        }
    }

    /// Whether the function is marked `#[inline(never)]`.
    pub(crate) fn is_never_inlined(&self) -> bool {
        self.others.iter().any(|attribute| {
            attribute.path().is_ident("inline")
                && attribute.parse_args::<Ident>().is_ok_and(|argument| argument == "never")
        })
    }

    fn sort_attributes(&mut self, attributes: Vec<Attribute>) {
        for attribute in attributes {
            if let Some(text) = doc_text(&attribute) {
                self.doc.push(text);
            } else if attribute.path().is_ident("doc") || attribute.path().is_ident("deprecated") {
                self.of_name.push(attribute);
            } else if attribute.path().is_ident("cfg") {
                self.cfgs.push(attribute);
            } else {
                self.others.push(attribute);
            }
        }
    }
}

/// The text of `#[doc = "text"]`, without the one space that `///` leaves in front of each line.
fn doc_text(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("doc") {
        return None;
    }
    let syn::Meta::NameValue(syn::MetaNameValue {
        value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
        ..
    }) = &attribute.meta
    else {
        return None;
    };
    let text = text.value();
    Some(text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n"))
}

fn refuse_qualifiers(sig: &mut syn::Signature, errors: &Errors) {
    let qualifiers: [(&str, Option<&dyn ToTokens>); 5] = [
        ("const", sig.constness.as_ref().map(|token| token as _)),
        ("async", sig.asyncness.as_ref().map(|token| token as _)),
        ("unsafe", sig.unsafety.as_ref().map(|token| token as _)),
        ("extern", sig.abi.as_ref().map(|token| token as _)),
        ("variadic", sig.variadic.as_ref().map(|token| token as _)),
    ];
    for (name, token) in qualifiers {
        if let Some(token) = token {
            errors.at(token, format_args!("a scalar function cannot be `{name}`; write a plain `fn`"));
        }
    }
    (sig.constness, sig.asyncness, sig.unsafety, sig.abi, sig.variadic) = (None, None, None, None, None);
}

/// Parameters that are neither a name nor `self`.
fn patterns(sig: &syn::Signature) -> Vec<Pat> {
    let typed =
        sig.inputs.iter().filter_map(|arg| if let FnArg::Typed(arg) = arg { Some(&*arg.pat) } else { None });
    typed.filter(|pattern| !matches!(pattern, Pat::Ident(_))).cloned().collect()
}

/// At most one type parameter, with one bound of ours.
fn parse_generics(generics: &syn::Generics, errors: &Errors) -> Option<Generic> {
    if let Some(clause) = &generics.where_clause {
        errors.at(clause, "`where` is not supported here; write the bound in the list, as in `<T: Float>`");
    }
    let mut found: Option<Generic> = None;
    let mut others = Vec::new();
    for param in &generics.params {
        match param {
            GenericParam::Type(param) if found.is_none() => {
                // With `where` there, the bound stands in the wrong place and is reported already.
                let bound = match &generics.where_clause {
                    Some(_) if param.bounds.is_empty() => Trait::Float,
                    _ => parse_bound(param, errors),
                };
                found = Some(Generic { ident: param.ident.clone(), bound, others: Vec::new() });
            }
            GenericParam::Type(param) => {
                errors
                    .at(param, "a scalar function has one type parameter; use `as` to convert between types");
                others.push(param.ident.clone());
            }
            GenericParam::Lifetime(param) => {
                errors.at(param, "lifetimes are not supported here; scalars are passed by value");
            }
            GenericParam::Const(param) => {
                errors.at(param, "const parameters are not supported here; use a `#[param]` argument");
            }
        }
    }
    if let Some(found) = &mut found {
        found.others = others;
    }
    found
}

fn parse_bound(param: &syn::TypeParam, errors: &Errors) -> Trait {
    let expected = || choices(Trait::NAMES.iter().map(|row| row.0));
    let mut bounds = param.bounds.iter();
    let (first, second) = (bounds.next(), bounds.next());
    if let Some(second) = second {
        errors.at(second, "one bound is enough; each of the traits includes the ones that it needs");
    }
    match first {
        None => {
            let ident = &param.ident;
            errors.at(
                param,
                format_args!("`{ident}` needs a bound; write `{ident}: B` with B one of {}", expected()),
            );
        }
        Some(TypeParamBound::Trait(bound)) => {
            let name =
                bound.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
            match Trait::from_name(&name) {
                Some(bound) => return bound,
                None => errors.at(bound, format_args!("unknown bound; expected one of {}", expected())),
            }
        }
        Some(other) => errors.at(other, format_args!("unknown bound; expected one of {}", expected())),
    }
    // Has every operation, so that nothing else is reported.
    Trait::Float
}

/// Reads one parameter and takes `#[param]` away from it.
fn parse_param(arg: &mut FnArg, i: usize, is_op: bool, generic: Option<&Generic>, errors: &Errors) -> Param {
    let nameless = |ty| Param { ident: quote::format_ident!("arg{i}"), ty, is_number: false, mutable: false };
    let arg = match arg {
        FnArg::Receiver(receiver) => {
            errors.at(receiver, "`self` is not supported here; scalar functions stand alone");
            return nameless(Type::Error);
        }
        FnArg::Typed(arg) => arg,
    };
    let mut is_number = false;
    arg.attrs.retain(|attribute| {
        if attribute.path().is_ident("param") {
            is_number = true;
            if !is_op {
                errors.at(attribute, "`#[param]` has a meaning only in `#[pointwise_dynamic]`; remove it");
            }
            if let Err(error) = attribute.meta.require_path_only() {
                errors.push(error);
            }
        } else {
            errors.at(attribute, "unknown attribute of a parameter; expected `#[param]`");
        }
        false
    });
    let ty = match &*arg.ty {
        syn::Type::ImplTrait(ty) => {
            errors.at(ty, "`impl Trait` is not supported here; write a type parameter, as in `<T: Float>`");
            Type::Error
        }
        ty => types::parse(ty, generic, errors),
    };
    let is_tuple = matches!(ty, Type::Tuple(_));
    let ty = match ty {
        Type::Tuple(_) => {
            errors.at(&arg.ty, "a tuple cannot be a parameter; write one parameter for each member");
            Type::Error
        }
        Type::Index if is_op => {
            errors.at(&arg.ty, "`usize` is no element type; use `i64`");
            Type::Error
        }
        ty => ty,
    };
    let Pat::Ident(pattern) = &*arg.pat else {
        if !is_tuple {
            errors.at(&arg.pat, "patterns are not supported here; name the parameter");
        }
        return nameless(ty);
    };
    if let Some(by_ref) = &pattern.by_ref {
        errors.at(by_ref, "references are not supported here; scalars are passed by value");
    }
    if is_op && pattern.mutability.is_some() {
        errors
            .at(pattern.mutability, "`mut` is only supported in `#[device_fn]`; bind a new name with `let`");
    }
    Param { ident: pattern.ident.clone(), ty, is_number, mutable: pattern.mutability.is_some() }
}

fn parse_outputs(sig: &syn::Signature, generic: Option<&Generic>, errors: &Errors) -> Vec<Type> {
    let ReturnType::Type(_, ty) = &sig.output else {
        errors.at(&sig.ident, "the function returns nothing; write the type of its value behind `->`");
        return vec![Type::Error];
    };
    let outputs = match types::parse(ty, generic, errors) {
        Type::Tuple(members) => members,
        one => vec![one],
    };
    if outputs.iter().any(|output| matches!(output, Type::Tuple(_))) {
        errors.at(ty, "results cannot be nested; return one flat tuple");
    }
    if outputs.contains(&Type::Index) {
        errors.at(ty, "`usize` is no element type; use `i64`");
    }
    if outputs.len() > MAX_OUTPUTS {
        errors.at(ty, format_args!("at most {MAX_OUTPUTS} results are supported"));
    }
    outputs
}
