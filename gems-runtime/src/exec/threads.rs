//! The threads of the CPU back end.
//!
//! A pool of their own: a call holds the locks of its memory while it waits for them, so they may never run what could
//! wait for such a lock, as a task of the user's could in the pool that rayon shares.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;

/// As many as the machine has cores, or as RAYON_NUM_THREADS says; none where they cannot be started.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let pool = ThreadPoolBuilder::new().thread_name(|i| format!("gems-{i}")).build();
    pool.inspect_err(|error| tracing::warn!("the CPU back end stays on one thread: {error}")).ok()
});

/// The pool, for a caller that may wait for it: a thread of a pool of rayon runs other tasks while it waits, which could
/// want the locks that the caller holds, so a call from within a parallel iterator stays on its thread.
fn pool() -> Option<&'static ThreadPool> {
    if rayon::current_thread_index().is_some() { None } else { POOL.as_ref() }
}

/// Covers the items from 0 to `n` by calls of `work(start, end)`, on several threads where there are `least` items for
/// each call or more; a call starts at a multiple of `unit`.
pub(super) fn for_each_range(n: usize, least: usize, unit: usize, work: impl Fn(usize, usize) + Send + Sync) {
    let n_tasks = n / least.max(1);
    let pool = if n_tasks < 2 { None } else { pool() };
    let Some(pool) = pool.filter(|pool| pool.current_num_threads() > 1) else { return work(0, n) };
    let share = n.div_ceil(n_tasks.min(pool.current_num_threads() * 4)).next_multiple_of(unit);
    pool.install(|| {
        (0..n.div_ceil(share))
            .into_par_iter()
            .for_each(|task| work(task * share, (task * share + share).min(n)));
    });
}
