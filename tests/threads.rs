//! Calls from many threads get on with each other, whatever pool they come from.

use gems_ops::prelude::*;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// A large call of a plain thread waits for the threads of the CPU back end with its memory locked, while all threads of
/// the user's pool want that memory.
#[test]
fn plain_threads_and_parallel_iterators_share_memory() {
    let x = StridedBuffer::zeros(DType::F32, &[2, 1 << 20], Device::Cpu).unwrap();
    let (mut up, low) = (x.select(0, 0).unwrap(), x.select(0, 1).unwrap());
    let (done, both) = mpsc::channel();
    let other = done.clone();
    thread::spawn(move || {
        (0..40).for_each(|_| neg::inplace(&mut up).unwrap());
        done.send("plain").unwrap();
    });
    thread::spawn(move || {
        (0..40).into_par_iter().for_each(|_| drop(abs(&low).unwrap()));
        other.send("parallel").unwrap();
    });
    for _ in 0..2 {
        both.recv_timeout(Duration::from_secs(60)).expect("calls that wait for each other");
    }
}

/// Calls an op when its thread ends.
struct Last(StridedBuffer);

impl Drop for Last {
    fn drop(&mut self) {
        let negated = neg(&self.0).map(|result| result.to_vec::<f32>());
        let is_right = matches!(negated, Ok(Ok(elements)) if elements == [-1.0, -1.0]);
        SEEN.lock().unwrap_or_else(PoisonError::into_inner).push(is_right);
    }
}

static SEEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// What a thread knows of earlier calls may be gone by then, or not be.
#[test]
fn ops_work_in_threads_that_end() {
    for calls_first in [false, true] {
        let work = move || {
            let x = StridedBuffer::full(DType::F32, &[2], 1, Device::Cpu).unwrap();
            if calls_first {
                neg(&x).unwrap();
            }
            LAST.set(Some(Last(x.clone())));
            neg(&x).unwrap();
        };
        thread::spawn(work).join().unwrap();
    }
    assert_eq!(*SEEN.lock().unwrap(), [true, true]);
}
