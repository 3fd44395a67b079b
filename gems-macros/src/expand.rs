//! What the two attributes put in the place of a function.
//!
//! Each stage records mistakes; after the two gates (reading, checking) nothing here can fail. After a mistake the same
//! items are emitted with empty bodies, so that one mistake gives one error.

mod gradient;
mod interface;
mod statics;
#[cfg(test)]
mod tests;

use gradient::Derivatives;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ItemFn;

use crate::args::{Args, Attribute};
use crate::errors::{Errors, Failed};
use crate::grad::Function;
use crate::schema::Schema;
use crate::signature::Signature;
use crate::{body, check, krate, rust, source};

/// Expands `#[pointwise_dynamic(args)] item`.
pub(crate) fn pointwise_dynamic(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item, Attribute::PointwiseDynamic)
}

/// Expands `#[device_fn(args)] item`.
pub(crate) fn device_fn(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item, Attribute::DeviceFn)
}

fn expand(args: TokenStream, item: TokenStream, attribute: Attribute) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let errors = Errors::default();
    let args = Args::parse(args, attribute, &errors);
    let private = krate::private(args.krate.as_ref(), &errors);
    let mut signature = Signature::parse(function.clone(), attribute, &errors);
    signature.qualify_bound(&private);
    let output = Output { signature: &signature, private: &private };
    match stages(&args, &function, item, attribute, &output, &errors) {
        Ok(tokens) => tokens,
        Err(Failed(errors)) => {
            let stub = match attribute {
                _ if signature.has_receiver() => output.method_stub(),
                Attribute::PointwiseDynamic => output.op_stub(),
                Attribute::DeviceFn => output.device_fn_stub(),
            };
            quote!(#errors #stub)
        }
    }
}

/// The way of a valid function; both gates stand here.
fn stages(
    args: &Args,
    function: &ItemFn,
    item: TokenStream,
    attribute: Attribute,
    output: &Output<'_>,
    errors: &Errors,
) -> Result<TokenStream, Failed> {
    let (signature, private) = (output.signature, output.private);
    let body = body::read(&function.block, signature, attribute, errors);
    errors.gate()?;
    let schema = (attribute == Attribute::PointwiseDynamic).then(|| Schema::new(args, signature, errors));
    check::check(signature, &body, errors);
    errors.gate()?;
    let names = schema.as_ref().map(|schema| output.outputs(schema));
    let (body, derivatives) = match &args.grad {
        Some(grad) => {
            let function = Function { signature: signature.clone(), body };
            let (function, derivatives) = Derivatives::of(function, names.as_deref(), grad, private, errors);
            errors.gate()?;
            (function.body, derivatives)
        }
        None => (body, Derivatives::default()),
    };
    let device = statics::device(&signature.name().to_string(), signature, &body, private);
    let formula = rust::write(signature, &body, private);
    Ok(match schema {
        Some(schema) => output.op(&schema, &device, &formula, &derivatives, &source::text(item)),
        None => output.device_fn(&device, &formula, &derivatives),
    })
}

/// What every emitted item needs.
struct Output<'a> {
    signature: &'a Signature,
    /// The path of the runtime's `__private`.
    private: &'a TokenStream,
}

