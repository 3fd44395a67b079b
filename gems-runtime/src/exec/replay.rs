//! Functions of several kernels, ready to run again: the hot path of compiled functions.
//!
//! All that depends on layouts, dtypes, devices and alignment was decided before, and is found by them. A replay takes no
//! lock, plans nothing and allocates nothing but the memory of results; each kernel costs its launch.
//! Decides nothing: kernels, their order and their operands come from the run that was planned.

use super::planned::{Fresh, Planned};
use super::ready::span;
use super::reduce::{self, SumCall};
use super::table::{self, Key, Table};
use super::transfer;
use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::layout::Layout;
use crate::op::Operand;
use crate::plan::Reduction;
use smallvec::SmallVec;

/// A function for inputs of one kind.
#[derive(Debug)]
pub(crate) struct Replay {
    /// What is allocated: intermediates and results.
    made: Vec<Fresh>,
    steps: Vec<Step>,
    results: Vec<Returned>,
    /// The inputs that are written.
    written: SmallVec<[usize; 4]>,
    /// Bytes from the address of each input to its lowest byte and behind its highest.
    spans: SmallVec<[(i64, i64); 8]>,
}

/// Buffers that a function returns; filled in place, since they are too long to be moved about.
pub(crate) type Results = SmallVec<[StridedBuffer; 4]>;

/// A result.
#[derive(Debug)]
struct Returned {
    place: Place,
    /// Whether it is all of a memory that no later result is in, so that its handle need not be copied.
    moves: bool,
}

/// One kernel with its operands.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) work: Work,
    pub(crate) inputs: SmallVec<[Place; 8]>,
    pub(crate) outputs: SmallVec<[Place; 4]>,
    /// The inputs that are copied first, since an output has their memory at other elements.
    pub(crate) copied: SmallVec<[usize; 1]>,
}

/// What a step runs.
#[derive(Debug)]
pub(crate) enum Work {
    Kernel(Box<Planned>),
    Sum(Box<Reduction>),
}

/// Where an operand is; without a layout it is the whole buffer.
#[derive(Debug)]
pub(crate) enum Place {
    Input(usize, Option<Layout>),
    Made(usize, Option<Layout>),
    Number(Scalar),
}

thread_local! {
    static TABLE: Table<Replay> = const { Table::new() };
}

/// Fills an empty key with what tells a call of a function from others, by the function's number, sizes and the inputs;
/// whether it can be used.
pub(crate) fn describe_replay(
    key: &mut Key,
    function: u64,
    sizes: &[isize],
    inputs: &[&StridedBuffer],
) -> bool {
    key.push(function);
    sizes.iter().for_each(|size| key.push(size.cast_unsigned() as u64));
    inputs.iter().for_each(|input| key.push_buffer(input));
    key.fits()
}

/// Runs a function and adds its results, if it ran before on inputs of this kind; `None` if it did not, or if memory is shared in a way that
/// the replay knows nothing of.
pub(crate) fn replay(key: &Key, inputs: &[&StridedBuffer], results: &mut Results) -> Option<Result<()>> {
    table::lookup(&TABLE, key, |replay| replay.fits(inputs).then(|| replay.run(inputs, results)))?
}

impl Replay {
    pub(crate) fn new(
        inputs: &[&StridedBuffer],
        written: SmallVec<[usize; 4]>,
        made: Vec<Meta>,
        steps: Vec<Step>,
        results: Vec<Place>,
    ) -> Result<Replay> {
        let made_in = |place: &Place| match place {
            Place::Made(memory, _) => Some(*memory),
            Place::Input(..) | Place::Number(_) => None,
        };
        let mut later: Vec<usize> = Vec::new();
        let mut returned: Vec<Returned> = Vec::new();
        for place in results.into_iter().rev() {
            let memory = made_in(&place);
            let moves = !place.is_part() && memory.is_some_and(|memory| !later.contains(&memory));
            later.extend(memory);
            returned.push(Returned { place, moves });
        }
        returned.reverse();
        let spans = inputs.iter().map(|input| span(&input.meta().layout, input.dtype())).collect();
        let made = made.into_iter().map(Fresh::new).collect::<Result<_>>()?;
        Ok(Replay { made, steps, results: returned, written, spans })
    }

    /// Keeps the replay for the next call of its kind.
    pub(crate) fn keep(self, key: &Key) {
        table::keep(&TABLE, key, self);
    }

