//! When a result agrees with a recorded one.
//!
//! Dtype and shape must be equal, strides where a result has more than one element; integers exactly, floats within a
//! tolerance. NaN agrees with NaN, and an infinity only with itself.

use super::known::Entry;
use super::report::Verdict;
use crate::elements::{Elements, Value};
use gems_ops::buffer::Meta;
use gems_ops::dtype::DType;
use std::thread;

/// How far a float may be from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tolerance {
    Exact,
    /// `|x - r| <= atol + rtol*|r|`.
    Close {
        rtol: f64,
        atol: f64,
    },
    /// Distance in units of the last place of the recorded value.
    Ulp(f64),
    /// Relative, but at least the smallest subnormal.
    Relative(f64),
    Absolute(f64),
}

impl Tolerance {
    /// The tolerance that recorded PyTorch answers are compared with.
    pub(super) fn of_torch(dtype: DType) -> Tolerance {
        match dtype.real() {
            DType::F64 => Tolerance::Close { rtol: 1e-7, atol: 1e-7 },
            DType::F32 => Tolerance::Close { rtol: 1.3e-6, atol: 1e-5 },
            DType::BF16 => Tolerance::Close { rtol: 1.6e-2, atol: 1e-5 },
            DType::F16 => Tolerance::Close { rtol: 1e-3, atol: 1e-5 },
            _ => Tolerance::Exact,
        }
    }

    /// Ten times as far, as gradients may be.
    pub(super) fn of_gradient(dtype: DType) -> Tolerance {
        match Tolerance::of_torch(dtype) {
            Tolerance::Close { rtol, atol } => Tolerance::Close { rtol: 10.0 * rtol, atol: 10.0 * atol },
            other => other,
        }
    }

    /// Whether `got` is as good as `want`, both of the real float `dtype`.
    fn admits(self, got: f64, want: f64, dtype: DType) -> bool {
        if got == want || (got.is_nan() && want.is_nan()) {
            return true;
        }
        if !got.is_finite() || !want.is_finite() {
            return false;
        }
        let distance = (got - want).abs();
        match self {
            Tolerance::Exact => false,
            Tolerance::Close { rtol, atol } => distance <= atol + rtol * want.abs(),
            Tolerance::Ulp(ulps) => distance <= ulps * ulp(want, dtype),
            Tolerance::Relative(relative) => distance <= (relative * want.abs()).max(smallest(dtype)),
            Tolerance::Absolute(absolute) => distance <= absolute,
        }
    }
}

/// Mantissa bits with the leading one, and the exponent of the smallest normal.
fn format(dtype: DType) -> (i32, i32) {
    match dtype {
        DType::F8E4M3FN => (4, -6),
        DType::F8E5M2 => (3, -14),
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        DType::F32 => (24, -126),
        _ => (53, -1022),
    }
}

fn smallest(dtype: DType) -> f64 {
    let (bits, lowest) = format(dtype);
    2f64.powi(lowest - bits + 1)
}

/// Distance of neighboring values of `dtype` at `value`.
fn ulp(value: f64, dtype: DType) -> f64 {
    let (bits, lowest) = format(dtype);
    // Values of narrower dtypes are normal as f64; those of f64 below its normals have the spacing of the lowest.
    let stored = i32::try_from(value.to_bits() >> 52 & 0x7ff).unwrap_or_default();
    let exponent = (stored - 1023).max(lowest);
    2f64.powi(exponent - bits + 1)
}

/// Which differences between values count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) tolerance: Tolerance,
    /// Whether zeros must have the same sign.
    pub(super) signed_zero: bool,
}

