//! Complex numbers as pairs of reals, step by step as `sdfg::tasklet::arith` defines them.

use sdfg::dtype::ScalarType;
use sdfg::tasklet::{BinaryOperation, MathFunction};

use super::error::{Print, defect};
use super::float::filled;
use super::program::Program;
use super::text::{Code, Precedence};

/// Helpers with what they call themselves, and their text.
const HELPERS: &[(&str, &[&str], &str)] = &[
    ("add", &["of"], "    return TYPE_of(a.re + b.re, a.im + b.im);\n"),
    ("sub", &["of"], "    return TYPE_of(a.re - b.re, a.im - b.im);\n"),
    ("mul", &["of"], "    return TYPE_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);\n"),
    ("div", &["of"], DIVIDE),
    ("pow", &["of", "mul", "exp", "log"], POWER),
    ("eq", &[], "    return a.re == b.re && a.im == b.im;\n"),
    ("neg", &["of"], "    return TYPE_of(-z.re, -z.im);\n"),
    ("conj", &["of"], "    return TYPE_of(z.re, -z.im);\n"),
    ("exp", &["of"], EXPONENTIAL),
    ("log", &["of"], "    return TYPE_of(log@(hypot@(z.re, z.im)), atan2@(z.im, z.re));\n"),
    ("sqrt", &["of"], SQUARE_ROOT),
    ("sin", &["of"], "    return TYPE_of(sin@(z.re) * cosh@(z.im), cos@(z.re) * sinh@(z.im));\n"),
    ("cos", &["of"], "    return TYPE_of(cos@(z.re) * cosh@(z.im), -(sin@(z.re) * sinh@(z.im)));\n"),
    ("tan", &["sin", "cos", "div"], "    return DIV(SIN(z), COS(z));\n"),
    ("sinh", &["of"], "    return TYPE_of(sinh@(z.re) * cos@(z.im), cosh@(z.re) * sin@(z.im));\n"),
    ("cosh", &["of"], "    return TYPE_of(cosh@(z.re) * cos@(z.im), sinh@(z.re) * sin@(z.im));\n"),
    ("tanh", &["sinh", "cosh", "div"], "    return DIV(SINH(z), COSH(z));\n"),
    ("abs", &[], "    return hypot@(z.re, z.im);\n"),
    ("angle", &[], "    return atan2@(z.im, z.re);\n"),
    ("isnan", &[], "    return z.re != z.re || z.im != z.im;\n"),
    ("isinf", &[], "    return (z.re == z.re && z.re - z.re != 0) || (z.im == z.im && z.im - z.im != 0);\n"),
    ("isfinite", &[], "    return z.re - z.re == 0 && z.im - z.im == 0;\n"),
];

/// Smith's quotient: the larger part of the divisor is divided by, so that no square overflows.
const DIVIDE: &str = "    const bool re_larger = fabs@(b.re) >= fabs@(b.im);
    const REAL large = re_larger ? b.re : b.im, small = re_larger ? b.im : b.re;
    const REAL ratio = small / large, divisor = large + small * ratio;
    if (re_larger) {
        return TYPE_of((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor);
    }
    return TYPE_of((a.im + a.re * ratio) / divisor, (a.im * ratio - a.re) / divisor);
";

/// Every number to the power 0 is 1, and 0 to any other power is 0.
const POWER: &str = "    if (b.re == 0 && b.im == 0) {
        return TYPE_of(1, 0);
    }
    if (a.re == 0 && a.im == 0) {
        return TYPE_of(0, 0);
    }
    return EXP(MUL(b, LOG(a)));
";

/// An infinite radius times the sine of 0 would be NaN.
const EXPONENTIAL: &str = "    const REAL radius = exp@(z.re);
    if (z.im == 0) {
        return TYPE_of(radius, z.im);
    }
    return TYPE_of(radius * cos@(z.im), radius * sin@(z.im));
";

