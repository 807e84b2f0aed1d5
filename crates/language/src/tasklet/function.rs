//! The mathematical functions of the language: a closed list with names, arities and type rules.
//!
//! [`super::arith::call`] computes them. The checker resolves calls that are other spellings of operators and
//! casts (`min`, `pow`, `f32`, ...); they do not appear here.

/// A mathematical function of the typed tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MathFunction {
    /// Square root; of complex numbers the principal one.
    Sqrt,
    /// Cube root.
    Cbrt,
    /// e to the power x.
    Exp,
    /// 2 to the power x.
    Exp2,
    /// `exp(x) - 1`, exact near 0.
    Expm1,
    /// Natural logarithm; of complex numbers the principal one.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// `log(1 + x)`, exact near 0.
    Log1p,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Angle of the point (second argument, first argument).
    Atan2,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Length of the vector of both arguments, without intermediate overflow.
    Hypot,
    /// Error function.
    Erf,
    /// `1 - erf(x)`.
    Erfc,
    /// Gamma function.
    Tgamma,
    /// Logarithm of the absolute value of the gamma function.
    Lgamma,
    /// Rounds down; the type stays.
    Floor,
    /// Rounds up; the type stays.
    Ceil,
    /// Rounds to the nearest integer, halves to the even one; the type stays.
    Round,
    /// Rounds towards zero; the type stays.
    Trunc,
    /// Absolute value; integers wrap (the least integer is its own). Of complex numbers the modulus.
    Abs,
    /// -1, 0 or 1 of the argument's type; NaN stays.
    Sign,
    /// The first argument with the sign of the second.
    Copysign,
    /// Remainder of division rounded towards zero, exact.
    Fmod,
    /// Remainder of division rounded to nearest, halves to even (IEEE 754), exact.
    Remainder,
    /// The next representable number from the first argument towards the second.
    Nextafter,
    /// The smaller argument, where a NaN loses.
    Fmin,
    /// The larger argument, where a NaN loses.
    Fmax,
    /// 0 below 0, 1 above 0, and the second argument at 0.
    Heaviside,
    /// `x * y + z` rounded once.
    Fma,
    /// The quotient of two integers rounded up.
    CeilDivide,
    /// Whether the argument (or a part of it) is NaN; `bool`.
    IsNan,
    /// Whether the argument (or a part of it) is infinite; `bool`.
    IsInf,
    /// Whether the argument (and each part of it) is neither infinite nor NaN; `bool`.
    IsFinite,
    /// Whether the sign bit is set; `bool`.
    SignBit,
    /// The complex number with these real and imaginary parts.
    MakeComplex,
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
    /// The complex conjugate.
    Conj,
    /// The angle of a complex number.
    Angle,
}

/// Typing rules of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// All arguments promote to one float type (integers and `bool` to `f64`), which is the result's.
    Float,
    /// As `Float`, and complex numbers stay complex.
    FloatOrComplex,
    /// Any real number; the type stays (`bool` becomes an integer).
    Real,
    /// As `Real`; of complex numbers the result is the component type.
    Magnitude,
    /// Floats (integers become `f64`); the result is `bool`.
    FloatTest,
    /// Floats or complex numbers (integers become `f64`); the result is `bool`.
    Test,
    /// Two integers, promoted.
    Integers,
    /// Two real numbers become the parts of a complex number.
    MakeComplex,
    /// A complex number (a real one is converted); the result is the component type.
    Part,
    /// A complex number (a real one is converted); the type stays.
    Complex,
}

use MathFunction as F;

