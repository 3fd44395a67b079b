//! A map whose missing values are built once, however many threads ask at the same time.
//!
//! Guarantees: at most one build of a key at a time; who asks meanwhile waits and gets its result; a failed build is
//! told to those who waited and not remembered, so the next call tries again; a builder that panics leaves the key
//! empty and wakes the others.
//! Does not bound its size and never forgets a value: keys are kernels, of which a program has few.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use crate::error::Result;

/// Values by key, each built once.
pub struct SingleFlight<K, V> {
    done: RwLock<BTreeMap<K, V>>,
    flights: Mutex<BTreeMap<K, Arc<Flight<V>>>>,
}

/// One build in progress, and how it ended once it has.
struct Flight<V> {
    outcome: Mutex<Option<Outcome<V>>>,
    landed: Condvar,
}

/// What became of a build; a builder that panicked leaves `None`, and somebody else has to try.
type Outcome<V> = Option<Result<V>>;

impl<K, V> std::fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleFlight").finish_non_exhaustive()
    }
}

impl<K: Ord + Clone, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        SingleFlight::new()
    }
}

impl<K: Ord + Clone, V: Clone> SingleFlight<K, V> {
    /// An empty map; usable in a `static`.
    #[must_use]
    pub const fn new() -> SingleFlight<K, V> {
        SingleFlight { done: RwLock::new(BTreeMap::new()), flights: Mutex::new(BTreeMap::new()) }
    }

    /// The value if it was built already; takes a read lock only.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.done.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The value, built by `build` unless it is there or another thread is building it.
    ///
    /// # Errors
    /// What `build` returned, here or in the thread that was waited for.
    pub fn get_or_build(&self, key: &K, build: impl FnOnce() -> Result<V>) -> Result<V> {
        loop {
            if let Some(value) = self.get(key) {
                return Ok(value);
            }
            let flight = {
                let mut flights = lock(&self.flights);
                // A flight that landed between the look above and this lock has left its value.
                if let Some(value) = self.get(key) {
                    return Ok(value);
                }
                match flights.get(key) {
                    Some(flight) => Arc::clone(flight),
                    None => {
                        let flight = Arc::new(Flight { outcome: Mutex::new(None), landed: Condvar::new() });
                        flights.insert(key.clone(), Arc::clone(&flight));
                        drop(flights);
                        return self.fly(key, &flight, build);
                    }
                }
            };
            if let Some(result) = flight.wait() {
                return result;
            }
        }
    }

    fn fly(&self, key: &K, flight: &Flight<V>, build: impl FnOnce() -> Result<V>) -> Result<V> {
        let mut landing = Landing { map: self, key, flight, outcome: None };
        let result = build();
        if let Ok(value) = &result {
            self.done.write().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), value.clone());
        }
        landing.outcome = Some(result.clone());
        result
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.done.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Forgets all values; builds in progress are not disturbed.
    pub fn clear(&self) {
        self.done.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl<V: Clone> Flight<V> {
    fn wait(&self) -> Outcome<V> {
        let mut outcome = lock(&self.outcome);
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = self.landed.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends a flight on every way out of the builder, a panic included.
struct Landing<'a, K: Ord + Clone, V: Clone> {
    map: &'a SingleFlight<K, V>,
    key: &'a K,
    flight: &'a Flight<V>,
    outcome: Outcome<V>,
}

impl<K: Ord + Clone, V: Clone> Drop for Landing<'_, K, V> {
    fn drop(&mut self) {
        lock(&self.map.flights).remove(self.key);
        *lock(&self.flight.outcome) = Some(self.outcome.take());
        self.flight.landed.notify_all();
    }
}

/// Locks; a panic elsewhere leaves nothing half-done behind these locks, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    const SLOW: Duration = Duration::from_millis(30);

    #[test]
    fn eight_threads_on_one_cold_key_build_once() {
        let (map, builds, start) = (SingleFlight::new(), AtomicUsize::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let value = map.get_or_build(&"key", || {
                        builds.fetch_add(1, Ordering::SeqCst);
                        thread::sleep(SLOW);
                        Ok(7)
                    });
                    assert_eq!(value.unwrap(), 7);
                });
            }
        });
        assert_eq!(builds.load(Ordering::SeqCst), 1);
        assert_eq!((map.count(), map.get(&"key"), map.get(&"other")), (1, Some(7), None));
    }

    #[test]
    fn different_keys_build_side_by_side() {
        let (map, both) = (SingleFlight::new(), Barrier::new(2));
        thread::scope(|scope| {
            for key in 0..2 {
                let (map, both) = (&map, &both);
                // Each build waits for the other, so one at a time would never end.
                scope.spawn(move || {
                    map.get_or_build(&key, || {
                        both.wait();
                        Ok(key)
                    })
                });
            }
        });
        assert_eq!(map.count(), 2);
    }

    #[test]
    fn a_failure_is_told_to_the_waiting_and_not_remembered() {
        let (map, builds) = (SingleFlight::new(), AtomicUsize::new(0));
        let (building, told) = (Barrier::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let result: Result<u8> = map.get_or_build(&1, || {
                    builds.fetch_add(1, Ordering::SeqCst);
                    building.wait();
                    thread::sleep(SLOW);
                    Err(Error::new(ErrorKind::Compile, "no good"))
                });
                assert_eq!(result.unwrap_err().to_string(), "no good");
            });
            building.wait();
            let result = map.get_or_build(&1, || {
                builds.fetch_add(1, Ordering::SeqCst);
                Err(Error::new(ErrorKind::Compile, "built again"))
            });
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Compile, "no good"));
            told.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!((builds.load(Ordering::SeqCst), told.load(Ordering::SeqCst)), (1, 1));
        assert_eq!(map.get_or_build(&1, || Ok(5)).unwrap(), 5);
    }

    #[test]
    fn a_panicking_builder_neither_blocks_nor_poisons() {
        let (map, building) = (SingleFlight::new(), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    map.get_or_build(&1, || {
                        building.wait();
                        thread::sleep(SLOW);
                        panic!("expected by this test")
                    })
                }));
                assert!(panicked.is_err());
            });
            building.wait();
            assert_eq!(map.get_or_build(&1, || Ok(9)).unwrap(), 9);
        });
    }

    #[test]
    fn clearing_makes_the_next_call_build() {
        let map = SingleFlight::new();
        assert_eq!(map.get_or_build(&1, || Ok(1)).unwrap(), 1);
        assert_eq!(map.get_or_build(&1, || Ok(2)).unwrap(), 1);
        map.clear();
        assert_eq!(map.get_or_build(&1, || Ok(2)).unwrap(), 2);
    }
}
