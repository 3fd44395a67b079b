//! Type promotion: the common dtype of operands, and the dtypes of result and computation that follow from it.
//!
//! Guarantees: the answer does not depend on the order of the operands; for the dtypes that PyTorch 2.15 promotes it is
//! PyTorch's answer, except that bf16 with a complex of a lower tier gives c64.
//! Does not look at values, shapes or devices, and does not decide which operands take part.

use super::{Category, DType, DTypeSet, Scalar};
use crate::error::{Error, ErrorKind, Result};

/// The dtype of a float number, and of a function of integers that gives floats.
const DEFAULT_FLOAT: DType = DType::F32;

/// How an op turns the common dtype of its operands into the dtype of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The common dtype; 1- and 2-byte floats compute in f32.
    Default,
    /// The common dtype, also for the computation: nothing is computed, values are moved.
    NoOpmath,
    /// Integers and bool become f32 before the computation.
    IntToFloat,
    /// The result is bool, whatever the operands are.
    AlwaysBool,
    /// A complex computation gives its real dtype.
    ComplexToFloat,
    /// Bool computes as i64.
    BoolToLong,
    /// Everything becomes f64 before the computation, complex numbers c128.
    ToDouble,
}

/// How much say an operand has in promotion, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// A buffer of rank 1 or more.
    Tensor,
    /// A buffer of rank 0.
    ZeroDim,
    /// A host number.
    Number,
}

/// What promotion knows of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiered {
    /// Dtype of the buffer, or the default dtype of the number.
    pub dtype: DType,
    /// How much say it has.
    pub tier: Tier,
}

impl Tiered {
    /// A buffer of this dtype and rank.
    #[must_use]
    pub const fn buffer(dtype: DType, rank: usize) -> Tiered {
        Tiered { dtype, tier: if rank == 0 { Tier::ZeroDim } else { Tier::Tensor } }
    }
}

impl From<Scalar> for Tiered {
    fn from(value: Scalar) -> Tiered {
        Tiered { dtype: value.default_dtype(), tier: Tier::Number }
    }
}

/// The three dtypes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Promotion {
    /// Join of the operands.
    pub common: DType,
    /// Dtype of the result.
    pub result: DType,
    /// Dtype in which the body runs.
    pub compute: DType,
}

/// Result and computation dtype of an op of this kind whose operands have this common dtype.
#[must_use]
pub const fn promotion(kind: Kind, common: DType) -> Promotion {
    Promotion { common, result: result_dtype(kind, common), compute: compute_dtype(kind, common) }
}

/// Dtype of the result.
#[must_use]
pub const fn result_dtype(kind: Kind, common: DType) -> DType {
    match (kind, common.category()) {
        (Kind::AlwaysBool, _) => DType::Bool,
        (Kind::IntToFloat, Category::Bool | Category::Int) => DEFAULT_FLOAT,
        (Kind::BoolToLong, Category::Bool) => DType::I64,
        (Kind::ComplexToFloat, Category::Complex) => common.real(),
        (Kind::ToDouble, Category::Complex) => DType::C128,
        (Kind::ToDouble, _) => DType::F64,
        (Kind::Default | Kind::NoOpmath | Kind::IntToFloat | Kind::ComplexToFloat | Kind::BoolToLong, _) => {
            common
        }
    }
}

/// Dtype in which the body runs.
#[must_use]
pub const fn compute_dtype(kind: Kind, common: DType) -> DType {
    match kind {
        Kind::NoOpmath => common,
        Kind::Default | Kind::AlwaysBool | Kind::ComplexToFloat => common.op_math(),
        Kind::IntToFloat | Kind::BoolToLong | Kind::ToDouble => result_dtype(kind, common).op_math(),
    }
}

