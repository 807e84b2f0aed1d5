//! Arguments of a call as Rust values: borrowed bytes with an element type and a shape.
//!
//! They are independent of calls, because callers create them before the program is known.

use half::f16;
use num_complex::Complex;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::tensor::Tensor;

mod sealed {
    /// Keeps [`super::Element`] to the types below, whose bytes are all values.
    pub trait Sealed {}
}

/// A Rust type that is one lane of an element type.
///
/// Sealed: only types without padding, and of the layout that compiled code uses, implement it.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// The scalar type in programs.
    const SCALAR: ScalarType;
}

macro_rules! elements {
    ($($rust:ty => $scalar:ident),* $(,)?) => {
        $(impl sealed::Sealed for $rust {}
          impl Element for $rust { const SCALAR: ScalarType = ScalarType::$scalar; })*
    };
}
elements! {
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64, Complex<f32> => Complex64, Complex<f64> => Complex128,
}

/// Memory that is lent to a call.
#[derive(Debug)]
pub(super) enum Bytes<'a> {
    Shared(&'a [u8]),
    Mutable(&'a mut [u8]),
}

impl Bytes<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Bytes::Shared(bytes) => bytes.len(),
            Bytes::Mutable(bytes) => bytes.len(),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Shared(bytes) => bytes,
            Bytes::Mutable(bytes) => bytes,
        }
    }

    pub(super) fn is_mutable(&self) -> bool {
        matches!(self, Bytes::Mutable(_))
    }

    /// The address for compiled code, which writes only behind addresses of mutable memory.
    pub(super) fn address(&mut self) -> *mut u8 {
        match self {
            Bytes::Shared(bytes) => bytes.as_ptr().cast_mut(),
            Bytes::Mutable(bytes) => bytes.as_mut_ptr(),
        }
    }
}

/// A borrowed array or scalar: bytes, the type of an element and the extents.
///
/// Bytes and slices lie as the program declares: dense and in row-major order, unless the argument has strides.
/// Tensors are always dense. The borrow makes overlapping written arguments impossible.
#[derive(Debug)]
pub struct ArgumentBuffer<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) element: ElementType,
    pub(super) shape: Vec<usize>,
    /// Dense even where the program declares strides.
    pub(super) dense: bool,
    /// Whether every byte is a value of what the memory was borrowed as.
    pub(super) takes_any_byte: bool,
}

impl<'a> ArgumentBuffer<'a> {
    /// Memory that is only read, as bytes.
    ///
    /// A byte of an element of type `bool` that is neither 0 nor 1 counts as true.
    pub fn new(element: ElementType, bytes: &'a [u8], shape: &[usize]) -> Self {
        Self::of(element, Bytes::Shared(bytes), shape)
    }

    /// Memory that may be written, as bytes.
    pub fn new_mut(element: ElementType, bytes: &'a mut [u8], shape: &[usize]) -> Self {
        Self::of(element, Bytes::Mutable(bytes), shape)
    }

    /// A tensor that is only read. Where the program declares strides, the call gives it a copy that lies so.
    pub fn from_tensor(tensor: &'a Tensor) -> Self {
        ArgumentBuffer { dense: true, ..Self::new(tensor.element(), tensor.bytes(), &extents(tensor)) }
    }

    /// A tensor that may be written; all its elements count as defined from now on. Strides are as in
    /// [`ArgumentBuffer::from_tensor`].
    pub fn from_tensor_mut(tensor: &'a mut Tensor) -> Self {
        let shape = extents(tensor);
        ArgumentBuffer { dense: true, ..Self::new_mut(tensor.element(), tensor.bytes_mut(), &shape) }
    }

    /// A slice that is only read. For elements that are short vectors, the slice holds their lanes.
    pub fn from_slice<T: Element>(values: &'a [T], shape: &[usize]) -> Self {
        Self::new(ElementType::scalar(T::SCALAR), bytes_of(values), shape)
    }

    /// A slice that may be written.
    pub fn from_slice_mut<T: Element>(values: &'a mut [T], shape: &[usize]) -> Self {
        let takes_any_byte = T::SCALAR != ScalarType::Bool;
        let element = ElementType::scalar(T::SCALAR);
        ArgumentBuffer { takes_any_byte, ..Self::new_mut(element, bytes_of_mut(values), shape) }
    }

    fn of(element: ElementType, bytes: Bytes<'a>, shape: &[usize]) -> Self {
        ArgumentBuffer { bytes, element, shape: shape.to_vec(), dense: false, takes_any_byte: true }
    }
}

/// The extents of a tensor, which are never negative.
fn extents(tensor: &Tensor) -> Vec<usize> {
    tensor.shape().iter().map(|extent| extent.unsigned_abs() as usize).collect()
}

/// The bytes of `values`.
pub(super) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the range is that of `values`, `u8` has no alignment, and sealed element types have no padding, so
    // every byte is initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`. The bytes are only given to compiled code, which writes values of the declared
    // element type; a `bool` is written as 0 or 1.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
