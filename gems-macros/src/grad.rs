//! Derivatives at build time: from the model of a function to the model of its vector-Jacobian product.
//!
//! The derivative of `f(x, y) -> z` takes the gradient of `z`, then x and y, and gives the gradients of x and y. It
//! exists in two forms. The *full* form takes every parameter and gives a gradient for every float one, so that callers
//! need not know the function to call it: `f::backward`. The *op* form takes only what it needs, and gives gradients of
//! tensors only: `f::BACKWARD`.
//!
//! Parts: `rules` (single operations) and `reverse` (the walk) fill a `graph`, from which `place` makes a model again.

mod graph;
mod place;
mod reverse;
mod rules;
pub(crate) mod text;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use crate::args::{Grad, HandRule};
use crate::errors::{Errors, list};
use crate::model::{Body, Callee};
use crate::signature::{MAX_OUTPUTS, MAX_PARAMS, Param, Signature};
use crate::types::{Generic, Trait, Type};
use graph::{Graph, NodeId, NodeKind, is_differentiable};
use reverse::{Derivative, Seeds};

/// A function with its model.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) signature: Signature,
    pub(crate) body: Body,
}

/// Where a parameter of an op's derivative comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The gradient of the n-th result.
    Cotangent(usize),
    /// The n-th parameter.
    Input(usize),
    /// The n-th result.
    Output(usize),
}

/// What a parameter's gradient is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gradient {
    None,
    Zero,
    /// The n-th result of the derivative.
    Output(usize),
}

/// The derivative of an op as an op.
#[derive(Debug)]
pub(crate) struct OpForm {
    pub(crate) function: Function,
    /// One a parameter of the function.
    pub(crate) sources: Vec<Source>,
    /// One a parameter of the op that was differentiated.
    pub(crate) gradients: Vec<Gradient>,
    /// The parameter of which each result is the gradient.
    pub(crate) targets: Vec<usize>,
    /// Names of those parameters.
    pub(crate) target_names: Vec<Ident>,
    /// The type that holds the op form.
    pub(crate) home: Ident,
    /// The constant that it is.
    pub(crate) item: Ident,
}

/// A function that is differentiated, as one of the two forms sees it.
struct Task<'a> {
    function: &'a Function,
    /// Names of the results.
    outputs: &'a [Ident],
    generic: Option<Generic>,
    private: &'a TokenStream,
    errors: &'a Errors,
}

/// Whether a function has too many float parameters for the full form of its derivative; an op needs none.
pub(crate) fn is_too_large(function: &Function) -> bool {
    function.signature.params.iter().filter(|param| is_differentiable(&param.ty)).count() > MAX_OUTPUTS
}

/// The full form of the derivative.
pub(crate) fn full(
    function: &Function,
    outputs: &[Ident],
    name: &Ident,
    grad: &Grad,
    private: &TokenStream,
    errors: &Errors,
) -> Option<Function> {
    let task = Task::new(function, outputs, grad, private, errors)?;
    if is_too_large(function) {
        task.too_large(grad);
        return None;
    }
    let derivative = task.derive(grad, false)?;
    let (params, ..) = task.params();
    let wanted = task.wanted(grad);
    let mut graph = derivative.graph;
    let results: Vec<NodeId> = derivative
        .gradients
        .iter()
        .enumerate()
        .filter_map(|(i, gradient)| {
            Some(if wanted[i] { (*gradient)? } else { unknown(&mut graph, (*gradient)?) })
        })
        .collect();
    let kept: Vec<usize> = (0..task.n_cotangents() + function.signature.params.len()).collect();
    Some(task.function(name, &graph, &results, &params, &kept, &derivative.callees))
}

