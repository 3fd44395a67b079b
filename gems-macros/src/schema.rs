//! The static facts of an op: what its options and its signature mean together.
//!
//! Each rule about options is a function with the rule in English above it. Guarantees, behind the second gate, that
//! names in options are parameters and results, and that every accepted dtype has a computation.

use quote::format_ident;
use syn::Ident;

use crate::args::{Args, DTypes, Kind, Numbers};
use crate::dtype::{Category, DType, DTypeSet};
use crate::errors::{Errors, choices, list};
use crate::signature::{Param, Signature};
use crate::types::{BOOL, Trait, Type};

/// What becomes of the options in `OpDef`.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The name in texts and in registries.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Halves are computed as they are stored.
    pub(crate) storage: bool,
    /// Dtypes that the common dtype may have.
    pub(crate) dtypes: DTypeSet,
    /// What the type parameter can be at run time.
    pub(crate) instances: DTypeSet,
    /// For each parameter: whether it takes part in promotion.
    pub(crate) promotes: Vec<bool>,
    /// For each parameter: the dtypes that it may have.
    pub(crate) accepts: Vec<DTypeSet>,
    pub(crate) numbers: Numbers,
    /// Parameters that vote on the layout of results.
    pub(crate) vote: Vec<usize>,
    pub(crate) casts_freely: bool,
    /// A function that refuses arguments.
    pub(crate) check: Option<syn::Path>,
    /// The op for complex operands.
    pub(crate) complex: Option<syn::Path>,
    /// The op for integer operands.
    pub(crate) integers: Option<syn::Path>,
    pub(crate) outputs: Vec<Output>,
}

/// One result.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// The parameter whose dtype it has.
    pub(crate) like: Option<usize>,
}

impl Schema {
    /// Joins options and signature.
    pub(crate) fn new(args: &Args, signature: &Signature, errors: &Errors) -> Schema {
        let kind = kind(args, signature, errors);
        let storage = args.compute_storage.is_some() || kind == Kind::NoOpmath;
        let dtypes = dtypes(args, signature, kind, storage, errors);
        let bound = signature.generic.as_ref().map(|generic| generic.bound);
        let mut instances: DTypeSet = dtypes.iter().map(|dtype| computed_in(dtype, kind, storage)).collect();
        if let Some(bound) = bound {
            instances = instances.iter().filter(|dtype| bound.has(*dtype)).collect();
        }
        // The complex form computes what it adds.
        let added =
            DType::all().filter(|dtype| args.complex.is_some() && dtype.category() == Category::Complex);
        let dtypes = dtypes.iter().chain(added).collect();
        let schema = Schema {
            name: args.name.as_ref().map_or_else(|| plain_name(signature), syn::LitStr::value),
            kind,
            storage,
            dtypes,
            instances,
            promotes: promotes(args, signature, errors),
            accepts: accepts(args, signature, errors),
            numbers: numbers(args, signature, errors),
            vote: vote(args, signature, errors),
            casts_freely: args.casts_freely,
            check: args.check.clone(),
            complex: args.complex.clone(),
            integers: args.integers.clone(),
            outputs: outputs(args, signature, errors),
        };
        has_a_tensor(signature, errors);
        decides_the_type_parameter(signature, &schema, errors);
        schema
    }
}

fn plain_name(signature: &Signature) -> String {
    signature.name().to_string().trim_start_matches("r#").to_owned()
}

fn find<'a>(signature: &'a Signature, name: &Ident, errors: &Errors) -> Option<(usize, &'a Param)> {
    let found = signature.params.iter().enumerate().find(|(_, param)| param.ident == *name);
    if found.is_none() {
        let known: Vec<String> = signature.params.iter().map(|param| param.ident.to_string()).collect();
        let known = list(known.iter().map(String::as_str));
        errors.at(name, format_args!("`{name}` is not a parameter of this function; parameters are {known}"));
    }
    found
}

