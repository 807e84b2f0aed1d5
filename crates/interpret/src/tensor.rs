//! Tensors: typed host buffers with a shape, which callers pass to the interpreter and to native code.
//!
//! They are independent of both, because the same arguments go to either.

use half::f16;
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::value::{Complex, Value};
use thiserror::Error;

/// Elements of one type in row-major order, without gaps.
///
/// Bytes are in the order of this machine; short vectors lie lane after lane. A tensor may hold elements that the
/// caller declared undefined: their bytes are zero, and the interpreter traps when a program reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    element: ElementType,
    shape: Vec<i64>,
    data: Vec<u8>,
    defined: Option<Vec<bool>>,
}

/// Why bytes or elements do not make a tensor, or a tensor not a vector of elements.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TensorError {
    /// An extent below zero.
    #[error("the extent of dimension {dimension} is {extent}, which is negative")]
    NegativeExtent {
        /// The dimension, from 0.
        dimension: usize,
        /// Its extent.
        extent: i64,
    },
    /// More bytes than this machine can address or has.
    #[error("a tensor of shape {shape:?} is too large")]
    TooLarge {
        /// The shape.
        shape: Vec<i64>,
    },
    /// Another number of bytes or elements than the shape says.
    #[error("shape {shape:?} holds {expected} {unit}, found {found}")]
    WrongLength {
        /// The shape.
        shape: Vec<i64>,
        /// The counted unit: `elements` or `bytes`.
        unit: &'static str,
        /// Number according to the shape.
        expected: usize,
        /// Given number.
        found: usize,
    },
    /// Elements of another type.
    #[error("the tensor holds {found}, not {expected}")]
    WrongElement {
        /// The type that was asked for.
        expected: ElementType,
        /// The type of the tensor.
        found: ElementType,
    },
}

/// Rust types that are scalars of programs.
pub trait Scalar: Copy + Into<Value> {
    /// The element type.
    const TYPE: ScalarType;

    /// The value, if it has this type.
    fn from_value(value: Value) -> Option<Self>;
}

/// `Scalar` for the Rust type of each variant of [`Value`].
macro_rules! scalar {
    ($($ty:ty => $variant:ident),*) => {$(
        impl Scalar for $ty {
            const TYPE: ScalarType = ScalarType::$variant;
            fn from_value(value: Value) -> Option<Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }
        }
    )*};
}
scalar!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64, Complex<f32> => Complex64, Complex<f64> => Complex128);

/// Number of elements of a shape.
fn count(shape: &[i64], element: ElementType) -> Result<usize, TensorError> {
    let mut elements = 1_usize;
    for (dimension, &extent) in shape.iter().enumerate() {
        let size = usize::try_from(extent).map_err(|_| TensorError::NegativeExtent { dimension, extent })?;
        elements =
            elements.checked_mul(size).ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })?;
    }
    match elements.checked_mul(element.size()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(elements),
        Some(_) | None => Err(TensorError::TooLarge { shape: shape.to_vec() }),
    }
}

impl Tensor {
    /// A tensor of these bytes.
    ///
    /// # Errors
    /// A shape with a negative extent, or another number of bytes than it says.
    pub fn from_bytes(element: ElementType, shape: Vec<i64>, data: Vec<u8>) -> Result<Self, TensorError> {
        let expected = count(&shape, element)? * element.size();
        if expected != data.len() {
            let found = data.len();
            return Err(TensorError::WrongLength { shape, unit: "bytes", expected, found });
        }
        Ok(Tensor { element, shape, data, defined: None })
    }

    /// A tensor whose elements are all zero (`false` for `bool`).
    ///
    /// # Errors
    /// A shape with a negative extent or too many elements.
    pub fn zeros(element: ElementType, shape: Vec<i64>) -> Result<Self, TensorError> {
        let bytes = count(&shape, element)? * element.size();
        let mut data = Vec::new();
        // A plain allocation would end the process where memory does not suffice.
        if data.try_reserve_exact(bytes).is_err() {
            return Err(TensorError::TooLarge { shape });
        }
        data.resize(bytes, 0);
        Ok(Tensor { element, shape, data, defined: None })
    }

    /// A tensor whose elements are all undefined.
    ///
    /// # Errors
    /// A shape with a negative extent or too many elements.
    pub fn undefined(element: ElementType, shape: Vec<i64>) -> Result<Self, TensorError> {
        let mut tensor = Tensor::zeros(element, shape)?;
        tensor.defined = Some(vec![false; tensor.len()]);
        Ok(tensor)
    }

