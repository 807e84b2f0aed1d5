//! Promotion: the common type of operands (`docs/semantics-arithmetic.md`, "Promotion").

use super::code::Dialect;
use crate::dtype::{ScalarKind, ScalarType};

/// The type of the signed (or unsigned) integer with this many bytes; the widest if there is none so wide.
const fn integer(signed: bool, bytes: usize) -> ScalarType {
    match (signed, bytes) {
        (true, 1) => ScalarType::I8,
        (true, 2) => ScalarType::I16,
        (true, 4) => ScalarType::I32,
        (true, _) => ScalarType::I64,
        (false, 1) => ScalarType::U8,
        (false, 2) => ScalarType::U16,
        (false, 4) => ScalarType::U32,
        (false, _) => ScalarType::U64,
    }
}

/// The common type of two types with equal rights.
///
/// `bool` gives way to everything; integers give way to floats and floats to complex numbers, whatever their widths;
/// within a kind the wider wins. Integers of mixed sign: in Python's dialect the narrowest signed type that holds
/// both, and `i64` for `u64` with a signed one; in C's dialect C's usual conversions. A float with a complex number
/// takes the wider component.
pub(super) fn promote(a: ScalarType, b: ScalarType, dialect: Dialect) -> ScalarType {
    if a == b {
        return a;
    }
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    match (low.kind(), high.kind()) {
        (ScalarKind::Bool, _) => high,
        (ScalarKind::Unsigned, ScalarKind::Signed) => match dialect {
            Dialect::Python => integer(true, high.size().max(2 * low.size())),
            Dialect::C => integer(low.size() < high.size(), low.size().max(high.size())),
        },
        (ScalarKind::Unsigned | ScalarKind::Signed, ScalarKind::Float | ScalarKind::Complex) => high,
        (ScalarKind::Float, ScalarKind::Complex) => {
            if low == ScalarType::F64 {
                ScalarType::Complex128
            } else {
                high
            }
        }
        _ => {
            if low.size() >= high.size() {
                low
            } else {
                high
            }
        }
    }
}

/// The type that arithmetic computes in: `bool` becomes an integer (`i64`, in C's dialect `i32`), and in C's dialect
/// integers narrower than `i32` become `i32`.
pub(super) fn arithmetic(ty: ScalarType, dialect: Dialect) -> ScalarType {
    let narrow_integer = ty.kind() <= ScalarKind::Signed && ty.size() < 4;
    match dialect {
        Dialect::C if narrow_integer => ScalarType::I32,
        Dialect::Python if ty == ScalarType::Bool => ScalarType::I64,
        Dialect::C | Dialect::Python => ty,
    }
}

/// The type that a literal of type `literal` (`i64`, `f64` or `complex128`) takes beside an operand of type `other`.
pub(super) fn adopt(literal: ScalarType, other: ScalarType) -> ScalarType {
    match (literal.kind(), other.kind()) {
        (_, ScalarKind::Complex) => other,
        (ScalarKind::Complex, ScalarKind::Float) => {
            if other == ScalarType::F64 {
                ScalarType::Complex128
            } else {
                ScalarType::Complex64
            }
        }
        (ScalarKind::Complex, _) => ScalarType::Complex128,
        (_, ScalarKind::Float) => other,
        (ScalarKind::Float, _) => ScalarType::F64,
        (_, ScalarKind::Bool) => literal,
        (_, ScalarKind::Signed | ScalarKind::Unsigned) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether every value of `a` is one of `b`, for integers.
    fn holds(b: ScalarType, a: ScalarType) -> bool {
        let bits = |t: ScalarType| 8 * t.size() as u32;
        let signed = |t: ScalarType| t.kind() == ScalarKind::Signed;
        match (signed(a), signed(b)) {
            (true, false) => false,
            (false, true) => bits(b) > bits(a),
            _ => bits(b) >= bits(a),
        }
    }

    #[test]
    fn integers_promote_to_the_narrowest_type_that_holds_both() {
        let integers: Vec<ScalarType> = ScalarType::ALL.into_iter().filter(|t| t.is_integer()).collect();
        for &a in &integers {
            for &b in &integers {
                let found = promote(a, b, Dialect::Python);
                let fits = |t: &&ScalarType| holds(**t, a) && holds(**t, b);
                let expected = integers.iter().filter(fits).min_by_key(|t| (t.size(), **t != a && **t != b));
                assert_eq!(found, expected.copied().unwrap_or(ScalarType::I64), "{a} {b}");
            }
        }
    }

    #[test]
    fn promotion_is_commutative_and_has_c_rules() {
        for a in ScalarType::ALL {
            for b in ScalarType::ALL {
                for dialect in [Dialect::Python, Dialect::C] {
                    let found = promote(a, b, dialect);
                    assert_eq!(found, promote(b, a, dialect));
                    assert!(found.kind() >= a.kind().min(b.kind()));
                }
            }
        }
        let c = |a, b| promote(arithmetic(a, Dialect::C), arithmetic(b, Dialect::C), Dialect::C);
        assert_eq!(c(ScalarType::U16, ScalarType::U8), ScalarType::I32);
        assert_eq!(c(ScalarType::U32, ScalarType::I32), ScalarType::U32);
        assert_eq!(c(ScalarType::U32, ScalarType::I64), ScalarType::I64);
        assert_eq!(c(ScalarType::U64, ScalarType::I64), ScalarType::U64);
        assert_eq!(promote(ScalarType::Complex64, ScalarType::F64, Dialect::Python), ScalarType::Complex128);
        assert_eq!(promote(ScalarType::I64, ScalarType::F16, Dialect::Python), ScalarType::F16);
    }
}