/// The principal root, without cancellation in either part.
const SQUARE_ROOT: &str = "    const REAL large = sqrt@((fabs@(z.re) + hypot@(z.re, z.im)) * (REAL)0.5);
    const REAL small = z.im / (large + large);
    if (z.re == 0 && z.im == 0) {
        return TYPE_of(0, z.im);
    }
    if (z.re >= 0) {
        return TYPE_of(large, small);
    }
    return TYPE_of(fabs@(small), copysign@(large, z.im));
";

impl Program<'_> {
    /// A helper of complex numbers of type `ty`.
    pub(super) fn complex_helper(&self, word: &str, ty: ScalarType) -> String {
        let name = format!("sdfg_{word}_{}", ty.name());
        let Some((_, needed, body)) = HELPERS.iter().find(|(known, ..)| *known == word) else { return name };
        for other in *needed {
            if *other == "of" {
                let zero = Code::int(0);
                self.pair(ty, &zero, &zero);
            } else {
                self.complex_helper(other, ty);
            }
        }
        self.scalar_type(ty);
        self.include("math.h");
        let result = match word {
            "eq" | "isnan" | "isinf" | "isfinite" => "bool",
            "abs" | "angle" => "REAL",
            _ => "COMPLEX",
        };
        let parameters = if matches!(word, "add" | "sub" | "mul" | "div" | "pow" | "eq") {
            "COMPLEX a, COMPLEX b"
        } else {
            "COMPLEX z"
        };
        self.helper(&name, || {
            let text = format!("static inline {result} NAME({parameters}) {{\n{body}}}\n");
            let calls = |text: String, (word, ..): &(&str, &[&str], &str)| {
                text.replace(
                    &format!("{}(", word.to_ascii_uppercase()),
                    &format!("sdfg_{word}_{}(", ty.name()),
                )
            };
            let text = HELPERS.iter().filter(|(word, ..)| needed.contains(word)).fold(text, calls);
            filled(&text.replace("TYPE_of", "COMPLEX_of"), &name, ty)
        })
    }

    pub(super) fn complex_binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: &Code,
        b: &Code,
    ) -> Print<Code> {
        let word = match op {
            BinaryOperation::Add => "add",
            BinaryOperation::Subtract => "sub",
            BinaryOperation::Multiply => "mul",
            BinaryOperation::Divide => "div",
            BinaryOperation::Power => "pow",
            BinaryOperation::FloorDivide
            | BinaryOperation::FloorModulo
            | BinaryOperation::TruncateDivide
            | BinaryOperation::TruncateModulo
            | BinaryOperation::ShiftLeft
            | BinaryOperation::ShiftRight
            | BinaryOperation::BitAnd
            | BinaryOperation::BitOr
            | BinaryOperation::BitXor
            | BinaryOperation::Minimum
            | BinaryOperation::Maximum => {
                return Err(defect("complex numbers have no order, remainders or bits"));
            }
        };
        Ok(Code::call(&self.complex_helper(word, ty), &[a, b]))
    }

    /// A function of one complex number.
    pub(super) fn complex_function(&self, function: MathFunction, ty: ScalarType, z: &Code) -> Print<Code> {
        let part = |name: &str| Code::atom(format!("{}.{name}", z.at_least(Precedence::Atom)));
        let word = match function {
            MathFunction::Real => return Ok(part("re")),
            MathFunction::Imag => return Ok(part("im")),
            MathFunction::Abs => "abs",
            MathFunction::Angle => "angle",
            MathFunction::Conj => "conj",
            MathFunction::Sqrt => "sqrt",
            MathFunction::Exp => "exp",
            MathFunction::Log => "log",
            MathFunction::Sin => "sin",
            MathFunction::Cos => "cos",
            MathFunction::Tan => "tan",
            MathFunction::Sinh => "sinh",
            MathFunction::Cosh => "cosh",
            MathFunction::Tanh => "tanh",
            MathFunction::IsNan => "isnan",
            MathFunction::IsInf => "isinf",
            MathFunction::IsFinite => "isfinite",
            _ => return Err(defect(format!("`{}` is no function of complex numbers", function.name()))),
        };
        Ok(Code::call(&self.complex_helper(word, ty), &[z]))
    }
}
