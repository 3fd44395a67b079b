//! A strided view of memory: the operand of eager calls.

use crate::buffer::{Buffer, Meta, Storage, display};
use crate::device::Device;
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Error, ErrorKind, Result};
use crate::exec;
use crate::layout::Layout;
use crate::op::{OpDef, Operand};
use smallvec::SmallVec;
use std::fmt;

/// Bytes that [`StridedBuffer::full`] writes at a time: whole elements of any dtype.
const FILL_BYTES: usize = 1 << 20;

/// Any strided view of memory on a device.
///
/// A handle: clones and views share the memory, and writing through one shows in all of them.
///
/// # Examples
/// ```
/// use gems_runtime::buffer::{StridedBuffer, Views};
///
/// let x = StridedBuffer::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(x.t()?.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), gems_runtime::error::Error>(())
/// ```
#[derive(Clone)]
pub struct StridedBuffer {
    meta: Meta,
    storage: Storage,
}

impl StridedBuffer {
    /// A contiguous host buffer of these elements, row-major.
    ///
    /// # Errors
    /// `Shape` if the shape does not have `elements.len()` elements; `Memory`.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[usize]) -> Result<StridedBuffer> {
        let mut buffer = StridedBuffer::zeros(T::DTYPE, shape, Device::Cpu)?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    /// A contiguous host buffer of these elements, row-major.
    ///
    /// # Errors
    /// `Shape` if the shape does not have `elements.len()` elements; `Memory`.
    #[expect(clippy::needless_pass_by_value, reason = "the counterpart of `to_vec`")]
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[usize]) -> Result<StridedBuffer> {
        StridedBuffer::from_slice(&elements, shape)
    }

    /// A 0-d host buffer.
    ///
    /// # Errors
    /// `Memory`.
    pub fn from_element<T: Element>(element: T) -> Result<StridedBuffer> {
        StridedBuffer::from_slice(&[element], &[])
    }

    /// A contiguous buffer of zeros.
    ///
    /// # Errors
    /// `Shape` if the number of elements overflows; `Memory`; `Driver` if the device cannot be used.
    pub fn zeros(dtype: DType, shape: &[usize], device: Device) -> Result<StridedBuffer> {
        let meta = Meta { dtype, device, layout: Layout::contiguous(shape)? };
        if device == Device::Cpu {
            return StridedBuffer::allocate_by(&meta, Storage::host_zeroed);
        }
        let buffer = StridedBuffer::allocate(&meta)?;
        exec::zero(&buffer.storage)?;
        Ok(buffer)
    }

    /// A contiguous buffer in which every element is `value`, converted to `dtype`.
    ///
    /// # Errors
    /// As [`StridedBuffer::zeros`].
    pub fn full(
        dtype: DType,
        shape: &[usize],
        value: impl Into<Scalar>,
        device: Device,
    ) -> Result<StridedBuffer> {
        let bytes = value.into().store(dtype);
        let element = &bytes[..dtype.size()];
        let buffer = StridedBuffer::allocate(&Meta { dtype, device, layout: Layout::contiguous(shape)? })?;
        let bytes = buffer.storage.bytes();
        let part = element.repeat((bytes / element.len()).min(FILL_BYTES / element.len()));
        for at in (0..bytes).step_by(FILL_BYTES) {
            exec::write_bytes(&buffer.storage, at, &part[..part.len().min(bytes - at)])?;
        }
        Ok(buffer)
    }

    /// Memory of unspecified content for a layout whose elements start at offset 0.
    pub(crate) fn allocate(meta: &Meta) -> Result<StridedBuffer> {
        StridedBuffer::allocate_by(meta, |bytes| exec::allocate(meta.device, bytes))
    }

    /// As [`StridedBuffer::allocate`], with memory of so many bytes from `allocate`.
    pub(crate) fn allocate_by(
        meta: &Meta,
        allocate: impl FnOnce(usize) -> Result<Storage>,
    ) -> Result<StridedBuffer> {
        let storage = allocate(meta.bytes()?)?;
        Ok(StridedBuffer { meta: meta.clone(), storage })
    }

    /// A buffer of memory that has [`Meta::bytes`] of its layout.
    pub(crate) fn of_memory(meta: &Meta, storage: Storage) -> StridedBuffer {
        StridedBuffer { meta: meta.clone(), storage }
    }

    /// A view of memory that came from elsewhere.
    ///
    /// # Errors
    /// `Shape` if the layout leaves the memory, or the memory is not aligned to the dtype.
    pub fn from_storage(storage: Storage, dtype: DType, layout: Layout) -> Result<StridedBuffer> {
        let size = dtype.size();
        let elements = storage.bytes() / size;
        if let Some((low, high)) = layout.span()
            && (low < 0 || high.unsigned_abs() >= elements)
        {
            let message = format!(
                "layout {:?} with strides {:?} and offset {} reaches elements {low} to {high} of memory that holds {elements}",
                layout.shape(),
                layout.strides(),
                layout.offset()
            );
            return Err(Error::new(ErrorKind::Shape, message));
        }
        // Complex elements are aligned as their parts.
        let align = dtype.real().size() as u64;
        if !storage.address().is_multiple_of(align) {
            let message = format!("memory at {:#x} is not aligned to {dtype}; copy it", storage.address());
            return Err(Error::new(ErrorKind::Shape, message));
        }
        let meta = Meta { dtype, device: storage.device(), layout };
        Ok(StridedBuffer { meta, storage })
    }

    /// Another view of the same memory, given in full.
    ///
    /// # Errors
    /// `Shape` if the layout leaves the memory.
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: isize) -> Result<StridedBuffer> {
        let layout = Layout::new(shape, strides, offset)?;
        StridedBuffer::from_storage(self.storage.clone(), self.meta.dtype, layout)
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.meta.dtype
    }

    /// Where the memory is.
    #[must_use]
    pub fn device(&self) -> Device {
        self.meta.device
    }

    /// Extents, outermost first, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.meta.layout.shape()
    }

    /// Step of each axis in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.meta.layout.strides()
    }

    /// Number of elements.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.meta.layout.numel()
    }

    /// The memory.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Byte address of the element with all indices 0, as a plain number.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.storage.address().wrapping_add_signed(self.meta.offset_bytes() as i64)
    }

    /// Pointer to the element with all indices 0, if it is on the host. Whoever uses it holds the memory's lock.
    pub(crate) fn host_pointer(&self) -> Option<*mut u8> {
        Some(self.storage.as_host()?.pointer().wrapping_offset(self.meta.offset_bytes()))
    }

    /// The elements in row-major order; waits for the device.
    ///
    /// # Errors
    /// `DType` if `T` is not the buffer's; `Driver`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_dtype(T::DTYPE)?;
        exec::read(self)
    }

    /// The only element.
    ///
    /// # Errors
    /// `Shape` unless there is exactly one; `DType` if `T` is not the buffer's; `Driver`.
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.to_vec()?.as_slice() {
            [element] => Ok(*element),
            elements => {
                let message = format!("item needs one element, {} has {}", self.meta, elements.len());
                Err(Error::new(ErrorKind::Shape, message))
            }
        }
    }

    /// Overwrites the elements, in row-major order.
    ///
    /// # Errors
    /// `Shape` if the counts differ; `DType` if `T` is not the buffer's; `Overlap` if elements share memory; `Driver`.
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        self.check_dtype(T::DTYPE)?;
        if elements.len() != self.numel() {
            let message = format!("{} elements do not fill {}", elements.len(), self.meta);
            return Err(Error::new(ErrorKind::Shape, message));
        }
        exec::write(self, elements)
    }

    /// The same elements on another device, contiguous; a cheap handle if they are there already.
    ///
    /// # Errors
    /// `Memory`; `Driver` if the device cannot be used.
    pub fn to_device(&self, device: Device) -> Result<StridedBuffer> {
        if device == self.meta.device {
            return Ok(self.clone());
        }
        exec::to_device(self, device)
    }

    fn check_dtype(&self, asked: DType) -> Result<()> {
        if asked != self.meta.dtype {
            let message =
                format!("{} holds {}, not {asked}; convert with `cast`", self.meta, self.meta.dtype);
            return Err(Error::new(ErrorKind::DType, message));
        }
        Ok(())
    }

    /// The view of a layout that counts from this buffer's first element.
    ///
    /// # Errors
    /// `Shape` if it leaves what this buffer spans.
    pub(crate) fn part(&self, layout: &Layout) -> Result<StridedBuffer> {
        let whole = &self.meta.layout;
        let moved =
            layout.moved(whole.offset()).filter(|layout| whole.contains(layout)).ok_or_else(|| {
                Error::new(
                    ErrorKind::Shape,
                    format!("a view {layout:?} leaves {}; trace the function again", self.meta),
                )
            })?;
        let meta = Meta { layout: moved, ..self.meta.clone() };
        Ok(StridedBuffer { meta, storage: self.storage.clone() })
    }
}