/// The kind fits the results: `always_bool` makes bool only, `complex_to_float` makes `T::Real`, every other kind
/// makes something that is not bool. Without an option, results that are all bool mean `always_bool`.
fn kind(args: &Args, signature: &Signature, errors: &Errors) -> Kind {
    let all_bool = signature.outputs.iter().all(|output| *output == BOOL);
    let Some(promote) = &args.promote else {
        return if all_bool { Kind::AlwaysBool } else { Kind::Default };
    };
    let word = &promote.word;
    let Some(generic) = &signature.generic else {
        if promote.kind != Kind::AlwaysBool || !all_bool {
            errors.at(word, "there is no type parameter that promotion could decide; remove the option");
        }
        return promote.kind;
    };
    let output = &signature.item.sig.output;
    let known = !signature.outputs.contains(&Type::Error);
    match promote.kind {
        Kind::AlwaysBool if known && !all_bool => {
            errors
                .at(output, "kind `always_bool` makes bool results only; return bool or choose another kind");
        }
        Kind::ComplexToFloat
            if known && generic.bound.may_be_complex() && !signature.outputs.contains(&Type::Real) =>
        {
            let name = &generic.ident;
            errors.at(
                output,
                format_args!("kind `complex_to_float` makes real results; return `{name}::Real`"),
            );
        }
        Kind::IntToFloat if !DType::all().any(|dtype| dtype.is_float() && generic.bound.has(dtype)) => {
            errors.at(
                word,
                format_args!(
                    "kind `int_to_float` computes in floats, which `{}` excludes",
                    generic.bound.name()
                ),
            );
        }
        kind if kind != Kind::AlwaysBool && known && all_bool => {
            errors.at(
                word,
                format_args!(
                    "the result is bool whatever the operands are; write `always_bool`, not `{word}`"
                ),
            );
        }
        _ => {}
    }
    promote.kind
}

/// The dtype in which an op of this kind computes when the common dtype is this one.
fn computed_in(common: DType, kind: Kind, storage: bool) -> DType {
    let common = match (kind, common.category()) {
        (Kind::IntToFloat, Category::Bool | Category::Int) => DType::F32,
        (Kind::BoolToLong, Category::Bool) => DType::I64,
        (Kind::ToDouble, Category::Complex) => DType::C128,
        (Kind::ToDouble, _) => DType::F64,
        _ => common,
    };
    if storage { common } else { common.op_math() }
}

/// Every dtype that the user lists has a computation under the bound. Without a list, the bound decides.
fn dtypes(args: &Args, signature: &Signature, kind: Kind, storage: bool, errors: &Errors) -> DTypeSet {
    let bound = signature.generic.as_ref().map_or(Trait::Element, |generic| generic.bound);
    let elsewhere = |dtype: &DType| args.integers.is_some() && dtype.category() <= Category::Int;
    let computes = |dtype: &DType| elsewhere(dtype) || bound.has(computed_in(*dtype, kind, storage));
    let Some(words) = &args.dtypes else {
        let converts = match kind {
            Kind::IntToFloat | Kind::ToDouble => [Category::Bool, Category::Int].as_slice(),
            Kind::BoolToLong => &[Category::Bool],
            _ => &[],
        };
        let groups = [bound.default_groups(), converts].concat();
        return DType::all().filter(|dtype| groups.contains(&dtype.category())).filter(computes).collect();
    };
    if signature.generic.is_none() {
        errors.at(&words[0].word, "there is no type parameter whose dtypes could be listed; use `accepts`");
    }
    for DTypes { word, members } in words {
        if let Some(wrong) = members.iter().find(|dtype| !computes(dtype)) {
            let whole_word = !members.iter().any(computes);
            let name = if whole_word { word.to_string() } else { wrong.name().to_owned() };
            let bound = bound.name();
            let way_out = if storage && wrong.op_math() != *wrong {
                "without `compute = storage` it is computed in f32"
            } else {
                "remove it or widen the bound"
            };
            errors.at(
                word,
                format_args!(
                    "`{name}` cannot be computed with a type parameter bounded by `{bound}`; {way_out}"
                ),
            );
        }
    }
    words.iter().flat_map(|word| word.members.iter().copied()).collect()
}

/// Promotion is decided by tensors of the type parameter, each named once. Without names, all of them.
fn promotes(args: &Args, signature: &Signature, errors: &Errors) -> Vec<bool> {
    let Some(names) = args.promote.as_ref().and_then(|promote| promote.params.as_ref()) else {
        return signature.params.iter().map(|param| param.ty.is_generic() && !param.is_number).collect();
    };
    let mut promotes = vec![false; signature.params.len()];
    for name in names {
        let Some((i, param)) = find(signature, name, errors) else { continue };
        if promotes[i] {
            errors.at(name, format_args!("`{name}` stands here twice; remove one"));
        } else if param.is_number {
            errors.at(
                name,
                format_args!(
                    "`{name}` is a `#[param]`, which takes no part in promotion; remove it here or there"
                ),
            );
        } else if !param.ty.is_generic() && param.ty != Type::Error && signature.generic.is_some() {
            let ty = param.ty.describe(signature.generic.as_ref());
            errors
                .at(name, format_args!("`{name}` has the type {ty}, which no promotion changes; remove it"));
        }
        promotes[i] = true;
    }
    promotes
}

