//! Plans of earlier calls, ready to run again: the hot path of eager calls.
//!
//! A call is looked up by op, dtypes, layouts, devices and alignment, in a table of the calling thread. A hit takes no
//! lock, allocates nothing but new outputs, makes no string and reads no environment; everything that does not depend on
//! addresses or numbers was decided before. What a hit cannot vouch for (operands that overlap in another way than
//! wholly, host values) goes the long way, and so does the first call of each kind.
//! Decides nothing that the planner did not decide.

use super::planned::{Fresh, Planned};
use super::table::{self, Key, Table};
use crate::buffer::{Buffer, StridedBuffer};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::op::{OpDef, Operand};
use crate::plan::Plan;
use smallvec::SmallVec;

/// Fills an empty key with what tells a call from others; whether it can be used.
pub(super) fn describe(
    key: &mut Key,
    op: &'static OpDef,
    operands: &[Operand<'_, StridedBuffer>],
    dtype: Option<DType>,
    outputs: &[&StridedBuffer],
) -> bool {
    // Where a number's value takes part in planning, it is part of the key.
    let values_matter = op.looks_at_numbers();
    key.push(std::ptr::from_ref(op) as u64);
    key.push(dtype.map_or(0, |dtype| 1 + dtype as u64) | (outputs.len() as u64) << 32);
    for operand in operands {
        match operand {
            Operand::Buffer(buffer) => key.push_buffer(buffer),
            Operand::Scalar(number) => {
                let (tag, value) = match *number {
                    Scalar::Bool(value) => (1, u64::from(value)),
                    Scalar::I64(value) => (2, value.cast_unsigned()),
                    Scalar::U64(value) => (3, value),
                    Scalar::F64(value) => (4, value.to_bits()),
                    // Both parts would be needed; no op that looks at values takes complex numbers.
                    Scalar::C128(_) if values_matter => return false,
                    Scalar::C128(_) => (5, 0),
                };
                key.push(u64::MAX - tag);
                key.push(if values_matter { value } else { 0 });
            }
        }
    }
    for output in outputs {
        key.push_buffer(output);
        let wholly = |operand: &Operand<'_, StridedBuffer>| match operand {
            Operand::Buffer(buffer) => buffer.address() == output.address(),
            Operand::Scalar(_) => false,
        };
        key.push(u64::from(operands.iter().any(wholly)));
    }
    key.fits()
}

/// A call that was planned before.
#[derive(Debug)]
pub(super) struct Ready {
    planned: Planned,
    outputs: SmallVec<[Fresh; 2]>,
    /// Bytes from the address of each operand to its lowest byte and behind its highest: inputs, then outputs.
    spans: Box<[(i64, i64)]>,
}

impl Ready {
    /// What can be kept of a call; `None` if the call depends on values in other memory than that of its device.
    pub(super) fn new(
        operands: &[Operand<'_, StridedBuffer>],
        plan: Plan,
        outputs: &[&StridedBuffer],
    ) -> Option<Ready> {
        let device = outputs.first()?.device();
        let is_elsewhere = |operand: &Operand<'_, StridedBuffer>| match operand {
            Operand::Buffer(buffer) => buffer.device() != device,
            Operand::Scalar(_) => false,
        };
        if operands.iter().any(is_elsewhere) {
            return None;
        }
        let inputs = operands.iter().map(|operand| match operand {
            Operand::Buffer(buffer) => span(&buffer.meta().layout, buffer.dtype()),
            Operand::Scalar(_) => (0, 0),
        });
        let written = outputs.iter().map(|output| span(&output.meta().layout, output.dtype()));
        let spans = inputs.chain(written).collect();
        Some(Ready {
            planned: Planned::new(plan, device)?,
            outputs: outputs
                .iter()
                .map(|output| Fresh::new(output.meta().clone()).ok())
                .collect::<Option<_>>()?,
            spans,
        })
    }

    /// Whether every output is apart from every other operand, or the very same view as an input.
    fn shares_as_before(&self, operands: &[Operand<'_, StridedBuffer>], outputs: &[&StridedBuffer]) -> bool {
        let range = |buffer: &StridedBuffer, index: usize| {
            let (low, high) = self.spans[index];
            (buffer.address().wrapping_add_signed(low), buffer.address().wrapping_add_signed(high))
        };
        let apart = |a: (u64, u64), b: (u64, u64)| a.1 <= b.0 || b.1 <= a.0;
        outputs.iter().enumerate().all(|(j, output)| {
            let written = range(output, operands.len() + j);
            let inputs = operands.iter().enumerate().all(|(i, operand)| match operand {
                Operand::Buffer(input) => {
                    apart(written, range(input, i))
                        || (output.address() == input.address()
                            && output.dtype().size() == input.dtype().size()
                            && output.shape() == input.shape()
                            && output.strides() == input.strides())
                }
                Operand::Scalar(_) => true,
            });
            let others = outputs[..j].iter().enumerate();
            inputs && others.into_iter().all(|(k, other)| apart(written, range(other, operands.len() + k)))
        })
    }
}

/// References to buffers, for [`Call`](super::Call).
pub(super) fn references(buffers: &[StridedBuffer]) -> SmallVec<[&StridedBuffer; 2]> {
    buffers.iter().collect()
}

/// Bytes from the first element to the lowest byte and behind the highest.
pub(super) fn span(layout: &Layout, dtype: DType) -> (i64, i64) {
    let size = dtype.size().cast_signed() as i64;
    layout.span().map_or((0, 0), |(low, high)| {
        let offset = layout.offset();
        ((low - offset) as i64 * size, (high - offset + 1) as i64 * size)
    })
}

thread_local! {
    static TABLE: Table<Ready> = const { Table::new() };
}

/// Keeps a planned call for the next one of its kind.
pub(super) fn keep(ready: Ready, key: &Key) {
    table::keep(&TABLE, key, ready);
}

fn with<R>(key: &Key, f: impl FnOnce(&Ready) -> R) -> Option<R> {
    table::lookup(&TABLE, key, f)
}

/// Runs a call into new buffers if one of its kind was planned before.
pub(super) fn call<const N: usize>(
    key: &Key,
    operands: &[Operand<'_, StridedBuffer>],
) -> Option<Result<SmallVec<[StridedBuffer; N]>>> {
    with(key, |ready| {
        let mut outputs: SmallVec<[StridedBuffer; N]> = SmallVec::new();
        for fresh in &ready.outputs {
            outputs.push(ready.planned.allocate(fresh)?);
        }
        ready.planned.run(operands, &outputs)?;
        Ok(outputs)
    })
}

/// Runs a call into existing buffers if one of its kind was planned before and they share memory as they did then.
pub(super) fn call_out(
    key: &Key,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &[&StridedBuffer],
) -> Option<Result<()>> {
    with(key, |ready| {
        ready.shares_as_before(operands, outputs).then(|| ready.planned.run(operands, outputs))
    })?
}
