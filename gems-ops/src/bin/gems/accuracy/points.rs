//! Where ops are measured: all of f16 and bf16 if there is one operand, and spread points else.
//!
//! The same points on every machine: the generator has a seed of its own for each row.

use super::exact::Real;
use gems_ops::dtype::DType;
use half::{bf16, f16};

/// The floats of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits behind the leading one.
    pub(super) mantissa: i32,
    /// Exponents of the least and the greatest normal numbers.
    pub(super) least: i32,
    pub(super) greatest: i32,
}

impl Format {
    pub(super) fn of(dtype: DType) -> Format {
        let (mantissa, greatest) = match dtype {
            DType::F16 => (10, 15),
            DType::BF16 => (7, 127),
            DType::F32 => (23, 127),
            _ => (52, 1023),
        };
        Format { mantissa, least: 1 - greatest, greatest }
    }

    /// Whether there are so few floats that all can be measured.
    pub(super) fn is_short(self) -> bool {
        self.mantissa <= 10
    }

    /// The exponent of the last place of a float near x.
    pub(super) fn ulp(self, x: &Real) -> i64 {
        x.exponent().max(self.least.into()) - i64::from(self.mantissa)
    }

    /// Whether x is a float, infinities and NaN among them.
    pub(super) fn holds(self, x: &Real) -> bool {
        if !x.is_finite() || x.is_zero() {
            return true;
        }
        x.exponent() <= self.greatest.into() && x.scaled(-self.ulp(x)).is_integer()
    }

    /// The greatest number.
    fn max(self) -> f64 {
        (2.0 - power(-self.mantissa)) * power(self.greatest)
    }

    /// The distance between neighbors at x.
    fn step(self, x: f64) -> f64 {
        let exponent = if x == 0.0 { self.least } else { exponent_of(x).max(self.least) };
        power(exponent - self.mantissa)
    }
}

/// The e with 2^e ≤ |x| < 2^(e + 1), for normal f64.
fn exponent_of(x: f64) -> i32 {
    (x.abs().to_bits() >> 52) as i32 - 1023
}

/// 2^n, in two steps for subnormal results.
fn power(n: i32) -> f64 {
    2f64.powi(n / 2) * 2f64.powi(n - n / 2)
}

/// Draws one operand.
pub(super) type DrawOne = fn(&mut Draw) -> f64;

