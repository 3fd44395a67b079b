//! The options of the attribute, as written: `#[pointwise_dynamic(option, option, …)]`.
//!
//! Guarantees that every option stands once and is well formed; a wrong option is recorded and skipped.
//! Names of parameters are not looked up here: that is a rule of `check`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Token};

use crate::dtype::{Category, DType};
use crate::errors::{Errors, choices};

/// Options of `#[pointwise_dynamic]`.
const OPTIONS: [&str; 15] = [
    "promote", "compute", "dtypes", "accepts", "numbers", "outputs", "like", "vote", "casts", "check",
    "complex", "integers", "name", "grad", "crate",
];
/// Options of `#[device_fn]`.
const DEVICE_OPTIONS: [&str; 2] = ["grad", "crate"];
/// Options inside `grad(…)`.
const GRAD_OPTIONS: [&str; 6] = ["wrt", "backward", "numbers", "zero", "saves", "order"];

/// Which attribute the options belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    PointwiseDynamic,
    DeviceFn,
}

/// The options that were given.
#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) promote: Option<Promote>,
    /// The word of `compute = storage`.
    pub(crate) compute_storage: Option<Ident>,
    pub(crate) dtypes: Option<Vec<DTypes>>,
    pub(crate) accepts: Vec<(Ident, Vec<DTypes>)>,
    pub(crate) numbers: Option<(Ident, Numbers)>,
    pub(crate) vote: Option<Vec<Ident>>,
    /// Whether `casts = freely` stands there.
    pub(crate) casts_freely: bool,
    /// A function that refuses arguments.
    pub(crate) check: Option<syn::Path>,
    /// The op for complex operands.
    pub(crate) complex: Option<syn::Path>,
    /// The op for integer operands.
    pub(crate) integers: Option<syn::Path>,
    pub(crate) name: Option<syn::LitStr>,
    pub(crate) outputs: Option<Vec<Ident>>,
    /// Pairs of output and parameter.
    pub(crate) like: Vec<(Ident, Ident)>,
    pub(crate) grad: Option<Grad>,
    pub(crate) krate: Option<syn::Path>,
}

/// `grad`, or `grad(wrt(x, y), backward = path(grad_output, x), saves = output, order = 2)`.
#[derive(Debug)]
pub(crate) struct Grad {
    pub(crate) word: Ident,
    /// The parameters that have a gradient; without names, all tensors of floats.
    pub(crate) wrt: Option<Vec<Ident>>,
    /// The derivative that the author gives.
    pub(crate) backward: Option<HandRule>,
    /// The derivative for the first tensor where all others are numbers.
    pub(crate) numbers: Option<HandRule>,
    /// Whether `zero` stands there: the function is constant in pieces.
    pub(crate) zero: bool,
    /// The word of `saves = output`.
    pub(crate) saves: Option<Ident>,
    /// How many times the function is differentiated.
    pub(crate) order: usize,
}

/// A function that gives gradients, and what it takes.
#[derive(Clone, Debug)]
pub(crate) struct HandRule {
    pub(crate) path: syn::Path,
    /// Names of gradients, parameters and results; without them, all gradients and parameters.
    pub(crate) args: Option<Vec<Ident>>,
}

impl HandRule {
    /// Where the rule stands.
    pub(crate) fn span(&self) -> Span {
        self.path.segments.last().map_or_else(Span::call_site, |last| last.ident.span())
    }
}

impl Grad {
    fn new(word: Ident) -> Grad {
        Grad { word, wrt: None, backward: None, numbers: None, zero: false, saves: None, order: 1 }
    }

    /// The same option on the derivative itself, whose formula is known.
    pub(crate) fn of_derivative(&self) -> Grad {
        Grad { order: self.order, ..Grad::new(self.word.clone()) }
    }

    /// The option for a call in which only this tensor is no number.
    pub(crate) fn with_numbers(&self, tensor: &Ident) -> Option<Grad> {
        let rule = self.numbers.clone()?;
        Some(Grad { wrt: Some(vec![tensor.clone()]), backward: Some(rule), ..Grad::new(self.word.clone()) })
    }
}

