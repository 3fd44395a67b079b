//! Complex numbers with parts of f32 or f64.