/// The dtypes directly above one: what it becomes when it meets something that it cannot hold.
const fn successors(dtype: DType) -> &'static [DType] {
    use DType::*;
    match dtype {
        Bool => &[U8, I8],
        U8 | I8 => &[I16],
        I16 => &[I32],
        I32 => &[I64],
        I64 | U16 | U32 | U64 => &[F16, BF16],
        F16 => &[F32, C32],
        BF16 => &[F32],
        F32 => &[F64, C64],
        F64 => &[C128],
        C32 => &[C64],
        C64 => &[C128],
        C128 | F8E4M3FN | F8E5M2 => &[],
    }
}

/// The dtypes that one may become, itself included.
const fn above(dtype: DType) -> DTypeSet {
    let mut set = DTypeSet::EMPTY.with(dtype);
    let next = successors(dtype);
    let mut i = 0;
    while i < next.len() {
        set = set.union(above(next[i]));
        i += 1;
    }
    match dtype {
        // The wide unsigned integers meet real floats only.
        DType::U16 | DType::U32 | DType::U64 => set.intersection(DTypeSet::FLOAT).with(dtype),
        _ => set,
    }
}

/// `above` for every dtype, in the order of [`DType::ALL`].
const ABOVE: [DTypeSet; DType::ALL.len()] = {
    let mut table = [DTypeSet::EMPTY; DType::ALL.len()];
    let mut i = 0;
    while i < table.len() {
        table[i] = above(DType::ALL[i]);
        i += 1;
    }
    table
};

/// The least dtype that all of a set may become, if there is a least one.
fn least_above(dtypes: DTypeSet) -> Option<DType> {
    let candidates = dtypes.iter().fold(DTypeSet::ALL, |set, dtype| set.intersection(ABOVE[dtype as usize]));
    candidates.iter().find(|&least| candidates.intersection(ABOVE[least as usize]) == candidates)
}

/// The least dtype that two dtypes of one tier may become.
///
/// # Errors
/// u16, u32 and u64 have no common dtype with bool, other integers and complex numbers; 8-bit floats have none with
/// anything else.
pub fn join(lhs: DType, rhs: DType) -> Result<DType> {
    least_above(DTypeSet::EMPTY.with(lhs).with(rhs)).ok_or_else(|| no_common(lhs, rhs))
}

fn no_common(lhs: DType, rhs: DType) -> Error {
    Error::new(ErrorKind::DType, format!("{lhs} and {rhs} have no common dtype; cast one of them first"))
}

/// `join` for all dtypes of one tier at once, so that their order cannot matter.
fn join_all(dtypes: DTypeSet) -> Result<DType> {
    if let Some(least) = least_above(dtypes) {
        return Ok(least);
    }
    // A set without a join has a pair without one.
    for lhs in dtypes.iter() {
        for rhs in dtypes.iter() {
            join(lhs, rhs)?;
        }
    }
    Err(Error::new(ErrorKind::DType, format!("{dtypes} have no common dtype; cast some of them first")))
}

/// The common dtype of a tier and of those below it.
fn combine(higher: DType, lower: DType) -> Result<DType> {
    use Category::{Bool, Complex, Float, Int};
    match (higher.category(), lower.category()) {
        (Float, Complex) if matches!(higher, DType::F8E4M3FN | DType::F8E5M2) => {
            Err(no_common(higher, lower))
        }
        (Float, Complex) => Ok(higher.complex()),
        (Int, Complex) => Ok(lower),
        (Int, Float) | (Bool, _) => join(higher, lower),
        (Complex, _) | (Float, Bool | Int | Float) | (Int, Bool | Int) => Ok(higher),
    }
}

