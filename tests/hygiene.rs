//! Expansions under denied lints, beside items of the user with the names that expansions need.
#![deny(warnings)]
#![deny(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    unused_lifetimes
)]
#![deny(elided_lifetimes_in_paths, single_use_lifetimes, trivial_casts, trivial_numeric_casts)]
#![deny(clippy::all, clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason)]
#![deny(clippy::unwrap_used, clippy::missing_docs_in_private_items)]
#![forbid(unsafe_code)]

pub use gems_ops as renamed;

/// Items that shadow the prelude, primitive types and crates.
pub mod shadowed {
    use ::gems_ops::prelude::{device_fn, pointwise_dynamic};

    /// Shadows the prelude.
    #[derive(Debug)]
    pub struct Option;
    /// Shadows the prelude.
    #[derive(Debug)]
    pub struct Result;
    /// Shadows the prelude.
    #[derive(Debug)]
    pub struct Into;
    /// Shadows the prelude.
    #[derive(Debug)]
    pub struct Clone;
    /// Shadows the prelude.
    pub const NONE: () = ();
    /// Shadows the primitive type.
    pub mod f32 {}
    /// Shadows the primitive type.
    pub mod f64 {}
    /// Shadows the crate.
    pub mod core {}
    /// Shadows the crate.
    pub mod std {}
    /// Shadows the crate.
    pub mod gems_ops {}
    /// Shadows the crate.
    pub mod gems_runtime {}
    /// Shadows a trait.
    pub trait Number {
        /// Shadows the operator's method.
        fn add(self);
    }

    /// Sums and differences.
    #[pointwise_dynamic(promote = default(x, y), outputs(sum, difference), crate = crate::renamed)]
    pub fn both<T: Float>(x: T, y: T, #[param] alpha: f64) -> (T, T) {
        let scaled = alpha as T * y;
        (x + scaled, x - scaled)
    }

    /// Halves.
    #[device_fn(crate = crate::renamed)]
    #[must_use]
    pub fn halve<T: Float>(x: T) -> T {
        0.5 * x
    }

    /// Has as many parameters as an optimizer.
    #[pointwise_dynamic]
    pub(crate) fn long<T: Float>(a: T, b: T, c: T, d: T, e: T, f: T, g: T, mask: bool, n: i32) -> T {
        let (sum, _) = both::scalar(a + b + c + d, e + f + g, 1f64);
        if mask { halve(sum) } else { sum * n as T }
    }

    /// Nobody calls what belongs to this one.
    #[pointwise_dynamic]
    fn private<T: Real>(x: T) -> bool {
        let is_negative = x < 0;
        is_negative || x.is_nan()
    }

    /// Style lints whose advice the language cannot follow.
    #[device_fn(crate = crate::renamed)]
    #[must_use]
    pub fn inside(x: f64) -> bool {
        !(x < 0.0 || x > 1.0) && x == x && x != 0.5
    }

    /// Uses what is private.
    #[must_use]
    pub fn use_private() -> bool {
        private::scalar(1)
    }
}

/// An op whose documentation says what can fail.
///
/// # Errors
/// None that are new.
#[gems_ops::prelude::pointwise_dynamic]
pub fn documented<T: Int>(x: T, y: T) -> T {
    x & y
}

#[test]
fn expansions_name_everything_by_absolute_paths() {
    assert_eq!(shadowed::both::scalar(3.0f32, 1.0, 2.0), (5.0, 1.0));
    assert!((shadowed::halve(3.0f64) - 1.5).abs() < f64::EPSILON);
    assert!(
        (shadowed::long::scalar(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, true, 2) - 3.5f32).abs() < f32::EPSILON
    );
    assert!(!shadowed::use_private() && shadowed::inside(1.0));
    assert_eq!(documented::scalar(6, 3), 2);
}

#[test]
fn documentation_of_errors_is_not_doubled() {
    assert_eq!(documented::DEF.doc.matches("# Errors").count(), 1);
}
