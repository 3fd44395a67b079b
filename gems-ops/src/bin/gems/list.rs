//! `gems list`: the ops, one a line.

mod catalog;

use crate::ListArgs;
use crate::failure::Outcome;
use gems_ops::dtype::{DType, DTypeSet, Kind};
use gems_ops::op::{OpDef, Role, TypeRef};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Columns that signatures are padded to at most: an optimizer's needs more, and has it for itself.
const WIDEST: usize = 60;

pub(crate) fn list(args: &ListArgs, out: &mut impl Write) -> Outcome {
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let ops: Vec<_> = gems_ops::REGISTRY.iter().filter(|op| has(op, &word)).collect();
    if args.markdown {
        let page = catalog::page(&ops).map_err(std::io::Error::other)?;
        out.write_all(page.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        let rows: Vec<_> = ops.iter().map(|op| row(op)).collect();
        writeln!(out, "{:#}", serde_json::Value::from(rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    let signatures: Vec<_> = ops.iter().map(|op| signature(op)).collect();
    let width = signatures.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(WIDEST);
    for (op, signature) in ops.iter().zip(&signatures) {
        writeln!(out, "{signature:width$}  {}  {}", kind(op), dtypes(op.dtypes))?;
        writeln!(out, "    {}", first_line(op))?;
    }
    writeln!(out, "{} ops", ops.len())?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the name of an op, another name of it or its documentation has a word, in small letters.
fn has(op: &OpDef, word: &str) -> bool {
    let others = gems_ops::ALIASES.iter().filter(|row| row.1 == op.name).map(|row| row.0);
    others.chain([op.name]).any(|name| name.contains(word)) || op.doc.to_lowercase().contains(word)
}

/// The kind of promotion, as the option has it.
fn kind(op: &OpDef) -> &'static str {
    match op.promote.kind {
        Kind::Default => "default",
        Kind::NoOpmath => "no_opmath",
        Kind::IntToFloat => "int_to_float",
        Kind::AlwaysBool => "always_bool",
        Kind::ComplexToFloat => "complex_to_float",
        Kind::BoolToLong => "bool_to_long",
        Kind::ToDouble => "to_double",
    }
}

/// PyTorch's function that an op matches, by the op's documentation.
fn matched(op: &OpDef) -> Option<&'static str> {
    let (_, rest) = op.doc.split_once("Matches ")?;
    rest.split('`').nth(1)
}

fn row(op: &OpDef) -> serde_json::Value {
    let params: Vec<_> = op
        .params
        .iter()
        .map(|param| {
            json!({
                "name": param.name,
                "type": type_name(param.ty),
                "number": param.role == Role::Number,
                "promotes": param.promotes,
            })
        })
        .collect();
    let outputs: Vec<_> = op.outputs.iter().map(|output| type_name(output.ty)).collect();
    json!({
        "name": op.name,
        "signature": signature(op),
        "params": params,
        "outputs": outputs,
        "kind": kind(op),
        "derivative": op.vjp.is_some(),
        "pytorch": matched(op),
        "dtypes": op.dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>(),
        "doc": first_line(op),
    })
}

/// `add_scaled(input: T, other: T, alpha: number T) -> T`.
pub(crate) fn signature(op: &OpDef) -> String {
    let params: Vec<_> = op
        .params
        .iter()
        .map(|param| {
            let number = if param.role == Role::Number { "number " } else { "" };
            format!("{}: {number}{}", param.name, type_name(param.ty))
        })
        .collect();
    let outputs: Vec<_> = op.outputs.iter().map(|output| type_name(output.ty)).collect();
    let outputs = match outputs.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("({})", several.join(", ")),
    };
    format!("{}({}) -> {outputs}", op.name, params.join(", "))
}

/// `bool, int, float, c64`: a category where all of it is there, single dtypes where not.
pub(crate) fn dtypes(set: DTypeSet) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, all) in [
        ("bool", DTypeSet::BOOL),
        ("int", DTypeSet::INT),
        ("float", DTypeSet::FLOAT),
        ("complex", DTypeSet::COMPLEX),
    ] {
        let there = set.intersection(all);
        if there == all {
            names.push(name);
        } else {
            names.extend(there.iter().map(DType::name));
        }
    }
    names.join(", ")
}

fn type_name(ty: TypeRef) -> &'static str {
    match ty {
        TypeRef::Generic => "T",
        TypeRef::Real => "T::Real",
        TypeRef::Complex => "T::Complex",
        TypeRef::Fixed(dtype) => dtype.name(),
    }
}

fn first_line(op: &OpDef) -> &'static str {
    op.doc.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_categories_have_one_name() {
        assert_eq!(dtypes(DTypeSet::ALL), "bool, int, float, complex");
        assert_eq!(dtypes(DTypeSet::INT.without(DType::U8)), "i8, i16, u16, i32, u32, i64, u64");
        assert_eq!(dtypes(DTypeSet::FLOAT.with(DType::C64)), "float, c64");
    }

    #[test]
    fn words_are_looked_for_in_names_other_names_and_texts() {
        let op = gems_ops::REGISTRY.get("sigmoid").unwrap();
        assert!(has(op, "sigm") && has(op, "expit") && has(op, "torch.sigmoid") && !has(op, "bessel"));
        assert_eq!(matched(op), Some("torch.sigmoid"));
    }

    #[test]
    fn numbers_are_marked_in_signatures() {
        let op = gems_ops::REGISTRY.get("add_scaled").unwrap();
        assert_eq!(signature(op), "add_scaled(input: T, other: T, alpha: number T) -> T");
    }
}
