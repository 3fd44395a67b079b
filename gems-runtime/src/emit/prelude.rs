//! The C++ prelude: what generated code may call, pulled in by need.
//!
//! The files in `prelude/` are lists of pieces. A piece opens with its name, the types that it takes, and the
//! pieces that it needs:
//!
//! ```text
//! //@ rem_floor sint : rem(T)
//! ```
//!
//! In its body and its needs, `T` and `U` stand for the types that were asked for, `R` and `V` for the parts of
//! `T` and `U`, `W` for the unsigned type in which `T` computes. Of several pieces that fit, the one for the
//! fewest types is taken.
//!
//! Guarantees text that holds what was asked for and nothing else, in an order that depends on the request
//! alone. Does not know kernels, layouts or devices.

use crate::dtype::{DType, DTypeSet};
use crate::emit::uses::{Need, Uses};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::OnceLock;

/// The prelude's files, and whether their pieces belong to the namespace `math`, in the order of the text.
const FILES: [(&str, bool); 9] = [
    (include_str!("prelude/types.cuh"), false),
    (include_str!("prelude/value.cuh"), true),
    (include_str!("prelude/int.cuh"), true),
    (include_str!("prelude/float.cuh"), true),
    (include_str!("prelude/cast.cuh"), true),
    (include_str!("prelude/elementary.cuh"), true),
    (include_str!("prelude/bits.cuh"), true),
    (include_str!("prelude/complex.cuh"), true),
    (include_str!("prelude/kernel.cuh"), true),
];

/// The text that defines everything in use, with all that it needs.
///
/// Types stand in the global namespace, everything else in `math`. The names of the integer types are always
/// there; the other types are there if a piece mentions them, or as `("type", [dtype])`.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if the prelude has no such function for these types.
pub fn closure(uses: &Uses) -> Result<String> {
    let mut instances = Instances::default();
    instances.add("integers", &[])?;
    for (name, types) in uses.required() {
        instances.add(name, types)?;
    }
    for (name, types) in uses.offered().filter(|(name, types)| find(name, types).is_some()) {
        instances.add(name, types)?;
    }
    Ok(instances.text())
}

/// All that can be requested, a request for each combination of types.
pub fn every_request() -> impl Iterator<Item = Need> {
    let combinations = |piece: &'static Piece| match piece.types.as_slice() {
        [] => vec![vec![]],
        [first] => DType::ALL.into_iter().filter(|&t| first.fits(t, None)).map(|t| vec![t]).collect(),
        [first, second, ..] => {
            let pairs = DType::ALL.into_iter().flat_map(|t| DType::ALL.map(|u| (t, u)));
            pairs
                .filter(|&(t, u)| first.fits(t, None) && second.fits(u, Some(t)))
                .map(|(t, u)| vec![t, u])
                .collect::<Vec<_>>()
        }
    };
    pieces().iter().flat_map(move |piece| combinations(piece).into_iter().map(|types| (piece.name, types)))
}

/// One piece of the prelude.
#[derive(Debug)]
struct Piece {
    name: &'static str,
    types: Vec<Pattern>,
    /// Names of needed pieces with the words for their types.
    needs: Vec<(&'static str, Vec<&'static str>)>,
    body: &'static str,
    in_math: bool,
}

/// The types that may stand in one place.
#[derive(Debug)]
enum Pattern {
    Of(DTypeSet),
    /// The type of the first place.
    Same,
}

impl Pattern {
    /// A list such as `small,f64`.
    fn parse(list: &str) -> Pattern {
        if list == "same" {
            return Pattern::Same;
        }
        let sets = list.split(',').map(|word| match (word, DType::from_name(word)) {
            (_, Some(dtype)) => DTypeSet::EMPTY.with(dtype),
            ("any", _) => DTypeSet::ALL,
            ("int", _) => DTypeSet::INT,
            ("sint", _) => only(DTypeSet::INT, DType::is_signed),
            ("uint", _) => only(DTypeSet::INT, |dtype| !dtype.is_signed()),
            ("float", _) => only(DTypeSet::FLOAT, |dtype| dtype.size() > 2),
            ("small", _) => only(DTypeSet::FLOAT, |dtype| dtype.size() <= 2),
            ("complex", _) => DTypeSet::COMPLEX,
            _ => unreachable!("no class of types is called {word}"),
        });
        Pattern::Of(sets.fold(DTypeSet::EMPTY, DTypeSet::union))
    }

    fn fits(&self, dtype: DType, first: Option<DType>) -> bool {
        match self {
            Pattern::Of(set) => set.contains(dtype),
            Pattern::Same => first == Some(dtype),
        }
    }

    /// How many types fit; a piece for fewer types is preferred.
    fn breadth(&self) -> usize {
        match self {
            Pattern::Of(set) => set.iter().count(),
            Pattern::Same => 0,
        }
    }
}

fn only(set: DTypeSet, keep: impl Fn(DType) -> bool) -> DTypeSet {
    set.iter().filter(|&dtype| keep(dtype)).fold(DTypeSet::EMPTY, DTypeSet::with)
}

