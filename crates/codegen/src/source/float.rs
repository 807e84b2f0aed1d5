//! Floats: operators, and the functions of C's mathematics. `f16` is computed in `float` and rounded after every operation.

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::ir::FloatMode;
use sdfg::tasklet::{BinaryOperation, MathFunction};

use super::error::{Print, defect};
use super::program::Program;
use super::text::{Code, Precedence};
use super::types::value_type;

impl Program<'_> {
    pub(super) fn half_binary(&self, op: BinaryOperation, a: &Code, b: &Code) -> Print<Code> {
        let wide = self.float_binary(op, ScalarType::F32, &self.widened(a), &self.widened(b))?;
        Ok(self.halved(&wide))
    }

    pub(super) fn float_binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: &Code,
        b: &Code,
    ) -> Print<Code> {
        Ok(match op {
            BinaryOperation::Add => Code::infix("+", Precedence::Sum, a, b),
            BinaryOperation::Subtract => Code::infix("-", Precedence::Sum, a, b),
            BinaryOperation::Multiply => Code::infix("*", Precedence::Product, a, b),
            BinaryOperation::Divide => Code::infix("/", Precedence::Product, a, b),
            BinaryOperation::FloorDivide => {
                Code::call(&self.float_helper("floor_div", FLOOR_DIVIDE, ty), &[a, b])
            }
            BinaryOperation::FloorModulo => {
                Code::call(&self.float_helper("floor_mod", FLOOR_MODULO, ty), &[a, b])
            }
            BinaryOperation::TruncateModulo => self.library("fmod", ty, &[a, b]),
            BinaryOperation::Power => self.library("pow", ty, &[a, b]),
            BinaryOperation::Minimum => {
                Code::call(&self.extremum("min", [MINIMUM, FAST_MINIMUM], ty), &[a, b])
            }
            BinaryOperation::Maximum => {
                Code::call(&self.extremum("max", [MAXIMUM, FAST_MAXIMUM], ty), &[a, b])
            }
            BinaryOperation::TruncateDivide
            | BinaryOperation::ShiftLeft
            | BinaryOperation::ShiftRight
            | BinaryOperation::BitAnd
            | BinaryOperation::BitOr
            | BinaryOperation::BitXor => return Err(defect("floats have no bit operations")),
        })
    }

    /// A function of C's mathematics, by its name for `double`.
    pub(super) fn library(&self, name: &str, ty: ScalarType, arguments: &[&Code]) -> Code {
        self.include("math.h");
        let suffix = if ty == ScalarType::F32 { "f" } else { "" };
        Code::call(&format!("{name}{suffix}"), arguments)
    }

    /// A helper for a type of floats: `REAL` stands for the type, and `@` behind a function for the letter of its variant.
    fn float_helper(&self, word: &str, template: &str, ty: ScalarType) -> String {
        self.include("math.h");
        let name = format!("sdfg_{word}_{}", ty.name());
        self.helper(&name, || filled(template, &name, ty))
    }

    /// The helper of a minimum or maximum, by its templates for exact and for fast floats. Compilers make vectors of a reduction only
    /// from the comparison alone.
    fn extremum(&self, word: &str, [exact, fast]: [&str; 2], ty: ScalarType) -> String {
        let template = match self.floats {
            FloatMode::Strict | FloatMode::Contract => exact,
            FloatMode::Fast => fast,
        };
        self.float_helper(word, template, ty)
    }

    /// A function of values of type `ty`.
    pub(super) fn math(&self, function: MathFunction, ty: ScalarType, arguments: &[Code]) -> Print<Code> {
        let first = arguments.first().ok_or_else(|| defect("a function has arguments"))?;
        let second = arguments.get(1).unwrap_or(first);
        match ty.kind() {
            _ if function == MathFunction::MakeComplex => self.made_complex(ty, first, second),
            ScalarKind::Bool | ScalarKind::Signed | ScalarKind::Unsigned => {
                self.integer_function(function, ty, first, second)
            }
            ScalarKind::Complex => self.complex_function(function, ty, first),
            ScalarKind::Float if ty == ScalarType::F16 => self.half_function(function, arguments),
            ScalarKind::Float => self.float_function(function, ty, arguments),
        }
    }

    fn made_complex(&self, ty: ScalarType, re: &Code, im: &Code) -> Print<Code> {
        match ty {
            ScalarType::F32 => Ok(self.pair(ScalarType::Complex64, re, im)),
            ScalarType::F64 => Ok(self.pair(ScalarType::Complex128, re, im)),
            _ => Err(defect("complex numbers have parts of 32 or 64 bits")),
        }
    }

    fn half_function(&self, function: MathFunction, arguments: &[Code]) -> Print<Code> {
        if function == MathFunction::Nextafter {
            let [from, to] = arguments else { return Err(defect("nextafter has two arguments")) };
            let (a, b) = (self.widened(from), self.widened(to));
            let name = self.helper("sdfg_nextafter_f16", || HALF_NEIGHBOUR.to_owned());
            return Ok(Code::call(&name, &[from, &a, &b]));
        }
        let wide: Vec<Code> = arguments.iter().map(|argument| self.widened(argument)).collect();
        let value = self.float_function(function, ScalarType::F32, &wide)?;
        let is_test = matches!(
            function,
            MathFunction::IsNan | MathFunction::IsInf | MathFunction::IsFinite | MathFunction::SignBit
        );
        Ok(if is_test { value } else { self.halved(&value) })
    }

    /// A function of `float` or `double`.
    pub(super) fn float_function(
        &self,
        function: MathFunction,
        ty: ScalarType,
        arguments: &[Code],
    ) -> Print<Code> {
        let arguments: Vec<&Code> = arguments.iter().take(function.arity()).collect();
        let own = |word, template| Code::call(&self.float_helper(word, template, ty), &arguments);
        if let Some(name) = library_name(function) {
            return Ok(self.library(name, ty, &arguments));
        }
        Ok(match function {
            MathFunction::Fmin => {
                self.extremum("min", [MINIMUM, FAST_MINIMUM], ty);
                own("fmin", FMIN)
            }
            MathFunction::Fmax => {
                self.extremum("max", [MAXIMUM, FAST_MAXIMUM], ty);
                own("fmax", FMAX)
            }
            MathFunction::Sign => own("sign", SIGN),
            MathFunction::Heaviside => own("heaviside", HEAVISIDE),
            MathFunction::IsNan => own("isnan", IS_NAN),
            MathFunction::IsInf => own("isinf", IS_INF),
            MathFunction::IsFinite => own("isfinite", IS_FINITE),
            MathFunction::SignBit => own("signbit", SIGN_BIT),
            MathFunction::Real | MathFunction::Conj => {
                arguments.first().copied().cloned().ok_or_else(|| defect("a function has arguments"))?
            }
            _ => return Err(defect(format!("`{}` is no function of floats", function.name()))),
        })
    }

    fn integer_function(&self, function: MathFunction, ty: ScalarType, a: &Code, b: &Code) -> Print<Code> {
        let is_signed = ty.kind() == ScalarKind::Signed;
        let (t, unsigned) = (value_type(ty), if ty.size() == 8 { "uint64_t" } else { "uint32_t" });
        let (word, parameters, body) = match function {
            MathFunction::Abs if is_signed => {
                ("abs", format!("{t} a"), format!("return a < 0 ? ({t})(0u - ({unsigned})a) : a;"))
            }
            MathFunction::Sign if is_signed => {
                ("sign", format!("{t} a"), format!("return ({t})((a > 0) - (a < 0));"))
            }
            MathFunction::Sign => ("sign", format!("{t} a"), format!("return ({t})(a != 0);")),
            MathFunction::CeilDivide => {
                let div = self.integer_helper(BinaryOperation::TruncateDivide, ty)?;
                let modulo = self.integer_helper(BinaryOperation::TruncateModulo, ty)?;
                let up = if is_signed { "r != 0 && (r < 0) == (b < 0)" } else { "r != 0" };
                let body = format!("const {t} r = {modulo}(a, b);\n    return ({t})({div}(a, b) + ({up}));");
                ("ceil_div", format!("{t} a, {t} b"), body)
            }
            // Rounding an integer changes nothing, and other functions convert their arguments.
            _ => return Ok(a.clone()),
        };
        let name = format!("sdfg_{word}_{}", ty.name());
        let name =
            self.helper(&name, || format!("static inline {t} {name}({parameters}) {{\n    {body}\n}}\n"));
        Ok(if function == MathFunction::CeilDivide {
            Code::call(&name, &[a, b])
        } else {
            Code::call(&name, &[a])
        })
    }
}