/// Only tensors of a concrete type say which dtypes they accept; the others follow from promotion.
fn accepts(args: &Args, signature: &Signature, errors: &Errors) -> Vec<DTypeSet> {
    let mut accepts = vec![DTypeSet::all(); signature.params.len()];
    for (name, words) in &args.accepts {
        let Some((i, param)) = find(signature, name, errors) else { continue };
        if !matches!(param.ty, Type::Fixed(_) | Type::Error) {
            errors.at(name, format_args!("what `{name}` accepts follows from promotion; use `dtypes`"));
        } else if param.is_number {
            errors.at(name, format_args!("`{name}` is a `#[param]`, which accepts every number; remove it"));
        }
        accepts[i] = words.iter().flat_map(|word| word.members.iter().copied()).collect();
    }
    accepts
}

/// A number keeps its value only where it is compared with the other one of two operands: a third one would be compared
/// with what stands for the number.
fn numbers(args: &Args, signature: &Signature, errors: &Errors) -> Numbers {
    let Some((word, numbers)) = &args.numbers else { return Numbers::default() };
    let given = signature.params.len();
    if *numbers == Numbers::Exact && given != 2 {
        errors.at(
            word,
            format_args!(
                "`exact` compares two operands and this function has {given}; make each comparison an op of its own, or \
                 use `saturate`"
            ),
        );
    }
    *numbers
}

/// Only tensors vote on the layout of results, each once. Without names, all of them vote, in order.
fn vote(args: &Args, signature: &Signature, errors: &Errors) -> Vec<usize> {
    let Some(names) = &args.vote else {
        return (0..signature.params.len()).filter(|&i| !signature.params[i].is_number).collect();
    };
    let mut vote = Vec::new();
    for name in names {
        let Some((i, param)) = find(signature, name, errors) else { continue };
        if vote.contains(&i) {
            errors.at(name, format_args!("`{name}` stands here twice; remove one"));
        } else if param.is_number {
            errors.at(name, format_args!("`{name}` is a `#[param]` and has no layout; remove it"));
        }
        vote.push(i);
    }
    vote
}

/// Results have different names, none of a parameter; `like` names a result and a tensor.
fn outputs(args: &Args, signature: &Signature, errors: &Errors) -> Vec<Output> {
    let n = signature.outputs.len();
    let names: Vec<Ident> = match &args.outputs {
        Some(names) if names.len() != n => {
            let given = names.len();
            errors.at(
                &names[given - 1],
                format_args!(
                    "{given} names are given for {n} result{}; name each one once",
                    if n == 1 { "" } else { "s" }
                ),
            );
            default_names(n)
        }
        Some(names) => names.clone(),
        None => default_names(n),
    };
    for (i, name) in names.iter().enumerate() {
        if signature.params.iter().any(|param| param.ident == *name) {
            if args.outputs.is_some() {
                errors.at(name, format_args!("`{name}` is a parameter; give the result another name"));
            } else if let Some(param) = signature.params.iter().find(|param| param.ident == *name) {
                errors.at(
                    &param.ident,
                    format_args!("`{name}` is the name of the result; rename the parameter"),
                );
            }
        } else if names[..i].contains(name) {
            errors.at(name, format_args!("`{name}` names two results; give each its own name"));
        }
    }
    let mut outputs: Vec<Output> = names
        .into_iter()
        .zip(&signature.outputs)
        .map(|(name, ty)| Output { name, ty: ty.clone(), like: None })
        .collect();
    for (output, name) in &args.like {
        let Some((param, found)) = find(signature, name, errors) else { continue };
        if found.is_number {
            errors.at(name, format_args!("`{name}` is a `#[param]` and has no dtype; name a tensor"));
        }
        let known: Vec<String> = outputs.iter().map(|output| output.name.to_string()).collect();
        match outputs.iter_mut().find(|known| known.name == *output) {
            Some(found) => found.like = Some(param),
            None => {
                let known = choices(known.iter().map(String::as_str));
                errors.at(output, format_args!("`{output}` is not a result; expected {known}"));
            }
        }
    }
    outputs
}

/// `out`, or `out0`, `out1`, …
fn default_names(n: usize) -> Vec<Ident> {
    if n == 1 { vec![format_ident!("out")] } else { (0..n).map(|i| format_ident!("out{i}")).collect() }
}