impl Rule {
    /// Whether two elements agree; `dtype` is that of the result.
    pub(super) fn agrees(self, got: Value, want: Value, dtype: DType) -> bool {
        let part = |got: f64, want: f64| {
            let same_sign = got != 0.0 || want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
            self.tolerance.admits(got, want, dtype.real()) && (same_sign || !self.signed_zero)
        };
        match (got, want) {
            (Value::Int(got), Value::Int(want)) => got == want,
            (Value::Real(got), Value::Real(want)) => part(got, want),
            (Value::Complex(re, im), Value::Complex(want_re, want_im)) => {
                part(re, want_re) && part(im, want_im)
            }
            (Value::Complex(re, im), Value::Real(want)) => part(re, want) && part(im, 0.0),
            _ => false,
        }
    }
}

/// Dtype, shape and strides that a result should have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<'a> {
    pub(super) dtype: &'a str,
    pub(super) shape: &'a [usize],
    pub(super) strides: Option<&'a [isize]>,
}

impl Form<'_> {
    /// What differs, if anything does.
    pub(super) fn difference(&self, got: &Meta) -> Option<String> {
        if got.dtype.name() != self.dtype || got.layout.shape() != self.shape {
            return Some(format!("got {got}, expected {}{:?}", self.dtype, self.shape));
        }
        let strides =
            self.strides.filter(|strides| !same_strides(self.shape, got.layout.strides(), strides))?;
        Some(format!("got strides {:?}, expected {strides:?}", got.layout.strides()))
    }
}

/// Strides are equal, apart from axes of extent 0 and 1 and from results without two elements.
pub(super) fn same_strides(shape: &[usize], got: &[isize], want: &[isize]) -> bool {
    let numel: usize = shape.iter().product();
    let pairs = got.iter().zip(want);
    got.len() == want.len()
        && (numel <= 1 || shape.iter().zip(pairs).all(|(&extent, (got, want))| extent <= 1 || got == want))
}

/// Indices of the elements that do not agree, lowest first; those of long results are cut short.
pub(super) fn differences(got: &Elements, agrees: impl Fn(usize, Value) -> bool + Sync) -> Vec<usize> {
    const SPLIT: usize = 1 << 20;
    const MOST: usize = 1 << 10;
    let count = got.count();
    let check = |range: std::ops::Range<usize>| -> Vec<usize> {
        range.filter(|&index| !agrees(index, got.value(index))).take(MOST).collect()
    };
    if count < SPLIT {
        return (0..count).filter(|&index| !agrees(index, got.value(index))).collect();
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let chunk = count.div_ceil(threads);
    let check = &check;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|i| scope.spawn(move || check((i * chunk).min(count)..((i + 1) * chunk).min(count))))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Indices of further differences that a reason names.
const SHOWN: usize = 64;

/// The verdict on the values of one result: every difference must be listed.
pub(super) fn judge(
    got: &Elements,
    want: impl Fn(usize) -> Value,
    differences: &[usize],
    shape: &[usize],
    known: Option<&Entry>,
) -> Verdict {
    let is_listed = |index: &usize| known.is_some_and(|entry| entry.lists(*index));
    let unlisted: Vec<usize> = differences.iter().copied().filter(|index| !is_listed(index)).collect();
    match (unlisted.first(), differences.first(), known) {
        (Some(&index), _, _) => {
            let others: Vec<_> = unlisted.iter().skip(1).take(SHOWN).map(ToString::to_string).collect();
            let more = match unlisted.len().saturating_sub(1 + SHOWN) {
                _ if others.is_empty() => String::new(),
                0 => format!("; also {}", others.join(", ")),
                more => format!("; also {} and {more} more", others.join(", ")),
            };
            let place =
                if shape.len() > 1 { format!(" {:?}", position(index, shape)) } else { String::new() };
            let (got, want) = (got.value(index), want(index));
            Verdict::Failed(format!("element {index}{place}: got {got}, expected {want}{more}"))
        }
        (None, Some(_), Some(entry)) => Verdict::Known(entry.why()),
        _ => Verdict::Passed,
    }
}

/// A row-major index as one index an axis.
fn position(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut position: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let extent = extent.max(1);
            let along = index % extent;
            index /= extent;
            along
        })
        .collect();
    position.reverse();
    position
}

