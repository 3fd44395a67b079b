//! What `grad` adds to a function: its derivative for numbers, as an op, and on buffers.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{Output, interface, statics};
use crate::args::{Grad, Kind, Numbers};
use crate::dtype::{Category, DType, DTypeSet};
use crate::errors::Errors;
use crate::grad::{self, Function, Gradient, OpForm, Source};
use crate::model::{derivative_name, device_name};
use crate::rust;
use crate::schema::{self, Schema};
use crate::types::{Trait, Type};

/// The derivatives of a function: the full forms, and for an op the op forms.
#[derive(Debug, Default)]
pub(super) struct Derivatives {
    full: Vec<Function>,
    op: Vec<OpForm>,
    /// The op forms for a call in which all tensors but the first are numbers.
    numbers: Vec<OpForm>,
}

impl Derivatives {
    /// Differentiates as often as the author asks.
    pub(super) fn of(
        function: Function,
        outputs: Option<&[Ident]>,
        grad: &Grad,
        private: &TokenStream,
        errors: &Errors,
    ) -> (Function, Derivatives) {
        let mut derivatives = Derivatives::default();
        let plain = grad.of_derivative();
        let n = function.signature.outputs.len();
        let own_names: Vec<Ident> = (0..n).map(|i| format_ident!("out{i}")).collect();
        let names = outputs.unwrap_or(&own_names);
        let home = &function.signature.name().clone();
        for order in 1..=grad.order {
            let name = Ident::new(&derivative_name(order), function.signature.name().span());
            let needs_full =
                outputs.is_none() || !grad::is_too_large(derivatives.full.last().unwrap_or(&function));
            if needs_full && derivatives.full.len() + 1 == order {
                let form = match derivatives.full.last() {
                    None => grad::full(&function, names, &name, grad, private, errors),
                    Some(before) => {
                        grad::full(before, &gradient_names(before), &name, &plain, private, errors)
                    }
                };
                let Some(form) = form else { break };
                derivatives.full.push(form);
            }
            if outputs.is_none() {
                continue;
            }
            let item = format_ident!("{}", derivative_name(order).to_uppercase());
            let name = form_name(home, order);
            let form = match derivatives.op.last() {
                None => grad::op(&function, names, &name, (home, item), grad, private, errors),
                Some(before) if before.targets.is_empty() => break,
                Some(before) => {
                    grad::op(&before.function, &before.names(), &name, (home, item), &plain, private, errors)
                }
            };
            let Some(form) = form else { break };
            derivatives.op.push(form);
        }
        let tensor = function.signature.params.iter().find(|param| !param.is_number);
        if let Some(grad) = tensor.and_then(|param| grad.with_numbers(&param.ident)) {
            let item = |order| format_ident!("{}_WITH_NUMBERS", derivative_name(order).to_uppercase());
            let name = form_name(home, 1);
            let first = grad::op(&function, names, &name, (home, item(1)), &grad, private, errors);
            let second = first.as_ref().filter(|_| grad.order > 1).and_then(|first| {
                let (name, names) = (form_name(home, 2), first.names());
                grad::op(&first.function, &names, &name, (home, item(2)), &plain, private, errors)
            });
            derivatives.numbers = first.into_iter().chain(second).collect();
        }
        (function, derivatives)
    }

