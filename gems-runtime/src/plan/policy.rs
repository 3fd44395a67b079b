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
    /// Bytes of a vector of the widest operand.
    pub widest: Option<u32>,
}

impl Default for Machine {
    /// An H200: what plans are made for when no device is at hand.
    fn default() -> Machine {
        Machine {
            sm_count: 132,
            threads_per_sm: 2048,
            bytes_in_flight: bytes_in_flight(9),
            tuning: Tuning::default(),
        }
    }
}

/// Bytes that loads of one multiprocessor must have in flight, by the major compute capability.
///
/// V100 12 KiB, A100 16, B200 64: CUB's tuning of `transform`. Hopper 32: one vector of 16 bytes a thread, which ran
/// unary and binary f32 at the speed of a copy on an H200 (2026-12-01); two were up to 1 % slower.
#[must_use]
pub const fn bytes_in_flight(compute_major: u32) -> u32 {
    match compute_major {
        0..=7 => 12 << 10,
        8 => 16 << 10,
        9 => 32 << 10,
        _ => 64 << 10,
    }
}

/// Bytes of a call from which on its loads ask that their lines leave L2 last: eight times what the L2 of an H200 holds.
///
/// Measured on an H200 (2026-12-01, µs without and with): tanh of f32, 128 + 128 MB 68.0 and 68.8, 192 + 192 99.6 and
/// 99.6, 256 + 256 131.3 and 130.8, 512 + 512 258.8 and 254.8; by ncu, with empty caches, 1 + 1 GiB turned 520 and 508,
/// two loads and a store of 1 GiB each 729 and 724, with the same bytes of DRAM.
pub const STREAMING_BYTES: u64 = 8 * (50 << 20);

/// How a class of kernels reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whole vectors of every operand, along one axis.
    Flat,
    /// The same, with so much arithmetic that the instructions around it count.
    FlatHeavy,
    /// Whole vectors of every operand, along rows.
    Rows,
    /// Elements one by one for some operand.
    Elements,
    /// Nothing is loaded but what caches hold.
    Stores,
}

/// What one thread and one block take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Vectors of a thread.
    pub vectors: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// A row of the table: reach, largest size in bytes of the widest operand, vectors, threads.
type Row = (Reach, u32, u32, u32);

/// Vectors of a thread and threads of a block, measured on an H200 (2026-12-01, 1 to 4 GiB a case, times in µs).
///
/// A vector has 16 bytes of the widest operand. Narrow elements take more vectors, since more instructions stand between
/// a load and its store.
const TABLE: [Row; 9] = [
    // abs i8: 514 with 4 of 64, 530 with 4 of 128, 529 with 4 of 256, 534 with 8 of 128, 565 with 1 of 128.
    (Reach::Flat, 1, 4, 64),
    (Reach::Rows, 1, 4, 128),
    // tanh bf16: 510 with 2 of 64, 514 with 2 of 128 and 256, 520 with 4 or 1 of 128.
    (Reach::Flat, 2, 2, 64),
    (Reach::Rows, 2, 2, 128),
    // copy f32: 512 with 2 of 64 or 96, 514 with 2 of 128, 530 with 2 of 256; where: 796, 800 with 2 of 128; seed F in f32:
    // 744 with 2 of 64, 748 with 2 of 128, 818 with 1 of 256.
    (Reach::Flat, 16, 2, 64),
    // Seed F in f32, of the copy: 1.016 with 4 of 128, 1.002 with 4 of 64, 0.989 with 2 of 64, 0.896 with 1 of 128; in bf16
    // 1.041, 1.033, 1.014, 0.910; its backward 1.027, 1.021, 1.025, 1.028.
    (Reach::FlatHeavy, 16, 4, 128),
    // A + row, f32: 501 with 1, 506 with 2, 512 with 4, and 638 with 1 of 64; five axes with two steps: 132 with 1 of 128,
    // 135 with 1 of 256.
    (Reach::Rows, 16, 1, 128),
    // tanh of every second f32: 371 with 1, 2 or 4.
    (Reach::Elements, 16, 2, 128),
    // column + row, f32: 236 with 2 of 256, 237 with 2 of 128, 268 with 1 of 256.
    (Reach::Stores, 16, 2, 256),
];

/// Most vectors of a thread.
const MOST_VECTORS: u32 = 8;

