//! Run-time scalars: one value of any [`ScalarType`], and its bytes in memory.
//!
//! Short vectors are slices of values, one per lane. [`crate::tasklet::arith`] computes with values; this
//! file only holds and stores them.

use std::fmt;

use half::f16;

use crate::dtype::ScalarType;

/// A complex number; arithmetic on it is defined in [`crate::tasklet::arith`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// `re + im * i`.
    pub const fn new(re: T, im: T) -> Self {
        Complex { re, im }
    }
}

/// One scalar of any element type.
///
/// `==` compares as the type does (NaN differs from itself); see [`Value::same_bits`] for identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// [`ScalarType::Bool`].
    Bool(bool),
    /// [`ScalarType::I8`].
    I8(i8),
    /// [`ScalarType::I16`].
    I16(i16),
    /// [`ScalarType::I32`].
    I32(i32),
    /// [`ScalarType::I64`].
    I64(i64),
    /// [`ScalarType::U8`].
    U8(u8),
    /// [`ScalarType::U16`].
    U16(u16),
    /// [`ScalarType::U32`].
    U32(u32),
    /// [`ScalarType::U64`].
    U64(u64),
    /// [`ScalarType::F16`].
    F16(f16),
    /// [`ScalarType::F32`].
    F32(f32),
    /// [`ScalarType::F64`].
    F64(f64),
    /// [`ScalarType::Complex64`].
    Complex64(Complex<f32>),
    /// [`ScalarType::Complex128`].
    Complex128(Complex<f64>),
}

impl Value {
    /// The type of the value.
    pub const fn ty(self) -> ScalarType {
        match self {
            Value::Bool(_) => ScalarType::Bool,
            Value::I8(_) => ScalarType::I8,
            Value::I16(_) => ScalarType::I16,
            Value::I32(_) => ScalarType::I32,
            Value::I64(_) => ScalarType::I64,
            Value::U8(_) => ScalarType::U8,
            Value::U16(_) => ScalarType::U16,
            Value::U32(_) => ScalarType::U32,
            Value::U64(_) => ScalarType::U64,
            Value::F16(_) => ScalarType::F16,
            Value::F32(_) => ScalarType::F32,
            Value::F64(_) => ScalarType::F64,
            Value::Complex64(_) => ScalarType::Complex64,
            Value::Complex128(_) => ScalarType::Complex128,
        }
    }

    /// Zero (`false` for `bool`) of the given type.
    pub const fn zero(ty: ScalarType) -> Self {
        match ty {
            ScalarType::Bool => Value::Bool(false),
            ScalarType::I8 => Value::I8(0),
            ScalarType::I16 => Value::I16(0),
            ScalarType::I32 => Value::I32(0),
            ScalarType::I64 => Value::I64(0),
            ScalarType::U8 => Value::U8(0),
            ScalarType::U16 => Value::U16(0),
            ScalarType::U32 => Value::U32(0),
            ScalarType::U64 => Value::U64(0),
            ScalarType::F16 => Value::F16(f16::ZERO),
            ScalarType::F32 => Value::F32(0.0),
            ScalarType::F64 => Value::F64(0.0),
            ScalarType::Complex64 => Value::Complex64(Complex::new(0.0, 0.0)),
            ScalarType::Complex128 => Value::Complex128(Complex::new(0.0, 0.0)),
        }
    }