/// A template for a type: `NAME`, `REAL`, `COMPLEX`, and `@` for the letter of functions of that type.
pub(super) fn filled(template: &str, name: &str, ty: ScalarType) -> String {
    let component = ty.component();
    let letter = if component == ScalarType::F32 { "f" } else { "" };
    template
        .replace("NAME", name)
        .replace("REAL", value_type(component))
        .replace("COMPLEX", value_type(ty))
        .replace("TYPE", component.name())
        .replace('@', letter)
}

/// The function of C's mathematics that computes the same.
fn library_name(function: MathFunction) -> Option<&'static str> {
    Some(match function {
        MathFunction::Sqrt => "sqrt",
        MathFunction::Cbrt => "cbrt",
        MathFunction::Exp => "exp",
        MathFunction::Exp2 => "exp2",
        MathFunction::Expm1 => "expm1",
        MathFunction::Log => "log",
        MathFunction::Log2 => "log2",
        MathFunction::Log10 => "log10",
        MathFunction::Log1p => "log1p",
        MathFunction::Sin => "sin",
        MathFunction::Cos => "cos",
        MathFunction::Tan => "tan",
        MathFunction::Asin => "asin",
        MathFunction::Acos => "acos",
        MathFunction::Atan => "atan",
        MathFunction::Atan2 => "atan2",
        MathFunction::Sinh => "sinh",
        MathFunction::Cosh => "cosh",
        MathFunction::Tanh => "tanh",
        MathFunction::Asinh => "asinh",
        MathFunction::Acosh => "acosh",
        MathFunction::Atanh => "atanh",
        MathFunction::Hypot => "hypot",
        MathFunction::Erf => "erf",
        MathFunction::Erfc => "erfc",
        MathFunction::Tgamma => "tgamma",
        MathFunction::Lgamma => "lgamma",
        MathFunction::Floor => "floor",
        MathFunction::Ceil => "ceil",
        // The rounding mode is always to nearest, ties to even.
        MathFunction::Round => "rint",
        MathFunction::Trunc => "trunc",
        MathFunction::Abs => "fabs",
        MathFunction::Copysign => "copysign",
        MathFunction::Fmod => "fmod",
        MathFunction::Remainder => "remainder",
        MathFunction::Nextafter => "nextafter",
        MathFunction::Fma => "fma",
        MathFunction::Sign
        | MathFunction::Fmin
        | MathFunction::Fmax
        | MathFunction::Heaviside
        | MathFunction::CeilDivide
        | MathFunction::IsNan
        | MathFunction::IsInf
        | MathFunction::IsFinite
        | MathFunction::SignBit
        | MathFunction::MakeComplex
        | MathFunction::Real
        | MathFunction::Imag
        | MathFunction::Conj
        | MathFunction::Angle => return None,
    })
}

