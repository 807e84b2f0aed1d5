//! Calls and constants of our language in the spelling of DaCe's Python that C++ computes.
//!
//! Identical spellings are kept, so that imported code is written as it was read.

use sdfg::dtype::ElementType;
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Name, UnaryOp};

use crate::encode::scalar;

/// Functions that DaCe's runtime or C++ has by the same name.
const SAME: &[&str] = &[
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "hypot",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "floor",
    "ceil",
    "round",
    "rint",
    "trunc",
    "abs",
    "fabs",
    "sign",
    "copysign",
    "fmod",
    "remainder",
    "nextafter",
    "fmin",
    "fmax",
    "heaviside",
    "fma",
    "int_ceil",
    "int_floor",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "real",
    "imag",
    "conj",
    "arg",
    "min",
    "max",
    "Min",
    "Max",
    "Abs",
    "pow",
    "py_floor",
    "py_mod",
    "cpp_mod",
    "reciprocal",
    "rad2deg",
    "deg2rad",
    "np_float_pow",
    "ROUND",
];

/// Functions by their name in C++ or DaCe's runtime.
const RENAMED: &[(&str, &str)] = &[
    ("ln", "log"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("gamma", "tgamma"),
    ("nearbyint", "rint"),
    ("ceiling", "ceil"),
    ("fix", "trunc"),
    ("absolute", "abs"),
    ("ceil_div", "int_ceil"),
    ("conjugate", "conj"),
    ("angle", "arg"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("power", "pow"),
    ("float_power", "np_float_pow"),
    ("floor_divide", "py_floor"),
    ("floor_div", "py_floor"),
    ("mod", "py_mod"),
    ("Mod", "py_mod"),
    ("degrees", "rad2deg"),
    ("radians", "deg2rad"),
];

/// Modules that hold what C++ has in none.
const DROPPED: [&str; 4] = ["np.", "numpy.", "cmath.", "builtins."];

/// Name of a conversion to this type in DaCe's Python.
pub(super) fn conversion(ty: sdfg::dtype::ScalarType) -> String {
    match ty {
        sdfg::dtype::ScalarType::Bool => "bool".to_owned(),
        other => format!("dace.{}", scalar(other)),
    }
}

/// An expression, whose parts are spelled already, in DaCe's spelling. `complex_output` is an output of a complex type.
///
/// # Errors
/// What DaCe has not, as a sentence.
pub(super) fn spelled(expression: Expression, complex_output: Option<&str>) -> Result<Expression, String> {
    let span = expression.span;
    let kind = match expression.kind {
        ExpressionKind::Name(name) if name.contains('.') => match name.rsplit('.').next() {
            Some("pi") => ExpressionKind::Name("math.pi".to_owned()),
            Some("inf") => ExpressionKind::Name("inf".to_owned()),
            Some("nan") => ExpressionKind::Name("nan".to_owned()),
            Some("e") => Expression::float(std::f64::consts::E).kind,
            Some("tau") => Expression::float(std::f64::consts::TAU).kind,
            _ => return Err(format!("the constant `{name}` is not known")),
        },
        ExpressionKind::Call { function, arguments } => {
            return call(&function.text, arguments, complex_output).map(|call| Expression { span, ..call });
        }
        kind => kind,
    };
    Ok(Expression { kind, span })
}

/// As [`spelled`], of code in Python's dialect, where `float` is as wide as C++'s `double`.
///
/// # Errors
/// What DaCe has not, as a sentence.
pub(super) fn spelled_python(expression: Expression) -> Result<Expression, String> {
    match expression.kind {
        ExpressionKind::Call { function, arguments } if function.text == "float" => {
            let function = Name { text: "float64".to_owned(), ..function };
            spelled(Expression { kind: ExpressionKind::Call { function, arguments }, ..expression }, None)
        }
        kind => spelled(Expression { kind, ..expression }, None),
    }
}

fn call(
    name: &str,
    mut arguments: Vec<Expression>,
    complex_output: Option<&str>,
) -> Result<Expression, String> {
    let is_numpy = name.starts_with("np.") || name.starts_with("numpy.");
    let bare = DROPPED.iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name);
    let short = ["dace.math.", "dace.", "math."].iter().find_map(|module| bare.strip_prefix(module));
    let short = short.unwrap_or(bare);
    let as_it_is = |function: &str, arguments| Ok(Expression::call(function, arguments));
    if let Some(ty) = convertible(short) {
        // `int` and `float` mean in C++ what they mean in imported code.
        let function =
            if matches!(bare, "int" | "float" | "bool") { bare.to_owned() } else { conversion(ty) };
        return as_it_is(&function, arguments);
    }
    match (short, arguments.len()) {
        ("remainder", 2) if is_numpy => as_it_is("py_mod", arguments),
        ("complex", 1) => as_it_is("dace.complex128", arguments),
        ("complex", 2) => match complex_output {
            Some(output) => as_it_is(&format!("decltype({output})"), arguments),
            None => Err("`complex` is called where no output is complex".to_owned()),
        },
        ("square", 1) => {
            let base = arguments.remove(0);
            Ok(Expression::binary(BinaryOp::Power, base, Expression::integer(2)))
        }
        ("clip", 3) => {
            let (low, high) = (arguments.remove(1), arguments.remove(1));
            let floor = Expression::call("max", vec![arguments.remove(0), low]);
            as_it_is("min", vec![floor, high])
        }
        _ if SAME.contains(&short) => as_it_is(bare, arguments),
        _ => match RENAMED.iter().find(|(ours, _)| *ours == short) {
            Some((_, theirs)) => as_it_is(theirs, arguments),
            None => Err(format!("the function `{name}` is not known")),
        },
    }
}

/// The scalar type that a call of this name converts to.
pub(super) fn convertible(name: &str) -> Option<sdfg::dtype::ScalarType> {
    use sdfg::dtype::ScalarType as T;
    let plain = name.strip_suffix("_t").unwrap_or(name);
    let by_dace = T::ALL.into_iter().find(|ty| scalar(*ty) == plain);
    by_dace.or_else(|| match name {
        "bool_" => Some(T::Bool),
        "int" => Some(T::I32),
        "char" => Some(T::I8),
        "short" => Some(T::I16),
        "uint" => Some(T::U32),
        "float" | "double" => Some(T::F64),
        _ => name.parse::<ElementType>().ok()?.as_scalar(),
    })
}

/// A literal of a number, which a `-` precedes where it is negative.
pub(super) fn is_literal(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Float(_) | ExpressionKind::Bool(_) => true,
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => is_literal(operand),
        _ => false,
    }
}