impl Piece {
    /// From the text behind `//@`.
    fn parse(text: &'static str, in_math: bool) -> Piece {
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        let (signature, needs) = head.split_once(" : ").unwrap_or((head, ""));
        let mut words = signature.split_whitespace();
        Piece {
            name: words.next().unwrap_or(""),
            types: words.map(Pattern::parse).collect(),
            needs: parse_needs(needs),
            body: body.trim_end(),
            in_math,
        }
    }

    fn fits(&self, name: &str, types: &[DType]) -> bool {
        self.name == name
            && self.types.len() == types.len()
            && self
                .types
                .iter()
                .zip(types)
                .all(|(pattern, &dtype)| pattern.fits(dtype, types.first().copied()))
    }

    fn breadth(&self) -> usize {
        self.types.iter().map(Pattern::breadth).product()
    }
}

/// Reads `add,sub(R) cast(T, f32) tuple2`.
fn parse_needs(text: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut needs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find([' ', '(']).unwrap_or(rest.len());
        let (names, tail) = rest.split_at(end);
        let (types, tail): (Vec<_>, _) = match tail.strip_prefix('(').and_then(|tail| tail.split_once(')')) {
            Some((types, tail)) => (types.split(", ").collect(), tail),
            None => (Vec::new(), tail),
        };
        needs.extend(names.split(',').map(|name| (name, types.clone())));
        rest = tail.trim_start();
    }
    needs
}

fn pieces() -> &'static [Piece] {
    static PIECES: OnceLock<Vec<Piece>> = OnceLock::new();
    PIECES.get_or_init(|| {
        let parse = |&(text, in_math): &(&'static str, bool)| {
            // What stands before the first piece is the file's own comment.
            text.split("//@ ").skip(1).map(move |piece| Piece::parse(piece, in_math)).collect::<Vec<_>>()
        };
        FILES.iter().flat_map(parse).collect()
    })
}

/// Position of the piece that serves a request best.
fn find(name: &str, types: &[DType]) -> Option<usize> {
    let fitting = pieces().iter().enumerate().filter(|(_, piece)| piece.fits(name, types));
    fitting.min_by_key(|(_, piece)| piece.breadth()).map(|(index, _)| index)
}

/// Pieces with the types that they were asked for. Needs stand before their users in the files, so this order
/// is the order of definition.
#[derive(Debug, Default)]
struct Instances(BTreeSet<(usize, Vec<DType>)>);

impl Instances {
    fn add(&mut self, name: &str, types: &[DType]) -> Result<()> {
        let index = find(name, types).ok_or_else(|| missing(name, types))?;
        if !self.0.insert((index, types.to_vec())) {
            return Ok(());
        }
        let piece = &pieces()[index];
        for (need, words) in &piece.needs {
            let types = words.iter().filter_map(|word| DType::from_name(replace(word, types)));
            self.add(need, &types.collect::<Vec<_>>())?;
        }
        let mut mentioned = BTreeSet::new();
        each_word(piece.body, |word| mentioned.extend(DType::from_name(replace(word, types))));
        for dtype in mentioned {
            if find("type", &[dtype]).is_some_and(|definition| definition != index) {
                self.add("type", &[dtype])?;
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut in_math = false;
        for (index, types) in &self.0 {
            let piece = &pieces()[*index];
            if piece.in_math && !in_math {
                text.push_str("\nnamespace math {\n");
                in_math = true;
            }
            if piece.body.is_empty() {
                continue;
            }
            if piece.in_math {
                text.push('\n');
            }
            each_word(piece.body, |word| text.push_str(replace(word, types)));
            text.push('\n');
        }
        if in_math {
            text.push_str("\n}  // namespace math\n");
        }
        text
    }
}

fn missing(name: &str, types: &[DType]) -> Error {
    let list = |types: &[DType]| types.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ");
    let mut message = format!("device code has no `{name}`({})", list(types));
    let known =
        every_request().filter(|request| request.0 == name).map(|(_, types)| format!("({})", list(&types)));
    let known: Vec<_> = known.take(20).collect();
    if known.is_empty() {
        message.push_str("; no function has this name");
    } else {
        let _ = write!(message, "; it takes {}", known.join(", "));
    }
    Error::new(ErrorKind::Unsupported, message)
}

/// Calls `f` with the words of a text and with what stands between them, in order.
fn each_word(text: &str, mut f: impl FnMut(&str)) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        f(&rest[..end]);
        rest = &rest[end..];
    }
}

/// The meaning of a word in a piece for these types.
fn replace<'a>(word: &'a str, types: &[DType]) -> &'a str {
    let (first, second) = (types.first(), types.get(1));
    let dtype = match word {
        "T" => first.copied(),
        "U" => second.copied(),
        "R" => first.map(|dtype| dtype.real()),
        "V" => second.map(|dtype| dtype.real()),
        "W" => first.map(|dtype| unsigned(*dtype)),
        _ => None,
    };
    dtype.map_or(word, |dtype| dtype.cuda_name())
}

