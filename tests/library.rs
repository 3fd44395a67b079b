//! The library against the list of what is offered, `data/library.txt`.

use gems_ops::{find, prelude::*};
use gems_runtime::dtype::DTypeSet;
use gems_runtime::op::{OpDef, Role};
use gems_runtime::plan::{Outputs, infer};
use gems_tests::cases::View;
use gems_tests::sweep;

const LIST: &str = include_str!("data/library.txt");

/// A line of the list.
#[derive(Debug)]
enum Line<'a> {
    Op { name: &'a str, dtypes: DTypeSet, stored: DTypeSet, inplace: bool },
    Other { name: &'a str, op: &'a str },
    Backward { name: &'a str },
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        if let Some((name, op)) = line.split_once(" = ") {
            return Line::Other { name, op };
        }
        if let Some(name) = line.strip_prefix("backward ") {
            return Line::Backward { name };
        }
        let (name, rest) = line.split_once(' ').unwrap_or_else(|| panic!("no dtypes: {line}"));
        let words = rest.strip_suffix(" inplace").unwrap_or(rest);
        let (dtypes, stored) = words.split_once(" into ").unwrap_or((words, ""));
        Line::Op { name, dtypes: set(dtypes), stored: set(stored), inplace: words != rest }
    })
}

/// `B I f32`: groups and single dtypes.
fn set(words: &str) -> DTypeSet {
    words.split_whitespace().fold(DTypeSet::EMPTY, |set, word| {
        set.union(match word {
            "B" => DTypeSet::BOOL,
            "I" => DTypeSet::INT,
            "F" => DTypeSet::FLOAT,
            "C" => DTypeSet::COMPLEX,
            name => {
                let dtype = DType::from_name(name).unwrap_or_else(|| panic!("no dtype `{name}`"));
                DTypeSet::EMPTY.with(dtype)
            }
        })
    })
}

fn op(name: &str) -> &'static OpDef {
    find(name).unwrap_or_else(|| panic!("`{name}` is not there"))
}

/// Why a call on buffers of this dtype cannot store its results in its first operands, if so.
fn inplace(op: &'static OpDef, dtype: DType) -> Result<()> {
    let metas = sweep::metas(op, dtype, View::Contiguous)?;
    let arguments = sweep::arguments(op, &metas);
    let mut tensors = op.params.iter().zip(&metas).filter(|(param, _)| param.role == Role::Tensor);
    let outputs: Vec<_> = op
        .outputs
        .iter()
        .filter_map(|output| match output.like {
            Some(param) => metas.get(param),
            None => tensors.next().map(|(_, meta)| meta),
        })
        .collect();
    infer(op, &arguments, Outputs::Given(&outputs)).map(|_| ())
}

#[test]
fn every_op_is_there_with_its_dtypes() {
    let mut count = 0;
    for line in lines() {
        let Line::Op { name, dtypes, stored, .. } = line else { continue };
        let op = op(name);
        count += 1;
        for dtype in dtypes.iter() {
            let planned = sweep::plan(op, dtype, View::Stepped);
            assert!(planned.is_ok(), "{name} of {dtype}: {}", planned.unwrap_err());
        }
        assert!(stored == DTypeSet::EMPTY || op.casts_freely, "{name} stores into {stored}");
    }
    assert_eq!(count, 239);
}

#[test]
fn other_names_lead_to_the_same_op() {
    for line in lines() {
        match line {
            Line::Op { .. } => {}
            Line::Other { name, op: other } => assert_eq!(op(name).name, op(other).name, "{name}"),
            Line::Backward { name } => assert!(!op(name).params.is_empty()),
        }
    }
}

#[test]
fn results_fit_the_first_operand() {
    for line in lines() {
        let Line::Op { name, inplace: true, .. } = line else { continue };
        let op = op(name);
        let fits = op.dtypes.iter().chain([DType::F64]).any(|dtype| inplace(op, dtype).is_ok());
        assert!(fits, "{name}: {}", inplace(op, DType::F32).unwrap_err());
    }
}