    /// Whether what is written is apart from every other input, as it was in the run that was planned.
    pub(crate) fn fits(&self, inputs: &[&StridedBuffer]) -> bool {
        let range = |input: usize| {
            let ((low, high), address) = (self.spans[input], inputs[input].address());
            (address.wrapping_add_signed(low), address.wrapping_add_signed(high))
        };
        let apart = |a: (u64, u64), b: (u64, u64)| a.1 <= b.0 || b.1 <= a.0;
        self.written
            .iter()
            .all(|&input| (0..inputs.len()).all(|other| other == input || apart(range(input), range(other))))
    }

    fn run(&self, inputs: &[&StridedBuffer], results: &mut Results) -> Result<()> {
        let mut made: SmallVec<[Option<StridedBuffer>; 4]> = SmallVec::new();
        for fresh in &self.made {
            made.push(Some(self.allocate(fresh)?));
        }
        let memories = Memories { inputs, made: &made };
        self.steps.iter().try_for_each(|step| step.run(memories))?;
        for Returned { place, moves } in &self.results {
            let result = match *place {
                Place::Made(memory, _) if *moves => made[memory].take(),
                _ => Memories { inputs, made: &made }.view(place)?,
            };
            if let Some(result) = result {
                results.push(result);
            }
        }
        Ok(())
    }

    /// Memory on the device of a kernel, without looking up the device.
    fn allocate(&self, fresh: &Fresh) -> Result<StridedBuffer> {
        let kernel = self.steps.iter().find_map(|step| match &step.work {
            Work::Kernel(planned) if planned.device() == fresh.device() => Some(&**planned),
            _ => None,
        });
        kernel.map_or_else(|| fresh.allocate(), |planned| planned.allocate(fresh))
    }
}

/// The buffers of one run.
#[derive(Clone, Copy)]
struct Memories<'a> {
    inputs: &'a [&'a StridedBuffer],
    made: &'a [Option<StridedBuffer>],
}

impl<'a> Memories<'a> {
    fn whole(self, place: &Place) -> Option<&'a StridedBuffer> {
        match *place {
            Place::Input(input, _) => self.inputs.get(input).copied(),
            Place::Made(made, _) => self.made.get(made)?.as_ref(),
            Place::Number(_) => None,
        }
    }

    /// A handle of an operand.
    fn view(self, place: &Place) -> Result<Option<StridedBuffer>> {
        let Some(whole) = self.whole(place) else { return Ok(None) };
        match place {
            Place::Input(_, Some(layout)) | Place::Made(_, Some(layout)) => whole.part(layout).map(Some),
            _ => Ok(Some(whole.clone())),
        }
    }
}

impl Place {
    fn is_part(&self) -> bool {
        matches!(self, Place::Input(_, Some(_)) | Place::Made(_, Some(_)))
    }
}

impl Step {
    fn run(&self, memories: Memories<'_>) -> Result<()> {
        // Only parts need handles of their own. Pushes, since collecting costs more than all else here.
        let places = || self.inputs.iter().chain(&self.outputs);
        let mut parts: SmallVec<[StridedBuffer; 4]> = SmallVec::new();
        for part in places().filter(|place| place.is_part()) {
            if let Some(part) = memories.view(part)? {
                parts.push(part);
            }
        }
        let mut parts = parts.iter();
        let mut buffer = |place: &Place| if place.is_part() { parts.next() } else { memories.whole(place) };
        let mut copies = Vec::new();
        for &input in &self.copied {
            if let Some(buffer) = memories.view(&self.inputs[input])? {
                copies.push((input, transfer::copy_span(&buffer)?));
            }
        }
        let mut operands: SmallVec<[Operand<'_, StridedBuffer>; 8]> = SmallVec::new();
        for place in &self.inputs {
            operands.push(match (place, buffer(place)) {
                (_, Some(buffer)) => Operand::Buffer(buffer),
                (Place::Number(number), None) => Operand::Scalar(*number),
                (Place::Input(..) | Place::Made(..), None) => Operand::Scalar(Scalar::I64(0)),
            });
        }
        let mut outputs: SmallVec<[&StridedBuffer; 4]> = SmallVec::new();
        for place in &self.outputs {
            if let Some(output) = buffer(place) {
                outputs.push(output);
            }
        }
        for (input, copy) in &copies {
            operands[*input] = Operand::Buffer(copy);
        }
        match (&self.work, operands.as_slice(), outputs.as_slice()) {
            (Work::Kernel(planned), operands, outputs) => planned.run(operands, outputs),
            (Work::Sum(plan), [Operand::Buffer(from)], [to]) => reduce::launch(&SumCall { plan, from, to }),
            (Work::Sum(_), ..) => Ok(()),
        }
    }
}
