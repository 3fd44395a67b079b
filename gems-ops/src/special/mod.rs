//! Special functions: error functions, gamma functions, Bessel and Airy functions, orthogonal polynomials.
//!
//! Almost all are written for f64 and rounded once, so f32 and halves are right to the last place but for rare ties,
//! and CPU and CUDA agree bit for bit where no elementary function is called.

mod airy;
mod bessel;
mod error;
mod gamma;
mod incomplete;
mod integers;
mod orthopoly;
mod slope;
mod tables;

pub use airy::*;
pub use bessel::*;
pub use error::*;
pub use gamma::*;
pub use incomplete::*;
pub use orthopoly::*;

#[cfg(test)]
mod tests {
    #[track_caller]
    pub(super) fn close(got: f64, expected: f64, relative: f64) {
        assert!((got - expected).abs() <= relative * expected.abs(), "{got:e} is not {expected:e}");
    }
}
