//! Parameters of a kernel, in order: the one list that both its text and its launch follow.

use crate::dtype::DType;
use crate::plan::{Access, Class, IndexWidth, KernelSpec, LaunchArgs};
use smallvec::SmallVec;
use std::cell::Cell;
use std::ffi::c_void;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The n-th input, by value, in its lane's dtype.
    Value(usize),
    /// The n-th input, a pointer.
    Input(usize),
    /// The n-th output, a pointer.
    Output(usize),
    /// The structure `Axes`: divisors and extents, then strides, all of the index width.
    Axes,
    /// u32: elements from an aligned vector to the first element of the first output.
    Lead,
    /// Number of elements, u64, or of units, of the index width.
    Total,
}

/// The parameters of the kernel of `spec`.
pub fn parameters(spec: &KernelSpec) -> impl Iterator<Item = Parameter> + '_ {
    let inputs = spec.inputs.iter().enumerate().map(|(i, input)| match input.access {
        Access::Value => Parameter::Value(i),
        Access::Single
        | Access::Contiguous { .. }
        | Access::Reversed { .. }
        | Access::Repeated
        | Access::Strided
        | Access::Tiled { .. } => Parameter::Input(i),
    });
    let outputs = (0..spec.outputs.len()).map(Parameter::Output);
    let rest: &[Parameter] = match spec.class {
        Class::Flat { peeled: true, .. } => &[Parameter::Lead, Parameter::Total],
        Class::Flat { peeled: false, .. } => &[Parameter::Total],
        Class::Rows { .. } => &[Parameter::Axes, Parameter::Total],
        Class::Tiled { .. } => &[Parameter::Axes],
    };
    inputs.chain(outputs).chain(rest.iter().copied())
}

/// Arguments of launches as bytes, each at its natural alignment.
#[derive(Debug, Default)]
pub struct Packed {
    /// The bytes of all arguments, in words so that they are aligned; cells, so that the driver's pointers to them stay
    /// good while addresses and numbers change from launch to launch.
    words: Vec<Cell<u64>>,
    /// The word at which each argument begins.
    starts: SmallVec<[usize; 20]>,
}

impl Packed {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.starts.push(self.words.len());
        self.words.extend(bytes.chunks(8).map(|chunk| Cell::new(word(chunk))));
    }

    /// Replaces an argument of one word.
    #[cfg(feature = "cuda")]
    pub(crate) fn set(&self, position: usize, word: u64) {
        if let Some(place) = self.starts.get(position).and_then(|&start| self.words.get(start)) {
            place.set(word);
        }
    }

    /// Replaces the first bytes of an argument, as many as it has words.
    #[cfg(feature = "cuda")]
    pub(crate) fn set_bytes(&self, position: usize, bytes: &[u8]) {
        let start = self.starts.get(position).copied().unwrap_or(usize::MAX);
        let end = self.starts.get(position + 1).copied().unwrap_or(self.words.len());
        let places = self.words.get(start..end).unwrap_or_default();
        places.iter().zip(bytes.chunks(8)).for_each(|(place, chunk)| place.set(word(chunk)));
    }

    /// The address of each argument, for `cuLaunchKernel`; good as long as nothing is pushed.
    #[must_use]
    pub fn pointers(&self) -> SmallVec<[*mut c_void; 20]> {
        self.starts.iter().map(|&start| self.words[start].as_ptr().cast()).collect()
    }
}

/// Up to eight bytes as a word.
fn word(bytes: &[u8]) -> u64 {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(raw)
}

/// Packs the arguments of a launch.
///
/// `values[i]` are the bytes of input `i` where it is passed by value; `inputs` and `outputs` are byte addresses of
/// the first elements.
pub(crate) fn pack(
    spec: &KernelSpec,
    args: &LaunchArgs,
    values: &[[u8; 16]],
    inputs: &[u64],
    outputs: &[u64],
) -> Packed {
    let mut packed = Packed::default();
    for parameter in parameters(spec) {
        match parameter {
            Parameter::Value(i) => packed.push(&values[i][..spec.inputs[i].lane.size()]),
            Parameter::Input(i) => packed.push(&inputs[i].to_le_bytes()),
            Parameter::Output(i) => packed.push(&outputs[i].to_le_bytes()),
            Parameter::Axes => packed.push(&axes(spec, args)),
            Parameter::Lead => packed.push(&args.lead.to_le_bytes()),
            Parameter::Total => match spec.class {
                Class::Flat { .. } => packed.push(&(args.numel as u64).to_le_bytes()),
                Class::Rows { index, .. } | Class::Tiled { index, .. } => {
                    let total: u64 = args.units.iter().map(|&unit| unit as u64).product();
                    let bytes = if index == IndexWidth::I32 { 4 } else { 8 };
                    packed.push(&total.to_le_bytes()[..bytes]);
                }
            },
        }
    }
    packed
}

