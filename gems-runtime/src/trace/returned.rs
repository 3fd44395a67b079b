//! What a traced function may return.

use crate::buffer::{StridedBuffer, SymbolicBuffer};
use crate::error::{Error, ErrorKind, Result};

/// Buffers that a traced function returns: one, a tuple, an array or a vector of them.
pub trait Returned: Sized {
    /// The same with memory.
    type Real;

    /// The buffers in order.
    fn flatten(&self) -> Vec<&SymbolicBuffer>;

    /// The same shape of result from real buffers.
    ///
    /// # Errors
    /// Another number of buffers than `flatten` gave.
    fn rebuild(buffers: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<Self::Real>;
}

fn exact<const N: usize>(
    mut buffers: impl ExactSizeIterator<Item = StridedBuffer>,
) -> Result<[StridedBuffer; N]> {
    if buffers.len() != N {
        let message = format!("the traced function returns {} buffers, not {N}", buffers.len());
        return Err(Error::new(ErrorKind::Value, message));
    }
    Ok(std::array::from_fn(|_| buffers.next().unwrap_or_else(|| unreachable!("there are {N} buffers"))))
}

impl Returned for SymbolicBuffer {
    type Real = StridedBuffer;

    fn flatten(&self) -> Vec<&SymbolicBuffer> {
        vec![self]
    }

    fn rebuild(buffers: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<StridedBuffer> {
        exact(buffers).map(|[only]| only)
    }
}

impl<const N: usize> Returned for [SymbolicBuffer; N] {
    type Real = [StridedBuffer; N];

    fn flatten(&self) -> Vec<&SymbolicBuffer> {
        self.iter().collect()
    }

    fn rebuild(buffers: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<[StridedBuffer; N]> {
        exact(buffers)
    }
}

impl Returned for Vec<SymbolicBuffer> {
    type Real = Vec<StridedBuffer>;

    fn flatten(&self) -> Vec<&SymbolicBuffer> {
        self.iter().collect()
    }

    fn rebuild(buffers: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<Vec<StridedBuffer>> {
        Ok(buffers.collect())
    }
}

impl Returned for () {
    type Real = ();

    fn flatten(&self) -> Vec<&SymbolicBuffer> {
        Vec::new()
    }

    fn rebuild(_: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<()> {
        Ok(())
    }
}

macro_rules! tuple {
    ($($member:ident $index:tt)*) => {
        impl Returned for ($(tuple!(@ $member SymbolicBuffer),)*) {
            type Real = ($(tuple!(@ $member StridedBuffer),)*);

            fn flatten(&self) -> Vec<&SymbolicBuffer> {
                vec![$(&self.$index),*]
            }

            fn rebuild(buffers: impl ExactSizeIterator<Item = StridedBuffer>) -> Result<Self::Real> {
                exact(buffers).map(|[$($member),*]| ($($member,)*))
            }
        }
    };
    (@ $member:ident $ty:ident) => { $ty };
}

tuple!(a 0 b 1);
tuple!(a 0 b 1 c 2);
tuple!(a 0 b 1 c 2 d 3);
tuple!(a 0 b 1 c 2 d 3 e 4);
tuple!(a 0 b 1 c 2 d 3 e 4 f 5);
