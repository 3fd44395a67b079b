//! Plans of earlier calls, ready to run again: the hot path of eager calls.
//!
//! A call is looked up by op, dtypes, layouts, devices and alignment, in a table of the calling thread. A hit takes no
//! lock, allocates nothing but new outputs, makes no string and reads no environment; everything that does not depend on
//! addresses or numbers was decided before. What a hit cannot vouch for (operands that overlap in another way than
//! wholly, host values) goes the long way, and so does the first call of each kind.
//! Decides nothing that the planner did not decide.

use super::{Call, ValueBytes};
use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::op::{Numbers, OpDef, Operand};
use crate::plan::{Plan, Program};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Entries of a thread's table; a power of two. A program has few kinds of calls at a time.
const SLOTS: usize = 1024;
/// Most words of a key: a call of six operands of rank four has 60.
const WORDS: usize = 64;

/// What tells kinds of calls apart.
#[derive(Debug)]
pub(super) struct Key {
    words: [u64; WORDS],
    /// Words in use; more than there are if the key did not fit.
    length: usize,
    hash: u64,
}

impl Key {
    /// The key of a call; `None` if it is too long.
    pub(super) fn of(
        op: &'static OpDef,
        operands: &[Operand<'_, StridedBuffer>],
        dtype: Option<DType>,
        outputs: &[&StridedBuffer],
    ) -> Option<Key> {
        let mut key = Key { words: [0; WORDS], length: 0, hash: 0 };
        // Where a number's value takes part in planning, it is part of the key.
        let values_matter = op.check.is_some() || op.numbers != Numbers::Wrap;
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
                        Scalar::C128(_) if values_matter => return None,
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
        (key.length <= WORDS).then_some(key)
    }

    /// The key of a fused call; `disjoint` says that no output shares memory with an input.
    pub(super) fn of_program(
        program: &Arc<Program>,
        operands: &[Operand<'_, StridedBuffer>],
        outputs: &[&StridedBuffer],
        disjoint: bool,
    ) -> Option<Key> {
        let mut key = Key { words: [0; WORDS], length: 0, hash: 0 };
        // The table keeps the program alive, so its address is its own.
        key.push(Arc::as_ptr(program) as u64);
        key.push(u64::from(disjoint));
        for operand in operands {
            match operand {
                Operand::Buffer(buffer) => key.push_buffer(buffer),
                Operand::Scalar(_) => key.push(u64::MAX),
            }
        }
        outputs.iter().for_each(|output| key.push_buffer(output));
        (key.length <= WORDS).then_some(key)
    }

    fn push_buffer(&mut self, buffer: &StridedBuffer) {
        let Meta { dtype, device, layout } = buffer.meta();
        let device = match *device {
            Device::Cpu => 0,
            Device::Cuda(ordinal) => 1 + u64::from(ordinal),
        };
        let phase = buffer.address() & 15;
        self.push(*dtype as u64 | phase << 8 | (layout.rank() as u64) << 16 | device << 32);
        for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
            self.push(extent as u64);
            self.push(stride.cast_unsigned() as u64);
        }
    }

    fn push(&mut self, word: u64) {
        if let Some(slot) = self.words.get_mut(self.length) {
            *slot = word;
        }
        self.length += 1;
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn words(&self) -> &[u64] {
        &self.words[..self.length.min(WORDS)]
    }

    fn slot(&self) -> usize {
        (self.hash >> 40) as usize & (SLOTS - 1)
    }
}

/// A call that was planned before.
#[derive(Debug)]
pub(super) struct Ready {
    key: Box<[u64]>,
    plan: Plan,
    outputs: SmallVec<[Meta; 2]>,
    /// Bytes from the address of each operand to its lowest byte and behind its highest: inputs, then outputs.
    spans: Box<[(i64, i64)]>,
    #[cfg(feature = "cuda")]
    launch: Option<super::cuda::Launch>,
}

impl Ready {
    /// What can be kept of a call; `None` if the call depends on values in other memory than that of its device.
    pub(super) fn new(
        key: &Key,
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
        #[cfg(feature = "cuda")]
        let launch = match device {
            Device::Cpu => None,
            Device::Cuda(ordinal) => Some(super::cuda::Launch::new(ordinal, &plan)?),
        };
        Some(Ready {
            key: key.words().into(),
            plan,
            outputs: outputs.iter().map(|output| output.meta().clone()).collect(),
            spans,
            #[cfg(feature = "cuda")]
            launch,
        })
    }

    fn allocate(&self, meta: &Meta) -> Result<StridedBuffer> {
        #[cfg(feature = "cuda")]
        if let Some(launch) = &self.launch {
            return StridedBuffer::allocate_by(meta, |bytes| launch.allocate(bytes));
        }
        StridedBuffer::allocate(meta)
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

    fn run(&self, operands: &[Operand<'_, StridedBuffer>], outputs: &[&StridedBuffer]) -> Result<()> {
        let mut values: SmallVec<[ValueBytes; 8]> = SmallVec::new();
        let mut inputs: SmallVec<[Option<&StridedBuffer>; 8]> = SmallVec::new();
        for (operand, input) in operands.iter().zip(&self.plan.spec.inputs) {
            match operand {
                Operand::Buffer(buffer) => {
                    values.push([0; 16]);
                    inputs.push(Some(buffer));
                }
                Operand::Scalar(number) => {
                    values.push(number.store(input.lane));
                    inputs.push(None);
                }
            }
        }
        let call = Call { plan: &self.plan, values: &values, inputs: &inputs, outputs };
        #[cfg(feature = "cuda")]
        if let Some(launch) = &self.launch {
            return launch.run(&call);
        }
        super::cpu::run(&call)
    }
}

/// References to buffers, for [`Call`].
pub(super) fn references(buffers: &[StridedBuffer]) -> SmallVec<[&StridedBuffer; 2]> {
    buffers.iter().collect()
}

/// Bytes from the first element to the lowest byte and behind the highest.
fn span(layout: &Layout, dtype: DType) -> (i64, i64) {
    let size = dtype.size().cast_signed() as i64;
    layout.span().map_or((0, 0), |(low, high)| {
        let offset = layout.offset();
        ((low - offset) as i64 * size, (high - offset + 1) as i64 * size)
    })
}

thread_local! {
    static TABLE: RefCell<Vec<Option<Box<Ready>>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the entry of a key, if there is one and the table is not in use further up this thread's stack.
fn with<R>(key: &Key, f: impl FnOnce(&Ready) -> R) -> Option<R> {
    TABLE.with(|table| {
        let table = table.try_borrow().ok()?;
        let ready = table.get(key.slot())?.as_ref()?;
        (*ready.key == *key.words()).then(|| f(ready))
    })
}

/// Keeps a planned call for the next one of its kind.
pub(super) fn keep(ready: Ready, key: &Key) {
    TABLE.with(|table| {
        // In use further up: a call from the destructor of somebody's memory. It is kept the next time.
        let Ok(mut table) = table.try_borrow_mut() else { return };
        if table.is_empty() {
            table.resize_with(SLOTS, || None);
        }
        if let Some(slot) = table.get_mut(key.slot()) {
            *slot = Some(Box::new(ready));
        }
    });
}

/// Runs a call into new buffers if one of its kind was planned before.
pub(super) fn call(
    key: &Key,
    operands: &[Operand<'_, StridedBuffer>],
) -> Option<Result<SmallVec<[StridedBuffer; 2]>>> {
    with(key, |ready| {
        let mut outputs = SmallVec::new();
        for meta in &ready.outputs {
            outputs.push(ready.allocate(meta)?);
        }
        ready.run(operands, &references(&outputs))?;
        Ok(outputs)
    })
}

/// Runs a fused call if one of its kind was planned before.
pub(super) fn run_program(
    key: &Key,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &[&StridedBuffer],
) -> Option<Result<()>> {
    with(key, |ready| ready.run(operands, outputs))
}

/// Runs a call into existing buffers if one of its kind was planned before and they share memory as they did then.
pub(super) fn call_out(
    key: &Key,
    operands: &[Operand<'_, StridedBuffer>],
    outputs: &[&StridedBuffer],
) -> Option<Result<()>> {
    with(key, |ready| ready.shares_as_before(operands, outputs).then(|| ready.run(operands, outputs)))?
}