    /// The full forms, as functions and device functions of the type that is named like the function.
    pub(super) fn items(&self, output: &Output<'_>) -> TokenStream {
        let private = output.private;
        let items = self.full.iter().enumerate().map(|(i, Function { signature, body })| {
            let (vis, lints) = (&signature.item.vis, interface::lints());
            let of = output.signature.name();
            let doc = match i {
                0 => format!("Gradients of the float parameters of [`{of}`](fn@{of}), for plain numbers."),
                _ => format!("Gradients of [`{}`](Self::{0}), for plain numbers.", derivative_name(i)),
            };
            let device_doc = format!("The CUDA C++ form of [`{}`](Self::{0}).", signature.name());
            let name = form_name(of, i + 1).to_string();
            let device = statics::device(&name, signature, body, private);
            let device_name = format_ident!("{}", device_name(i + 1));
            let form = Output { signature, private };
            let function = form.formula(signature.name(), &rust::write(signature, body, private));
            quote! {
                #[doc = #doc]
                #lints
                #[allow(
                    unused_variables,
                    clippy::approx_constant,
                    reason = "a derivative need not use every operand; constants of complex types are literals"
                )]
                #function
                #[doc = #device_doc]
                #vis const #device_name: &'static #private::DeviceFn = #device;
            }
        });
        quote!(#(#items)*)
    }

    /// Says that the full forms are there, for functions that are differentiated through this one.
    pub(super) fn traits(&self, output: &Output<'_>) -> TokenStream {
        let (private, cfgs, name) = (output.private, &output.signature.cfgs, output.signature.name());
        let each = (1..=self.full.len()).map(|order| {
            let device = format_ident!("{}", device_name(order));
            quote! {
                #(#cfgs)*
                #[diagnostic::do_not_recommend]
                impl #private::Derivative<#order> for #name {
                    const DEVICE: &'static #private::DeviceFn = #name::#device;
                }
            }
        });
        quote!(#(#each)*)
    }

    /// The op forms, as constants of the type that is named like the op, and `vjp`.
    pub(super) fn op_items(&self, output: &Output<'_>, schema: &Schema) -> TokenStream {
        let private = output.private;
        let Some(first) = self.op.first() else { return TokenStream::new() };
        let items = |forms: &[OpForm]| {
            let mut schemas: Vec<Schema> = Vec::new();
            for (i, form) in forms.iter().enumerate() {
                let name = format!("{}_{}", schema.name, derivative_name(i + 1));
                schemas.push(form.schema(schemas.last().unwrap_or(schema), name));
            }
            let item = |(i, form): (usize, &OpForm)| {
                let next = forms.get(i + 1).map(|next| next.def(None, private));
                form.item(&schemas[i], next, private)
            };
            forms.iter().enumerate().map(item).collect::<TokenStream>()
        };
        let (orders, numbers) = (items(&self.op), items(&self.numbers));
        let names: Vec<Ident> = schema.outputs.iter().map(|output| output.name.clone()).collect();
        let vjp = interface::vjp(output, first, &names);
        quote!(#orders #numbers #vjp)
    }

    /// The field `vjp` of the op's description.
    pub(super) fn def(&self, private: &TokenStream) -> Option<TokenStream> {
        let numbers = self.numbers.first().map(|form| form.def(None, private));
        self.op.first().map(|form| form.def(numbers, private))
    }
}

/// The name of a derivative among other functions: `gelu_backward`.
fn form_name(of: &Ident, order: usize) -> Ident {
    let of = of.to_string();
    let of = of.trim_start_matches("r#").trim_end_matches('_');
    format_ident!("{of}_{}", derivative_name(order))
}

/// Names of the gradients that the full form gives.
fn gradient_names(function: &Function) -> Vec<Ident> {
    (0..function.signature.outputs.len()).map(|i| format_ident!("gradient{i}")).collect()
}

impl OpForm {
    /// Names of the results: `grad_x`.
    fn names(&self) -> Vec<Ident> {
        self.target_names.iter().map(|name| format_ident!("grad_{}", name)).collect()
    }