/// `promote = KIND` or `promote = KIND(x, y)`.
#[derive(Debug)]
pub(crate) struct Promote {
    pub(crate) kind: Kind,
    pub(crate) word: Ident,
    pub(crate) params: Option<Vec<Ident>>,
}

/// A promotion kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Default,
    NoOpmath,
    IntToFloat,
    AlwaysBool,
    ComplexToFloat,
    BoolToLong,
    ToDouble,
}

impl Kind {
    /// Every kind: its word in the option, and the runtime's variant.
    const NAMES: [(&'static str, Kind, &'static str); 7] = [
        ("default", Kind::Default, "Default"),
        ("no_opmath", Kind::NoOpmath, "NoOpmath"),
        ("int_to_float", Kind::IntToFloat, "IntToFloat"),
        ("always_bool", Kind::AlwaysBool, "AlwaysBool"),
        ("complex_to_float", Kind::ComplexToFloat, "ComplexToFloat"),
        ("bool_to_long", Kind::BoolToLong, "BoolToLong"),
        ("to_double", Kind::ToDouble, "ToDouble"),
    ];

    /// The runtime's variant.
    pub(crate) fn variant(self) -> Ident {
        Ident::new(Kind::NAMES[self as usize].2, Span::call_site())
    }
}

/// What becomes of a number that an integer dtype cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Numbers {
    #[default]
    Wrap,
    Exact,
    Saturate,
}

impl Numbers {
    /// Every rule: its word in the option, and the runtime's variant.
    const NAMES: [(&'static str, Numbers, &'static str); 3] = [
        ("wrap", Numbers::Wrap, "Wrap"),
        ("exact", Numbers::Exact, "Exact"),
        ("saturate", Numbers::Saturate, "Saturate"),
    ];

    /// The runtime's variant.
    pub(crate) fn variant(self) -> Ident {
        Ident::new(Numbers::NAMES[self as usize].2, Span::call_site())
    }
}

/// A word of a list of dtypes, and what it stands for.
#[derive(Debug)]
pub(crate) struct DTypes {
    pub(crate) word: Ident,
    pub(crate) members: Vec<DType>,
}

impl Args {
    /// Reads the tokens between the parentheses of the attribute.
    pub(crate) fn parse(tokens: TokenStream, attribute: Attribute, errors: &Errors) -> Args {
        let mut args = Args::default();
        let mut seen: Vec<String> = Vec::new();
        for option in split_at_commas(tokens) {
            let parser = |input: ParseStream<'_>| args.parse_option(input, attribute, &mut seen);
            if let Err(error) = parser.parse2(option) {
                errors.push(error);
            }
        }
        args
    }

    fn parse_option(
        &mut self,
        input: ParseStream<'_>,
        attribute: Attribute,
        seen: &mut Vec<String>,
    ) -> syn::Result<()> {
        let known = match attribute {
            Attribute::PointwiseDynamic => OPTIONS.as_slice(),
            Attribute::DeviceFn => DEVICE_OPTIONS.as_slice(),
        };
        let option = input.call(Ident::parse_any)?;
        let name = option.to_string();
        if !known.contains(&name.as_str()) {
            let expected = choices(known.iter().copied());
            let expected = if known.len() > 1 { format!("one of {expected}") } else { expected };
            return Err(syn::Error::new(
                option.span(),
                format!("unknown option `{name}`; expected {expected}"),
            ));
        }
        if seen.contains(&name) {
            let message = format!("option `{name}` is given twice; join the two");
            return Err(syn::Error::new(option.span(), message));
        }
        seen.push(name.clone());
        match name.as_str() {
            "promote" => self.promote = Some(value(input, &option, "KIND(x, y)", parse_promote)?),
            "compute" => self.compute_storage = Some(value(input, &option, "storage", parse_compute)?),
            "dtypes" => self.dtypes = Some(list(input, &option, "float, complex", parse_dtypes)?),
            "accepts" => self.accepts = list(input, &option, "mask = bool | u8", parse_accepts)?,
            "numbers" => self.numbers = Some(value(input, &option, "exact", parse_numbers)?),
            "vote" => self.vote = Some(list(input, &option, "x, y", parse_name)?),
            "casts" => self.casts_freely = value(input, &option, "freely", parse_casts)?,
            "check" => {
                self.check = Some(value(input, &option, "path::to::function", syn::Path::parse_mod_style)?)
            }
            "complex" => {
                self.complex = Some(value(input, &option, "path::to::op", syn::Path::parse_mod_style)?)
            }
            "integers" => {
                self.integers = Some(value(input, &option, "path::to::op", syn::Path::parse_mod_style)?)
            }
            "name" => self.name = Some(value(input, &option, "\"where\"", parse_word)?),
            "outputs" => self.outputs = Some(list(input, &option, "mantissa, exponent", parse_name)?),
            "grad" => self.grad = Some(parse_grad(input, option)?),
            "like" => self.like = list(input, &option, "out = param", parse_like)?,
            _ => {
                self.krate = Some(value(input, &option, "path::to::gems", syn::Path::parse_mod_style)?);
            }
        }
        Ok(())
    }
}

