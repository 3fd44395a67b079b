//! Complex functions, by the formulas of textbooks.
//!
//! What cancels in them does so among 448 bits: for parts from 2^−45 to 2^45, more than 200 are left.

use super::Real;
use std::ops::{Add, Div, Mul, Neg, Sub};

const BITS: usize = 448;

/// A complex number.
#[derive(Clone, Debug)]
pub(crate) struct Complex {
    pub(crate) re: Real,
    pub(crate) im: Real,
}

impl Complex {
    /// The very value, at the head of a wide computation.
    pub(crate) fn of(re: f64, im: f64) -> Complex {
        Complex { re: Real::of(re).at(BITS), im: Real::of(im).at(BITS) }
    }

    pub(crate) fn abs(&self) -> Real {
        self.re.hypot(&self.im)
    }

    fn times(&self, factor: &Real) -> Complex {
        Complex { re: &self.re * factor, im: &self.im * factor }
    }

    /// i·z.
    fn turned(&self) -> Complex {
        Complex { re: -&self.im, im: self.re.clone() }
    }

    pub(crate) fn exp(&self) -> Complex {
        let size = self.re.exp();
        Complex { re: &size * self.im.cos(), im: size * self.im.sin() }
    }

    pub(crate) fn ln(&self) -> Complex {
        let square = &self.re * &self.re + &self.im * &self.im;
        Complex { re: square.ln() * 0.5, im: self.im.atan2(&self.re) }
    }

    pub(crate) fn sqrt(&self) -> Complex {
        let greater = ((self.abs() + self.re.abs()) * 0.5).sqrt();
        let less = self.im.abs() / (&greater * 2.0);
        let (re, im) = if self.re.is_negative() { (less, greater) } else { (greater, less) };
        Complex { re, im: if self.im.is_sign_negative() { -im } else { im } }
    }

    pub(crate) fn recip(&self) -> Complex {
        one() / self.clone()
    }

    pub(crate) fn pow(&self, exponent: &Complex) -> Complex {
        (exponent.clone() * self.ln()).exp()
    }

    pub(crate) fn sinh(&self) -> Complex {
        Complex { re: self.re.sinh() * self.im.cos(), im: self.re.cosh() * self.im.sin() }
    }

    pub(crate) fn cosh(&self) -> Complex {
        Complex { re: self.re.cosh() * self.im.cos(), im: self.re.sinh() * self.im.sin() }
    }

    pub(crate) fn tanh(&self) -> Complex {
        self.sinh() / self.cosh()
    }

    /// −i·f(i·z): the circular function of a hyperbolic one that is odd, and back.
    pub(crate) fn around(&self, odd: fn(&Complex) -> Complex) -> Complex {
        -odd(&self.turned()).turned()
    }

    /// f(i·z): the same of an even one.
    pub(crate) fn around_even(&self, even: fn(&Complex) -> Complex) -> Complex {
        even(&self.turned())
    }

    pub(crate) fn asinh(&self) -> Complex {
        (self.clone() + (self.clone() * self.clone() + one()).sqrt()).ln()
    }

    pub(crate) fn acosh(&self) -> Complex {
        let roots = (self.clone() - one()).sqrt() * (self.clone() + one()).sqrt();
        (self.clone() + roots).ln()
    }

    pub(crate) fn acos(&self) -> Complex {
        let quarter = Complex { re: Real::pi_at(BITS) * 0.5, im: Real::of(0.0) };
        quarter - self.around(Complex::asinh)
    }

    pub(crate) fn atanh(&self) -> Complex {
        ((one() + self.clone()).ln() - (one() - self.clone()).ln()).times(&Real::of(0.5))
    }

    pub(crate) fn exp_m1(&self) -> Complex {
        self.exp() - one()
    }

    pub(crate) fn ln_1p(&self) -> Complex {
        (self.clone() + one()).ln()
    }

    /// b to this power.
    pub(crate) fn exp_of(&self, base: f64) -> Complex {
        self.times(&Real::of(base).at(BITS).ln()).exp()
    }

    /// The logarithm to a base.
    pub(crate) fn log(&self, base: f64) -> Complex {
        self.ln().times(&(1.0 / Real::of(base).at(BITS).ln()))
    }

    pub(crate) fn sigmoid(&self) -> Complex {
        (one() + (-self.clone()).exp()).recip()
    }

    /// sin(πz)/(πz).
    pub(crate) fn sinc(&self) -> Complex {
        let angle = self.times(&Real::pi_at(BITS));
        angle.around(Complex::sinh) / angle
    }
}

fn one() -> Complex {
    Complex::of(1.0, 0.0)
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex { re: -self.re, im: -self.im }
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        self + -other
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: &self.re * &other.re - &self.im * &other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, other: Complex) -> Complex {
        let square = &other.re * &other.re + &other.im * &other.im;
        let conjugate = Complex { re: other.re, im: -other.im };
        (self * conjugate).times(&(1.0 / square))
    }
}
