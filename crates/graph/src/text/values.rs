//! Constant values as text: `1`, `-0.5`, `inf`, `nan`, `(1.0, 2.0)`, `True`. The text form and JSON share
//! them.
//!
//! Finite values, infinities and the sign of zero read back to the same bits. Of a NaN, only the sign is
//! preserved.

use sdfg_language::dtype::ScalarType;
use sdfg_language::tasklet::arith::cast;
use sdfg_language::value::{Complex, Value};

/// The text of a value, without its type.
pub fn print_value(value: Value) -> String {
    match value {
        Value::Bool(_)
        | Value::I8(_)
        | Value::I16(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::U8(_)
        | Value::U16(_)
        | Value::U32(_)
        | Value::U64(_) => value.to_string(),
        Value::F16(v) => print_f32(f32::from(v)),
        Value::F32(v) => print_f32(v),
        Value::F64(v) => print_f64(v),
        Value::Complex64(v) => format!("({}, {})", print_f32(v.re), print_f32(v.im)),
        Value::Complex128(v) => format!("({}, {})", print_f64(v.re), print_f64(v.im)),
    }
}

/// The shortest decimal that reads back to the same number.
fn print_f32(value: f32) -> String {
    if value.is_finite() { format!("{value:?}") } else { print_f64(f64::from(value)) }
}

fn print_f64(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        format!("{sign}nan")
    } else if value.is_infinite() {
        format!("{sign}inf")
    } else {
        format!("{value:?}")
    }
}

/// Reads the text of a value of this type; integers and decimals may stand for floating-point values.
///
/// `None` if it is no such text or does not fit the type.
pub fn parse_value(ty: ScalarType, text: &str) -> Option<Value> {
    let text = text.trim();
    Some(match ty {
        ScalarType::Bool => Value::Bool(match text {
            "True" | "true" => true,
            "False" | "false" => false,
            _ => return None,
        }),
        ScalarType::I8 => Value::I8(parse_integer(text)?),
        ScalarType::I16 => Value::I16(parse_integer(text)?),
        ScalarType::I32 => Value::I32(parse_integer(text)?),
        ScalarType::I64 => Value::I64(parse_integer(text)?),
        ScalarType::U8 => Value::U8(parse_integer(text)?),
        ScalarType::U16 => Value::U16(parse_integer(text)?),
        ScalarType::U32 => Value::U32(parse_integer(text)?),
        ScalarType::U64 => Value::U64(parse_integer(text)?),
        ScalarType::F16 => parse_half(text)?,
        ScalarType::F32 => Value::F32(parse_f32(text)?),
        ScalarType::F64 => Value::F64(parse_f64(text)?),
        ScalarType::Complex64 => {
            let (re, im) = parse_pair(text);
            Value::Complex64(Complex::new(parse_f32(re)?, im.map_or(Some(0.0), parse_f32)?))
        }
        ScalarType::Complex128 => {
            let (re, im) = parse_pair(text);
            Value::Complex128(Complex::new(parse_f64(re)?, im.map_or(Some(0.0), parse_f64)?))
        }
    })
}

fn parse_integer<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.trim_start()),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())??,
    };
    let magnitude = i128::from(magnitude);
    T::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// Reads into the narrower type directly, since rounding twice may give a neighbour.
fn parse_f32(text: &str) -> Option<f32> {
    parse_float(text, f32::INFINITY, f32::NAN, |digits| digits.parse().ok().filter(|v: &f32| v.is_finite()))
}

fn parse_f64(text: &str) -> Option<f64> {
    parse_float(text, f64::INFINITY, f64::NAN, |digits| digits.parse().ok().filter(|v: &f64| v.is_finite()))
}

/// Reads a double first: that rounds twice only where a decimal of more digits than a double has lies next to the middle of two values.
fn parse_half(text: &str) -> Option<Value> {
    let double = parse_f64(text)?;
    match cast(Value::F64(double), ScalarType::F16) {
        Value::F16(half) if half.is_infinite() && double.is_finite() => None,
        half => Some(half),
    }
}

fn parse_float<T: std::ops::Neg<Output = T>>(
    text: &str,
    infinity: T,
    nan: T,
    finite: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let value = match magnitude {
        "inf" => infinity,
        "nan" => nan,
        // `parse` also takes signs and words, which are no numbers of the grammar.
        _ if magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.') => finite(magnitude)?,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

/// The two parts of `(re, im)`; other texts are a real part alone.
fn parse_pair(text: &str) -> (&str, Option<&str>) {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match inner.and_then(|inner| inner.split_once(',')) {
        Some((re, im)) => (re.trim(), Some(im.trim())),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_read_back_to_the_same_bits(bytes in any::<[u8; 16]>(), ty in prop::sample::select(ScalarType::ALL.to_vec())) {
            let value = Value::read(ty, &bytes).unwrap();
            let text = print_value(value);
            let back = parse_value(ty, &text).unwrap();
            if text.contains("nan") {
                prop_assert_eq!(print_value(back), text);
            } else {
                prop_assert!(back.same_bits(value), "{} became {}", value, back);
            }
        }
    }

    /// Rounded to `f32` first, each would be in the middle of two values.
    #[test]
    fn values_of_f16_are_the_nearest() {
        for (text, bits) in [("1.00048828126", 0x3c01), ("1.00146484374", 0x3c01), ("1.00048828125", 0x3c00)]
        {
            assert_eq!(
                parse_value(ScalarType::F16, text),
                Some(Value::F16(half::f16::from_bits(bits))),
                "{text}"
            );
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (ty, text) in [
            (ScalarType::U8, "256"),
            (ScalarType::I8, "-129"),
            (ScalarType::U16, "-1"),
            (ScalarType::I32, "1.0"),
            (ScalarType::F32, "1e39"),
            (ScalarType::F16, "65520"),
            (ScalarType::F16, "-1e30"),
            (ScalarType::F16, "1e39"),
            (ScalarType::F64, "1e309"),
            (ScalarType::Complex64, "(1.0, 1e39)"),
            (ScalarType::F64, "infinity"),
            (ScalarType::F64, "+1.0"),
            (ScalarType::Bool, "1"),
            (ScalarType::Complex64, "(1.0, )"),
        ] {
            assert!(parse_value(ty, text).is_none(), "{text} as {ty}");
        }
        let half = |bits| Some(Value::F16(half::f16::from_bits(bits)));
        assert_eq!(parse_value(ScalarType::F16, "65519.9"), half(0x7bff));
        assert_eq!(parse_value(ScalarType::F16, "-inf"), half(0xfc00));
        assert_eq!(parse_value(ScalarType::F64, "3"), Some(Value::F64(3.0)));
        assert_eq!(parse_value(ScalarType::I8, "-0x80"), Some(Value::I8(-128)));
        assert_eq!(parse_value(ScalarType::Complex64, "2"), Some(Value::Complex64(Complex::new(2.0, 0.0))));
    }
}
