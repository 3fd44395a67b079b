//! The CPU back end: the plan's axes walked in chunks, each chunk through the op's loop.
//!
//! An operand that is contiguous in the dtype of the loop is read and written in place; every other one is gathered
//! into, or scattered from, a chunk that stays in the first-level cache. Chunks are spread over threads.
#![expect(unsafe_code, reason = "walks raw memory by the plan's strides")]

mod body;

use super::Call;
use crate::buffer::{HostMemory, StridedBuffer};
use crate::dtype::{self, Convert, DType, Gather, Scatter};
use crate::error::Result;
use crate::exec::threads;
use crate::plan::{Class, LaunchArgs};
pub(super) use body::Loop;
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::PoisonError;
use std::thread::LocalKey;

/// Elements of a chunk: with 16 bytes an element and four operands it fills a 32 KiB cache.
const CHUNK: usize = 512;
/// Innermost runs at least this long are walked one at a time, so that operands can be used in place.
const LONG_RUN: usize = 64;
/// Fewest elements worth a task of its own: about 20 µs of work for a cheap function.
const GRAIN: usize = 32 * 1024;

/// Runs a planned call on host memory.
pub(super) fn run(call: &Call<'_>) -> Result<()> {
    run_loop(call, &Loop::new(&call.plan.spec.body)?)
}

/// Runs a planned call, of whose body this is the loop.
pub(super) fn run_loop(call: &Call<'_>, body: &Loop) -> Result<()> {
    let _locks = lock(call);
    match call.plan.spec.class {
        Class::Tiled { .. } => {
            let (panels, rest) = cut(&call.plan.args);
            walk(call, body, &panels, 0);
            let inner = |args: &LaunchArgs| args.extents.last().copied().unwrap_or(0);
            walk(call, body, &rest, inner(&call.plan.args) - inner(&rest));
        }
        Class::Flat { .. } | Class::Rows { .. } => walk(call, body, &call.plan.args, 0),
    }
    Ok(())
}

/// Runs a body over axes that begin `skipped` elements along the innermost axis.
fn walk(call: &Call<'_>, body: &Loop, args: &LaunchArgs, skipped: usize) {
    let spec = &call.plan.spec;
    let begin = |buffer: &StridedBuffer, strides: &[isize]| {
        let step = strides.last().copied().unwrap_or(0) * skipped.cast_signed();
        let first = buffer.host_pointer().unwrap_or(std::ptr::null_mut());
        first.wrapping_offset(step * buffer.dtype().size().cast_signed())
    };
    let sources = call.inputs.iter().enumerate().map(|(i, buffer)| {
        let input = spec.inputs[i];
        let strides = &args.input_strides[i];
        match buffer {
            Some(buffer) => {
                let chain = [input.stored, input.joined, input.lane];
                Source::new(begin(buffer, strides), strides, chain)
            }
            None => Source::value(call.values[i].as_ptr(), input.lane),
        }
    });
    let sinks = call.outputs.iter().enumerate().map(|(j, buffer)| {
        let output = spec.outputs[j];
        let strides = &args.output_strides[j];
        Sink::new(begin(buffer, strides), strides, [output.lane, output.result, output.stored])
    });
    let walk = Walk { body, args, sources: sources.collect(), sinks: sinks.collect() };

    let numel: usize = args.extents.iter().product();
    threads::for_each_range(numel, GRAIN, CHUNK, |start, end| walk.range(start, end));
}

/// Elements of a panel along the innermost axis, where an operand runs along the axis next to it: so many cache lines of
/// that operand stay in the cache from row to row, also where rows are a power of two apart. Long enough that a row of it
/// is walked at once: A + Bᵀ of 4096 × 4096 f32 took 21 ms so on two cores, 60 with 32 and 36 with 16.
const PANEL: usize = LONG_RUN;

/// The axes with the innermost one cut into panels, which become an axis outside of the rows; and the rest of the
/// innermost axis.
fn cut(args: &LaunchArgs) -> (LaunchArgs, LaunchArgs) {
    let (mut panels, mut rest) = (args.clone(), args.clone());
    let inner = args.extents.len() - 1;
    let count = args.extents[inner] / PANEL;
    panels.extents[inner] = PANEL;
    panels.extents.insert(inner - 1, count);
    rest.extents[inner] -= count * PANEL;
    for strides in panels.input_strides.iter_mut().filter(|strides| strides.len() > inner) {
        strides.insert(inner - 1, strides[inner] * PANEL.cast_signed());
    }
    for strides in &mut panels.output_strides {
        strides.insert(inner - 1, strides[inner] * PANEL.cast_signed());
    }
    (panels, rest)
}