    /// Reads a value from its bytes in memory, in the byte order of this machine; `None` if there are too few.
    ///
    /// A `bool` is true if its byte is not 0.
    #[inline]
    pub fn read(ty: ScalarType, bytes: &[u8]) -> Option<Self> {
        fn take<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
            bytes.get(offset..)?.first_chunk().copied()
        }
        Some(match ty {
            ScalarType::Bool => Value::Bool(*bytes.first()? != 0),
            ScalarType::I8 => Value::I8(i8::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::I16 => Value::I16(i16::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::I32 => Value::I32(i32::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::I64 => Value::I64(i64::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::U8 => Value::U8(*bytes.first()?),
            ScalarType::U16 => Value::U16(u16::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::U32 => Value::U32(u32::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::U64 => Value::U64(u64::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::F16 => Value::F16(f16::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::F32 => Value::F32(f32::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::F64 => Value::F64(f64::from_ne_bytes(take(bytes, 0)?)),
            ScalarType::Complex64 => Value::Complex64(Complex::new(
                f32::from_ne_bytes(take(bytes, 0)?),
                f32::from_ne_bytes(take(bytes, 4)?),
            )),
            ScalarType::Complex128 => Value::Complex128(Complex::new(
                f64::from_ne_bytes(take(bytes, 0)?),
                f64::from_ne_bytes(take(bytes, 8)?),
            )),
        })
    }

    /// The bytes of the value in memory, in the byte order of this machine: the first `ty().size()` of the array.
    #[inline]
    pub fn to_bytes(self) -> [u8; 16] {
        fn pad<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
            let mut padded = [0; 16];
            padded[..N].copy_from_slice(&bytes);
            padded
        }
        match self {
            Value::Bool(v) => pad([u8::from(v)]),
            Value::I8(v) => pad(v.to_ne_bytes()),
            Value::I16(v) => pad(v.to_ne_bytes()),
            Value::I32(v) => pad(v.to_ne_bytes()),
            Value::I64(v) => pad(v.to_ne_bytes()),
            Value::U8(v) => pad([v]),
            Value::U16(v) => pad(v.to_ne_bytes()),
            Value::U32(v) => pad(v.to_ne_bytes()),
            Value::U64(v) => pad(v.to_ne_bytes()),
            Value::F16(v) => pad(v.to_ne_bytes()),
            Value::F32(v) => pad(v.to_ne_bytes()),
            Value::F64(v) => pad(v.to_ne_bytes()),
            Value::Complex64(v) => {
                let mut bytes = pad(v.re.to_ne_bytes());
                bytes[4..8].copy_from_slice(&v.im.to_ne_bytes());
                bytes
            }
            Value::Complex128(v) => {
                let mut bytes = pad(v.re.to_ne_bytes());
                bytes[8..].copy_from_slice(&v.im.to_ne_bytes());
                bytes
            }
        }
    }

    /// Writes the bytes of the value to the front of `bytes`; false, and nothing is written, if there is no room.
    pub fn write(self, bytes: &mut [u8]) -> bool {
        let size = self.ty().size();
        let Some(target) = bytes.get_mut(..size) else { return false };
        target.copy_from_slice(&self.to_bytes()[..size]);
        true
    }

    /// The value as an index: of a `bool` (0 or 1) or an integer that fits; `None` for all others.
    pub fn to_i64(self) -> Option<i64> {
        match self {
            Value::Bool(v) => Some(i64::from(v)),
            Value::I8(v) => Some(i64::from(v)),
            Value::I16(v) => Some(i64::from(v)),
            Value::I32(v) => Some(i64::from(v)),
            Value::I64(v) => Some(v),
            Value::U8(v) => Some(i64::from(v)),
            Value::U16(v) => Some(i64::from(v)),
            Value::U32(v) => Some(i64::from(v)),
            Value::U64(v) => i64::try_from(v).ok(),
            Value::F16(_) | Value::F32(_) | Value::F64(_) | Value::Complex64(_) | Value::Complex128(_) => {
                None
            }
        }
    }

    /// Whether both have the same type and the same bits: NaN equals itself, and -0 differs from 0.
    pub fn same_bits(self, other: Value) -> bool {
        self.ty() == other.ty() && self.to_bytes() == other.to_bytes()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(v) => f.write_str(if *v { "True" } else { "False" }),
            Value::I8(v) => write!(f, "{v}"),
            Value::I16(v) => write!(f, "{v}"),
            Value::I32(v) => write!(f, "{v}"),
            Value::I64(v) => write!(f, "{v}"),
            Value::U8(v) => write!(f, "{v}"),
            Value::U16(v) => write!(f, "{v}"),
            Value::U32(v) => write!(f, "{v}"),
            Value::U64(v) => write!(f, "{v}"),
            Value::F16(v) => write!(f, "{:?}", f32::from(*v)),
            Value::F32(v) => write!(f, "{v:?}"),
            Value::F64(v) => write!(f, "{v:?}"),
            Value::Complex64(v) => write!(f, "({:?}{:+?}j)", v.re, v.im),
            Value::Complex128(v) => write!(f, "({:?}{:+?}j)", v.re, v.im),
        }
    }
}

/// `From` for the scalar of each variant.
macro_rules! value_from {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Self { Value::$variant(value) }
        }
    )*};
}
value_from!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64, Complex<f32> => Complex64, Complex<f64> => Complex128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let pattern: Vec<u8> = (0..16).map(|i| 0x11 + 3 * i).collect();
        for ty in ScalarType::ALL {
            let value = Value::read(ty, &pattern).unwrap();
            assert_eq!(value.ty(), ty);
            let mut out = vec![0xEE; 17];
            assert!(value.write(&mut out));
            let expected = if ty == ScalarType::Bool { &[1][..] } else { &pattern[..ty.size()] };
            assert_eq!(&out[..ty.size()], expected);
            assert!(out[ty.size()..].iter().all(|&b| b == 0xEE), "{ty} wrote past its size");
            assert!(Value::read(ty, &pattern[..ty.size() - 1]).is_none());
            assert!(!value.write(&mut out[..ty.size() - 1]));
        }
    }

    #[test]
    fn identity_and_text() {
        assert!(Value::F64(f64::NAN).same_bits(Value::F64(f64::NAN)));
        assert!(!Value::F64(0.0).same_bits(Value::F64(-0.0)));
        assert!(!Value::I32(0).same_bits(Value::U32(0)));
        assert_eq!(Value::U64(u64::MAX).to_i64(), None);
        assert_eq!(Value::Complex64(Complex::new(1.5, -2.0)).to_string(), "(1.5-2.0j)");
    }
}