    /// A tensor of these scalars, in row-major order.
    ///
    /// # Errors
    /// A shape with a negative extent, or another number of elements than it says.
    pub fn new<T: Scalar>(shape: &[i64], elements: &[T]) -> Result<Self, TensorError> {
        let expected = count(shape, T::TYPE.into())?;
        if expected != elements.len() {
            let found = elements.len();
            return Err(TensorError::WrongLength {
                shape: shape.to_vec(),
                unit: "elements",
                expected,
                found,
            });
        }
        let mut tensor = Tensor::zeros(T::TYPE.into(), shape.to_vec())?;
        for (bytes, &element) in tensor.data.chunks_exact_mut(T::TYPE.size()).zip(elements) {
            let value: Value = element.into();
            value.write(bytes);
        }
        Ok(tensor)
    }

    /// A tensor of rank one.
    pub fn vector<T: Scalar>(elements: &[T]) -> Self {
        let size = T::TYPE.size();
        let mut data = vec![0; elements.len() * size];
        for (bytes, &element) in data.chunks_exact_mut(size).zip(elements) {
            let value: Value = element.into();
            value.write(bytes);
        }
        Tensor { element: T::TYPE.into(), shape: vec![elements.len() as i64], data, defined: None }
    }

    /// A tensor of rank zero: one element.
    pub fn scalar<T: Scalar>(element: T) -> Self {
        Tensor { shape: Vec::new(), ..Tensor::vector(&[element]) }
    }

    /// The type of one element.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len() / self.element.size()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The elements as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The elements as bytes, for change. All elements count as defined afterwards.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.defined = None;
        &mut self.data
    }

    /// Whether the element at this position in row-major order is defined.
    pub fn is_defined(&self, position: usize) -> bool {
        self.defined.as_ref().is_none_or(|defined| defined.get(position).copied().unwrap_or(false))
    }

    /// One lane of the element at this position in row-major order; `None` beyond the end.
    pub fn lane(&self, position: usize, lane: usize) -> Option<Value> {
        let scalar = self.element.lane();
        let start = position.checked_mul(self.element.size())?.checked_add(lane * scalar.size())?;
        if lane >= usize::from(self.element.lanes()) {
            return None;
        }
        Value::read(scalar, self.data.get(start..)?)
    }

    /// The scalars in row-major order, lane after lane.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let scalar = self.element.lane();
        self.data.chunks_exact(scalar.size()).filter_map(move |bytes| Value::read(scalar, bytes))
    }

    /// The scalars in row-major order, lane after lane, as a Rust type.
    ///
    /// # Errors
    /// Elements of another type.
    pub fn to_vec<T: Scalar>(&self) -> Result<Vec<T>, TensorError> {
        if self.element.lane() != T::TYPE {
            return Err(TensorError::WrongElement { expected: T::TYPE.into(), found: self.element });
        }
        Ok(self.values().filter_map(T::from_value).collect())
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// Another number of elements.
    pub fn reshaped(self, shape: Vec<i64>) -> Result<Self, TensorError> {
        let (expected, found) = (count(&shape, self.element)?, self.len());
        if expected != found {
            return Err(TensorError::WrongLength { shape, unit: "elements", expected, found });
        }
        Ok(Tensor { shape, ..self })
    }

    /// Bytes and which elements are defined; the parts of [`Tensor::from_parts`].
    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<Vec<bool>>) {
        (self.data, self.defined)
    }

    /// The inverse of [`Tensor::into_parts`]; the caller guarantees lengths.
    pub(crate) fn from_parts(
        element: ElementType,
        shape: Vec<i64>,
        data: Vec<u8>,
        defined: Option<Vec<bool>>,
    ) -> Self {
        Tensor { element, shape, data, defined }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_round_trip() {
        let tensor = Tensor::new(&[2, 3], &[1.5_f32, 2.0, -0.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap()[..2], [1.5, 2.0]);
        assert_eq!(tensor.lane(4, 0), Some(Value::F32(5.0)));
        assert_eq!((tensor.lane(6, 0), tensor.lane(0, 1)), (None, None));
        assert!(matches!(tensor.to_vec::<f64>(), Err(TensorError::WrongElement { .. })));
        let again = Tensor::from_bytes(tensor.element(), vec![6], tensor.bytes().to_vec()).unwrap();
        assert_eq!(again.reshaped(vec![2, 3]).unwrap(), tensor);
        let z = Complex::new(1.0, -1.0);
        assert_eq!(Tensor::scalar(z).to_vec::<Complex<f64>>().unwrap(), [z]);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        assert!(matches!(Tensor::new(&[2], &[1_i32]), Err(TensorError::WrongLength { .. })));
        assert!(matches!(
            Tensor::zeros(ScalarType::F64.into(), vec![1 << 40, 1 << 40]),
            Err(TensorError::TooLarge { .. })
        ));
        assert!(matches!(
            Tensor::zeros(ScalarType::F64.into(), vec![2, -1]),
            Err(TensorError::NegativeExtent { dimension: 1, extent: -1 })
        ));
        let undefined = Tensor::undefined(ScalarType::I8.into(), vec![3]).unwrap();
        assert!(!undefined.is_defined(0) && undefined.bytes() == [0; 3]);
    }
}