/// At least one argument can be a buffer, else the op has no shape.
fn has_a_tensor(signature: &Signature, errors: &Errors) {
    if signature.params.iter().all(|param| param.is_number) {
        errors.at(signature.name(), "an op needs a tensor; leave `#[param]` off at least one parameter");
    }
}

/// The type parameter is the type of a tensor that takes part in promotion.
fn decides_the_type_parameter(signature: &Signature, schema: &Schema, errors: &Errors) {
    let Some(generic) = &signature.generic else { return };
    let wrong = signature.params.iter().any(|param| param.ty == Type::Error);
    if !wrong && !schema.promotes.contains(&true) {
        let name = &generic.ident;
        errors.at(
            name,
            format_args!("nothing decides `{name}`; give it to a tensor that takes part in promotion"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Attribute;
    use proc_macro2::TokenStream;
    use quote::quote;

    fn schema(args: TokenStream, item: TokenStream) -> Result<Schema, String> {
        let errors = Errors::default();
        let args = Args::parse(args, Attribute::PointwiseDynamic, &errors);
        let signature = Signature::parse(syn::parse2(item).unwrap(), Attribute::PointwiseDynamic, &errors);
        let schema = Schema::new(&args, &signature, &errors);
        errors.gate().map_err(|failed| failed.0.to_string())?;
        Ok(schema)
    }

    fn names(set: &DTypeSet) -> Vec<&'static str> {
        set.iter().map(DType::name).collect()
    }

    #[test]
    fn halves_compute_in_f32_unless_stored_bits_are_wanted() {
        let float = schema(
            quote!(),
            quote!(
                fn f<T: Float>(x: T) -> T {
                    x
                }
            ),
        )
        .unwrap();
        assert_eq!(names(&float.instances), ["f32", "f64"]);
        assert!(float.dtypes.contains(DType::BF16));
        let copy = schema(
            quote!(promote = no_opmath),
            quote!(
                fn f<T: Element>(x: T) -> T {
                    x
                }
            ),
        )
        .unwrap();
        assert_eq!(copy.instances, DTypeSet::all());
    }

    #[test]
    fn int_to_float_accepts_integers_and_computes_in_floats() {
        let exp = schema(
            quote!(promote = int_to_float),
            quote!(
                fn f<T: Analytic>(x: T) -> T {
                    x
                }
            ),
        )
        .unwrap();
        assert!(exp.dtypes.contains(DType::Bool) && exp.dtypes.contains(DType::U8));
        assert_eq!(names(&exp.instances), ["f32", "f64", "c64", "c128"]);
    }

    #[test]
    fn bool_to_long_computes_bool_in_i64() {
        let square = schema(
            quote!(promote = bool_to_long),
            quote!(
                fn f<T: Number>(x: T) -> T {
                    x
                }
            ),
        )
        .unwrap();
        assert!(square.dtypes.contains(DType::Bool) && !square.instances.contains(DType::Bool));
    }

    #[test]
    fn bool_results_mean_always_bool() {
        let eq = schema(
            quote!(),
            quote!(
                fn f<T: Number>(x: T, y: T) -> bool {
                    x == y
                }
            ),
        )
        .unwrap();
        assert_eq!(eq.kind, Kind::AlwaysBool);
    }

    #[test]
    fn numbers_and_concrete_tensors_take_no_part_in_promotion() {
        let item = quote!(
            fn f<T: Float>(mask: bool, x: T, #[param] p: T) -> T {
                x
            }
        );
        assert_eq!(schema(quote!(), item).unwrap().promotes, [false, true, false]);
    }

    #[test]
    fn a_listed_dtype_needs_a_computation() {
        let message = schema(
            quote!(dtypes(int)),
            quote!(
                fn f<T: Float>(x: T) -> T {
                    x
                }
            ),
        )
        .unwrap_err();
        assert!(message.contains("cannot be computed"), "{message}");
    }

    #[test]
    fn numbers_stay_exact_between_two_operands_only() {
        let within = quote!(
            fn f<T: Real>(x: T, low: T, high: T) -> bool {
                x >= low && x <= high
            }
        );
        let message = schema(quote!(numbers = exact), within.clone()).unwrap_err();
        assert!(message.contains("`exact` compares two operands and this function has 3"), "{message}");
        assert_eq!(schema(quote!(numbers = saturate), within).unwrap().numbers, Numbers::Saturate);
        let below = quote!(
            fn f<T: Real>(x: T, #[param] bound: T) -> bool {
                x < bound
            }
        );
        assert_eq!(schema(quote!(numbers = exact), below).unwrap().numbers, Numbers::Exact);
    }
}