/// A name as an expression, subscripted where there are indices.
pub(super) fn element(name: &str, indices: Vec<Expression>) -> Expression {
    if indices.is_empty() {
        return Expression::name(name);
    }
    let indices = indices.into_iter().map(sdfg::syntax::Index::Point).collect();
    let kind = ExpressionKind::Subscript { base: Name::new(name), indices };
    Expression { kind, span: sdfg::syntax::Span::default() }
}

#[cfg(test)]
mod tests {
    use sdfg::syntax::parse_expression;

    use super::*;

    #[test]
    fn calls_are_spelled_as_dace_has_them() {
        for (ours, theirs) in [
            ("i16(x)", "dace.int16(x)"),
            ("np.float32(x)", "dace.float32(x)"),
            ("math.exp(x)", "math.exp(x)"),
            ("np.remainder(a, b)", "py_mod(a, b)"),
            ("complex(a, b)", "decltype(o)(a, b)"),
            ("clip(x, 0, 1)", "min(max(x, 0), 1)"),
            ("int(x)", "int(x)"),
            ("uint8_t(x)", "dace.uint8(x)"),
            ("nearbyint(x)", "rint(x)"),
            ("float(x)", "float(x)"),
            ("np.arctan2(a, b)", "atan2(a, b)"),
        ] {
            let found = spelled(parse_expression(ours).unwrap(), Some("o"));
            assert_eq!(found.map(|found| found.to_string()), Ok(theirs.to_owned()));
        }
        let found = spelled_python(parse_expression("float(x)").unwrap());
        assert_eq!(found.map(|found| found.to_string()), Ok("dace.float64(x)".to_owned()));
        assert!(spelled(parse_expression("lanes(a, b)").unwrap(), None).is_err());
        assert!(spelled(parse_expression("complex(a, b)").unwrap(), None).is_err());
    }
}
