//! Launch policy: how many vectors a thread takes, in blocks of how many threads.
//!
//! One table with a row a kernel class, and two rules on top of it:
//! 1. Enough bytes in flight. Sustained bandwidth is the bytes that resident threads have asked for and not yet got,
//!    over the latency of memory; a thread takes more vectors until [`Machine::bytes_in_flight`] are asked for.
//! 2. Small calls cover all multiprocessors before a thread takes more than one vector.
//!
//! Pure; knows no op, no layout and no driver.

/// What planning knows of the machine that a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Threads that are resident on one multiprocessor.
    pub threads_per_sm: u32,
    /// Bytes that loads of one multiprocessor must have in flight.
    pub bytes_in_flight: u32,
    /// Replaces the table, for measuring.
    pub tuning: Tuning,
}

/// Values that replace those of the table; for measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Vectors of a thread.
    pub vectors: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Elements of a tile along the innermost axis.
    pub across: Option<u32>,
    /// Elements of a tile along the axis next to it.
    pub down: Option<u32>,
}

impl Default for Machine {
    /// An H200: what plans are made for when no device is at hand.
    fn default() -> Machine {
        Machine { sm_count: 132, threads_per_sm: 2048, bytes_in_flight: 48 << 10, tuning: Tuning::default() }
    }
}

/// Bytes that loads of one multiprocessor must have in flight, by the major compute capability.
///
/// From CUB's tuning of `transform`: V100 12 KiB, A100 16, H100 32 and H200 48, B200 64. One row serves H100 and H200:
/// more than needed costs registers only.
#[must_use]
pub const fn bytes_in_flight(compute_major: u32) -> u32 {
    match compute_major {
        0..=7 => 12 << 10,
        8 => 16 << 10,
        9 => 48 << 10,
        _ => 64 << 10,
    }
}

/// How a class of kernels reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whole vectors of every operand.
    Vectors,
    /// Elements one by one for some operand.
    Elements,
}

/// What one thread and one block take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Vectors of a thread.
    pub vectors: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// The launch of a kernel that walks vectors.
///
/// `vector_bytes` are loaded for one vector, over all inputs; `n_vectors` is the whole call.
#[must_use]
pub fn launch(machine: &Machine, reach: Reach, vector_bytes: u32, n_vectors: u64) -> Launch {
    /// Class, fewest and most vectors of a thread, threads of a block.
    ///
    /// Two vectors with 128 threads were within 1 % of the best variant of every contiguous case on an H200; one
    /// vector with 256 threads lost 9 % on `gelu_and_mul` in bf16.
    const TABLE: [(Reach, u32, u32, u32); 2] = [(Reach::Vectors, 2, 4, 128), (Reach::Elements, 2, 8, 128)];
    let (_, fewest, most, threads) = TABLE[reach as usize];
    let threads = machine.tuning.threads.unwrap_or(threads);
    let per_round = u64::from(machine.threads_per_sm) * u64::from(vector_bytes.max(1));
    let wanted = u64::from(machine.bytes_in_flight).div_ceil(per_round);
    let wanted = u32::try_from(wanted).unwrap_or(most).clamp(fewest, most).next_power_of_two();
    // Fewer vectors if otherwise some multiprocessor had less than two blocks.
    let enough = u64::from(machine.sm_count) * 2 * u64::from(threads);
    let mut vectors = wanted;
    while vectors > 1 && n_vectors < enough * u64::from(vectors) {
        vectors /= 2;
    }
    Launch { vectors: machine.tuning.vectors.unwrap_or(vectors), threads }
}

/// The tile of a kernel that turns operands in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Elements along the innermost axis.
    pub across: u32,
    /// Elements along the axis next to it.
    pub down: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// Most bytes of shared memory for the tiles of one block: what every device gives without asking is 48 KiB.
pub const TILE_BYTES: u32 = 48 << 10;

/// The tile for operands of these sizes.
///
/// `narrowest` is the size in bytes of the narrowest operand that is turned, `turned` the sum of their sizes, `width`
/// the elements of a vector. Eight vectors go down and four elements across in a warp, so that neither the loads nor
/// the turn in shared memory conflict.
///
/// 64 × 64 with 512 threads ran A + Bᵀ in f32 at 1.01 of a copy on an H200.
#[must_use]
pub fn tile(machine: &Machine, narrowest: u32, turned: u32, width: u32) -> Tile {
    let least_down = 8 * (16 / narrowest.clamp(1, 16)).min(width);
    let mut across = machine.tuning.across.unwrap_or(64).max(width);
    let mut down = machine.tuning.down.unwrap_or(64).max(least_down);
    while across * down * turned > TILE_BYTES && down > least_down {
        down /= 2;
    }
    while across * down * turned > TILE_BYTES && across > width {
        across /= 2;
    }
    let threads = machine.tuning.threads.unwrap_or(512).min(across * down / width).max(32);
    Tile { across, down, threads }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_operands_take_more_vectors() {
        let machine = Machine::default();
        let vectors = |bytes| launch(&machine, Reach::Vectors, bytes, 1 << 30).vectors;
        assert_eq!((vectors(16), vectors(32), vectors(48)), (2, 2, 2));
        assert_eq!((vectors(8), vectors(4)), (4, 4));
    }

    #[test]
    fn small_calls_cover_all_multiprocessors() {
        let machine = Machine::default();
        let vectors = |n| launch(&machine, Reach::Vectors, 16, n).vectors;
        assert_eq!(vectors(132 * 2 * 128), 1);
        assert_eq!(vectors(132 * 2 * 128 * 2), 2);
        assert_eq!(vectors(1), 1);
    }

    #[test]
    fn tiles_fit_shared_memory_and_hold_whole_warps() {
        let machine = Machine::default();
        for narrowest in [1, 2, 4, 8, 16] {
            for turned in [narrowest, 2 * narrowest, 16, 32, 48] {
                for width in [1, 2, 4, 8, 16] {
                    let tile = tile(&machine, narrowest, turned.max(narrowest), width);
                    assert!(
                        tile.across * tile.down * turned <= TILE_BYTES,
                        "{narrowest} {turned} {width}: {tile:?}"
                    );
                    assert!(tile.down >= 8 && tile.across >= width && tile.threads >= 32);
                }
            }
        }
    }
}