/// The op form of the derivative; `None` behind `Some` if every gradient is zero.
pub(crate) fn op(
    function: &Function,
    outputs: &[Ident],
    name: &Ident,
    (home, item): (&Ident, Ident),
    grad: &Grad,
    private: &TokenStream,
    errors: &Errors,
) -> Option<OpForm> {
    let task = Task::new(function, outputs, grad, private, errors)?;
    let derivative = task.derive(grad, true)?;
    let (params, sources) = task.params();
    let wanted = task.wanted(grad);
    let (mut results, mut targets, mut gradients) = (Vec::new(), Vec::new(), Vec::new());
    // Where there are too many results, equal ones are one.
    let shared = is_too_large(function);
    for (i, param) in function.signature.params.iter().enumerate() {
        gradients.push(match derivative.gradients[i] {
            Some(_) if param.is_number || !wanted[i] => Gradient::None,
            Some(gradient) if derivative.graph.is_zero(gradient) => Gradient::Zero,
            Some(gradient) if shared && results.contains(&gradient) => {
                Gradient::Output(results.iter().position(|result| *result == gradient).unwrap_or_default())
            }
            Some(gradient) => {
                results.push(gradient);
                targets.push(i);
                Gradient::Output(results.len() - 1)
            }
            None => Gradient::None,
        });
    }
    if gradients.iter().all(|gradient| *gradient == Gradient::None) {
        errors.at(&grad.word, "no parameter is a float or complex tensor; remove `grad`");
        return None;
    }
    if results.len() > MAX_OUTPUTS {
        task.too_large(grad);
        return None;
    }
    let used = place::used_params(&derivative.graph, &results);
    if let Some(saves) = &grad.saves
        && !sources
            .iter()
            .enumerate()
            .any(|(i, source)| matches!(source, Source::Output(_)) && used.contains(&i))
    {
        errors.at(saves, "the derivative does not use the output; remove `saves`");
    }
    let n_cotangents = task.n_cotangents();
    let mut kept: Vec<usize> = (0..params.len()).filter(|i| *i < n_cotangents || used.contains(i)).collect();
    // Something must decide the type parameter.
    if task.generic.is_some() && !kept.iter().any(|&i| params[i].ty == Type::Generic) {
        kept.extend((0..params.len()).find(|&i| params[i].ty == Type::Generic));
        kept.sort_unstable();
    }
    let target_names = targets.iter().map(|&i| function.signature.params[i].ident.clone()).collect();
    let function = task.function(name, &derivative.graph, &results, &params, &kept, &derivative.callees);
    let sources = kept.iter().map(|&i| sources[i]).collect();
    let home = home.clone();
    Some(OpForm { function, sources, gradients, targets, target_names, home, item })
}

/// What a gradient is that nobody asked for: not a number, so that nobody takes it for one.
fn unknown(graph: &mut Graph<'_>, gradient: NodeId) -> NodeId {
    let (ty, span) = (graph.ty(gradient).clone(), graph.nodes[gradient].span);
    let zero = graph.zero(&ty, span);
    graph.method("div", &[zero, zero], span)
}

