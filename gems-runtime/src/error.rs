//! The one error type: what failed, in which op, with which operands, and the way out.

use std::fmt;
use std::sync::Arc;

/// Result of everything in gems that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// Its text names the op, dtypes and shapes involved and what would work; [`Error::kind`] is for code.
/// It can be cloned, because one failed compilation is told to every thread that waited for it.
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    op: Option<String>,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes do not broadcast, or a view does not fit.
    Shape,
    /// A dtype is not accepted, dtypes have no common dtype, or a result cannot be cast to `out`.
    DType,
    /// A number does not fit where it is used, or an option has no such value.
    Value,
    /// An output overlaps itself or an input partly.
    Overlap,
    /// Operands on different devices, or a device that does not exist.
    Device,
    /// The CUDA driver is missing or failed.
    Driver,
    /// NVRTC is missing or rejected a kernel.
    Compile,
    /// Memory could not be allocated.
    Memory,
    /// A file could not be read or written.
    Io,
    /// An answer depends on a size that a trace leaves open, and no guard could be made.
    Guard,
    /// The op has no such form.
    Unsupported,
}

impl Error {
    /// An error of this kind; `message` says what is wrong and then the way out, lower case, no full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { inner: Box::new(Inner { kind, op: None, message: message.into(), source: None }) }
    }

    /// Names the op, unless an inner call did so already.
    #[must_use]
    pub fn in_op(mut self, op: &str) -> Error {
        self.inner.op.get_or_insert_with(|| op.to_owned());
        self
    }

    /// Adds something to the text.
    #[must_use]
    pub(crate) fn with_note(mut self, note: &str) -> Error {
        self.inner.message.push_str(note);
        self
    }

    /// Adds what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.inner.source = Some(Arc::from(source.into()));
        self
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The op in which it happened.
    #[must_use]
    pub fn op(&self) -> Option<&str> {
        self.inner.op.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = &self.inner.op {
            write!(f, "{op}: ")?;
        }
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            write!(f, "\n  caused by: {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }
}
