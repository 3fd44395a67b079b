//! The plan of a sum over the axes along which an operand was broadcast.
//!
//! Pure: layouts and dtypes in, a kernel and its arguments out. The order of summation follows from the layouts alone,
//! so equal calls give equal bits.

use crate::buffer::Meta;
use crate::device::Device;
use crate::dtype::{Category, DType};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{self, Coalesced, Extent, Layout, Place, Strides};
use crate::plan::schedule::MAX_BLOCKS;
use crate::plan::{IndexWidth, needs_i64_index};
use smallvec::SmallVec;
use std::fmt;

/// Threads of one block.
const THREADS: u32 = 256;
/// Neighboring results of one block where neighbors in memory belong to different results.
const ROW: u32 = 32;

/// Everything about a sum that changes the code of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReduceSpec {
    /// The dtype that is summed.
    pub from: DType,
    /// The dtype of the sums.
    pub to: DType,
    /// Axes of the results after merging.
    pub kept: u32,
    /// Axes of the sums after merging.
    pub summed: u32,
    /// Width of indices and offsets.
    pub index: IndexWidth,
    /// Results of one block; its threads share the elements of each.
    pub results: u32,
    /// Threads of one block.
    pub threads: u32,
}

/// A planned sum: the kernel and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// What to compile.
    pub spec: ReduceSpec,
    /// Axes of the results: strides of the results, then of the elements, in elements.
    pub kept: Coalesced,
    /// Axes of the sums: strides of the elements.
    pub summed: Coalesced,
    /// Number of results.
    pub results: usize,
    /// Elements of one sum.
    pub count: usize,
}

impl ReduceSpec {
    /// The dtype of sums on the way: the widest of the elements' kind.
    #[must_use]
    pub fn accumulator(&self) -> DType {
        if self.from.is_complex() { DType::C128 } else { DType::F64 }
    }
}

impl Reduction {
    /// Blocks of the launch.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        (self.results as u64).div_ceil(u64::from(self.spec.results))
    }
}

impl fmt::Display for ReduceSpec {
    /// The kernel's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = if self.index == IndexWidth::I32 { "i32" } else { "i64" };
        let ReduceSpec { from, to, kept, summed, results, .. } = self;
        write!(f, "sum_{from}_{to}_k{kept}_s{summed}_b{results}_{index}")
    }
}

/// Where sizes of gradients and operands are compared.
const PLACE: Place = Place::new("summing a gradient");

/// Whether a gradient has another shape than its operand.
pub fn needs_sum<D: Extent>(gradient: &Meta<D>, operand: &Meta<D>) -> bool {
    let (whole, part) = (gradient.layout.shape(), operand.layout.shape());
    let same = |(axis, (a, b)): (usize, (&D, &D))| a.equals(b, PLACE.axis(axis));
    whole.len() != part.len() || !whole.iter().zip(part).enumerate().all(same)
}

/// What a sum over the axes along which `like` is broadcast gives: contiguous, of its shape and dtype.
///
/// # Errors
/// `Shape` if `like` does not broadcast to the buffer's shape; `DType` unless both dtypes are floats or complex.
pub fn infer_sum<D: Extent>(from: &Meta<D>, like: &Meta<D>) -> Result<Meta<D>> {
    missing_axes(from, like)?;
    let dtypes = [from.dtype, like.dtype];
    if let Some(wrong) = dtypes.into_iter().find(|dtype| dtype.category() < Category::Float) {
        let message = format!("{wrong} has no gradient to be summed; convert to a float first");
        return Err(Error::new(ErrorKind::DType, message).in_op("sum_to"));
    }
    contiguous(like, from.device)
}

/// The number of outer axes that `like` lacks, if it broadcasts to the buffer's shape.
fn missing_axes<D: Extent>(from: &Meta<D>, like: &Meta<D>) -> Result<usize> {
    let (whole, shape) = (from.layout.shape(), like.layout.shape());
    let fits = |missing: &usize| {
        let mut pairs = shape.iter().zip(&whole[*missing..]).enumerate();
        pairs.all(|(axis, (part, whole))| part.is(1) || part.equals(whole, PLACE.axis(axis)))
    };
    whole.len().checked_sub(shape.len()).filter(fits).ok_or_else(|| {
        let message = format!("{shape:?} does not broadcast to {whole:?}; give a shape that does");
        Error::new(ErrorKind::Shape, message).in_op("sum_to")
    })
}

/// The dtype and the shape, row-major without gaps.
fn contiguous<D: Extent>(like: &Meta<D>, device: Device) -> Result<Meta<D>> {
    let shape = like.layout.shape();
    let strides = layout::contiguous_strides(shape);
    let layout = Layout::from_parts(shape.into(), strides, D::Offset::default())?;
    Ok(Meta { dtype: like.dtype, device, layout })
}

/// What zeros like a buffer are: contiguous.
///
/// # Errors
/// `Shape` if the number of elements overflows.
pub fn infer_zeros<D: Extent>(like: &Meta<D>) -> Result<Meta<D>> {
    contiguous(like, like.device)
}