/// A string that graphs can spell.
fn parse_word(input: ParseStream<'_>) -> syn::Result<syn::LitStr> {
    let word: syn::LitStr = input.parse()?;
    let text = word.value();
    let is_word = text.chars().all(|c| c.is_alphanumeric() || c == '_' || !c.is_ascii());
    if is_word && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(word);
    }
    Err(syn::Error::new(
        word.span(),
        "a name is one word of letters, digits and `_`, without a digit in front",
    ))
}

/// Options are separated by commas outside of parentheses; `TokenStream` nests the ones inside.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut options = Vec::new();
    let mut current = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => options.push(std::mem::take(&mut current)),
            other => other.to_tokens(&mut current),
        }
    }
    if !current.is_empty() {
        options.push(current);
    }
    options
}

/// `option = …`
fn value<V>(
    input: ParseStream<'_>,
    option: &Ident,
    form: &str,
    parse: fn(ParseStream<'_>) -> syn::Result<V>,
) -> syn::Result<V> {
    if !input.peek(Token![=]) {
        return Err(syn::Error::new(
            option.span(),
            format!("`{option}` needs a value; write `{option} = {form}`"),
        ));
    }
    input.parse::<Token![=]>()?;
    let value = parse(input)?;
    expect_end(input)?;
    Ok(value)
}

/// `option(…, …)`
fn list<V>(
    input: ParseStream<'_>,
    option: &Ident,
    form: &str,
    parse: fn(ParseStream<'_>) -> syn::Result<V>,
) -> syn::Result<Vec<V>> {
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(
            option.span(),
            format!("`{option}` needs a list; write `{option}({form})`"),
        ));
    }
    let content;
    syn::parenthesized!(content in input);
    let members: Vec<V> =
        Punctuated::<V, Token![,]>::parse_terminated_with(&content, parse)?.into_iter().collect();
    if members.is_empty() {
        return Err(syn::Error::new(option.span(), format!("`{option}` is empty; write `{option}({form})`")));
    }
    expect_end(input)?;
    Ok(members)
}

fn expect_end(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() { Ok(()) } else { Err(input.error("unexpected token; separate options by commas")) }
}

fn parse_name(input: ParseStream<'_>) -> syn::Result<Ident> {
    input.parse()
}

fn parse_promote(input: ParseStream<'_>) -> syn::Result<Promote> {
    let word = input.call(Ident::parse_any)?;
    let Some(&(_, kind, _)) = Kind::NAMES.iter().find(|row| word == row.0) else {
        let expected = choices(Kind::NAMES.iter().map(|row| row.0));
        return Err(syn::Error::new(
            word.span(),
            format!("unknown promotion kind `{word}`; expected one of {expected}"),
        ));
    };
    let mut params = None;
    if input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        params = Some(Punctuated::<Ident, Token![,]>::parse_terminated(&content)?.into_iter().collect());
    }
    Ok(Promote { kind, word, params })
}