/// The launch of a kernel that walks vectors.
///
/// `widest` is the size in bytes of the widest operand, `vector_bytes` are loaded for one vector, over all inputs;
/// `n_vectors` is the whole call.
#[must_use]
pub fn launch(machine: &Machine, reach: Reach, widest: u32, vector_bytes: u32, n_vectors: u64) -> Launch {
    let row = TABLE.iter().find(|row| row.0 == reach && widest <= row.1).unwrap_or(&TABLE[4]);
    let (_, _, fewest, threads) = *row;
    let threads = machine.tuning.threads.unwrap_or(threads);
    let mut vectors = fewest;
    let in_flight = |vectors: u32| u64::from(machine.threads_per_sm) * u64::from(vectors * vector_bytes);
    while reach != Reach::Stores
        && vectors < MOST_VECTORS
        && in_flight(vectors) < u64::from(machine.bytes_in_flight)
    {
        vectors *= 2;
    }
    // Fewer vectors if otherwise some multiprocessor had less than two blocks.
    let enough = u64::from(machine.sm_count) * 2 * u64::from(threads);
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
/// the elements of a vector, `extents` those of both axes, innermost last. Eight vectors go down in a warp, and four bytes at least of a row are stored at once, so
/// that neither the loads nor the turn in shared memory conflict.
///
/// Measured on an H200 (2026-12-01, 16384 × 16384, fractions of a copy): A + Bᵀ in f32 1.006 with 64 × 64 and 512
/// threads; in bf16 0.980 with 128 × 128 and 512 threads, 0.970 with 64 × 64 and 256, 0.949 with 128 × 64 and 512.
#[must_use]
pub fn tile(machine: &Machine, narrowest: u32, turned: u32, width: u32, extents: [usize; 2]) -> Tile {
    let narrowest = narrowest.clamp(1, 16);
    let vector = (16 / narrowest).min(width).max(1);
    let [down_extent, across_extent] = extents.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX / 2));
    let side = if narrowest <= 2 { 128 } else { 64 };
    let least_down = 8 * vector;
    let least_across = width.max(4 / narrowest);
    let mut across =
        machine.tuning.across.unwrap_or(across_extent.next_power_of_two().min(side)).max(least_across);
    let mut down = machine.tuning.down.unwrap_or(down_extent.next_power_of_two().min(side)).max(least_down);
    while across * down * turned > TILE_BYTES && down > least_down {
        down /= 2;
    }
    while across * down * turned > TILE_BYTES && across > least_across {
        across /= 2;
    }
    let columns = columns_at_once(narrowest);
    let most = (across * down / width).min(across * down / vector / columns);
    let threads = machine.tuning.threads.unwrap_or(512).min(most);
    Tile { across, down, threads }
}

/// Columns of a tile that a thread fills together, so that it stores 4 bytes at once.
#[must_use]
pub const fn columns_at_once(size: u32) -> u32 {
    if size < 4 { 4 / size } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_operands_take_more_vectors() {
        let machine = Machine::default();
        let vectors = |widest, bytes| launch(&machine, Reach::Flat, widest, bytes, 1 << 30).vectors;
        assert_eq!((vectors(1, 16), vectors(2, 16), vectors(4, 16), vectors(8, 16)), (4, 2, 2, 2));
        assert_eq!((vectors(4, 32), vectors(4, 8), vectors(4, 4)), (2, 2, 4));
        assert_eq!(launch(&machine, Reach::Stores, 4, 0, 1 << 30), Launch { vectors: 2, threads: 256 });
    }

    #[test]
    fn small_calls_cover_all_multiprocessors() {
        let machine = Machine::default();
        let vectors = |n| launch(&machine, Reach::Flat, 2, 16, n).vectors;
        assert_eq!(vectors(132 * 2 * 64), 1);
        assert_eq!(vectors(132 * 2 * 64 * 2), 2);
        assert_eq!(vectors(1), 1);
    }

    #[test]
    fn tiles_fit_shared_memory_and_hold_whole_warps() {
        let machine = Machine::default();
        for narrowest in [1, 2, 4, 8, 16] {
            for turned in [1, 2, 3, 16].map(|operands| operands * narrowest) {
                for width in [1, 2, 4, 8, 16].into_iter().filter(|width| width * narrowest <= 16) {
                    let tile = tile(&machine, narrowest, turned, width, [1000, 1000]);
                    assert!(
                        tile.across * tile.down * turned <= TILE_BYTES,
                        "{narrowest} {turned} {width}: {tile:?}"
                    );
                    assert!(tile.down >= 8 && tile.across >= width);
                    let slots = tile.across * tile.down / (16 / narrowest).min(width).max(1);
                    assert!(
                        slots / columns_at_once(narrowest) >= tile.threads,
                        "{narrowest} {turned} {width}: {tile:?}"
                    );
                }
            }
        }
    }
}