/// Locks the memory of all operands, each once, in the order of addresses: shared for inputs, exclusive for outputs.
fn lock<'a>(call: &Call<'a>) -> SmallVec<[Lock<'a>; 8]> {
    let inputs = call.inputs.iter().flatten().map(|buffer| (buffer.storage(), false));
    let outputs = call.outputs.iter().map(|buffer| (buffer.storage(), true));
    let mut memories: SmallVec<[(&'a HostMemory, bool); 8]> =
        inputs.chain(outputs).filter_map(|(storage, writes)| Some((storage.as_host()?, writes))).collect();
    memories.sort_by_key(|&(memory, writes)| (std::ptr::from_ref(memory), !writes));
    memories.dedup_by_key(|&mut (memory, _)| std::ptr::from_ref(memory));
    memories
        .into_iter()
        .map(|(memory, writes)| {
            // A panic elsewhere can't have left the bytes in a state that matters: every bit pattern is a value.
            if writes {
                Lock::Exclusive(memory.lock.write().unwrap_or_else(PoisonError::into_inner))
            } else {
                Lock::Shared(memory.lock.read().unwrap_or_else(PoisonError::into_inner))
            }
        })
        .collect()
}

#[expect(dead_code, reason = "held, not used")]
enum Lock<'a> {
    Shared(std::sync::RwLockReadGuard<'a, ()>),
    Exclusive(std::sync::RwLockWriteGuard<'a, ()>),
}

/// An operand that the loop reads.
struct Source {
    pointer: *const u8,
    /// Bytes along each axis.
    strides: SmallVec<[isize; 6]>,
    gather: Gather,
    then: Option<Convert>,
    /// Bytes of an element in the chunk.
    size: usize,
    /// Whether the loop can read it where it lies, if its elements are contiguous.
    in_place: bool,
    constant: bool,
}

impl Source {
    fn new(pointer: *const u8, strides: &[isize], [stored, joined, lane]: [DType; 3]) -> Source {
        let bytes = stored.size().cast_signed();
        let first = if joined == stored { lane } else { joined };
        Source {
            pointer,
            strides: strides.iter().map(|stride| stride * bytes).collect(),
            gather: dtype::gather(stored, first),
            then: (first != lane).then(|| dtype::converter(first, lane)),
            size: lane.size(),
            // Bytes of foreign bools may be anything; a chunk of them is made of true and false.
            in_place: stored == lane && first == lane && lane != DType::Bool,
            constant: strides.iter().all(|&stride| stride == 0),
        }
    }

    fn value(pointer: *const u8, lane: DType) -> Source {
        Source::new(pointer, &[], [lane; 3])
    }
}

/// An operand that the loop writes.
struct Sink {
    pointer: *mut u8,
    strides: SmallVec<[isize; 6]>,
    first: Option<Convert>,
    scatter: Scatter,
    size: usize,
    in_place: bool,
}

impl Sink {
    fn new(pointer: *mut u8, strides: &[isize], [lane, result, stored]: [DType; 3]) -> Sink {
        let bytes = stored.size().cast_signed();
        let middle = if result == stored { lane } else { result };
        Sink {
            pointer,
            strides: strides.iter().map(|stride| stride * bytes).collect(),
            first: (middle != lane).then(|| dtype::converter(lane, middle)),
            scatter: dtype::scatter(middle, stored),
            size: lane.size(),
            in_place: stored == lane && middle == lane,
        }
    }
}

/// A call ready to be walked.
struct Walk<'a> {
    body: &'a Loop,
    args: &'a LaunchArgs,
    sources: SmallVec<[Source; 8]>,
    sinks: SmallVec<[Sink; 4]>,
}

// SAFETY: the pointers are into memory that `run` keeps locked for as long as the walk lives; tasks read shared
// inputs and write disjoint ranges of outputs, since no output overlaps itself.
unsafe impl Sync for Walk<'_> {}

/// Chunk memory of one operand, aligned for every element type.
#[derive(Clone)]
#[repr(align(64))]
struct Chunk([u8; CHUNK * 16]);

thread_local! {
    /// Chunks of this thread's last task, for the next one.
    static CHUNKS: Cell<Vec<Chunk>> = const { Cell::new(Vec::new()) };
    /// Those of the body.
    static SCRATCH: Cell<Vec<Chunk>> = const { Cell::new(Vec::new()) };
}

impl Walk<'_> {
    /// Computes the elements `start..end` of the flat index.
    fn range(&self, start: usize, end: usize) {
        if start >= end {
            return;
        }
        let operands = self.sources.len() + self.sinks.len();
        // Taken and given back: a task that runs inside of this one finds none and makes its own, as does a thread that
        // is ending.
        let take =
            |chunks: &'static LocalKey<Cell<Vec<Chunk>>>| chunks.try_with(Cell::take).unwrap_or_default();
        let (mut chunks, mut scratch) = (take(&CHUNKS), take(&SCRATCH));
        for (chunks, least) in [(&mut chunks, operands + 1), (&mut scratch, self.body.scratch())] {
            if chunks.len() < least {
                chunks.resize(least, Chunk([0; CHUNK * 16]));
            }
        }
        self.range_with(&mut chunks, &mut scratch, start, end);
        for (kept, chunks) in [(&CHUNKS, chunks), (&SCRATCH, scratch)] {
            let _ = kept.try_with(|kept| kept.set(chunks));
        }
    }

    /// Computes the elements `start..end`; there is a chunk for each operand and a spare one, and those of the body.
    fn range_with(&self, chunks: &mut [Chunk], scratch: &mut [Chunk], start: usize, end: usize) {
        // Each chunk is reached by one pointer from here to the end.
        let chunks: SmallVec<[*mut u8; 12]> = chunks.iter_mut().map(|chunk| chunk.0.as_mut_ptr()).collect();
        let (of_sources, of_sinks) = chunks.split_at(self.sources.len());
        let (of_sinks, spare) = of_sinks.split_at(self.sinks.len());
        let Some(&spare) = spare.first() else { return };
        for (source, &chunk) in self.sources.iter().zip(of_sources).filter(|(s, _)| s.constant) {
            // SAFETY: a constant operand has one element at its pointer; the chunk holds CHUNK elements.
            unsafe { fill(source, source.pointer, 0, chunk, spare, 0, CHUNK.min(end - start)) };
        }

        let mut cursor = Cursor::new(self, start);
        let mut at = start;
        let mut inputs: SmallVec<[*mut u8; 8]> = SmallVec::new();
        let mut outputs: SmallVec<[*mut u8; 4]> = SmallVec::new();
        while at < end {
            let run = cursor.run_left();
            let single = run >= LONG_RUN || run >= end - at;
            let n = if single { run.min(CHUNK).min(end - at) } else { CHUNK.min(end - at) };
            inputs.clear();
            outputs.clear();
            for (s, (source, &chunk)) in self.sources.iter().zip(of_sources).enumerate() {
                let stride = source.strides.last().copied().unwrap_or(0);
                let direct = single && source.in_place && stride == source.size.cast_signed();
                if direct && !source.constant {
                    inputs.push(cursor.source(self, s).cast_mut());
                } else {
                    inputs.push(chunk);
                }
            }
            for (s, (sink, &chunk)) in self.sinks.iter().zip(of_sinks).enumerate() {
                let stride = sink.strides.last().copied().unwrap_or(0);
                let direct = single && sink.in_place && (stride == sink.size.cast_signed() || n == 1);
                outputs.push(if direct { cursor.sink(self, s) } else { chunk });
            }
            let mut ahead = cursor.clone();
            let mut done = 0;
            while done < n {
                let part = ahead.run_left().min(n - done);
                for (s, (source, &chunk)) in self.sources.iter().zip(of_sources).enumerate() {
                    if !source.constant && inputs[s] == chunk {
                        let stride = source.strides.last().copied().unwrap_or(0);
                        // SAFETY: the cursor walks the plan's axes, whose elements all lie in the operand's memory;
                        // done + part ≤ CHUNK.
                        unsafe { fill(source, ahead.source(self, s), stride, chunk, spare, done, part) };
                    }
                }
                ahead.advance(self, part);
                done += part;
            }
            // SAFETY: every chunk or direct run holds n elements of the loop's dtypes; outputs overlap no other
            // operand but the very same elements of an input.
            unsafe { self.body.run(&inputs, &outputs, scratch, n) };
            let mut behind = cursor;
            let mut done = 0;
            while done < n {
                let part = behind.run_left().min(n - done);
                for (s, (sink, &chunk)) in self.sinks.iter().zip(of_sinks).enumerate() {
                    if outputs[s] == chunk {
                        let stride = sink.strides.last().copied().unwrap_or(0);
                        // SAFETY: as for the inputs; this task alone writes these elements.
                        unsafe { drain(sink, behind.sink(self, s), stride, chunk, spare, done, part) };
                    }
                }
                behind.advance(self, part);
                done += part;
            }
            cursor = ahead;
            at += n;
        }
    }
}

/// Gathers `n` elements into the chunk, from its element `from` on.
///
/// # Safety
/// `pointer` and `stride` (bytes) reach `n` elements of the source; `from + n ≤ CHUNK`; `chunk` and `spare` are chunks
/// that nothing else uses.
unsafe fn fill(
    source: &Source,
    pointer: *const u8,
    stride: isize,
    chunk: *mut u8,
    spare: *mut u8,
    from: usize,
    n: usize,
) {
    let target = chunk.wrapping_add(from * source.size);
    match source.then {
        // SAFETY: the caller vouches for the source; the chunk has room for n elements of at most 16 bytes.
        None => unsafe { (source.gather)(pointer, stride, target, n) },
        Some(convert) => {
            // SAFETY: as above, into the spare chunk.
            unsafe { (source.gather)(pointer, stride, spare, n) };
            // SAFETY: the spare chunk holds n elements now.
            unsafe { convert(spare, target, n) };
        }
    }
}

/// Scatters `n` elements of the chunk, from its element `from` on.
///
/// # Safety
/// `pointer` and `stride` (bytes) reach `n` elements of the sink; `from + n ≤ CHUNK`; `chunk` and `spare` are chunks
/// that nothing else uses.
unsafe fn drain(
    sink: &Sink,
    pointer: *mut u8,
    stride: isize,
    chunk: *const u8,
    spare: *mut u8,
    from: usize,
    n: usize,
) {
    let values = chunk.wrapping_add(from * sink.size);
    match sink.first {
        // SAFETY: the caller vouches for the sink; the chunk holds n elements.
        None => unsafe { (sink.scatter)(values, pointer, stride, n) },
        Some(convert) => {
            // SAFETY: both chunks hold n elements of at most 16 bytes.
            unsafe { convert(values, spare, n) };
            // SAFETY: as above.
            unsafe { (sink.scatter)(spare, pointer, stride, n) };
        }
    }
}

/// A place in the iteration space: an index an axis, and the byte offset of every operand there.
#[derive(Clone)]
struct Cursor<'a> {
    extents: &'a [usize],
    index: SmallVec<[usize; 6]>,
    /// Sources first, then sinks.
    offsets: SmallVec<[isize; 12]>,
}

