//! The library against the list of what is offered, `data/library.txt`.

use gems_ops::{REGISTRY, find, prelude::*};
use gems_runtime::dtype::DTypeSet;
use gems_runtime::op::{OpDef, Operand, Role};
use gems_runtime::plan::{Outputs, infer};
use gems_tests::cases::View;
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};
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

/// The parameters whose memory can take the results: the one that a result is like, or the next buffer in order.
fn homes(op: &OpDef) -> Vec<usize> {
    let mut tensors = op.tensors().map(|(position, _)| position);
    op.outputs.iter().filter_map(|output| output.like.or_else(|| tensors.next())).collect()
}

/// Why a call on buffers of this dtype cannot store its results in its operands, if so.
fn inplace(op: &'static OpDef, dtype: DType) -> Result<()> {
    let metas = sweep::metas(op, dtype, View::Contiguous)?;
    let arguments = sweep::arguments(op, &metas);
    let outputs: Vec<_> = homes(op).into_iter().map(|position| &metas[position]).collect();
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

#[test]
fn several_results_may_be_stored_in_the_operands_that_they_come_from() {
    let mut random = Random::new(7);
    let mut count = 0;
    for op in REGISTRY.iter().filter(|op| op.outputs.len() > 1 && inplace(op, DType::F32).is_ok()) {
        let metas = sweep::metas(op, DType::F32, View::Contiguous).unwrap();
        let buffers: Vec<_> =
            metas.iter().map(|meta| random.buffer(meta.dtype, &meta.layout, Range::Moderate)).collect();
        let operands: Vec<Operand<'_, StridedBuffer>> = op
            .params
            .iter()
            .zip(&buffers)
            .map(|(param, buffer)| match param.role {
                Role::Tensor => Operand::Buffer(buffer),
                Role::Number => Operand::from(1),
            })
            .collect();
        let fresh = StridedBuffer::run(op, &operands, None).unwrap();
        let mut stored: Vec<_> = homes(op).into_iter().map(|position| buffers[position].clone()).collect();
        StridedBuffer::call_out(op, &operands, &mut stored.iter_mut().collect::<Vec<_>>()).unwrap();
        for (fresh, stored) in fresh.iter().zip(&stored) {
            let fresh = cast(fresh, stored.dtype()).unwrap();
            compare(&fresh, stored, Bound::Exact).unwrap_or_else(|error| panic!("{}: {error}", op.name));
        }
        count += 1;
    }
    assert!(count > 20, "{count}");
}
