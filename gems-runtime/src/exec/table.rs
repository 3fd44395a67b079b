//! Things that were planned for kinds of calls, found by key without lock, allocation or string.
//!
//! A table belongs to a thread. A key is compared in full, so two kinds of calls are never taken for one; a kind that
//! falls into the place of another one replaces it.

use crate::buffer::{Buffer, Meta, StridedBuffer};
use crate::device::Device;
use std::cell::RefCell;
use std::thread::LocalKey;

/// Entries of a table; a power of two. A program has few kinds of calls at a time.
const SLOTS: usize = 1024;
/// Most words of a key: a call of six operands of rank four has 60. Longer keys are used by nobody.
const WORDS: usize = 64;

/// What tells kinds of calls apart: made empty and filled in place, since it is too long to be moved about.
#[derive(Debug)]
pub(crate) struct Key {
    words: [u64; WORDS],
    /// Words that were pushed, also those for which there was no room.
    length: usize,
    hash: u64,
}

impl Default for Key {
    fn default() -> Key {
        Key { words: [0; WORDS], length: 0, hash: 0 }
    }
}

impl Key {
    /// Whether it is short enough to be used.
    pub(super) fn fits(&self) -> bool {
        self.length <= WORDS
    }

    fn words(&self) -> &[u64] {
        self.words.get(..self.length).unwrap_or_default()
    }

    /// Dtype, device, layout up to the offset, and alignment.
    pub(super) fn push_buffer(&mut self, buffer: &StridedBuffer) {
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

    pub(super) fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.length) {
            *place = word;
        }
        self.length += 1;
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn slot(&self) -> usize {
        (self.hash >> 40) as usize & (SLOTS - 1)
    }
}

/// Things by key.
#[derive(Debug)]
pub(super) struct Table<T>(RefCell<Vec<Option<Box<Entry<T>>>>>);

#[derive(Debug)]
struct Entry<T> {
    key: Box<[u64]>,
    thing: T,
}

/// Looks up in the table of this thread; a thread that is ending has none any more.
pub(super) fn lookup<T, R>(
    table: &'static LocalKey<Table<T>>,
    key: &Key,
    f: impl FnOnce(&T) -> R,
) -> Option<R> {
    table.try_with(|table| table.with(key, f)).ok().flatten()
}

/// Keeps a thing in the table of this thread, if it has one.
pub(super) fn keep<T>(table: &'static LocalKey<Table<T>>, key: &Key, thing: T) {
    // An ending thread makes no further calls of this kind.
    let _ = table.try_with(|table| table.keep(key, thing));
}

impl<T> Table<T> {
    pub(super) const fn new() -> Table<T> {
        Table(RefCell::new(Vec::new()))
    }

    /// Runs `f` on the thing of a key, if there is one and the table is not in use further up this thread's stack.
    fn with<R>(&self, key: &Key, f: impl FnOnce(&T) -> R) -> Option<R> {
        // Exclusive, since what a thing is run with lies in the thing.
        let table = self.0.try_borrow_mut().ok()?;
        let entry = table.get(key.slot())?.as_ref()?;
        (*entry.key == *key.words()).then(|| f(&entry.thing))
    }

    /// Keeps a thing for the next call of its kind.
    fn keep(&self, key: &Key, thing: T) {
        // In use further up: a call from the destructor of somebody's memory. It is kept the next time.
        let Ok(mut table) = self.0.try_borrow_mut() else { return };
        if table.is_empty() {
            table.resize_with(SLOTS, || None);
        }
        if let Some(slot) = table.get_mut(key.slot()) {
            *slot = Some(Box::new(Entry { key: key.words().into(), thing }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_in_use_is_not_found_again() {
        let (table, mut key) = (Table::new(), Key::default());
        key.push(1);
        table.keep(&key, 7);
        assert_eq!(table.with(&key, |&thing| (thing, table.with(&key, |&thing| thing))), Some((7, None)));
        assert_eq!(table.with(&key, |&thing| thing), Some(7));
    }
}
