//! The attribute macros of gems.