fn parse_numbers(input: ParseStream<'_>) -> syn::Result<(Ident, Numbers)> {
    let word: Ident = input.parse()?;
    if let Some(row) = Numbers::NAMES.iter().find(|row| word == row.0) {
        return Ok((word, row.1));
    }
    let expected = choices(Numbers::NAMES.iter().map(|row| row.0));
    Err(syn::Error::new(
        word.span(),
        format!("unknown rule for numbers `{word}`; expected one of {expected}"),
    ))
}

fn parse_casts(input: ParseStream<'_>) -> syn::Result<bool> {
    let word: Ident = input.parse()?;
    if word == "freely" {
        return Ok(true);
    }
    let message = format!("unknown rule for casts `{word}`; expected `freely`, or leave the option out");
    Err(syn::Error::new(word.span(), message))
}

fn parse_compute(input: ParseStream<'_>) -> syn::Result<Ident> {
    let word: Ident = input.parse()?;
    if word == "storage" {
        return Ok(word);
    }
    let message = format!(
        "unknown computation `{word}`; expected `storage`, or leave the option out to compute halves in f32"
    );
    Err(syn::Error::new(word.span(), message))
}

fn parse_dtypes(input: ParseStream<'_>) -> syn::Result<DTypes> {
    let word: Ident = input.parse()?;
    let name = word.to_string();
    let members = match (Category::from_name(&name), DType::from_name(&name)) {
        (Some(category), _) => DType::all().filter(|dtype| dtype.category() == category).collect(),
        (None, Some(dtype)) => vec![dtype],
        (None, None) => {
            let groups = ["int", "float", "complex"];
            let expected = choices(groups.into_iter().chain(DType::all().map(DType::name)));
            let message = format!("unknown dtype `{word}`; expected one of {expected}");
            return Err(syn::Error::new(word.span(), message));
        }
    };
    Ok(DTypes { word, members })
}

fn parse_accepts(input: ParseStream<'_>) -> syn::Result<(Ident, Vec<DTypes>)> {
    let param = input.parse()?;
    input.parse::<Token![=]>()?;
    let dtypes = Punctuated::<DTypes, Token![|]>::parse_separated_nonempty_with(input, parse_dtypes)?;
    Ok((param, dtypes.into_iter().collect()))
}

fn parse_grad(input: ParseStream<'_>, word: Ident) -> syn::Result<Grad> {
    let mut grad = Grad::new(word.clone());
    if input.is_empty() {
        return Ok(grad);
    }
    let mut seen: Vec<Ident> = Vec::new();
    for option in list(input, &word, "order = 2", parse_tokens)? {
        (|input: ParseStream<'_>| parse_grad_option(input, &mut grad, &mut seen)).parse2(option)?;
    }
    let gives_one = |option: &&Ident| ["backward", "numbers", "saves"].iter().any(|name| *option == name);
    match seen.iter().find(gives_one) {
        Some(option) if grad.zero => {
            let message = format!("`{option}` is for a derivative that is not 0; remove it, or `zero`");
            Err(syn::Error::new(option.span(), message))
        }
        _ => Ok(grad),
    }
}

/// The tokens up to a comma.
fn parse_tokens(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?.to_tokens(&mut tokens);
    }
    Ok(tokens)
}

