//! Generated array contents: identical on every machine, and exact in the arithmetic of tests.

use std::fmt;
use std::ops::Range;

use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::tasklet::arith::cast;
use sdfg::tensor::{Tensor, TensorError};
use sdfg::text::parse_value;
use sdfg::value::{Complex, Value};

/// Contents of an argument, as the user wrote them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    Zeros,
    Ones,
    /// 0, 1, 2, ... in row-major order; integers wrap.
    Range,
    /// The text of a number.
    Constant(String),
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
                Ok(Some(Pattern::Constant(value.to_owned())))
            }
            _ => Ok(None),
        }
    }

    /// Generator of elements of a type.
    ///
    /// # Errors
    /// A message if the type does not have the constant.
    pub(super) fn of(&self, element: ElementType) -> Result<Filling, String> {
        let scalar = element.lane();
        Ok(match self {
            Pattern::Zeros => Filling::Each(Value::zero(scalar)),
            Pattern::Ones => Filling::Each(cast(Value::Bool(true), scalar)),
            Pattern::Range => Filling::Range,
            Pattern::Constant(text) => Filling::Each(constant(text, scalar)?),
            Pattern::Random(seed) => Filling::Random(*seed),
        })
    }
}

/// Generator of elements of a known type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Filling {
    Each(Value),
    Range,
    Random(u64),
}

impl Filling {
    /// Elements of the type that this is for: those at some positions of a container of a shape. `name` tells random arguments apart.
    pub(super) fn part(
        self,
        name: &str,
        element: ElementType,
        shape: &[i64],
        positions: &[Range<i64>],
    ) -> Result<Tensor, TensorError> {
        let mut tensor =
            Tensor::zeros(element, positions.iter().map(|range| range.end - range.start).collect())?;
        let (scalar, lanes) = (element.lane(), u64::from(element.lanes()));
        let extents: Vec<u64> = tensor.shape().iter().map(|extent| *extent as u64).collect();
        let is_whole = tensor.shape() == shape;
        let mut random = Random(0);
        for (index, bytes) in (0_u64..).zip(tensor.bytes_mut().chunks_exact_mut(scalar.size())) {
            let (at, lane) = (index / lanes, index % lanes);
            let place = if is_whole { at } else { place(at, &extents, shape, positions) };
            let value = match self {
                Filling::Each(value) => value,
                Filling::Range => counted(scalar, place),
                Filling::Random(seed) => {
                    // A run of numbers goes on where the last one ended.
                    if index == 0 || !is_whole {
                        let numbers = if scalar.is_complex() { 2 } else { 1 };
                        random =
                            Random(seed ^ hash(name.as_bytes())).behind((place * lanes + lane) * numbers);
                    }
                    random.value(scalar)
                }
            };
            value.write(bytes);
        }
        Ok(tensor)
    }
}

/// The place in row-major order in a container of a shape of element `at` of a part of it.
fn place(at: u64, extents: &[u64], shape: &[i64], positions: &[Range<i64>]) -> u64 {
    let (mut rest, mut place, mut weight) = (at, 0, 1);
    for ((extent, whole), range) in extents.iter().zip(shape).zip(positions).rev() {
        place += (rest % extent + range.start as u64) * weight;
        rest /= extent;
        weight *= *whole as u64;
    }
    place
}

/// A number as a scalar; floats are rounded, all others have to be exact.
fn constant(text: &str, scalar: ScalarType) -> Result<Value, String> {
    let unknown = || format!("the constant `{text}` is no value of type {scalar}");
    if let Some(value) = parse_value(scalar, text.strip_prefix('+').unwrap_or(text)) {
        return Ok(value);
    }
    let number: f64 = text.parse().map_err(|_| unknown())?;
    let value = cast(Value::F64(number), scalar);
    let fits = match scalar.kind() {
        // Spellings of infinity and NaN that programs do not have. Numbers that are too large became infinity.
        ScalarKind::Float | ScalarKind::Complex => !number.is_finite(),
        // Whole numbers with an exponent or a point. Beyond 2^53 the double may not be the number that was written.
        ScalarKind::Bool | ScalarKind::Unsigned | ScalarKind::Signed => {
            number.abs() <= 9_007_199_254_740_992.0 && cast(value, ScalarType::F64) == Value::F64(number)
        }
    };
    if fits { Ok(value) } else { Err(unknown()) }
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
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// The same behind so many numbers.
    fn behind(self, n: u64) -> Self {
        Random(self.0.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

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
            ScalarKind::Float => cast(Value::F64(fraction(self.next())), scalar),
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
        _ => cast(Value::U64(value), scalar),
    }
}