impl<'a> Task<'a> {
    fn new(
        function: &'a Function,
        outputs: &'a [Ident],
        grad: &Grad,
        private: &'a TokenStream,
        errors: &'a Errors,
    ) -> Option<Task<'a>> {
        let generic = match &function.signature.generic {
            Some(Generic { bound: Trait::Int, .. }) => {
                errors.at(&grad.word, "integers have no derivative; remove `grad`");
                return None;
            }
            Some(generic) => Some(Generic { bound: raised(generic.bound), ..generic.clone() }),
            None => None,
        };
        let task = Task { function, outputs, generic, private, errors };
        let signature = &function.signature;
        for name in grad.wrt.iter().flatten() {
            if !signature.params.iter().any(|param| param.ident == *name && is_differentiable(&param.ty)) {
                let floats = signature.params.iter().filter(|param| is_differentiable(&param.ty));
                let known: Vec<String> = floats.map(|param| param.ident.to_string()).collect();
                let known = list(known.iter().map(String::as_str));
                errors.at(name, format_args!("`{name}` is not a float parameter; those are {known}"));
                return None;
            }
        }
        if task.n_cotangents() + signature.params.len() > MAX_PARAMS {
            task.too_large(grad);
            return None;
        }
        if !signature.outputs.iter().any(is_differentiable) {
            errors.at(&grad.word, "no result is a float or complex number; remove `grad`");
            return None;
        }
        if !task.wanted(grad).contains(&true) {
            errors.at(&grad.word, "no parameter is a float or complex number; remove `grad`");
            return None;
        }
        Some(task)
    }

    fn too_large(&self, grad: &Grad) {
        self.errors.at(
            &grad.word,
            format_args!(
                "a derivative has at most {MAX_PARAMS} operands and {MAX_OUTPUTS} results; split the function"
            ),
        );
    }

    fn signature(&self) -> &'a Signature {
        &self.function.signature
    }

    fn n_cotangents(&self) -> usize {
        self.signature().outputs.iter().filter(|ty| is_differentiable(ty)).count()
    }

    /// For each parameter whether its gradient is known.
    fn wanted(&self, grad: &Grad) -> Vec<bool> {
        let params = &self.signature().params;
        let hand = grad.backward.is_some();
        params
            .iter()
            .map(|param| {
                is_differentiable(&param.ty)
                    && match &grad.wrt {
                        Some(names) => names.contains(&param.ident),
                        None => !(hand && param.is_number),
                    }
            })
            .collect()
    }

    /// Everything that a derivative can use, in order, under names that differ.
    fn params(&self) -> (Vec<place::Param>, Vec<Source>) {
        let signature = self.signature();
        let mut params: Vec<place::Param> = Vec::new();
        let mut sources = Vec::new();
        let cotangents = cotangent_names(signature, self.outputs);
        for (i, (ty, ident)) in signature.outputs.iter().zip(cotangents).enumerate() {
            if is_differentiable(ty) {
                params.push(place::Param { ident, ty: ty.clone() });
                sources.push(Source::Cotangent(i));
            }
        }
        for (i, param) in signature.params.iter().enumerate() {
            params.push(place::Param { ident: param.ident.clone(), ty: param.ty.clone() });
            sources.push(Source::Input(i));
        }
        for (i, (ty, name)) in signature.outputs.iter().zip(self.outputs).enumerate() {
            let name = if self.outputs.len() == 1 { &format_ident!("output") } else { name };
            let ident = free(name, params.iter().map(|param| &param.ident));
            params.push(place::Param { ident, ty: ty.clone() });
            sources.push(Source::Output(i));
        }
        (params, sources)
    }

    /// The gradients of all parameters, from results that are given or from the formula alone.
    fn derive(&self, grad: &Grad, results_given: bool) -> Option<Derivative<'_>> {
        let (params, sources) = self.params();
        let mut graph = Graph::new(self.generic.as_ref());
        let nodes: Vec<NodeId> = params
            .iter()
            .enumerate()
            .map(|(i, param)| graph.node(NodeKind::Param(i), param.ty.clone(), param.ident.span()))
            .collect();
        let of = |wanted: fn(Source) -> Option<usize>, n: usize| {
            let find = |i| sources.iter().position(|&source| wanted(source) == Some(i)).map(|at| nodes[at]);
            (0..n).map(find).collect::<Vec<Option<NodeId>>>()
        };
        let signature = self.signature();
        let n_outputs = signature.outputs.len();
        let cotangents =
            of(|source| if let Source::Cotangent(i) = source { Some(i) } else { None }, n_outputs);
        let inputs =
            of(|source| if let Source::Input(i) = source { Some(i) } else { None }, signature.params.len());
        let outputs = of(|source| if let Source::Output(i) = source { Some(i) } else { None }, n_outputs);
        let results: Vec<NodeId> = outputs.into_iter().flatten().collect();
        let seeds = Seeds {
            cotangents,
            params: inputs.into_iter().flatten().collect(),
            results: (results_given && grad.saves.is_some()).then(|| results.clone()),
        };
        let body = &self.function.body;
        if grad.zero {
            let zero = |param: &Param| {
                is_differentiable(&param.ty).then(|| graph.zero(&param.ty, param.ident.span()))
            };
            let gradients = signature.params.iter().map(zero).collect();
            return Some(Derivative { graph, callees: Vec::new(), gradients });
        }
        let Some(rule) = &grad.backward else {
            let wanted = self.wanted(grad);
            return Some(reverse::derive(body, &seeds, graph, &wanted, self.errors));
        };
        let mut computed = None;
        if !results_given && self.rule_uses_results(rule) {
            let (filled, results) = reverse::values(body, &seeds, graph, self.errors);
            (graph, computed) = (filled, Some(results));
        }
        let names: Vec<(String, NodeId)> = params
            .iter()
            .zip(&sources)
            .zip(&nodes)
            .map(|((param, source), &node)| {
                let node = match (source, &computed) {
                    (Source::Output(i), Some(computed)) => computed.get(*i).copied().unwrap_or(node),
                    _ => node,
                };
                (param.ident.to_string(), node)
            })
            .collect();
        self.by_hand(grad, rule, &names, graph)
    }

    fn rule_uses_results(&self, rule: &HandRule) -> bool {
        let (params, sources) = self.params();
        let results = params.iter().zip(&sources).filter(|(_, source)| matches!(source, Source::Output(_)));
        let names: Vec<&Ident> = results.map(|(param, _)| &param.ident).collect();
        rule.args.iter().flatten().any(|arg| names.contains(&arg))
    }

    /// The gradients as a function of the author gives them.
    fn by_hand<'g>(
        &self,
        grad: &Grad,
        rule: &HandRule,
        names: &[(String, NodeId)],
        mut graph: Graph<'g>,
    ) -> Option<Derivative<'g>> {
        let signature = self.signature();
        let span = rule.span();
        let mut args = Vec::new();
        let whole = self.n_cotangents() + signature.params.len();
        match &rule.args {
            Some(list_of_args) => {
                for arg in list_of_args {
                    match names.iter().find(|(name, _)| arg == name) {
                        Some((_, node)) => args.push(*node),
                        None => {
                            let known = list(names.iter().map(|(name, _)| name.as_str()));
                            self.errors.at(
                                arg,
                                format_args!("`{arg}` is not known to a derivative; there are {known}"),
                            );
                        }
                    }
                }
            }
            None => args.extend(names[..whole].iter().map(|(_, node)| *node)),
        }
        let wanted = self.wanted(grad);
        let types: Vec<Type> =
            signature.params.iter().zip(&wanted).filter(|(_, w)| **w).map(|(p, _)| p.ty.clone()).collect();
        let ty = match types.as_slice() {
            [one] => one.clone(),
            several => Type::Tuple(several.to_vec()),
        };
        let mut callees = self.function.body.callees.clone();
        callees.push(Callee::new(rule.path.clone()));
        let call = graph.node(NodeKind::Call { callee: callees.len() - 1, args }, ty, span);
        let mut members = 0;
        let gradients = signature
            .params
            .iter()
            .zip(&wanted)
            .map(|(param, &wanted)| {
                if !is_differentiable(&param.ty) {
                    return None;
                }
                Some(match (wanted, types.len()) {
                    (false, _) => graph.zero(&param.ty, span),
                    (true, 1) => call,
                    (true, _) => {
                        members += 1;
                        let member = NodeKind::Member { of: call, index: members - 1 };
                        graph.node(member, param.ty.clone(), span)
                    }
                })
            })
            .collect();
        Some(Derivative { graph, callees, gradients })
    }

    /// The function that computes some values of a graph.
    fn function(
        &self,
        name: &Ident,
        graph: &Graph<'_>,
        results: &[NodeId],
        params: &[place::Param],
        kept: &[usize],
        callees: &[Callee],
    ) -> Function {
        let body = place::place(graph, results, params, kept, callees, &self.function.body.consts);
        let signature = self.signature();
        let n_cotangents = self.n_cotangents();
        let own: Vec<Param> = kept
            .iter()
            .map(|&i| {
                let place::Param { ident, ty } = params[i].clone();
                let forward = i.checked_sub(n_cotangents).and_then(|i| signature.params.get(i));
                let is_number = forward.is_some_and(|param| param.is_number);
                Param { ident, ty, is_number, mutable: false }
            })
            .collect();
        let outputs: Vec<Type> = results.iter().map(|&result| graph.ty(result).clone()).collect();
        let signature = self.new_signature(name, own, outputs);
        Function { signature, body }
    }

    fn new_signature(&self, name: &Ident, params: Vec<Param>, outputs: Vec<Type>) -> Signature {
        let (generic, private) = (self.generic.as_ref(), self.private);
        let generics = generic.map(|Generic { ident, bound, .. }| {
            let bound = Ident::new(bound.name(), Span::call_site());
            quote!(<#ident: #private::math::#bound>)
        });
        let idents = params.iter().map(|param| &param.ident);
        let types = params.iter().map(|param| param.ty.rust(generic, private));
        let results = outputs.iter().map(|ty| ty.rust(generic, private));
        let result = match outputs.len() {
            1 => quote!(#(#results)*),
            _ => quote!((#(#results),*)),
        };
        let vis = &self.signature().item.vis;
        Signature {
            item: syn::parse_quote!(#vis fn #name #generics(#(#idents: #types),*) -> #result {}),
            generic: self.generic.clone(),
            params,
            outputs,
            patterns: Vec::new(),
            doc: Vec::new(),
            cfgs: self.signature().cfgs.clone(),
            of_name: Vec::new(),
            others: Vec::new(),
        }
    }
}

/// Names of the gradients of a function's results: `grad_output`, or `grad_a`, `grad_b`.
pub(crate) fn cotangent_names(signature: &Signature, outputs: &[Ident]) -> Vec<Ident> {
    let span = signature.name().span();
    let wanted: Vec<Ident> = match outputs {
        [_] => vec![format_ident!("grad_output", span = span)],
        several => several.iter().map(|name| format_ident!("grad_{}", name, span = span)).collect(),
    };
    let mut names: Vec<Ident> = Vec::new();
    for name in &wanted {
        let taken = signature.params.iter().map(|param| &param.ident).chain(&names);
        names.push(free(name, taken));
    }
    names
}

/// The name, with a number if it is taken.
fn free<'n>(name: &Ident, taken: impl Iterator<Item = &'n Ident> + Clone) -> Ident {
    let numbered = (1..).map(|n: usize| format_ident!("{}_{}", name, n));
    let mut candidates = std::iter::once(name.clone()).chain(numbered);
    let is_free = |candidate: &Ident| !taken.clone().any(|taken| taken.unraw() == candidate.unraw());
    candidates.find(is_free).unwrap_or_else(|| name.clone())
}

/// The bound under which derivatives are computed: floats, or what has their functions.
fn raised(bound: Trait) -> Trait {
    match bound {
        Trait::Element | Trait::Number | Trait::Analytic => Trait::Analytic,
        Trait::Bits | Trait::Real | Trait::Float | Trait::Int => Trait::Float,
    }
}
