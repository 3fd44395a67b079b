//! The callable forms of an op: the function itself, `out` and `inplace`.
//!
//! Each is data and one call into the runtime.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

use super::Output;
use crate::grad::{Gradient, OpForm, cotangent_names};
use crate::signature::{Param, Signature};

/// The author's documentation, and what else belongs to the name.
pub(super) fn docs(signature: &Signature) -> TokenStream {
    let lines = signature.doc.iter().flat_map(|text| text.split('\n'));
    let lines = lines.map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    let of_name = &signature.of_name;
    quote!(#(#[doc = #lines])* #(#of_name)*)
}

/// The section that clippy asks for, unless the author wrote one.
fn errors_section(lines: &[String]) -> TokenStream {
    if lines.iter().any(|line| line.trim() == "# Errors") {
        return TokenStream::new();
    }
    quote! {
        #[doc = ""]
        #[doc = " # Errors"]
        #[doc = " Operands that do not broadcast, promote or share a device; a device that fails."]
    }
}

/// `#[allow]` for what follows from a long parameter list.
pub(super) fn lints() -> TokenStream {
    quote!(#[allow(clippy::too_many_arguments, reason = "the op has as many operands")])
}

/// ```text
/// pub fn swiglu<'a, B: Buffer>(x: impl Into<Operand<'a, B>>, y: ..) -> Result<B> {
///     Result::map(<B as Buffer>::call::<1>(swiglu::DEF, &[x.into(), y.into()]), |[out]| out)
/// }
/// ```
pub(super) fn run(output: &Output<'_>, outputs: &[Ident]) -> TokenStream {
    let Output { signature, private } = output;
    let (name, vis, cfgs) = (signature.name(), &signature.item.vis, &signature.cfgs);
    let (docs, errors, lints) = (docs(signature), errors_section(&signature.doc), lints());
    let params = signature.params.iter().map(|param| parameter(param, private));
    let operands = signature.params.iter().map(|param| operand(param, private));
    let generics = generics(&signature.params, private);
    let n = outputs.len();
    let buffers = outputs.iter().map(|_| quote!(B));
    let (result, value) = if signature.returns_tuple() {
        (quote!((#(#buffers,)*)), quote!((#(#outputs,)*)))
    } else {
        (quote!(B), quote!(#(#outputs)*))
    };
    quote! {
        #docs
        #errors
        #(#cfgs)*
        #lints
        #vis fn #name<#generics>(#(#params),*) -> #private::Result<#result> {
            #private::Result::map(
                <B as #private::Buffer>::call::<#n>(#name::DEF, &[#(#operands),*]),
                |[#(#outputs),*]| #value,
            )
        }
    }
}

/// ```text
/// pub fn out<'a, B: Buffer>(x: impl Into<Operand<'a, B>>, .., out: &mut B) -> Result<()> {
///     <B as Buffer>::call_out(Self::DEF, &[x.into(), ..], &mut [out])
/// }
/// ```
pub(super) fn out(output: &Output<'_>, outputs: &[Ident]) -> TokenStream {
    let Output { signature, private } = output;
    let vis = &signature.item.vis;
    let params = signature.params.iter().map(|param| parameter(param, private));
    let operands = signature.params.iter().map(|param| operand(param, private));
    let (generics, lints) = (generics(&signature.params, private), lints());
    quote! {
        /// Computes the op into existing buffers.
        ///
        /// # Errors
        /// As the function itself; outputs of another shape, that cannot take the result's dtype, or that overlap an
        /// input partly.
        #lints
        #vis fn out<#generics>(#(#params,)* #(#outputs: &mut B),*) -> #private::Result<()> {
            <B as #private::Buffer>::call_out(Self::DEF, &[#(#operands),*], &mut [#(#outputs),*])
        }
    }
}

/// ```text
/// pub fn inplace<'a, B: Buffer>(x: &mut B, y: impl Into<Operand<'a, B>>) -> Result<()> {
///     Self::DEF.check_in_place(Buffer::meta(x).dtype)?;
///     let first = Clone::clone(x);
///     <B as Buffer>::call_out(Self::DEF, &[Operand::Buffer(&first), y.into()], &mut [x])
/// }
/// ```
///
/// Only where the first parameter can be a buffer and there is one result.
pub(super) fn inplace(output: &Output<'_>) -> TokenStream {
    let Output { signature, private } = output;
    let [first, rest @ ..] = signature.params.as_slice() else { return TokenStream::new() };
    if first.is_number || signature.outputs.len() != 1 {
        return TokenStream::new();
    }
    let (vis, ident) = (&signature.item.vis, &first.ident);
    let handle = format_ident!("__first");
    let params = rest.iter().map(|param| parameter(param, private));
    let operands = rest.iter().map(|param| operand(param, private));
    let (generics, lints) = (generics(rest, private), lints());
    quote! {
        /// Computes the op into its first operand.
        ///
        /// # Errors
        /// As `out`, with the first operand as the output.
        #lints
        #vis fn inplace<#generics>(#ident: &mut B, #(#params),*) -> #private::Result<()> {
            Self::DEF.check_in_place(#private::Buffer::meta(&*#ident).dtype)?;
            let #handle = ::core::clone::Clone::clone(&*#ident);
            <B as #private::Buffer>::call_out(
                Self::DEF,
                &[#private::Operand::Buffer(&#handle), #(#operands),*],
                &mut [#ident],
            )
        }
    }
}

/// ```text
/// pub fn vjp<'a, B: Buffer>(grad_output: &'a B, x: impl Into<Operand<'a, B>>, y: ..) -> Result<(B, B)> {
///     Result::map(gradients::<B, 2>(Self::DEF, &[grad_output], &[x.into(), y.into()]), |[x, y]| (x, y))
/// }
/// ```
pub(super) fn vjp(output: &Output<'_>, form: &OpForm, outputs: &[Ident]) -> TokenStream {
    let Output { signature, private } = output;
    let vis = &signature.item.vis;
    let cotangents = cotangent_names(signature, outputs);
    let params = signature.params.iter().map(|param| parameter(param, private));
    let operands = signature.params.iter().map(|param| operand(param, private));
    let (generics, lints) = (generics(&signature.params, private), lints());
    let wanted: Vec<&Ident> = signature
        .params
        .iter()
        .zip(&form.gradients)
        .filter(|(_, gradient)| **gradient != Gradient::None)
        .map(|(param, _)| &param.ident)
        .collect();
    let n = wanted.len();
    let buffers = wanted.iter().map(|_| quote!(B));
    let (result, value) = match wanted.as_slice() {
        [one] => (quote!(B), quote!(#one)),
        several => (quote!((#(#buffers),*)), quote!((#(#several),*))),
    };
    let names: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
    let doc = format!("The gradients of {}, from those of the results.", names.join(", "));
    quote! {
        #[doc = #doc]
        ///
        /// Each has the dtype and the shape of its operand: what was broadcast is summed.
        ///
        /// # Errors
        /// As the function itself; a gradient of another shape than the result; an operand that is a number, a bool or
        /// an integer, which has no gradient.
        #lints
        #vis fn vjp<#generics>(#(#cotangents: &B,)* #(#params),*) -> #private::Result<#result> {
            #private::Result::map(
                #private::gradients::<B, #n>(Self::DEF, &[#(#cotangents),*], &[#(#operands),*]),
                |[#(#wanted),*]| #value,
            )
        }
    }
}

/// The type of buffers, and the lifetime of the borrowed ones if a parameter can be one.
fn generics(params: &[Param], private: &TokenStream) -> TokenStream {
    if params.iter().any(|param| !param.is_number) {
        // A lifetime in `impl Trait` needs a name.
        quote!('a, B: #private::Buffer + 'a)
    } else {
        quote!(B: #private::Buffer)
    }
}

/// `x: impl Into<Operand<'a, B>>`, or `alpha: impl Into<Scalar>` for a number.
fn parameter(param: &Param, private: &TokenStream) -> TokenStream {
    let ident = &param.ident;
    let ty = if param.is_number { quote!(#private::Scalar) } else { quote!(#private::Operand<'a, B>) };
    quote!(#ident: impl ::core::convert::Into<#ty>)
}

/// The operand that a parameter becomes.
fn operand(param: &Param, private: &TokenStream) -> TokenStream {
    let ident = &param.ident;
    let value = quote!(::core::convert::Into::into(#ident));
    if param.is_number { quote!(#private::Operand::Scalar(#value)) } else { value }
}
