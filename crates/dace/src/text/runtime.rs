//! Functions of DaCe's runtime, of C, Fortran and SymPy that are formulas over functions of the tasklet
//! language.
//!
//! The formulas follow the definitions in `dace/math.h` and in the C standard. Functions that the tasklet
//! language has by the same name are not listed here. `docs/generated/dace-functions.md` lists the functions that
//! graphs call, with those that are not read.

use std::collections::BTreeMap;

use sdfg::syntax::{Expression, ExpressionKind, parse_lambda};

/// Names with their meaning.
const FORMULAS: &[(&str, &str)] = &[
    // The integer nearest to a number, halves away from zero: the fraction is exact, and so is twice the fraction.
    ("iround", "lambda x: int32(trunc(x) + trunc(2 * (x - trunc(x))))"),
    ("lround", "lambda x: int64(trunc(x) + trunc(2 * (x - trunc(x))))"),
    ("llround", "lambda x: int64(trunc(x) + trunc(2 * (x - trunc(x))))"),
    ("lrint", "lambda x: int64(rint(x))"),
    ("llrint", "lambda x: int64(rint(x))"),
    // An integer; DaCe's has 32 bits.
    ("ifloor", "lambda x: int64(floor(x))"),
    ("sgn", "lambda x: int32(sign(x))"),
    ("int_floor_ni", "lambda x, y: x // y"),
    ("exp10", "lambda x: 10.0 ** x"),
    ("rsqrt", "lambda x: 1.0 / sqrt(x)"),
    ("labs", "lambda x: abs(x)"),
    ("llabs", "lambda x: abs(x)"),
    // C++'s functions of floats and complex numbers.
    ("norm", "lambda z: real(z) * real(z) + imag(z) * imag(z)"),
    ("polar", "lambda r, t: complex(r * cos(t), r * sin(t))"),
    ("complex64", "lambda x, y: complex(float32(x), float32(y))"),
    ("complex128", "lambda x, y: complex(float64(x), float64(y))"),
    ("clamp", "lambda x, a, b: a if x < a else (b if b < x else x)"),
    ("isgreater", "lambda x, y: x > y"),
    ("isgreaterequal", "lambda x, y: x >= y"),
    ("isless", "lambda x, y: x < y"),
    ("islessequal", "lambda x, y: x <= y"),
    ("islessgreater", "lambda x, y: x < y or x > y"),
    ("isunordered", "lambda x, y: isnan(x) or isnan(y)"),
    ("heaviside", "lambda x: 1 if x > 0 else 0"),
    ("ldexp", "lambda x, n: x * exp2(float64(n))"),
    ("scalbn", "lambda x, n: x * exp2(float64(n))"),
    ("scalbln", "lambda x, n: x * exp2(float64(n))"),
    // NaN of NaN, as no comparison with NaN holds.
    ("fdim", "lambda x, y: 0.0 if x <= y else x - y"),
    // Fortran's `SIGN`.
    ("__dace_sign", "lambda x, y: abs(x) if y >= 0 else -abs(x)"),
    // Remainders, whose names tell the language since version 2.
    ("PyMod", "lambda x, y: py_mod(x, y)"),
    ("floor_mod", "lambda x, y: py_mod(x, y)"),
    ("FtnModulo", "lambda x, y: py_mod(x, y)"),
    ("Modulo", "lambda x, y: py_mod(x, y)"),
    ("Modulo_float", "lambda x, y: py_mod(x, y)"),
    ("Mod_float", "lambda x, y: fmod(x, y)"),
    ("CMod", "lambda x, y: cpp_mod(x, y)"),
    ("FtnMod", "lambda x, y: cpp_mod(x, y)"),
    // SymPy's spellings.
    ("ITE", "lambda c, x, y: x if c else y"),
    ("IfExpr", "lambda c, x, y: x if c else y"),
    ("re", "lambda x: real(x)"),
    ("im", "lambda x: imag(x)"),
    ("left_shift", "lambda x, y: x << y"),
    ("right_shift", "lambda x, y: x >> y"),
    ("bitwise_and", "lambda x, y: x & y"),
    ("bitwise_or", "lambda x, y: x | y"),
    ("bitwise_xor", "lambda x, y: x ^ y"),
    ("bitwise_invert", "lambda x: ~x"),
    ("bitwise_not", "lambda x: ~x"),
    ("logical_xor", "lambda x, y: (not x) != (not y)"),
    ("Xor", "lambda x, y: (not x) != (not y)"),
    ("Eq", "lambda x, y: x == y"),
    ("Ne", "lambda x, y: x != y"),
    ("Lt", "lambda x, y: x < y"),
    ("Le", "lambda x, y: x <= y"),
    ("Gt", "lambda x, y: x > y"),
    ("Ge", "lambda x, y: x >= y"),
    ("StrictLessThan", "lambda x, y: x < y"),
    ("LessThan", "lambda x, y: x <= y"),
    ("StrictGreaterThan", "lambda x, y: x > y"),
    ("GreaterThan", "lambda x, y: x >= y"),
    ("NotEq", "lambda x, y: x != y"),
    ("LtE", "lambda x, y: x <= y"),
    ("GtE", "lambda x, y: x >= y"),
    ("Is", "lambda x, y: x == y"),
    ("IsNot", "lambda x, y: x != y"),
    ("Heaviside", "lambda x: heaviside(x, 0.5)"),
    ("Equality", "lambda x, y: x == y"),
    ("Unequality", "lambda x, y: x != y"),
];