/// The worse of two verdicts: failed, then unsupported, then known.
pub(super) fn worse(a: Verdict, b: Verdict) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Passed => 0,
        Verdict::Known(_) => 1,
        Verdict::Unsupported(_) => 2,
        Verdict::Failed(_) => 3,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::super::known::Known;
    use super::*;
    use gems_ops::device::Device;
    use gems_ops::layout::Layout;

    fn rule(tolerance: Tolerance) -> Rule {
        Rule { tolerance, signed_zero: false }
    }

    #[test]
    fn special_values_agree_only_with_themselves() {
        let close = rule(Tolerance::of_torch(DType::F32));
        let agrees = |got, want| close.agrees(Value::Real(got), Value::Real(want), DType::F32);
        assert!(agrees(f64::NAN, f64::NAN));
        assert!(agrees(f64::INFINITY, f64::INFINITY));
        assert!(!agrees(f64::INFINITY, f64::NEG_INFINITY));
        assert!(!agrees(f64::INFINITY, 3e38));
        assert!(!agrees(3e38, f64::INFINITY));
        assert!(!agrees(f64::NAN, 0.0));
        assert!(!agrees(0.0, f64::NAN));
    }

    #[test]
    fn the_torch_tolerance_has_an_absolute_and_a_relative_part() {
        for (dtype, rtol, atol) in [
            (DType::F64, 1e-7, 1e-7),
            (DType::F32, 1.3e-6, 1e-5),
            (DType::BF16, 1.6e-2, 1e-5),
            (DType::F16, 1e-3, 1e-5),
        ] {
            let agrees =
                |got| rule(Tolerance::of_torch(dtype)).agrees(Value::Real(got), Value::Real(100.0), dtype);
            let most = atol + rtol * 100.0;
            assert!(agrees(100.0 + 0.99 * most) && agrees(100.0 - 0.99 * most), "{dtype}");
            assert!(!agrees(100.0 + 1.01 * most) && !agrees(100.0 - 1.01 * most), "{dtype}");
        }
        assert_eq!(Tolerance::of_torch(DType::C64), Tolerance::of_torch(DType::F32));
        assert_eq!(Tolerance::of_torch(DType::I64), Tolerance::Exact);
    }

    #[test]
    fn complex_parts_are_compared_one_by_one() {
        let close = rule(Tolerance::of_torch(DType::C64));
        let agrees = |re, im| close.agrees(Value::Complex(re, im), Value::Complex(1e6, 0.0), DType::C64);
        assert!(agrees(1e6 + 1.0, 0.0));
        assert!(!agrees(1e6, 1.0));
    }

    #[test]
    fn integers_must_be_equal() {
        let close = rule(Tolerance::Close { rtol: 1.0, atol: 1.0 });
        assert!(close.agrees(Value::Int(3), Value::Int(3), DType::I32));
        assert!(!close.agrees(Value::Int(3), Value::Int(4), DType::I32));
        assert!(!close.agrees(Value::Int(3), Value::Real(3.0), DType::I32));
    }

    #[test]
    fn ulps_are_those_of_the_dtype() {
        for (dtype, step) in [
            (DType::F32, 2f64.powi(-23)),
            (DType::F16, 2f64.powi(-10)),
            (DType::BF16, 2f64.powi(-7)),
            (DType::F64, 2f64.powi(-52)),
        ] {
            let agrees = |got| rule(Tolerance::Ulp(1.0)).agrees(Value::Real(got), Value::Real(1.0), dtype);
            assert!(agrees(1.0 + step), "{dtype}");
            assert!(!agrees(1.0 + 2.0 * step), "{dtype}");
        }
        assert_eq!(ulp(0.0, DType::F32), f64::from(f32::from_bits(1)));
        assert_eq!(ulp(-1.5e-42, DType::F32), f64::from(f32::from_bits(1)));
    }

    #[test]
    fn a_relative_tolerance_has_a_floor_of_one_subnormal() {
        let agrees =
            |got| rule(Tolerance::Relative(1e-6)).agrees(Value::Real(got), Value::Real(0.0), DType::F32);
        assert!(agrees(f64::from(f32::from_bits(1))));
        assert!(!agrees(f64::from(f32::from_bits(2))));
    }

    #[test]
    fn the_sign_of_zero_counts_only_when_asked() {
        for (signed_zero, same) in [(true, false), (false, true)] {
            let rule = Rule { tolerance: Tolerance::Exact, signed_zero };
            assert_eq!(rule.agrees(Value::Real(-0.0), Value::Real(0.0), DType::F32), same);
        }
    }

    #[test]
    fn strides_count_where_an_axis_has_two_entries() {
        assert!(same_strides(&[2, 1, 3], &[3, 9, 1], &[3, 3, 1]));
        assert!(!same_strides(&[2, 1, 3], &[1, 9, 2], &[3, 3, 1]));
        assert!(same_strides(&[2, 0], &[7, 1], &[1, 1]));
        assert!(same_strides(&[1, 1], &[7, 1], &[1, 1]));
    }

    #[test]
    fn a_form_names_what_differs() {
        let layout = Layout::new(&[2, 3], &[1, 2], 0).unwrap();
        let got = Meta { dtype: DType::F32, device: Device::Cpu, layout };
        let form = Form { dtype: "f32", shape: &[2, 3], strides: Some(&[1, 2]) };
        assert_eq!(form.difference(&got), None);
        assert!(Form { dtype: "f64", ..form }.difference(&got).unwrap().contains("expected f64[2, 3]"));
        assert!(Form { shape: &[3, 2], ..form }.difference(&got).unwrap().contains("expected f32[3, 2]"));
        assert!(
            Form { strides: Some(&[3, 1]), ..form }.difference(&got).unwrap().contains("got strides [1, 2]")
        );
        assert_eq!(Form { strides: None, ..form }.difference(&got), None);
    }

    #[test]
    fn the_first_difference_is_shown_with_its_place() {
        let bytes = [1u8, 2, 3, 4, 5, 6].to_vec();
        let got = Elements::new(bytes, DType::U8, Layout::contiguous(&[2, 3]).unwrap());
        let want = |index: usize| Value::Int(if index >= 4 { 0 } else { index as i128 + 1 });
        let differing = differences(&got, |index, value| value == want(index));
        assert_eq!(differing, [4, 5]);
        let Verdict::Failed(reason) = judge(&got, want, &differing, &[2, 3], None) else { panic!("passed") };
        assert_eq!(reason, "element 4 [1, 1]: got 5, expected 0; also 5");
    }

    #[test]
    fn listed_elements_may_differ_and_no_others() {
        let known = |elements: &str| {
            let text = format!(
                "[[difference]]\ncase = \"a\"\ndeparture = 7\nreason = \"zeros\"\nelements = {elements}"
            );
            Known::parse(&text).unwrap()
        };
        let got = Elements::new(vec![1, 2, 3], DType::U8, Layout::contiguous(&[3]).unwrap());
        let judged = |elements: &str, differing: &[usize]| {
            judge(&got, |_| Value::Int(0), differing, &[3], known(elements).entry("a", 0))
        };
        assert_eq!(judged("[0, 2]", &[2]), Verdict::Known("departure 7: zeros".into()));
        assert_eq!(judged("[0, 2]", &[]), Verdict::Passed);
        assert!(
            matches!(judged("[0, 2]", &[1, 2]), Verdict::Failed(reason) if reason.starts_with("element 1:"))
        );
    }

    #[test]
    fn long_results_are_compared_on_all_threads() {
        let count = (1 << 20) + 17;
        let got = Elements::new(vec![0; count], DType::U8, Layout::contiguous(&[count]).unwrap());
        assert_eq!(differences(&got, |index, _| index != 5 && index != count - 1), [5, count - 1]);
    }
}