impl Output<'_> {
    /// ```text
    /// /// The user's documentation.
    /// pub fn swiglu<'a, B: Buffer>(x: impl Into<Operand<'a, B>>, ..) -> Result<B> { .. }
    /// pub enum swiglu {}
    /// impl swiglu { DEF, DEVICE, out, inplace, scalar }
    /// ```
    ///
    /// With `grad`, also `vjp`, `BACKWARD`, `backward` and `BACKWARD_DEVICE`.
    fn op(
        &self,
        schema: &Schema,
        device: &TokenStream,
        formula: &TokenStream,
        derivatives: &Derivatives,
        source: &str,
    ) -> TokenStream {
        let Signature { cfgs, .. } = self.signature;
        let (name, vis) = (self.signature.name(), &self.signature.item.vis);
        let forms = statics::Forms {
            device: quote!(#name::DEVICE),
            formula: quote!(#name::scalar),
            vjp: derivatives.def(self.private),
        };
        let def = statics::op_def(self.signature, schema, source, &forms, self.private);
        let (gradients, backward) = (derivatives.op_items(self, schema), derivatives.items(self));
        let traits = derivatives.traits(self);
        let run = interface::run(self, &self.outputs(schema));
        let out = interface::out(self, &self.outputs(schema));
        let inplace = interface::inplace(self);
        let scalar = self.formula(&format_ident!("scalar"), formula);
        let home = self.home("Forms and facts of the op");
        let (private, lints) = (self.private, interface::lints());
        quote! {
            #run
            #home
            #(#cfgs)*
            #[allow(dead_code, reason = "an op need not use all of its forms")]
            impl #name {
                /// The static description of the op.
                #vis const DEF: &'static #private::OpDef = #def;
                /// The CUDA C++ form of the formula.
                #vis const DEVICE: &'static #private::DeviceFn = #device;
                #out
                #inplace
                /// The formula itself, for plain numbers.
                #lints
                #scalar
                #gradients
                #backward
            }
            #traits
        }
    }

    /// ```text
    /// /// The user's documentation.
    /// pub fn erfcx<T: Float>(x: T) -> T { .. }
    /// pub enum erfcx {}
    /// impl erfcx { DEVICE }
    /// ```
    fn device_fn(
        &self,
        device: &TokenStream,
        formula: &TokenStream,
        derivatives: &Derivatives,
    ) -> TokenStream {
        let Signature { cfgs, .. } = self.signature;
        let (name, vis, private) = (self.signature.name(), &self.signature.item.vis, self.private);
        let docs = interface::docs(self.signature);
        let function = self.formula(name, formula);
        let home = self.home("The device form of");
        let (backward, traits) = (derivatives.items(self), derivatives.traits(self));
        quote! {
            #docs
            #(#cfgs)*
            #function
            #home
            #(#cfgs)*
            #[allow(dead_code, reason = "only functions that are called on a device need it")]
            impl #name {
                /// The CUDA C++ form of the function.
                #vis const DEVICE: &'static #private::DeviceFn = #device;
                #backward
            }
            #traits
        }
    }

    /// The items of an op whose formula is wrong.
    fn op_stub(&self) -> TokenStream {
        let (name, vis, private) = (self.signature.name(), &self.signature.item.vis, self.private);
        let n = self.signature.outputs.len();
        let outputs: Vec<_> = (0..n).map(|i| format_ident!("__out{i}")).collect();
        let (run, out) = (interface::run(self, &outputs), interface::out(self, &outputs));
        let inplace = interface::inplace(self);
        let scalar = self.formula(&format_ident!("scalar"), &quote!(::core::unreachable!()));
        let home = self.home("Forms and facts of the op");
        let device = statics::device_stub(name, private);
        let def = statics::op_def_stub(name, n, private);
        quote! {
            #run
            #home
            #[allow(dead_code, unused_variables, unused_mut, reason = "the formula is missing")]
            impl #name {
                #[doc(hidden)]
                #vis const DEF: &'static #private::OpDef = #def;
                #[doc(hidden)]
                #vis const DEVICE: &'static #private::DeviceFn = #device;
                #out
                #inplace
                #[doc(hidden)]
                #scalar
            }
        }
    }

    /// A method, which can have no items beside it.
    fn method_stub(&self) -> TokenStream {
        let function = self.formula(self.signature.name(), &quote!(::core::unreachable!()));
        quote! {
            #[allow(dead_code, unused_variables, unused_mut, missing_docs, reason = "the formula is missing")]
            #function
        }
    }

    /// The items of a device function whose formula is wrong.
    fn device_fn_stub(&self) -> TokenStream {
        let (name, vis, private) = (self.signature.name(), &self.signature.item.vis, self.private);
        let function = self.formula(name, &quote!(::core::unreachable!()));
        let home = self.home("The device form of");
        let device = statics::device_stub(name, private);
        quote! {
            #[allow(dead_code, unused_variables, unused_mut, missing_docs, reason = "the formula is missing")]
            #function
            #home
            #[allow(dead_code, reason = "the formula is missing")]
            impl #name {
                #[doc(hidden)]
                #vis const DEVICE: &'static #private::DeviceFn = #device;
            }
        }
    }

    /// The function with another name and body; the signature is the user's.
    fn formula(&self, name: &syn::Ident, body: &TokenStream) -> TokenStream {
        let Signature { item, others, .. } = self.signature;
        let mut sig = item.sig.clone();
        let span = sig.ident.span();
        sig.ident = name.clone();
        sig.ident.set_span(span);
        let vis = &item.vis;
        let has = |wanted: &str| others.iter().any(|attribute| attribute.path().is_ident(wanted));
        let inline = (!has("inline")).then(|| quote!(#[inline]));
        let must_use = (!has("must_use")).then(|| quote!(#[must_use]));
        quote! {
            #(#others)*
            #[allow(
                clippy::manual_range_contains,
                clippy::manual_clamp,
                clippy::neg_cmp_op_on_partial_ord,
                clippy::eq_op,
                clippy::approx_constant,
                clippy::float_cmp,
                reason = "the advice is outside of the scalar language, or changes what NaN gives"
            )]
            #inline
            #must_use
            #vis #sig { #body }
        }
    }

    /// The type that gives a function a second namespace; a module could not see names of a surrounding body.
    fn home(&self, what: &str) -> TokenStream {
        let Signature { item, cfgs, .. } = self.signature;
        let (vis, name) = (&item.vis, self.signature.name());
        let doc = format!(" {what} [`{name}`](fn@{name}).");
        quote! {
            #[doc = #doc]
            #(#cfgs)*
            #[allow(non_camel_case_types, dead_code, reason = "named like the function that it belongs to")]
            #[derive(::core::fmt::Debug)]
            #vis enum #name {}
        }
    }

    fn outputs(&self, schema: &Schema) -> Vec<syn::Ident> {
        schema.outputs.iter().map(|output| output.name.clone()).collect()
    }
}