/// The common dtype of operands.
///
/// Dtypes are joined inside each [`Tier`]; a weaker tier then only changes the category of the stronger ones, not their
/// width: `i32[3] + 1.5` is f32, `f16[3] + f64[]` is f16, `u8[3] + 300` is u8.
///
/// # Errors
/// Dtypes without a common one (see [`join`]), or no operand at all.
///
/// # Examples
/// ```
/// use gems_runtime::dtype::{DType, Scalar, Tiered, result_type};
///
/// let i32s = Tiered::buffer(DType::I32, 1);
/// assert_eq!(result_type([i32s, Scalar::from(1.5).into()])?, DType::F32);
/// assert_eq!(result_type([i32s, Tiered::buffer(DType::I64, 0)])?, DType::I32);
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
pub fn result_type(operands: impl IntoIterator<Item = Tiered>) -> Result<DType> {
    let mut tiers = [DTypeSet::EMPTY; 3];
    for Tiered { dtype, tier } in operands {
        let seen = &mut tiers[tier as usize];
        *seen = seen.with(dtype);
    }
    let mut common = None;
    for seen in tiers.into_iter().rev().filter(|&seen| seen != DTypeSet::EMPTY) {
        let joined = join_all(seen)?;
        common = Some(match common {
            Some(lower) => combine(joined, lower)?,
            None => joined,
        });
    }
    common.ok_or_else(|| {
        Error::new(ErrorKind::DType, "no operand takes part in promotion; pass at least one buffer or number")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Tier::{Number, Tensor, ZeroDim};

    #[track_caller]
    fn check(operands: &[(DType, Tier)], expected: Option<DType>) {
        let tiered = |&(dtype, tier): &(DType, Tier)| Tiered { dtype, tier };
        let forward = result_type(operands.iter().map(tiered));
        let backward = result_type(operands.iter().rev().map(tiered));
        assert_eq!(forward.ok(), expected);
        assert_eq!(backward.ok(), expected);
    }

    #[test]
    fn documented_examples_hold() {
        use DType::*;
        check(&[(I32, Tensor), (F32, Number)], Some(F32));
        check(&[(F16, Tensor), (F64, ZeroDim)], Some(F16));
        check(&[(I64, Tensor), (F64, ZeroDim)], Some(F64));
        check(&[(F16, Tensor), (C64, Number)], Some(C32));
        check(&[(BF16, Tensor), (C64, Number)], Some(C64));
        check(&[(U8, Tensor), (I64, Number)], Some(U8));
        check(&[(Bool, Tensor), (I64, Number)], Some(I64));
        check(&[(U8, Tensor), (I64, ZeroDim)], Some(U8));
        check(&[(U16, Tensor), (U8, ZeroDim)], Some(U16));
        check(&[(Bool, Tensor), (U16, ZeroDim)], None);
        check(&[(F8E4M3FN, Tensor), (F64, ZeroDim)], Some(F8E4M3FN));
        check(&[(F32, Tensor), (F8E4M3FN, ZeroDim)], Some(F32));
        check(&[(F8E4M3FN, Tensor), (F32, Tensor)], None);
        check(&[(F8E4M3FN, Tensor), (C64, Number)], None);
        check(&[(I32, Tensor), (F8E5M2, ZeroDim)], None);
        check(&[(F16, Tensor), (I64, Tensor), (C128, ZeroDim), (I64, Number)], Some(C32));
        check(&[], None);
    }

    #[test]
    fn numbers_bring_their_default_dtype() {
        for (number, dtype) in [
            (Scalar::from(true), DType::Bool),
            (Scalar::from(3), DType::I64),
            (Scalar::from(u64::MAX), DType::I64),
            (Scalar::from(0.5), DType::F32),
            (Scalar::from(num_complex::Complex::new(0.0, 1.0)), DType::C64),
        ] {
            assert_eq!(Tiered::from(number), Tiered { dtype, tier: Number });
        }
        assert_eq!(Tiered::buffer(DType::I8, 0).tier, ZeroDim);
        assert_eq!(Tiered::buffer(DType::I8, 1).tier, Tensor);
    }

    /// The documented lattice, spelled out independently of `above`.
    fn documented_join(lhs: DType, rhs: DType) -> Option<DType> {
        use DType::*;
        let is_wide_unsigned = |dtype| matches!(dtype, U16 | U32 | U64);
        let is_f8 = |dtype| matches!(dtype, F8E4M3FN | F8E5M2);
        if lhs == rhs {
            return Some(lhs);
        }
        // `lhs` has the higher category, or comes later in the table.
        let (lhs, rhs) = if (lhs.category(), lhs) < (rhs.category(), rhs) { (rhs, lhs) } else { (lhs, rhs) };
        if is_f8(lhs) || is_f8(rhs) {
            return None;
        }
        match (lhs.category(), rhs.category()) {
            (Category::Float | Category::Int, _) if is_wide_unsigned(rhs) || is_wide_unsigned(lhs) => {
                lhs.is_float().then_some(lhs)
            }
            (Category::Complex, _) if is_wide_unsigned(rhs) => None,
            (Category::Complex, Category::Float | Category::Complex) => Some(lhs.max(rhs.complex())),
            (Category::Float, Category::Float) if (lhs, rhs) == (BF16, F16) => Some(F32),
            (Category::Int, Category::Int) if rhs == U8 && lhs == I8 => Some(I16),
            _ => Some(lhs),
        }
    }

    #[test]
    fn join_is_the_documented_lattice() {
        for lhs in DType::ALL {
            for rhs in DType::ALL {
                assert_eq!(join(lhs, rhs).ok(), documented_join(lhs, rhs), "{lhs} with {rhs}");
            }
        }
    }

    #[test]
    fn join_is_commutative_and_idempotent() {
        for lhs in DType::ALL {
            assert_eq!(join(lhs, lhs).ok(), Some(lhs));
            for rhs in DType::ALL {
                assert_eq!(join(lhs, rhs).ok(), join(rhs, lhs).ok(), "{lhs} with {rhs}");
            }
        }
    }

    #[test]
    fn join_is_associative_where_it_is_defined() {
        for a in DType::ALL {
            for b in DType::ALL {
                for c in DType::ALL {
                    let left = join(a, b).and_then(|ab| join(ab, c));
                    let right = join(b, c).and_then(|bc| join(a, bc));
                    let at_once = join_all(DTypeSet::EMPTY.with(a).with(b).with(c));
                    if let (Ok(left), Ok(right)) = (left, right) {
                        assert_eq!(left, right, "{a}, {b}, {c}");
                    }
                    if let (Ok(ab), Ok(at_once)) = (join(a, b), at_once) {
                        assert_eq!(join(ab, c).ok(), Some(at_once), "{a}, {b}, {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_set_without_a_join_has_a_pair_without_one() {
        for a in DType::ALL {
            for b in DType::ALL {
                for c in DType::ALL {
                    let set = DTypeSet::EMPTY.with(a).with(b).with(c);
                    let pairs = [join(a, b), join(b, c), join(a, c)];
                    let has_pair = pairs.iter().any(Result::is_err);
                    if least_above(set).is_none() {
                        assert!(has_pair, "{set}");
                        assert!(join_all(set).unwrap_err().to_string().contains(" and "), "{set}");
                    }
                }
            }
        }
    }

    #[test]
    fn errors_name_both_dtypes_and_the_way_out() {
        let error = join(DType::U16, DType::I32).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DType);
        assert_eq!(error.to_string(), "u16 and i32 have no common dtype; cast one of them first");
    }

    #[test]
    fn small_floats_compute_in_f32_except_when_moved() {
        for common in [DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2] {
            assert_eq!(
                promotion(Kind::Default, common),
                Promotion { common, result: common, compute: DType::F32 }
            );
            assert_eq!(promotion(Kind::NoOpmath, common).compute, common);
        }
        assert_eq!(promotion(Kind::ComplexToFloat, DType::C32).result, DType::F16);
        assert_eq!(promotion(Kind::ComplexToFloat, DType::C32).compute, DType::C64);
        assert_eq!(promotion(Kind::BoolToLong, DType::Bool).compute, DType::I64);
    }
}
