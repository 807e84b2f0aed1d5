//! Element types of containers, connectors and tasklet values.
//!
//! They are a separate module because descriptors, tasklets, the interpreter and the back ends all use them.

use std::fmt;
use std::str::FromStr;

/// A scalar machine type.
///
/// Integers are two's complement and wrap in tasklets (`docs/semantics.md`, "Tasklet arithmetic").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarType {
    /// A truth value, stored as one byte that is 0 or 1.
    Bool,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A pair of binary32: real part, then imaginary part.
    Complex64,
    /// A pair of binary64: real part, then imaginary part.
    Complex128,
}

/// The family a scalar type belongs to; promotion is ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarKind {
    /// `bool`.
    Bool,
    /// `u8` to `u64`.
    Unsigned,
    /// `i8` to `i64`.
    Signed,
    /// `f16` to `f64`.
    Float,
    /// `complex64` and `complex128`.
    Complex,
}

impl ScalarType {
    /// Every scalar type, in the order of declaration.
    pub const ALL: [ScalarType; 14] = [
        ScalarType::Bool,
        ScalarType::I8,
        ScalarType::I16,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U8,
        ScalarType::U16,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F16,
        ScalarType::F32,
        ScalarType::F64,
        ScalarType::Complex64,
        ScalarType::Complex128,
    ];

    /// The name in text programs, JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "bool",
            ScalarType::I8 => "i8",
            ScalarType::I16 => "i16",
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::U8 => "u8",
            ScalarType::U16 => "u16",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
            ScalarType::F16 => "f16",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
            ScalarType::Complex64 => "complex64",
            ScalarType::Complex128 => "complex128",
        }
    }

    /// Size in bytes; also the alignment of one component for non-complex types.
    pub const fn size(self) -> usize {
        match self {
            ScalarType::Bool | ScalarType::I8 | ScalarType::U8 => 1,
            ScalarType::I16 | ScalarType::U16 | ScalarType::F16 => 2,
            ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
            ScalarType::I64 | ScalarType::U64 | ScalarType::F64 | ScalarType::Complex64 => 8,
            ScalarType::Complex128 => 16,
        }
    }

    /// The family of this type.
    pub const fn kind(self) -> ScalarKind {
        match self {
            ScalarType::Bool => ScalarKind::Bool,
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => ScalarKind::Signed,
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => ScalarKind::Unsigned,
            ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => ScalarKind::Float,
            ScalarType::Complex64 | ScalarType::Complex128 => ScalarKind::Complex,
        }
    }

    /// Whether this is a signed or unsigned integer (not `bool`).
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), ScalarKind::Signed | ScalarKind::Unsigned)
    }

    /// Whether this is an integer type that has this value, as the type of a symbol. No other type has any.
    pub fn holds(self, value: i64) -> bool {
        match self {
            ScalarType::I8 => i8::try_from(value).is_ok(),
            ScalarType::I16 => i16::try_from(value).is_ok(),
            ScalarType::I32 => i32::try_from(value).is_ok(),
            ScalarType::I64 => true,
            ScalarType::U8 => u8::try_from(value).is_ok(),
            ScalarType::U16 => u16::try_from(value).is_ok(),
            ScalarType::U32 => u32::try_from(value).is_ok(),
            ScalarType::U64 => value >= 0,
            ScalarType::Bool
            | ScalarType::F16
            | ScalarType::F32
            | ScalarType::F64
            | ScalarType::Complex64
            | ScalarType::Complex128 => false,
        }
    }

    /// Whether this is `f16`, `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), ScalarKind::Float)
    }

    /// Whether this is a complex type.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), ScalarKind::Complex)
    }

    /// The type of the real and imaginary parts of a complex type; other types are their own component.
    pub const fn component(self) -> ScalarType {
        match self {
            ScalarType::Complex64 => ScalarType::F32,
            ScalarType::Complex128 => ScalarType::F64,
            other => other,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of one element of a container: a scalar, or a short vector of scalars.
///
/// In text: `f64`, `f32x4`, `complex64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementType {
    scalar: ScalarType,
    lanes: u16,
}

impl ElementType {
    /// The largest number of lanes of a short vector.
    pub const MAX_LANES: u16 = 64;

    /// A single scalar.
    pub const fn scalar(scalar: ScalarType) -> Self {
        ElementType { scalar, lanes: 1 }
    }

    /// A short vector of `lanes` scalars; `None` unless `1 <= lanes <= MAX_LANES`.
    pub const fn vector(scalar: ScalarType, lanes: u16) -> Option<Self> {
        if lanes >= 1 && lanes <= Self::MAX_LANES { Some(ElementType { scalar, lanes }) } else { None }
    }

    /// The type of each lane.
    pub const fn lane(self) -> ScalarType {
        self.scalar
    }

    /// Number of lanes, 1 for a scalar.
    pub const fn lanes(self) -> u16 {
        self.lanes
    }

    /// The scalar type if there is only one lane.
    pub const fn as_scalar(self) -> Option<ScalarType> {
        if self.lanes == 1 { Some(self.scalar) } else { None }
    }

    /// Size of one element in bytes: lanes are packed without padding.
    pub const fn size(self) -> usize {
        self.scalar.size() * self.lanes as usize
    }
}

impl From<ScalarType> for ElementType {
    fn from(scalar: ScalarType) -> Self {
        ElementType::scalar(scalar)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes == 1 {
            write!(f, "{}", self.scalar)
        } else {
            write!(f, "{}x{}", self.scalar, self.lanes)
        }
    }
}

/// A text that names no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an element type: expected one of bool, i8..i64, u8..u64, f16, f32, f64, complex64, complex128, or such a type with lanes, as in f32x4"
)]
pub struct ParseElementTypeError {
    /// The text that was read.
    pub text: String,
}

impl FromStr for ElementType {
    type Err = ParseElementTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseElementTypeError { text: text.to_owned() };
        let by_name = |name: &str| ScalarType::ALL.into_iter().find(|t| t.name() == name);
        if let Some(scalar) = by_name(text) {
            return Ok(scalar.into());
        }
        // "complex64" holds an `x`, so the lane suffix is what follows the last one.
        let (name, lanes) = text.rsplit_once('x').ok_or_else(error)?;
        let scalar = by_name(name).ok_or_else(error)?;
        let lanes =
            lanes.parse().ok().filter(|n: &u16| n.to_string() == lanes && *n > 1).ok_or_else(error)?;
        ElementType::vector(scalar, lanes).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for scalar in ScalarType::ALL {
            for lanes in [1, 2, 4, 64] {
                let ty = ElementType::vector(scalar, lanes).unwrap();
                assert_eq!(ty.to_string().parse(), Ok(ty));
            }
        }
        for bad in ["", "f65", "f32x", "f32x0", "f32x1", "f32x65", "f32x04", "x4", "double"] {
            assert!(bad.parse::<ElementType>().is_err(), "{bad}");
        }
    }
}