/// Functions of C that have a form for `float`, which ends in `f`: arguments are converted to it, but for those of integers.
const OF_FLOATS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "scalbln",
    "scalbn",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

/// Modules and namespaces that functions of C++ have in DaCe's code.
const NAMESPACES: [&str; 4] = ["dace.math.", "dace.cmath.", "math.", "std."];

/// `name` without the namespace of DaCe's runtime or of C++.
pub(super) fn without_namespace(name: &str) -> &str {
    NAMESPACES.iter().find_map(|space| name.strip_prefix(space)).unwrap_or(name)
}

/// The meaning of a call of a function, if it is a formula over other functions.
pub(super) fn formula(name: &str, arguments: &[Expression]) -> Option<Expression> {
    let (_, text) = FORMULAS.iter().find(|(found, text)| *found == name && arity(text) == arguments.len())?;
    let lambda = parse_lambda(text).ok()?;
    let given = lambda.parameters.into_iter().map(|parameter| parameter.text).zip(arguments.iter().cloned());
    Some(lambda.body.replace_names(&given.collect::<BTreeMap<_, _>>()))
}

/// Number of parameters of a function.
fn arity(lambda: &str) -> usize {
    lambda.split(':').next().map_or(0, |parameters| parameters.split(',').count())
}

/// `expf(x)` as `exp(float32(x))`, and the other functions of C for `float`; those that give integers give them of the same width.
pub(super) fn of_floats(name: &str, arguments: &[Expression]) -> Option<Expression> {
    let name = OF_FLOATS.iter().find(|of_doubles| name.strip_suffix('f') == Some(of_doubles))?;
    let narrow = |(at, argument): (usize, &Expression)| {
        let is_count = at == 1 && matches!(*name, "ldexp" | "scalbn" | "scalbln");
        if is_count { argument.clone() } else { Expression::call("float32", vec![argument.clone()]) }
    };
    let arguments: Vec<Expression> = arguments.iter().enumerate().map(narrow).collect();
    let call = Expression::call(name, arguments.clone());
    let value = formula(name, &arguments).unwrap_or(call);
    let gives_integer = matches!(*name, "llrint" | "llround" | "lrint" | "lround");
    Some(if gives_integer { value } else { Expression::call("float32", vec![value]) })
}

/// `z.real`, `z.real()`, `z.imag`, `z.imag()`, `z.conj()` and `z.conjugate()` of a name as functions.
pub(super) fn part(expression: &Expression) -> Option<Expression> {
    const MODULES: [&str; 7] = ["dace", "np", "numpy", "math", "cmath", "std", "builtins"];
    let (text, is_call) = match &expression.kind {
        ExpressionKind::Name(name) => (name.as_str(), false),
        ExpressionKind::Call { function, arguments } if arguments.is_empty() => {
            (function.text.as_str(), true)
        }
        _ => return None,
    };
    let (base, part) = text.rsplit_once('.')?;
    if base.contains('.') || MODULES.contains(&base) {
        return None;
    }
    let function = match part {
        "real" | "imag" => part,
        "conj" | "conjugate" if is_call => "conj",
        _ => return None,
    };
    Some(Expression::call(function, vec![Expression::name(base)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_expressions_of_their_parameters() {
        for (name, text) in FORMULAS {
            let lambda = parse_lambda(text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            assert_eq!(lambda.parameters.len(), arity(text), "{name}");
            let used = lambda
                .body
                .names()
                .into_iter()
                .all(|used| lambda.parameters.iter().any(|parameter| parameter.text == *used));
            assert!(used, "{name}");
        }
    }
}