/// The unsigned type of a float's bits; for an integer, the one in which it computes, at least 4 bytes wide.
fn unsigned(dtype: DType) -> DType {
    match (dtype.size(), dtype.is_float()) {
        (1, true) => DType::U8,
        (2, true) => DType::U16,
        (..=4, _) => DType::U32,
        _ => DType::U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(needs: &[Need]) -> Uses {
        needs.iter().cloned().collect()
    }

    fn text(needs: &[Need]) -> String {
        closure(&uses(needs)).unwrap()
    }

    /// Names called in a body, `name(` or `name<`, without those of the global namespace.
    fn calls(body: &str) -> BTreeSet<&str> {
        let mut words = Vec::new();
        let mut rest = body;
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| word(c) != word(first)).unwrap_or(rest.len());
            words.push(&rest[..end]);
            rest = &rest[end..];
        }
        let names: BTreeSet<&str> = pieces().iter().map(|piece| piece.name).collect();
        words
            .windows(3)
            .filter(|triple| names.contains(triple[1]) && triple[2].starts_with(['(', '<']))
            .filter(|triple| !triple[0].ends_with("::") && !triple[0].ends_with('.'))
            .map(|triple| triple[1])
            .collect()
    }

    #[test]
    fn needs_stand_before_their_users() {
        for (name, types) in every_request() {
            let index = find(name, &types).unwrap();
            for (need, words) in &pieces()[index].needs {
                let types: Vec<_> =
                    words.iter().map(|word| DType::from_name(replace(word, &types)).unwrap()).collect();
                let found = find(need, &types);
                assert!(found.is_some_and(|found| found < index), "{name} needs {need} {types:?} before it");
            }
        }
    }

    #[test]
    fn a_piece_calls_what_it_needs_and_needs_what_it_calls() {
        let mut wrong = Vec::new();
        for piece in pieces().iter().filter(|piece| piece.in_math) {
            let mut needs: BTreeSet<&str> = piece.needs.iter().map(|need| need.0).collect();
            let mut calls = calls(piece.body);
            calls.remove(piece.name);
            needs.remove(piece.name);
            needs.remove("type");
            if needs != calls {
                wrong.push(format!("{} {:?} needs {needs:?}, calls {calls:?}", piece.name, piece.types));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn no_request_fits_two_pieces_equally() {
        for (name, types) in every_request() {
            let mut breadths: Vec<_> =
                pieces().iter().filter(|piece| piece.fits(name, &types)).map(Piece::breadth).collect();
            breadths.sort_unstable();
            assert!(breadths.windows(2).all(|pair| pair[0] < pair[1]), "{name} {types:?}");
        }
    }

    #[test]
    fn every_pair_of_dtypes_has_a_cast() {
        for to in DType::ALL {
            for from in DType::ALL {
                closure(&uses(&[("cast", vec![to, from])])).unwrap();
            }
        }
    }

    #[test]
    fn text_holds_what_was_asked_for_and_nothing_else() {
        let text = text(&[("rsqrt", vec![DType::F32])]);
        let functions: Vec<_> = text.lines().filter(|line| line.starts_with("__device__")).collect();
        assert_eq!(
            functions,
            ["__device__ __forceinline__ f32 sqrt(f32 x) {", "__device__ __forceinline__ f32 rsqrt(f32 x) {"]
        );
        assert_eq!(text.matches("namespace math {").count(), 1);
        assert!(!text.contains("struct"));
    }

    #[test]
    fn types_come_with_the_pieces_that_mention_them() {
        let text = text(&[("cast", vec![DType::F32, DType::BF16]), ("sub", vec![DType::C64])]);
        assert!(text.contains("struct bf16 {") && text.contains("using c64 = complex<f32>;"));
        assert!(text.find("struct bf16").unwrap() < text.find("namespace math {").unwrap());
        assert!(!text.contains("struct f16 {") && !text.contains("c128"));
    }

    #[test]
    fn text_depends_on_the_request_alone() {
        let (exp, cast) = (("exp", vec![DType::F32]), ("cast", vec![DType::F16, DType::F64]));
        assert_eq!(text(&[exp.clone(), cast.clone()]), text(&[cast.clone(), exp, cast]));
    }

    #[test]
    fn only_types_stand_in_the_global_namespace() {
        let text = text(&[("type", vec![DType::C32])]);
        assert!(text.contains("using c32 = complex<f16>;") && text.contains("struct f16 {"));
        assert!(!text.contains("namespace"));
    }

    #[test]
    fn unknown_functions_are_typed_errors() {
        let error = closure(&uses(&[("sub", vec![DType::F16])])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().starts_with("device code has no `sub`(f16); it takes (u8), (i8)"),
            "{error}"
        );
        let error = closure(&uses(&[("frobnicate", vec![])])).unwrap_err();
        assert!(error.to_string().ends_with("no function has this name"), "{error}");
    }
}
