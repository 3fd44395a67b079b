//! The views of [`Layout`](crate::layout::Layout) as methods of every buffer.
//!
//! A view shares the memory of its buffer, nothing is copied or run. Axes count from 0, or from the end if negative.
//! `as_strided` is not among them: it can leave the memory, so buffers that know its extent offer it themselves.

use super::Buffer;
use crate::error::Result;
use crate::layout::Layout;
use smallvec::SmallVec;

/// Other shapes and orders of the same elements.
pub trait Views: Buffer {
    /// The axes in another order.
    ///
    /// # Errors
    /// Not every axis exactly once.
    fn permute(&self, axes: &[isize]) -> Result<Self> {
        view(self, self.meta().layout.permute(axes))
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// An axis out of range.
    fn transpose(&self, a: isize, b: isize) -> Result<Self> {
        view(self, self.meta().layout.transpose(a, b))
    }

    /// The transposed matrix; vectors and single elements stay as they are.
    ///
    /// # Errors
    /// A rank above 2.
    fn t(&self) -> Result<Self> {
        view(self, self.meta().layout.t())
    }

    /// Every `step`-th index of `start..end` on one axis; bounds below 0 count from the end, bounds beyond it are cut.
    ///
    /// # Errors
    /// An axis out of range, or a step of 0.
    fn slice(&self, axis: isize, start: isize, end: isize, step: usize) -> Result<Self> {
        view(self, self.meta().layout.slice(axis, start, end, step))
    }

    /// The opposite direction on these axes.
    ///
    /// # Errors
    /// An axis out of range or named twice.
    fn flip(&self, axes: &[isize]) -> Result<Self> {
        view(self, self.meta().layout.flip(axes))
    }

    /// Indices `start..start + len` on one axis; a start below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    fn narrow(&self, axis: isize, start: isize, len: usize) -> Result<Self> {
        view(self, self.meta().layout.narrow(axis, start, len))
    }

    /// One index of an axis, which goes away; an index below 0 counts from the end.
    ///
    /// # Errors
    /// An axis or an index out of range.
    fn select(&self, axis: isize, index: isize) -> Result<Self> {
        view(self, self.meta().layout.select(axis, index))
    }

    /// Pieces of `size` indices of one axis; the last one may be shorter.
    ///
    /// # Errors
    /// An axis out of range, or a size of 0 for an axis that is not empty.
    fn split(&self, axis: isize, size: usize) -> Result<Vec<Self>> {
        let pieces = self.settled(self.meta().layout.split(axis, size))?;
        pieces.into_iter().map(|piece| self.with_layout(piece)).collect()
    }

    /// At most `pieces` pieces of one axis, all of the same size but the last; exactly `pieces` empty ones of an empty
    /// axis.
    ///
    /// # Errors
    /// An axis out of range, or no pieces.
    fn chunk(&self, axis: isize, pieces: usize) -> Result<Vec<Self>> {
        let pieces = self.settled(self.meta().layout.chunk(axis, pieces))?;
        pieces.into_iter().map(|piece| self.with_layout(piece)).collect()
    }

    /// Axes of size 1 stretched to the extents of `shape`, new axes in front; -1 keeps an extent.
    ///
    /// # Errors
    /// A shape to which this one does not broadcast.
    fn expand(&self, shape: &[isize]) -> Result<Self> {
        view(self, self.meta().layout.expand(shape))
    }