impl Buffer for StridedBuffer {
    type Size = usize;

    fn unset(&self, layout: Layout) -> Result<StridedBuffer> {
        StridedBuffer::allocate(&Meta { dtype: self.meta.dtype, device: self.meta.device, layout })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn shape(&self) -> &[usize] {
        self.meta.layout.shape()
    }

    fn with_layout(&self, layout: Layout) -> Result<Self> {
        StridedBuffer::from_storage(self.storage.clone(), self.meta.dtype, layout)
    }

    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[Self; 2]>> {
        exec::call(op, operands, dtype)
    }

    fn call<const N: usize>(op: &'static OpDef, operands: &[Operand<'_, Self>]) -> Result<[Self; N]> {
        exec::call_array(op, operands)
    }

    /// Nothing is stored for results that are not wanted.
    fn run_some(
        op: &'static OpDef,
        operands: &[Operand<'_, Self>],
        dtype: Option<DType>,
        wanted: &[bool],
    ) -> Result<SmallVec<[Option<Self>; 2]>> {
        exec::call_some(op, operands, dtype, wanted)
    }

    fn call_out(op: &'static OpDef, operands: &[Operand<'_, Self>], outputs: &mut [&mut Self]) -> Result<()> {
        exec::call_out(op, operands, outputs)
    }

    fn zeros_like(&self) -> Result<Self> {
        StridedBuffer::zeros(self.meta.dtype, self.meta.layout.shape(), self.meta.device)
    }

    fn sum_like(&self, like: &Self) -> Result<Self> {
        exec::sum_to(self, like.meta.layout.shape(), like.meta.dtype)
    }
}

impl fmt::Display for StridedBuffer {
    /// The values, nested by axis, then the description; long axes are shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::values(self, f)?;
        write!(f, " {}", self.meta)
    }
}

impl fmt::Debug for StridedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.meta)
    }
}