/// NaN if an operand is, and -0 below 0.
const MINIMUM: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    if (a == b) {
        return copysign@((REAL)1, a) < 0 ? a : b;
    }
    return a < b || a != a ? a : b;
}
";

const MAXIMUM: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    if (a == b) {
        return copysign@((REAL)1, a) < 0 ? b : a;
    }
    return a > b || a != a ? a : b;
}
";

/// Without NaN and signs of zero.
const FAST_MINIMUM: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    return a < b ? a : b;
}
";

/// As `FAST_MINIMUM`.
const FAST_MAXIMUM: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    return a > b ? a : b;
}
";

const FMIN: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    return a != a ? b : b != b ? a : sdfg_min_TYPE(a, b);
}
";

const FMAX: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    return a != a ? b : b != b ? a : sdfg_max_TYPE(a, b);
}
";

const SIGN: &str = "\
static inline REAL NAME(REAL a) {
    return a > 0 ? (REAL)1 : a < 0 ? (REAL)-1 : a;
}
";

const HEAVISIDE: &str = "\
static inline REAL NAME(REAL a, REAL at_zero) {
    return a < 0 ? (REAL)0 : a > 0 ? (REAL)1 : a == 0 ? at_zero : a;
}
";

const IS_NAN: &str = "\
static inline bool NAME(REAL a) {
    return a != a;
}
";

const IS_INF: &str = "\
static inline bool NAME(REAL a) {
    return a == a && a - a != 0;
}
";

const IS_FINITE: &str = "\
static inline bool NAME(REAL a) {
    return a - a == 0;
}
";

const SIGN_BIT: &str = "\
static inline bool NAME(REAL a) {
    return copysign@((REAL)1, a) < 0;
}
";

/// Python's `divmod`, step by step as `sdfg::tasklet::arith` defines it.
const FLOOR_DIVIDE: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    const REAL r = fmod@(a, b), plain = a / b;
    REAL q = (a - r) / b, down;
    if (b == 0) {
        return plain;
    }
    if (r != 0 && (b < 0) != (r < 0)) {
        q -= 1;
    }
    if (q == 0) {
        return copysign@((REAL)0, plain);
    }
    down = floor@(q);
    return q - down > (REAL)0.5 ? down + 1 : down;
}
";

const FLOOR_MODULO: &str = "\
static inline REAL NAME(REAL a, REAL b) {
    const REAL r = fmod@(a, b);
    if (b == 0) {
        return r;
    }
    if (r == 0) {
        return copysign@((REAL)0, b);
    }
    return (b < 0) != (r < 0) ? r + b : r;
}
";

/// The bits of a float order its magnitude.
const HALF_NEIGHBOUR: &str = "\
static inline sdfg_f16 sdfg_nextafter_f16(sdfg_f16 from, float a, float b) {
    if (a != a || b != b) {
        return (sdfg_f16)0x7e00u;
    }
    if (a == b) {
        return sdfg_f16_of_f32(b);
    }
    if (a == 0) {
        return (sdfg_f16)(a < b ? 0x0001u : 0x8001u);
    }
    return (sdfg_f16)((a < b) != (a < 0) ? from + 1u : from - 1u);
}
";
