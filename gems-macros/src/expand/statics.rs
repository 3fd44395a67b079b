//! The data of an op: `OpDef` and `DeviceFn` as statics behind constants.
//!
//! A static, since two ops are the same if they are the same static; behind a constant, since `impl` holds no statics.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use crate::cuda::{self, Piece, Use};
use crate::dtype::DType;
use crate::model::Body;
use crate::schema::{Output, Schema};
use crate::signature::Signature;
use crate::types::Type;

/// A block whose value is the reference to a new static.
fn behind_static(ty: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!({
        static STATIC: #ty = #value;
        &STATIC
    })
}

/// The device function.
pub(super) fn device(name: &str, signature: &Signature, body: &Body, private: &TokenStream) -> TokenStream {
    let device = cuda::write(signature, body);
    let pieces = device.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => quote!(#private::Piece::Text(#text)),
        Piece::Name => quote!(#private::Piece::Name),
        Piece::Call(callee) => quote!(#private::Piece::Call(#callee)),
        Piece::Line(line) => {
            let line = u32::try_from(*line).unwrap_or(u32::MAX);
            quote!(#private::Piece::Line(#line))
        }
    });
    let uses = device.uses.iter().map(|Use { name, types }| {
        let types = types.iter().map(|ty| ty.type_ref(private));
        quote!(#private::Use { name: #name, types: &[#(#types),*] })
    });
    let calls = body.callees.iter().map(|callee| callee.device(private));
    let decides = match signature.params.iter().position(|param| param.ty == Type::Generic) {
        Some(position) => quote!(::core::option::Option::Some(#position)),
        None => quote!(::core::option::Option::None),
    };
    let instances = body.instances().into_iter().map(|(callee, args)| {
        let args = args.into_iter().map(|ty| ty.type_ref(private));
        quote!(#private::Instance { callee: #callee, args: &[#(#args),*] })
    });
    let value = quote! {
        #private::DeviceFn {
            name: #name,
            module: ::core::module_path!(),
            file: ::core::file!(),
            pieces: &[#(#pieces),*],
            uses: &[#(#uses),*],
            calls: &[#(#calls),*],
            decides: #decides,
            instances: &[#(#instances),*],
        }
    };
    behind_static(&quote!(#private::DeviceFn), &value)
}

/// The device function of a wrong formula.
pub(super) fn device_stub(name: &Ident, private: &TokenStream) -> TokenStream {
    let name = name.to_string();
    let value = quote! {
        #private::DeviceFn {
            name: #name,
            module: "",
            file: "",
            pieces: &[],
            uses: &[],
            calls: &[],
            decides: ::core::option::Option::None,
            instances: &[],
        }
    };
    behind_static(&quote!(#private::DeviceFn), &value)
}

/// Where the forms of an op are.
pub(super) struct Forms {
    /// The path of its device form.
    pub(super) device: TokenStream,
    /// The path of its formula.
    pub(super) formula: TokenStream,
    /// Its derivative.
    pub(super) vjp: Option<TokenStream>,
}

/// The description of an op.
pub(super) fn op_def(
    signature: &Signature,
    schema: &Schema,
    source: &str,
    forms: &Forms,
    private: &TokenStream,
) -> TokenStream {
    let (name, device) = (&schema.name, &forms.device);
    let doc = signature.doc.join("\n");
    let params = signature.params.iter().enumerate().map(|(i, param)| {
        let name = param.ident.to_string();
        let role = if param.is_number { quote!(Number) } else { quote!(Tensor) };
        let ty = param.ty.type_ref(private);
        let (promotes, accepts) = (schema.promotes[i], schema.accepts[i].tokens(private));
        quote! {
            #private::ParamDef {
                name: #name,
                role: #private::Role::#role,
                ty: #ty,
                promotes: #promotes,
                accepts: #accepts,
            }
        }
    });
    let outputs = schema.outputs.iter().map(|Output { name, ty, like }| {
        let (name, ty) = (name.to_string(), ty.type_ref(private));
        let like = match like {
            Some(param) => quote!(::core::option::Option::Some(#param)),
            None => quote!(::core::option::Option::None),
        };
        quote!(#private::OutputDef { name: #name, ty: #ty, like: #like })
    });
    let kind = schema.kind.variant();
    let compute = if schema.storage { quote!(Storage) } else { quote!(OpMath) };
    let dtypes = schema.dtypes.tokens(private);
    let numbers = schema.numbers.variant();
    let (vote, casts_freely) = (&schema.vote, schema.casts_freely);
    let check = match &schema.check {
        Some(path) => quote!(::core::option::Option::Some(#path)),
        None => quote!(::core::option::Option::None),
    };
    let form = |path: &Option<syn::Path>| match path {
        Some(path) => quote!(::core::option::Option::Some(#path::DEF)),
        None => quote!(::core::option::Option::None),
    };
    let (complex, integers) = (form(&schema.complex), form(&schema.integers));
    let cpu = cpu(signature, schema, &forms.formula, private);
    let vjp = match &forms.vjp {
        Some(vjp) => quote!(::core::option::Option::Some(#vjp)),
        None => quote!(::core::option::Option::None),
    };
    let value = quote! {
        #private::OpDef {
            name: #name,
            doc: #doc,
            rust_source: #source,
            params: &[#(#params),*],
            outputs: &[#(#outputs),*],
            promote: #private::Promote {
                kind: #private::Kind::#kind,
                compute: #private::Compute::#compute,
            },
            dtypes: #dtypes,
            numbers: #private::Numbers::#numbers,
            vote: &[#(#vote),*],
            casts_freely: #casts_freely,
            check: #check,
            complex: #complex,
            integers: #integers,
            device: #device,
            cpu: #cpu,
            vjp: #vjp,
        }
    };
    behind_static(&quote!(#private::OpDef), &value)
}

/// The description of an op whose formula is wrong.
pub(super) fn op_def_stub(home: &Ident, n_outputs: usize, private: &TokenStream) -> TokenStream {
    let name = home.to_string();
    let outputs = (0..n_outputs).map(|_| {
        quote! {
            #private::OutputDef {
                name: "",
                ty: #private::TypeRef::Generic,
                like: ::core::option::Option::None,
            }
        }
    });
    let value = quote! {
        #private::OpDef {
            name: #name,
            doc: "",
            rust_source: "",
            params: &[],
            outputs: &[#(#outputs),*],
            promote: #private::Promote { kind: #private::Kind::Default, compute: #private::Compute::OpMath },
            dtypes: #private::DTypeSet::EMPTY,
            numbers: #private::Numbers::Wrap,
            vote: &[],
            casts_freely: false,
            check: ::core::option::Option::None,
            complex: ::core::option::Option::None,
            integers: ::core::option::Option::None,
            device: #home::DEVICE,
            cpu: |_| ::core::option::Option::None,
            vjp: ::core::option::Option::None,
        }
    };
    behind_static(&quote!(#private::OpDef), &value)
}

/// ```text
/// {
///     enum Kernel {}
///     impl<T: Float> Pointwise<T> for Kernel {
///         type In = (T, T);
///         type Out = (T,);
///         fn eval((x, y): (T, T)) -> (T,) { (swiglu::scalar(x, y),) }
///     }
///     |dtype| match dtype {
///         DType::F32 => Some(cpu_kernel::<Kernel, f32>()),
///         _ => None,
///     }
/// }
/// ```
fn cpu(signature: &Signature, schema: &Schema, formula: &TokenStream, private: &TokenStream) -> TokenStream {
    let generic = signature.generic.as_ref();
    let idents: Vec<&Ident> = signature.params.iter().map(|param| &param.ident).collect();
    let inputs: Vec<TokenStream> =
        signature.params.iter().map(|param| param.ty.rust(generic, private)).collect();
    let outputs: Vec<TokenStream> = signature.outputs.iter().map(|ty| ty.rust(generic, private)).collect();
    let generics = &signature.item.sig.generics;
    let (parameter, arms) = match generic {
        Some(generic) => {
            let arms = schema.instances.iter().map(|dtype| {
                let (variant, ty) = (dtype.variant(), dtype.rust_type(private));
                quote! {
                    #private::DType::#variant =>
                        ::core::option::Option::Some(#private::cpu_kernel::<__Kernel, #ty>()),
                }
            });
            let ident = &generic.ident;
            (quote!(#ident), quote!(#(#arms)* _ => ::core::option::Option::None,))
        }
        None => {
            let ty = DType::Bool.rust_type(private);
            let arm = quote!(_ => ::core::option::Option::Some(#private::cpu_kernel::<__Kernel, #ty>()),);
            (ty, arm)
        }
    };
    let value = quote!(#formula(#(#idents),*));
    let value = if signature.returns_tuple() { value } else { quote!((#value,)) };
    quote!({
        enum __Kernel {}
        impl #generics #private::Pointwise<#parameter> for __Kernel {
            type In = (#(#inputs,)*);
            type Out = (#(#outputs,)*);
            #[inline]
            fn eval((#(#idents,)*): (#(#inputs,)*)) -> (#(#outputs,)*) {
                #value
            }
        }
        |__dtype| match __dtype { #arms }
    })
}