impl<'a> Cursor<'a> {
    fn new(walk: &Walk<'a>, flat: usize) -> Cursor<'a> {
        let extents = walk.args.extents.as_slice();
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, extents.len());
        let mut rest = flat;
        for (axis, &extent) in extents.iter().enumerate().rev() {
            index[axis] = rest % extent;
            rest /= extent;
        }
        let sources = walk.sources.iter().map(|source| &source.strides);
        let sinks = walk.sinks.iter().map(|sink| &sink.strides);
        let offset = |strides: &SmallVec<[isize; 6]>| {
            strides.iter().zip(&index).map(|(stride, &i)| stride * i.cast_signed()).sum::<isize>()
        };
        let offsets = sources.chain(sinks).map(offset).collect();
        Cursor { extents, index, offsets }
    }

    /// Elements until the innermost axis ends.
    fn run_left(&self) -> usize {
        match (self.extents.last(), self.index.last()) {
            (Some(extent), Some(i)) => extent - i,
            _ => 1,
        }
    }

    fn source(&self, walk: &Walk<'_>, s: usize) -> *const u8 {
        walk.sources[s].pointer.wrapping_offset(self.offsets[s])
    }

    fn sink(&self, walk: &Walk<'_>, s: usize) -> *mut u8 {
        walk.sinks[s].pointer.wrapping_offset(self.offsets[walk.sources.len() + s])
    }

    /// Moves on by `n` elements, which do not reach beyond the innermost axis.
    fn advance(&mut self, walk: &Walk<'_>, n: usize) {
        let mut step = n;
        for axis in (0..self.extents.len()).rev() {
            self.index[axis] += step;
            let wrapped = self.index[axis] == self.extents[axis];
            let delta = if wrapped {
                self.index[axis] = 0;
                step.cast_signed() - self.extents[axis].cast_signed()
            } else {
                step.cast_signed()
            };
            let sources = walk.sources.iter().map(|source| &source.strides);
            let sinks = walk.sinks.iter().map(|sink| &sink.strides);
            for (offset, strides) in self.offsets.iter_mut().zip(sources.chain(sinks)) {
                *offset += strides.get(axis).copied().unwrap_or(0) * delta;
            }
            if !wrapped {
                return;
            }
            step = 1;
        }
    }
}