fn parse_grad_option(input: ParseStream<'_>, grad: &mut Grad, seen: &mut Vec<Ident>) -> syn::Result<()> {
    let option: Ident = input.parse()?;
    if seen.contains(&option) {
        let message = format!("option `{option}` is given twice; join the two");
        return Err(syn::Error::new(option.span(), message));
    }
    seen.push(option.clone());
    match option.to_string().as_str() {
        "wrt" => grad.wrt = Some(list(input, &option, "x, y", parse_name)?),
        "backward" => {
            grad.backward = Some(value(input, &option, "path::to::function", parse_hand_rule)?);
        }
        "numbers" => {
            grad.numbers = Some(value(input, &option, "path::to::function", parse_hand_rule)?);
        }
        "zero" => {
            grad.zero = true;
            expect_end(input)?;
        }
        "saves" => grad.saves = Some(value(input, &option, "output", parse_saves)?),
        "order" => grad.order = value(input, &option, "2", parse_order)?,
        name => {
            let expected = choices(GRAD_OPTIONS);
            let message = format!("unknown option `{name}` of `grad`; expected one of {expected}");
            return Err(syn::Error::new(option.span(), message));
        }
    }
    Ok(())
}

fn parse_hand_rule(input: ParseStream<'_>) -> syn::Result<HandRule> {
    let path = input.call(syn::Path::parse_mod_style)?;
    let mut args = None;
    if input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        args = Some(Punctuated::<Ident, Token![,]>::parse_terminated(&content)?.into_iter().collect());
    }
    Ok(HandRule { path, args })
}

fn parse_saves(input: ParseStream<'_>) -> syn::Result<Ident> {
    let word: Ident = input.parse()?;
    if word == "output" {
        return Ok(word);
    }
    let message = format!("`{word}` cannot be saved; expected `output`, or leave the option out");
    Err(syn::Error::new(word.span(), message))
}

fn parse_order(input: ParseStream<'_>) -> syn::Result<usize> {
    let number: syn::LitInt = input.parse()?;
    match number.base10_parse() {
        Ok(order @ (1 | 2)) => Ok(order),
        _ => Err(syn::Error::new(number.span(), "derivatives of order 1 and 2 are made; write `order = 2`")),
    }
}

fn parse_like(input: ParseStream<'_>) -> syn::Result<(Ident, Ident)> {
    let output = input.parse()?;
    input.parse::<Token![=]>()?;
    Ok((output, input.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[track_caller]
    fn check(tokens: TokenStream, message: &str) {
        let errors = Errors::default();
        Args::parse(tokens, Attribute::PointwiseDynamic, &errors);
        let text = errors.gate().unwrap_err().0.to_string();
        assert!(text.contains(message), "{text}");
    }

    #[test]
    fn options_are_read() {
        let errors = Errors::default();
        let tokens = quote!(
            promote = int_to_float(x, y),
            dtypes(int, f32),
            accepts(mask = bool | u8),
            outputs(a, b),
            like(a = x),
            complex = of_pairs,
            integers = of_integers,
            compute = storage,
            crate = my::gems
        );
        let args = Args::parse(tokens, Attribute::PointwiseDynamic, &errors);
        errors.gate().unwrap();
        let promote = args.promote.unwrap();
        assert_eq!((promote.kind, promote.params.unwrap().len()), (Kind::IntToFloat, 2));
        assert_eq!(args.dtypes.unwrap()[1].members, [DType::F32]);
        assert_eq!(args.accepts[0].1.len(), 2);
        assert_eq!(args.outputs.unwrap().len(), 2);
        assert_eq!(args.like.len(), 1);
        assert!(args.complex.unwrap().is_ident("of_pairs"));
        assert!(args.integers.unwrap().is_ident("of_integers"));
        assert!(args.compute_storage.is_some() && args.krate.is_some());
    }

    #[test]
    fn a_wrong_option_does_not_hide_the_next_one() {
        check(quote!(promot = default, dtypes(wide)), "unknown option `promot`");
        check(quote!(promot = default, dtypes(wide)), "unknown dtype `wide`");
    }

    #[test]
    fn options_are_refused_with_their_form() {
        check(quote!(promote), "write `promote = KIND(x, y)`");
        check(quote!(promote = fancy), "unknown promotion kind `fancy`; expected one of `default`");
        check(quote!(dtypes()), "`dtypes` is empty");
        check(quote!(outputs = a), "`outputs` needs a list");
        check(quote!(dtypes(int), dtypes(float)), "given twice");
        check(quote!(compute = wide), "unknown computation `wide`");
    }
}
