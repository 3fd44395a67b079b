//! Calls from many threads get on with each other, whatever pool they come from.

use gems_ops::prelude::*;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::sync::mpsc;
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
