//! Random layouts and values, the same for the same seed.

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;

/// Which floats are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Small and large ones, zeros, infinities and NaN among them.
    All,
    /// From −2 to 2: for comparing sums of library results, whose errors grow with what cancels.
    Moderate,
}

/// A small generator (splitmix64), so that a seed names a case for ever.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, which is not 0.
    #[expect(clippy::cast_possible_truncation, reason = "below a usize")]
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number below `bound`, which is not 0; every second time one of the four highest.
    pub fn recent(&mut self, bound: usize) -> usize {
        let nearest = bound.saturating_sub(4);
        if self.chance(50) { nearest + self.below(bound - nearest) } else { self.below(bound) }
    }

    /// Whether an event of this chance (in percent) happens.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A shape of at most this rank; extents are mostly small, now and then 0 or 1.
    pub fn shape(&mut self, rank: usize, largest: usize) -> Vec<usize> {
        let rank = self.below(rank + 1);
        (0..rank)
            .map(|_| match self.below(20) {
                0 => 0,
                1..4 => 1,
                _ => 1 + self.below(largest),
            })
            .collect()
    }

    /// A layout that broadcasts to `shape`: permuted, stepped, reversed, expanded, shifted, with fewer or shorter axes.
    ///
    /// # Panics
    /// The shape is too large for memory.
    pub fn layout(&mut self, shape: &[usize]) -> Layout {
        let drop = if self.chance(20) { self.below(shape.len() + 1) } else { 0 };
        let own: Vec<usize> =
            shape[drop..].iter().map(|&extent| if self.chance(15) { 1 } else { extent }).collect();
        let steps: Vec<usize> = own.iter().map(|_| if self.chance(20) { 2 } else { 1 }).collect();
        let mut order: Vec<usize> = (0..own.len()).collect();
        if self.chance(50) {
            for i in (1..order.len()).rev() {
                order.swap(i, self.below(i + 1));
            }
        }
        let mut strides = vec![0isize; own.len()];
        let mut run = 1usize;
        for &axis in order.iter().rev() {
            strides[axis] = (run * steps[axis]).cast_signed();
            run *= (own[axis] * steps[axis]).max(1);
        }
        let mut offset = if self.chance(30) { self.below(4).cast_signed() } else { 0 };
        for axis in 0..own.len() {
            match self.below(10) {
                // The stride of one element is never walked, however far it reaches.
                0 if own[axis] == 1 => strides[axis] = isize::MAX / 64,
                0 => strides[axis] = 0,
                1 if own[axis] > 0 => {
                    offset += strides[axis] * (own[axis] - 1).cast_signed();
                    strides[axis] = -strides[axis];
                }
                _ => {}
            }
        }
        Layout::new(&own, &strides, offset).expect("small shapes fit")
    }

    /// A layout of exactly this shape without overlap: permuted, stepped, reversed, shifted.
    ///
    /// # Panics
    /// The shape is too large for memory.
    pub fn dense_layout(&mut self, shape: &[usize]) -> Layout {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..order.len()).rev() {
            if self.chance(40) {
                order.swap(i, self.below(i + 1));
            }
        }
        let mut strides = vec![0isize; shape.len()];
        let mut run = 1usize;
        let mut offset = self.below(3).cast_signed();
        for &axis in order.iter().rev() {
            let step = if self.chance(15) { 2 } else { 1 };
            strides[axis] = (run * step).cast_signed();
            run *= (shape[axis] * step).max(1);
            if self.chance(10) && shape[axis] > 0 {
                offset += strides[axis] * (shape[axis] - 1).cast_signed();
                strides[axis] = -strides[axis];
            }
        }
        Layout::new(shape, &strides, offset).expect("small shapes fit")
    }

    /// A host buffer of this layout with random values.
    ///
    /// # Panics
    /// The layout is too large for memory.
    pub fn buffer(&mut self, dtype: DType, layout: &Layout, range: Range) -> StridedBuffer {
        let elements = layout.span().map_or(0, |(_, high)| high.unsigned_abs() + 1);
        let flat = self.values(dtype, elements, range);
        flat.as_strided(layout.shape(), layout.strides(), layout.offset()).expect("the span was allocated")
    }

    /// A contiguous host buffer of `n` random values.
    ///
    /// # Panics
    /// Too large for memory.
    pub fn values(&mut self, dtype: DType, n: usize, range: Range) -> StridedBuffer {
        const SPECIAL: [f64; 14] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            0.5,
            1e-30,
            -1e30,
            65504.0,
            448.0,
            127.0,
            -128.0,
        ];
        if dtype == DType::Bool {
            let values: Vec<bool> = (0..n).map(|_| self.chance(50)).collect();
            return StridedBuffer::from_slice(&values, &[n]).expect("small");
        }
        if dtype.is_int() {
            let values: Vec<i64> = (0..n)
                .map(|_| match self.below(8) {
                    0 => self.bits().cast_signed(),
                    1 => i64::MIN >> self.below(64),
                    2 => 0,
                    _ => self.below(41).cast_signed() as i64 - 20,
                })
                .collect();
            return cast(&StridedBuffer::from_slice(&values, &[n]).expect("small"), dtype)
                .expect("any dtype");
        }
        let mut value = || {
            if range == Range::All && self.chance(10) {
                SPECIAL[self.below(SPECIAL.len())]
            } else {
                let unit = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
                let widths: &[f64] = if range == Range::All { &[8.0, 2.0, 200.0] } else { &[4.0] };
                (unit - 0.5) * widths[self.below(widths.len())]
            }
        };
        if dtype.is_complex() {
            let values: Vec<_> = (0..n).map(|_| num_complex::Complex::new(value(), value())).collect();
            return cast(&StridedBuffer::from_slice(&values, &[n]).expect("small"), dtype)
                .expect("any dtype");
        }
        let values: Vec<f64> = (0..n).map(|_| value()).collect();
        cast(&StridedBuffer::from_slice(&values, &[n]).expect("small"), dtype).expect("any dtype")
    }
}