/// The plan of a sum of `from` into `to`.
///
/// # Errors
/// `Shape` if the shape of `to` does not broadcast to that of `from`, or if there are more results than one launch on a
/// GPU can address.
pub fn reduce(from: &Meta, to: &Meta) -> Result<Reduction> {
    let missing = missing_axes(from, to)?;
    let (whole, part) = (from.layout.shape(), to.layout.shape());
    let is_summed = |axis: usize| axis < missing || (part[axis - missing] == 1 && whole[axis] != 1);
    let (mut kept_shape, mut results, mut elements) =
        (SmallVec::<[usize; 6]>::new(), Strides::new(), Strides::new());
    let (mut summed_shape, mut terms) = (SmallVec::<[usize; 6]>::new(), Strides::new());
    for (axis, &extent) in whole.iter().enumerate() {
        let stride = from.layout.strides()[axis];
        if is_summed(axis) {
            summed_shape.push(extent);
            terms.push(stride);
        } else {
            kept_shape.push(extent);
            results.push(to.layout.strides()[axis - missing]);
            elements.push(stride);
        }
    }
    let kept = layout::coalesce(&kept_shape, &[&results, &elements]);
    let summed = layout::coalesce(&summed_shape, &[&terms]);
    let count: usize = summed_shape.iter().product();
    let innermost = |axes: &Coalesced, operand: usize| {
        axes.strides
            .get(operand)
            .and_then(|strides| strides.last())
            .map_or(usize::MAX, |stride| stride.unsigned_abs())
    };
    let by_rows = count == 1 || innermost(&kept, 1) < innermost(&summed, 0);
    let index = if needs_i64_index(whole, std::iter::once(from.layout.strides())) {
        IndexWidth::I64
    } else {
        IndexWidth::I32
    };
    let rank = |axes: &Coalesced| u32::try_from(axes.extents.len()).unwrap_or(u32::MAX);
    let spec = ReduceSpec {
        from: from.dtype,
        to: to.dtype,
        kept: rank(&kept),
        summed: rank(&summed),
        index,
        results: match (count, by_rows) {
            (1, _) => THREADS,
            (_, true) => ROW,
            (_, false) => 1,
        },
        threads: THREADS,
    };
    let reduction = Reduction { spec, results: kept_shape.iter().product(), count, kept, summed };
    if from.device != Device::Cpu && reduction.blocks() > MAX_BLOCKS {
        let message = format!("{whole:?} has more sums than one launch can address; split the call");
        return Err(Error::new(ErrorKind::Shape, message).in_op("sum_to"));
    }
    Ok(reduction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(shape: &[usize], strides: &[isize]) -> Meta {
        Meta { dtype: DType::F32, device: Device::Cpu, layout: Layout::new(shape, strides, 0).unwrap() }
    }

    fn plan(from: &Meta, shape: &[usize]) -> Reduction {
        reduce(from, &infer_sum(from, &meta(shape, &layout::contiguous_strides(shape))).unwrap()).unwrap()
    }

    #[test]
    fn axes_of_each_kind_are_merged() {
        let from = meta(&[4, 5, 6, 7], &[210, 42, 7, 1]);
        let bias = plan(&from, &[6, 7]);
        assert_eq!((bias.kept.extents.as_slice(), bias.summed.extents.as_slice()), (&[42][..], &[20][..]));
        assert_eq!((bias.results, bias.count, bias.spec.results), (42, 20, ROW));
        let row = plan(&from, &[4, 5, 1, 1]);
        assert_eq!((row.results, row.count, row.spec.results), (20, 42, 1));
        let middle = plan(&from, &[4, 1, 6, 7]);
        assert_eq!((middle.kept.extents.as_slice(), middle.count), (&[4, 42][..], 5));
    }

    #[test]
    fn a_conversion_is_a_sum_of_one_element() {
        let from = meta(&[3, 4], &[1, 3]);
        let same = plan(&from, &[3, 4]);
        assert_eq!((same.results, same.count, same.spec.results), (12, 1, THREADS));
    }

    #[test]
    fn a_total_is_one_result() {
        let total = plan(&meta(&[3, 4], &[1, 3]), &[]);
        assert_eq!((total.results, total.count, total.blocks()), (1, 12, 1));
    }

    #[test]
    fn shapes_that_do_not_broadcast_are_refused() {
        let from = meta(&[3, 4], &[4, 1]);
        for shape in [&[2, 4][..], &[3], &[1, 3, 4]] {
            let like = meta(shape, &layout::contiguous_strides(shape));
            assert_eq!(infer_sum(&from, &like).unwrap_err().kind(), ErrorKind::Shape);
            assert_eq!(reduce(&from, &like).unwrap_err().kind(), ErrorKind::Shape);
        }
        let integers = Meta { dtype: DType::I32, ..meta(&[4], &[1]) };
        assert_eq!(infer_sum(&from, &integers).unwrap_err().kind(), ErrorKind::DType);
    }

    #[test]
    fn more_results_than_blocks_are_refused_on_a_gpu() {
        let sum = |rows: usize, device| {
            let from = Meta { device, ..meta(&[rows, 2], &[2, 1]) };
            reduce(&from, &infer_sum(&from, &meta(&[rows, 1], &[1, 1])).unwrap())
        };
        let most = (1 << 31) - 1;
        assert_eq!(sum(most, Device::Cuda(0)).unwrap().blocks(), most as u64);
        assert_eq!(sum(most + 1, Device::Cpu).unwrap().results, most + 1);
        let error = sum(most + 1, Device::Cuda(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape);
        assert_eq!(
            error.to_string(),
            "sum_to: [2147483648, 2] has more sums than one launch can address; split the call"
        );
    }
}