    /// ```text
    /// /// The derivative as an op.
    /// pub const BACKWARD: &'static OpDef = { fn f_backward(..) -> .. { .. } .. };
    /// ```
    fn item(&self, schema: &Schema, vjp: Option<TokenStream>, private: &TokenStream) -> TokenStream {
        if self.targets.is_empty() {
            return TokenStream::new();
        }
        let Function { signature, body } = &self.function;
        let (vis, path, item, lints) =
            (&signature.item.vis, signature.name(), &self.item, interface::lints());
        let name = path.to_string();
        let device = statics::device(&name, signature, body, private);
        let function = Output { signature, private }.formula(path, &rust::write(signature, body, private));
        let forms = statics::Forms { device: quote!(DEVICE), formula: quote!(#path), vjp };
        let source = grad::text::write(signature, body);
        let def = statics::op_def(signature, schema, &source, &forms, private);
        quote! {
            /// The derivative as an op.
            #vis const #item: &'static #private::OpDef = {
                #lints
                #[allow(
                    unused_variables,
                    clippy::approx_constant,
                    reason = "a derivative need not use every operand; constants of complex types are literals"
                )]
                #function
                const DEVICE: &#private::DeviceFn = #device;
                #def
            };
        }
    }

    /// ```text
    /// VjpDef { backward: Some(Self::BACKWARD), sources: &[Cotangent(0), Input(1)], gradients: &[Output(0)], .. }
    /// ```
    fn def(&self, with_numbers: Option<TokenStream>, private: &TokenStream) -> TokenStream {
        let sources = self.sources.iter().map(|source| match source {
            Source::Cotangent(i) => quote!(#private::VjpSource::Cotangent(#i)),
            Source::Input(i) => quote!(#private::VjpSource::Input(#i)),
            Source::Output(i) => quote!(#private::VjpSource::Output(#i)),
        });
        let gradients = self.gradients.iter().map(|gradient| match gradient {
            Gradient::None => quote!(#private::Gradient::None),
            Gradient::Zero => quote!(#private::Gradient::Zero),
            Gradient::Output(i) => quote!(#private::Gradient::Output(#i)),
        });
        let (home, item) = (&self.home, &self.item);
        let backward = if self.targets.is_empty() {
            quote!(::core::option::Option::None)
        } else {
            quote!(::core::option::Option::Some(#home::#item))
        };
        let with_numbers = match with_numbers {
            Some(def) => quote!(::core::option::Option::Some(&#def)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            #private::VjpDef {
                backward: #backward,
                sources: &[#(#sources),*],
                gradients: &[#(#gradients),*],
                with_numbers: #with_numbers,
            }
        }
    }

    /// The facts of the derivative as an op: it takes the floats of what it differentiates, and results have the
    /// dtypes of the operands that they are gradients of, as far as those are operands of it.
    fn schema(&self, of: &Schema, name: String) -> Schema {
        let signature = &self.function.signature;
        let params = &signature.params;
        let bound = signature.generic.as_ref().map_or(Trait::Element, |generic| generic.bound);
        let computes = |dtype: &DType| dtype.category() >= Category::Float && bound.has(dtype.op_math());
        let dtypes: DTypeSet = of.dtypes.iter().filter(computes).collect();
        let input_of = |source: &Source| match source {
            Source::Input(i) => Some(*i),
            Source::Cotangent(_) | Source::Output(_) => None,
        };
        let promotes = params
            .iter()
            .zip(&self.sources)
            .map(|(param, source)| match input_of(source) {
                Some(i) => of.promotes[i],
                None => param.ty == Type::Generic,
            })
            .collect();
        let accepts = self
            .sources
            .iter()
            .map(|source| input_of(source).map_or_else(DTypeSet::all, |i| of.accepts[i].clone()))
            .collect();
        let is_shared =
            |i| self.gradients.iter().filter(|gradient| **gradient == Gradient::Output(i)).count() > 1;
        let outputs = self
            .names()
            .into_iter()
            .zip(&signature.outputs)
            .zip(&self.targets)
            .enumerate()
            .map(|(i, ((name, ty), target))| schema::Output {
                name,
                ty: ty.clone(),
                like: self
                    .sources
                    .iter()
                    .position(|source| input_of(source) == Some(*target) && !is_shared(i)),
            })
            .collect();
        Schema {
            name,
            // The cotangent is of the common dtype already, but for an op that computes in f64 whatever it is given.
            kind: if of.kind == Kind::ToDouble { Kind::ToDouble } else { Kind::Default },
            storage: false,
            instances: dtypes.iter().map(DType::op_math).collect(),
            dtypes,
            promotes,
            accepts,
            numbers: Numbers::Wrap,
            vote: (0..params.len()).filter(|&i| !params[i].is_number).collect(),
            casts_freely: true,
            check: None,
            complex: None,
            integers: None,
            outputs,
        }
    }
}
