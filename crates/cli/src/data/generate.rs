//! Generated contents: the same on every machine, and exact in the arithmetic of tests.

use std::fmt;

use half::f16;
use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::tensor::{Tensor, TensorError};
use sdfg::value::{Complex, Value};

/// What an argument is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pattern {
    Zeros,
    Ones,
    /// 0, 1, 2, ... in row-major order; integers wrap.
    Range,
    Constant(f64),
    /// Floats are multiples of 1/1024 in [0, 1), integers in [0, 100), both decided by the seed and the name.
    Random(u64),
}

impl Pattern {
    /// The pattern of this name; `None` if it names none, so that it may be a file.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let (word, argument) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        match (word, argument) {
            ("zeros", None) => Ok(Some(Pattern::Zeros)),
            ("ones", None) => Ok(Some(Pattern::Ones)),
            ("range", None) => Ok(Some(Pattern::Range)),
            ("random", None) => Ok(Some(Pattern::Random(0))),
            ("random", Some(seed)) => {
                let seed = seed.parse().map_err(|_| format!("the seed `{seed}` is not a natural number"))?;
                Ok(Some(Pattern::Random(seed)))
            }
            ("const", Some(value)) => {
                let number: f64 =
                    value.parse().map_err(|_| format!("the constant `{value}` is not a number"))?;
                // `inf` is one that is meant.
                if number.is_infinite() && value.contains(|c: char| c.is_ascii_digit()) {
                    return Err(format!("the constant `{value}` is larger than any number of 64 bits"));
                }
                let value = number;
                Ok(Some(Pattern::Constant(value)))
            }
            _ => Ok(None),
        }
    }

    /// A tensor filled with the pattern. `name` tells random arguments apart.
    pub(super) fn fill(
        self,
        name: &str,
        element: ElementType,
        shape: Vec<i64>,
    ) -> Result<Tensor, TensorError> {
        let mut tensor = Tensor::zeros(element, shape)?;
        let (scalar, lanes) = (element.lane(), usize::from(element.lanes()));
        let mut random = match self {
            Pattern::Random(seed) => Random(seed ^ hash(name.as_bytes())),
            Pattern::Zeros | Pattern::Ones | Pattern::Range | Pattern::Constant(_) => Random(0),
        };
        for (index, bytes) in tensor.bytes_mut().chunks_exact_mut(scalar.size()).enumerate() {
            let value = match self {
                Pattern::Zeros => Value::zero(scalar),
                Pattern::Ones => number(scalar, 1.0),
                Pattern::Constant(value) => number(scalar, value),
                Pattern::Range => counted(scalar, (index / lanes) as u64),
                Pattern::Random(_) => random.value(scalar),
            };
            value.write(bytes);
        }
        Ok(tensor)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Zeros => f.write_str("zeros"),
            Pattern::Ones => f.write_str("ones"),
            Pattern::Range => f.write_str("range"),
            Pattern::Constant(value) => write!(f, "const:{value}"),
            Pattern::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// FNV-1a.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn value(&mut self, scalar: ScalarType) -> Value {
        let fraction = |random: u64| (random >> 54) as f64 / 1024.0;
        match scalar.kind() {
            ScalarKind::Bool => Value::Bool(self.next() >> 63 == 1),
            ScalarKind::Unsigned | ScalarKind::Signed => counted(scalar, (self.next() >> 32) % 100),
            ScalarKind::Float => number(scalar, fraction(self.next())),
            ScalarKind::Complex => {
                let (re, im) = (fraction(self.next()), fraction(self.next()));
                if scalar == ScalarType::Complex64 {
                    Value::Complex64(Complex::new(re as f32, im as f32))
                } else {
                    Value::Complex128(Complex::new(re, im))
                }
            }
        }
    }
}

/// A natural number as a scalar; narrow integers keep the low bits.
fn counted(scalar: ScalarType, value: u64) -> Value {
    match scalar {
        ScalarType::Bool => Value::Bool(value % 2 == 1),
        ScalarType::I8 => Value::I8(value as i8),
        ScalarType::I16 => Value::I16(value as i16),
        ScalarType::I32 => Value::I32(value as i32),
        ScalarType::I64 => Value::I64(value as i64),
        ScalarType::U8 => Value::U8(value as u8),
        ScalarType::U16 => Value::U16(value as u16),
        ScalarType::U32 => Value::U32(value as u32),
        ScalarType::U64 => Value::U64(value),
        ScalarType::F16
        | ScalarType::F32
        | ScalarType::F64
        | ScalarType::Complex64
        | ScalarType::Complex128 => number(scalar, value as f64),
    }
}

/// A number as a scalar; integers are cut towards zero.
fn number(scalar: ScalarType, value: f64) -> Value {
    match scalar {
        ScalarType::Bool => Value::Bool(value != 0.0),
        ScalarType::I8 => Value::I8(value as i8),
        ScalarType::I16 => Value::I16(value as i16),
        ScalarType::I32 => Value::I32(value as i32),
        ScalarType::I64 => Value::I64(value as i64),
        ScalarType::U8 => Value::U8(value as u8),
        ScalarType::U16 => Value::U16(value as u16),
        ScalarType::U32 => Value::U32(value as u32),
        ScalarType::U64 => Value::U64(value as u64),
        ScalarType::F16 => Value::F16(f16::from_f64(value)),
        ScalarType::F32 => Value::F32(value as f32),
        ScalarType::F64 => Value::F64(value),
        ScalarType::Complex64 => Value::Complex64(Complex::new(value as f32, 0.0)),
        ScalarType::Complex128 => Value::Complex128(Complex::new(value, 0.0)),
    }
}
