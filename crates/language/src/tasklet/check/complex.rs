//! Complex functions defined by a formula over other functions. The checker types the formula instead.
//!
//! The inverses are those of W. Kahan, *Branch Cuts for Complex Elementary Functions* (1987), which avoid
//! cancellation and select the side of a branch cut by the sign of a zero.

use std::collections::BTreeMap;

use super::Checker;
use super::operand::Operand;
use crate::syntax::{Expression, parse_expression};

/// Formulas of `z` by the names of functions, with `above` and `below` for the roots of `1 + z` and `1 - z`, `beyond` for that
/// of `z - 1`, and `turned` for `i z`.
const FORMULAS: [(&[&str], &str); 14] = [
    (&["exp2"], "exp(z * 0.6931471805599453)"),
    (&["expm1"], "exp(z) - 1.0"),
    (&["log2"], "log(z) * 1.4426950408889634"),
    (&["log10"], "log(z) * 0.4342944819032518"),
    (&["log1p"], "log(1.0 + z)"),
    (&["asin", "arcsin"], "complex(atan2(real(z), real(below * above)), asinh(imag(conj(below) * above)))"),
    (&["acos", "arccos"], "complex(2.0 * atan2(real(below), real(above)), asinh(imag(conj(above) * below)))"),
    (&["atan", "arctan"], "complex(imag(atanh(turned)), -real(atanh(turned)))"),
    (&["asinh", "arcsinh"], "complex(imag(asin(turned)), -real(asin(turned)))"),
    (
        &["acosh", "arccosh"],
        "complex(asinh(real(conj(beyond) * above)), 2.0 * atan2(imag(beyond), real(above)))",
    ),
    (
        &["atanh", "arctanh"],
        "complex(0.25 * (log((1.0 + real(z))**2 + imag(z)**2) - log((1.0 - real(z))**2 + imag(z)**2)),
            0.5 * atan2(2.0 * imag(z), (1.0 - real(z)) * (1.0 + real(z)) - imag(z)**2))",
    ),
    (&["round", "rint", "ROUND"], "complex(round(real(z)), round(imag(z)))"),
    // As DaCe's runtime defines it: 0 unless both parts differ from 0.
    (
        &["sign_numpy_2"],
        "complex(real(z) / abs(z), imag(z) / abs(z)) if real(z) != 0.0 and imag(z) != 0.0 else complex(0.0, 0.0)",
    ),
    (&["sign"], "complex(sign(real(z)) if real(z) != 0.0 else sign(imag(z)), 0.0)"),
];

/// Replacements of the names in formulas. Parts are given separately, so that zeros keep their signs.
const PARTS: [(&str, &str); 4] = [
    ("above", "sqrt(complex(1.0 + real(z), imag(z)))"),
    ("below", "sqrt(complex(1.0 - real(z), -imag(z)))"),
    ("beyond", "sqrt(complex(real(z) - 1.0, imag(z)))"),
    ("turned", "complex(-imag(z), real(z))"),
];

impl Checker<'_> {
    /// The formula of a function of one complex number, if it has one.
    pub(super) fn complex_formula(
        &self,
        name: &str,
        operands: &[Option<Operand>],
        arguments: &[Expression],
    ) -> Option<Expression> {
        let ([Some(operand)], [argument]) = (operands, arguments) else { return None };
        if !operand.lane().is_complex() {
            return None;
        }
        let (_, formula) = FORMULAS.iter().find(|(names, _)| names.contains(&name))?;
        let mut meaning = BTreeMap::from([("z".to_owned(), argument.clone())]);
        for (name, part) in PARTS {
            let part = parse_expression(part).ok()?.replace_names(&meaning);
            meaning.insert(name.to_owned(), part);
        }
        Some(parse_expression(formula).ok()?.replace_names(&meaning))
    }
}