    /// Axes of size 1 stretched to the extents of `shape`, new axes in front.
    ///
    /// # Errors
    /// A shape to which this one does not broadcast.
    fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let shape: SmallVec<[Self::Size; 6]> = shape.iter().map(|&extent| extent.into()).collect();
        self.broadcast_to_dims(&shape)
    }

    /// As [`Views::broadcast_to`], to extents that may be open.
    ///
    /// # Errors
    /// As `broadcast_to`.
    fn broadcast_to_dims(&self, shape: &[Self::Size]) -> Result<Self> {
        view(self, self.meta().layout.broadcast_to(shape))
    }

    /// A new axis of size 1 at this place; -1 is behind the last one.
    ///
    /// # Errors
    /// A place out of range, or a rank above [`MAX_RANK`](crate::layout::MAX_RANK).
    fn unsqueeze(&self, axis: isize) -> Result<Self> {
        view(self, self.meta().layout.unsqueeze(axis))
    }

    /// Without this axis if its size is 1, else unchanged.
    ///
    /// # Errors
    /// An axis out of range.
    fn squeeze(&self, axis: isize) -> Result<Self> {
        view(self, self.meta().layout.squeeze(axis))
    }

    /// Without axes of size 1.
    ///
    /// # Errors
    /// None of its own.
    fn squeeze_all(&self) -> Result<Self> {
        view(self, Ok(self.meta().layout.squeeze_all()))
    }

    /// The same elements in row-major order under another shape; one extent may be -1 and follows from the others.
    ///
    /// # Errors
    /// Another number of elements, an extent that does not follow, or strides that need a copy first.
    fn reshape(&self, shape: &[isize]) -> Result<Self> {
        view(self, self.meta().layout.reshape(shape))
    }

    /// The same elements in row-major order under a shape of extents that may be open.
    ///
    /// # Errors
    /// Another number of elements, or strides that need a copy first.
    fn reshape_dims(&self, shape: &[Self::Size]) -> Result<Self> {
        view(self, self.meta().layout.reshape_to(shape))
    }

    /// Axes `start` to `end`, both included, as one; a rank-0 buffer becomes rank 1.
    ///
    /// # Errors
    /// An axis out of range, `start` behind `end`, or strides that need a copy first.
    fn flatten(&self, start: isize, end: isize) -> Result<Self> {
        view(self, self.meta().layout.flatten(start, end))
    }

    /// Elements whose indices on axes `a` and `b` differ by `offset` (`b` is ahead), as a new last axis.
    ///
    /// # Errors
    /// An axis out of range, or the same one twice.
    fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Self> {
        view(self, self.meta().layout.diagonal(offset, a, b))
    }

    /// Windows of `size` indices of one axis, every `step` indices: the axis counts windows, a new last one is inside.
    ///
    /// # Errors
    /// An axis out of range, a window longer than the axis, or a step of 0.
    fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Self> {
        view(self, self.meta().layout.unfold(axis, size, step))
    }
}

impl<B: Buffer> Views for B {}

fn view<B: Buffer>(buffer: &B, layout: Result<Layout<B::Size>>) -> Result<B> {
    let view = buffer.with_layout(buffer.settled(layout)?)?;
    view.settled(Ok(()))?;
    Ok(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Meta, SymbolicBuffer};
    use crate::device::Device;
    use crate::dtype::DType;
    use crate::error::ErrorKind;

    fn buffer(dtype: DType, layout: Layout) -> SymbolicBuffer {
        SymbolicBuffer::with_meta(Meta { dtype, device: Device::Cpu, layout })
    }

    #[test]
    fn every_method_is_the_view_of_its_name() {
        let layout = Layout::new(&[3, 4, 1], &[-8, 2, 5], 16).unwrap();
        let x = buffer(DType::I16, layout.clone());
        macro_rules! check {
            ($($method:ident($($argument:expr),*);)*) => {$(
                let view = x.$method($($argument),*).unwrap();
                assert_eq!(view.meta().layout, layout.$method($($argument),*).unwrap(), stringify!($method));
                assert_eq!(view.meta().dtype, DType::I16);
                assert!(view.meta().layout != layout, stringify!($method));
            )*};
        }
        check! {
            permute(&[2, 0, 1]);
            transpose(0, 1);
            slice(1, 1, -1, 2);
            flip(&[0]);
            narrow(1, 1, 2);
            select(0, 2);
            expand(&[-1, 4, 5]);
            broadcast_to(&[3, 4, 2]);
            unsqueeze(1);
            squeeze(2);
            reshape(&[3, 2, -1]);
            flatten(1, 2);
            diagonal(1, 0, 1);
            unfold(1, 2, 1);
        }
        let matrix = x.squeeze_all().unwrap();
        assert_eq!(matrix.meta().layout, layout.squeeze_all());
        assert_eq!(matrix.t().unwrap().meta().layout, layout.squeeze_all().t().unwrap());
        let layouts = |pieces: Vec<SymbolicBuffer>| {
            pieces.into_iter().map(|piece| piece.meta().layout.clone()).collect::<Vec<_>>()
        };
        assert_eq!(layouts(x.split(1, 3).unwrap()), layout.split(1, 3).unwrap());
        assert_eq!(layouts(x.chunk(1, 3).unwrap()), layout.chunk(1, 3).unwrap());
    }

    #[test]
    fn errors_of_the_layout_pass_through() {
        let layout = Layout::contiguous(&[2, 3]).unwrap();
        let x = buffer(DType::F32, layout);
        assert_eq!(x.select(0, 2).unwrap_err().kind(), ErrorKind::Shape);
    }
}