/// Every function with its names (the first is the printed one), arity and rule.
const TABLE: [(MathFunction, &[&str], usize, Rule); 51] = [
    (F::Sqrt, &["sqrt"], 1, Rule::FloatOrComplex),
    (F::Cbrt, &["cbrt"], 1, Rule::Float),
    (F::Exp, &["exp"], 1, Rule::FloatOrComplex),
    (F::Exp2, &["exp2"], 1, Rule::Float),
    (F::Expm1, &["expm1"], 1, Rule::Float),
    (F::Log, &["log", "ln"], 1, Rule::FloatOrComplex),
    (F::Log2, &["log2"], 1, Rule::Float),
    (F::Log10, &["log10"], 1, Rule::Float),
    (F::Log1p, &["log1p"], 1, Rule::Float),
    (F::Sin, &["sin"], 1, Rule::FloatOrComplex),
    (F::Cos, &["cos"], 1, Rule::FloatOrComplex),
    (F::Tan, &["tan"], 1, Rule::FloatOrComplex),
    (F::Asin, &["asin", "arcsin"], 1, Rule::Float),
    (F::Acos, &["acos", "arccos"], 1, Rule::Float),
    (F::Atan, &["atan", "arctan"], 1, Rule::Float),
    (F::Atan2, &["atan2", "arctan2"], 2, Rule::Float),
    (F::Sinh, &["sinh"], 1, Rule::FloatOrComplex),
    (F::Cosh, &["cosh"], 1, Rule::FloatOrComplex),
    (F::Tanh, &["tanh"], 1, Rule::FloatOrComplex),
    (F::Asinh, &["asinh", "arcsinh"], 1, Rule::Float),
    (F::Acosh, &["acosh", "arccosh"], 1, Rule::Float),
    (F::Atanh, &["atanh", "arctanh"], 1, Rule::Float),
    (F::Hypot, &["hypot"], 2, Rule::Float),
    (F::Erf, &["erf"], 1, Rule::Float),
    (F::Erfc, &["erfc"], 1, Rule::Float),
    (F::Tgamma, &["tgamma", "gamma"], 1, Rule::Float),
    (F::Lgamma, &["lgamma"], 1, Rule::Float),
    (F::Floor, &["floor"], 1, Rule::Real),
    (F::Ceil, &["ceil", "ceiling"], 1, Rule::Real),
    (F::Round, &["round", "rint", "nearbyint", "ROUND"], 1, Rule::Real),
    (F::Trunc, &["trunc", "fix"], 1, Rule::Real),
    (F::Abs, &["abs", "fabs", "absolute", "Abs"], 1, Rule::Magnitude),
    (F::Sign, &["sign", "sign_numpy_2"], 1, Rule::Real),
    (F::Copysign, &["copysign"], 2, Rule::Float),
    (F::Fmod, &["fmod"], 2, Rule::Float),
    (F::Remainder, &["remainder"], 2, Rule::Float),
    (F::Nextafter, &["nextafter"], 2, Rule::Float),
    (F::Fmin, &["fmin"], 2, Rule::Float),
    (F::Fmax, &["fmax"], 2, Rule::Float),
    (F::Heaviside, &["heaviside"], 2, Rule::Float),
    (F::Fma, &["fma"], 3, Rule::Float),
    (F::CeilDivide, &["ceil_div", "int_ceil"], 2, Rule::Integers),
    (F::IsNan, &["isnan"], 1, Rule::Test),
    (F::IsInf, &["isinf"], 1, Rule::Test),
    (F::IsFinite, &["isfinite"], 1, Rule::Test),
    (F::SignBit, &["signbit"], 1, Rule::FloatTest),
    (F::MakeComplex, &["complex"], 2, Rule::MakeComplex),
    (F::Real, &["real"], 1, Rule::Part),
    (F::Imag, &["imag"], 1, Rule::Part),
    (F::Conj, &["conj", "conjugate"], 1, Rule::Complex),
    (F::Angle, &["angle", "arg"], 1, Rule::Part),
];

impl MathFunction {
    /// Every function.
    pub fn all() -> impl Iterator<Item = MathFunction> {
        TABLE.iter().map(|entry| entry.0)
    }

    fn entry(self) -> &'static (MathFunction, &'static [&'static str], usize, Rule) {
        // A test holds the table against the order of the variants.
        &TABLE[self as usize]
    }

    /// The name in canonical text.
    pub fn name(self) -> &'static str {
        self.entry().1[0]
    }

    /// The number of arguments.
    pub fn arity(self) -> usize {
        self.entry().2
    }

    pub(super) fn rule(self) -> Rule {
        self.entry().3
    }

    /// The function of this name or alias, without a module prefix.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, names, ..)| names.contains(&name)).map(|entry| entry.0)
    }
}

/// `name` without the module that Python code finds it in: `math.sqrt` and `np.sqrt` are `sqrt`.
pub(super) fn without_module(name: &str) -> &str {
    const MODULES: [&str; 7] = ["dace.math.", "dace.", "numpy.", "np.", "math.", "cmath.", "builtins."];
    MODULES.iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_are_unique() {
        let mut names: Vec<&str> = TABLE.iter().flat_map(|(_, names, ..)| names.iter().copied()).collect();
        for (i, function) in MathFunction::all().enumerate() {
            assert_eq!(function as usize, i);
            assert_eq!(MathFunction::from_name(function.name()), Some(function));
        }
        assert_eq!(F::Angle as usize + 1, TABLE.len());
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