/// The bytes of the `Axes` structure.
fn axes(spec: &KernelSpec, args: &LaunchArgs) -> SmallVec<[u8; 128]> {
    let index = spec.class.index();
    let divisors = args.units.iter().flat_map(|&unit| divisor(unit as u64, index));
    let n_extents = if matches!(spec.class, Class::Tiled { .. }) { 2 } else { 1 };
    let inner = args.extents.iter().rev().take(n_extents).map(|&extent| extent as u64);
    let strides = strided(spec, args).flatten().map(|&stride| (stride as i64).cast_unsigned());
    let words = divisors.chain(inner).chain(strides);
    match index {
        IndexWidth::I32 => words.flat_map(low_word).collect(),
        IndexWidth::I64 => words.flat_map(u64::to_le_bytes).collect(),
    }
}

/// A `divisor`: the extent, a factor and a shift, so that ⌊n/extent⌋ = ⌊2n·factor/2^bits⌋ ≫ shift for 0 ≤ n < 2^(bits−1).
///
/// With N = bits − 1, s = ⌈log₂ d⌉ and m = ⌈2^(N+s)/d⌉: 0 ≤ m·d − 2^(N+s) < d ≤ 2^s, so ⌊m·n/2^(N+s)⌋ = ⌊n/d⌋ for all
/// n < 2^N (Granlund and Montgomery), and m < 2^bits since d > 2^(s−1) − 1.
fn divisor(extent: u64, index: IndexWidth) -> [u64; 3] {
    let bits = if index == IndexWidth::I32 { 32 } else { 64 };
    let shift = extent.max(1).next_power_of_two().trailing_zeros();
    let factor = (1_u128 << (bits - 1 + shift)).div_ceil(u128::from(extent.max(1)));
    [extent, u64::try_from(factor).unwrap_or(u64::MAX), u64::from(shift)]
}

pub(super) fn low_word(word: u64) -> [u8; 4] {
    let bytes = word.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// The strides of the operands that have them in `Axes`, inputs first.
fn strided<'a>(
    spec: &'a KernelSpec,
    args: &'a LaunchArgs,
) -> impl Iterator<Item = &'a SmallVec<[isize; 6]>> + 'a {
    let inputs = spec.inputs.iter().map(|input| input.access).zip(&args.input_strides);
    let outputs = spec.outputs.iter().map(|output| output.access).zip(&args.output_strides);
    inputs.chain(outputs).filter(|(access, _)| access.has_strides()).map(|(_, strides)| strides)
}

/// The type in which a kernel reads and writes a dtype: bool is a byte of any value in memory.
pub(super) fn memory_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "u8",
        other => other.cuda_name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_exact_over_the_whole_range() {
        let extents = (1..200).chain((1..31).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for extent in extents.filter(|&extent: &u64| extent < 1 << 31) {
            let [d, factor, shift] = divisor(extent, IndexWidth::I32);
            assert!(factor < 1 << 32, "{extent}");
            let quotient = |n: u64| ((2 * n * factor) >> 32) >> shift;
            let edges = (0..40).flat_map(|k| {
                let multiple = extent * ((1 << 31) / extent * k / 40);
                [multiple.saturating_sub(1), multiple, multiple + 1, (1 << 31) - 1 - k]
            });
            for n in edges.filter(|&n| n < 1 << 31) {
                assert_eq!(quotient(n), n / d, "{n} / {d}");
            }
        }
    }

    #[test]
    fn wide_divisors_are_exact_up_to_63_bits() {
        for extent in [1, 2, 3, 5, 7, 4097, (1 << 31) - 1, 1 << 40, (1 << 62) - 1, (1 << 62) + 1] {
            let [d, factor, shift] = divisor(extent, IndexWidth::I64);
            let quotient = |n: u64| ((u128::from(2 * n) * u128::from(factor)) >> 64) as u64 >> shift;
            let last = (1_u64 << 63) - 1;
            for n in [0, 1, d - 1, d, d + 1, last / d * d - 1, last / d * d, last - 1, last] {
                assert_eq!(quotient(n), n / d, "{n} / {d}");
            }
        }
    }
}