/// How the operands of a row are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Points<'a> {
    /// One operand: everywhere, and closer around these.
    Line(&'static [f64]),
    /// Several operands, drawn together.
    Drawn(fn(&mut Draw) -> Vec<f64>),
    /// Several operands, each drawn by itself.
    Each(&'a [DrawOne]),
}

/// Random numbers (splitmix64).
#[derive(Debug)]
pub(super) struct Draw {
    state: u64,
    format: Format,
}

impl Draw {
    pub(super) fn new(seed: &str, format: Format) -> Draw {
        let fold = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Draw { state: seed.bytes().fold(0xcbf2_9ce4_8422_2325, fold), format }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number from 0 on, less than n.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    pub(super) fn below(&mut self, n: u32) -> u32 {
        (self.unit() * f64::from(n)) as u32
    }

    fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }

    /// 2^low to 2^high, as many of each power of two.
    pub(super) fn size(&mut self, low: f64, high: f64) -> f64 {
        self.within(low, high).exp2()
    }

    /// The same with either sign.
    pub(super) fn spread(&mut self, low: f64, high: f64) -> f64 {
        self.sign() * self.size(low, high)
    }

    /// Every exponent of the dtype, the subnormal ones too.
    pub(super) fn anything(&mut self) -> f64 {
        let Format { mantissa, least, greatest } = self.format;
        let exponents = u32::try_from(greatest - least + mantissa + 1).unwrap_or(1);
        let exponent = greatest - self.below(exponents).cast_signed();
        self.sign() * self.within(1.0, 2.0).min(2.0 - power(-mantissa)) * power(exponent)
    }

    /// Near x: a few steps away, or any power of two of its size.
    pub(super) fn near(&mut self, x: f64) -> f64 {
        let step = self.format.step(x);
        if self.below(4) == 0 {
            return x + self.sign() * step * f64::from(self.below(9));
        }
        let closest = if x == 0.0 { 40.0 } else { f64::from(self.format.mantissa) + 1.0 };
        let scale = if x == 0.0 { 1.0 } else { x };
        x + scale * self.spread(-closest, 0.0)
    }

    /// Two operands that meet everywhere, and where they cancel.
    pub(super) fn pair(&mut self) -> Vec<f64> {
        let x = if self.below(4) == 0 { self.anything() } else { self.spread(-26.0, 12.0) };
        let y = match self.below(6) {
            0 => self.anything(),
            1 => self.sign() * self.near(x),
            2 => self.sign() * f64::from(self.below(20)) * 0.5,
            _ => self.spread(-26.0, 12.0),
        };
        vec![x, y]
    }
}

/// The operands, one vector a parameter.
pub(super) fn points(points: Points<'_>, name: &str, dtype: DType, count: usize) -> Vec<Vec<f64>> {
    let format = Format::of(dtype);
    let mut draw = Draw::new(name, format);
    match points {
        Points::Line(_) if format.is_short() => vec![all(dtype, count)],
        Points::Line(near) => vec![line(near, &mut draw, count)],
        Points::Drawn(operands) => columns(format, (0..count).map(|_| operands(&mut draw)).collect()),
        Points::Each(operands) => {
            let row = |_| operands.iter().map(|operand| operand(&mut draw)).collect();
            columns(format, (0..count).map(row).collect())
        }
    }
}

/// One vector an operand, of finite numbers.
fn columns(format: Format, rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let arity = rows.first().map_or(0, Vec::len);
    let finite = |x: f64| x.clamp(-format.max(), format.max());
    (0..arity).map(|i| rows.iter().map(|row| finite(row[i])).collect()).collect()
}

/// All 65,536 floats, or every n-th if fewer are wanted.
fn all(dtype: DType, count: usize) -> Vec<f64> {
    let value = |bits: u16| match dtype {
        DType::F16 => f16::from_bits(bits).to_f64(),
        _ => bf16::from_bits(bits).to_f64(),
    };
    // An odd step, which meets all kinds of mantissas.
    let step = (65_536 / count.max(1)).max(1) | 1;
    (0..=u16::MAX).step_by(step).map(value).collect()
}

/// Half of the points within 2^±26, a quarter anywhere, a quarter near special ones; powers of two and their
/// neighbors besides.
fn line(near: &[f64], draw: &mut Draw, count: usize) -> Vec<f64> {
    let Format { mantissa, least, greatest } = draw.format;
    let powers = (least - mantissa..=greatest).flat_map(|exponent| {
        let step = power((exponent - mantissa).max(least - mantissa));
        [-step, 0.0, step].map(|distance| power(exponent) + distance)
    });
    let mut points: Vec<f64> = powers.flat_map(|x| [x, -x]).collect();
    points.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    let every = points.len().div_ceil(count.max(1) / 4 + 1);
    points = points.into_iter().step_by(every).collect();
    while points.len() < count {
        points.push(match draw.below(4) {
            0 => draw.anything(),
            1 => {
                let special = draw.below(u32::try_from(near.len()).unwrap_or(0) + 2) as usize;
                let x =
                    near.get(special).copied().unwrap_or(if special.is_multiple_of(2) { 1.0 } else { 0.5 });
                draw.near(x)
            }
            _ => draw.spread(-26.0, 12.0),
        });
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_floats_are_measured_one_and_all() {
        let count = |samples| points(Points::Line(&[]), "exp", DType::BF16, samples)[0].len();
        assert_eq!((count(65_536), count(200_000), count(10_000)), (65_536, 65_536, 9363));
    }

    #[test]
    fn every_exponent_is_drawn() {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            let format = Format::of(dtype);
            let mut draw = Draw::new("test", format);
            let sizes: Vec<f64> = (0..100_000).map(|_| draw.anything().abs()).collect();
            let greatest = sizes.iter().copied().fold(0.0, f64::max);
            let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(greatest.is_finite() && greatest >= power(format.greatest), "{dtype}: {greatest}");
            assert!(least < power(format.least - format.mantissa + 1), "{dtype}: {least}");
        }
    }

    #[test]
    fn neighbors_of_a_special_point_are_drawn() {
        let drawn = points(Points::Line(&[0.75]), "test", DType::F32, 20_000);
        let step = f64::from(f32::EPSILON) / 2.0;
        for x in [0.75 - step, 0.75, 0.75 + step] {
            assert!(drawn[0].contains(&x), "{x}");
        }
    }
}
