//! Tasklet arithmetic as expressions, exactly as `sdfg::tasklet::arith` defines it.
//!
//! Where an operator of C means the same, it is written; elsewhere a helper is called. Integers wrap, which those of C do only
//! without a sign.

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::syntax::CompareOp;
use sdfg::tasklet::{BinaryOperation, UnaryOperation};
use sdfg::value::Value;

use super::error::{Print, defect};
use super::program::Program;
use super::text::{Code, Precedence};
use super::types::value_type;

impl Program<'_> {
    /// A constant.
    pub(super) fn constant(&self, value: Value) -> Code {
        match value {
            Value::Bool(value) => Code::atom(if value { "true" } else { "false" }),
            Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) => {
                Code::int(value.to_i64().unwrap_or(0))
            }
            Value::U8(value) => Code::atom(format!("{value}u")),
            Value::U16(value) => Code::atom(format!("{value}u")),
            Value::U32(value) => Code::atom(format!("{value}u")),
            Value::U64(value) => Code::atom(format!("UINT64_C({value})")),
            Value::F16(value) => {
                self.scalar_type(ScalarType::F16);
                Code::new(format!("(sdfg_f16)0x{:04x}u", value.to_bits()), Precedence::Prefix)
            }
            Value::F32(value) => {
                self.float_constant(f64::from(value), format!("{value:?}f"), ScalarType::F32)
            }
            Value::F64(value) => self.float_constant(value, format!("{value:?}"), ScalarType::F64),
            Value::Complex64(value) => {
                let [re, im] = [value.re, value.im].map(|part| self.constant(Value::F32(part)));
                self.pair(ScalarType::Complex64, &re, &im)
            }
            Value::Complex128(value) => {
                let [re, im] = [value.re, value.im].map(|part| self.constant(Value::F64(part)));
                self.pair(ScalarType::Complex128, &re, &im)
            }
        }
    }

    fn float_constant(&self, value: f64, text: String, ty: ScalarType) -> Code {
        if value.is_finite() {
            let precedence = if value.is_sign_negative() { Precedence::Prefix } else { Precedence::Atom };
            return Code::new(text, precedence);
        }
        let (float, bits) = match ty {
            ScalarType::F32 => ("float", format!("0x{:08x}u", (value as f32).to_bits())),
            _ => ("double", format!("UINT64_C(0x{:016x})", value.to_bits())),
        };
        Code::call(&self.of_bits(ty, float), &[&Code::atom(bits)])
    }

    /// The helper that makes a float of its bits.
    fn of_bits(&self, ty: ScalarType, float: &str) -> String {
        self.include("string.h");
        let name = format!("sdfg_{}_of_bits", ty.name());
        let bits = if ty == ScalarType::F32 { "uint32_t" } else { "uint64_t" };
        self.helper(&name, || {
            format!(
                "static inline {float} {name}({bits} bits) {{\n    {float} value;\n    memcpy(&value, &bits, sizeof value);\n    return value;\n}}\n"
            )
        })
    }

    /// A complex number of its parts.
    pub(super) fn pair(&self, ty: ScalarType, re: &Code, im: &Code) -> Code {
        let complex = self.scalar_type(ty);
        let real = value_type(ty.component());
        let name = format!("{complex}_of");
        let name = self.helper(&name, || {
            format!(
                "static inline {complex} {name}({real} re, {real} im) {{\n    {complex} value;\n    value.re = re;\n    value.im = im;\n    return value;\n}}\n"
            )
        });
        Code::call(&name, &[re, im])
    }

    /// `op value`.
    pub(super) fn unary(&self, op: UnaryOperation, ty: ScalarType, value: &Code) -> Print<Code> {
        Ok(match (op, ty.kind()) {
            (UnaryOperation::Not | UnaryOperation::Invert, ScalarKind::Bool) => Code::prefix("!", value),
            (UnaryOperation::Invert | UnaryOperation::Not, ScalarKind::Signed | ScalarKind::Unsigned) => {
                self.narrowed(ty, Code::prefix("~", value))
            }
            (UnaryOperation::Negate, ScalarKind::Signed) => {
                self.binary(BinaryOperation::Subtract, ty, &Code::int(0), value)?
            }
            (UnaryOperation::Negate, ScalarKind::Unsigned) => {
                self.binary(BinaryOperation::Subtract, ty, &Code::atom("0u"), value)?
            }
            (UnaryOperation::Negate, ScalarKind::Float) if ty == ScalarType::F16 => {
                let sign = Code::infix("^", Precedence::BitXor, value, &Code::atom("0x8000u"));
                Code::cast("sdfg_f16", &sign)
            }
            (UnaryOperation::Negate, ScalarKind::Float) => Code::prefix("-", value),
            (UnaryOperation::Negate, ScalarKind::Complex) => {
                Code::call(&self.complex_helper("neg", ty), &[value])
            }
            (UnaryOperation::Negate, ScalarKind::Bool)
            | (UnaryOperation::Not | UnaryOperation::Invert, ScalarKind::Float | ScalarKind::Complex) => {
                return Err(defect(format!("an operation that {} does not have", ty.name())));
            }
        })
    }

    /// `condition ? then : otherwise` of values of a type; of narrow integers C makes an `int`.
    pub(super) fn choice(&self, ty: ScalarType, condition: &Code, then: &Code, otherwise: &Code) -> Code {
        let chosen = Code::choice(condition, then, otherwise);
        if ty == ScalarType::Bool { chosen } else { self.narrowed(ty, chosen) }
    }

    /// The result of arithmetic that C does in `int`, as a narrow type.
    fn narrowed(&self, ty: ScalarType, code: Code) -> Code {
        if ty.size() < 4 { Code::cast(value_type(ty), &code) } else { code }
    }

    /// `a op b` of two operands of type `ty`, except that `b` of a shift is `i64`.
    pub(super) fn binary(&self, op: BinaryOperation, ty: ScalarType, a: &Code, b: &Code) -> Print<Code> {
        match ty.kind() {
            ScalarKind::Bool => self.bool_binary(op, a, b),
            ScalarKind::Signed | ScalarKind::Unsigned => self.integer_binary(op, ty, a, b),
            ScalarKind::Float if ty == ScalarType::F16 => self.half_binary(op, a, b),
            ScalarKind::Float => self.float_binary(op, ty, a, b),
            ScalarKind::Complex => self.complex_binary(op, ty, a, b),
        }
    }

    fn bool_binary(&self, op: BinaryOperation, a: &Code, b: &Code) -> Print<Code> {
        let (text, precedence) = match op {
            // The smaller of two is true if both are.
            BinaryOperation::BitAnd | BinaryOperation::Minimum => ("&&", Precedence::And),
            BinaryOperation::BitOr | BinaryOperation::Maximum => ("||", Precedence::Or),
            BinaryOperation::BitXor => ("!=", Precedence::Equality),
            BinaryOperation::Add
            | BinaryOperation::Subtract
            | BinaryOperation::Multiply
            | BinaryOperation::Divide
            | BinaryOperation::FloorDivide
            | BinaryOperation::FloorModulo
            | BinaryOperation::TruncateDivide
            | BinaryOperation::TruncateModulo
            | BinaryOperation::Power
            | BinaryOperation::ShiftLeft
            | BinaryOperation::ShiftRight => {
                return Err(defect("`bool` has no arithmetic"));
            }
        };
        Ok(Code::infix(text, precedence, a, b))
    }

    fn integer_binary(&self, op: BinaryOperation, ty: ScalarType, a: &Code, b: &Code) -> Print<Code> {
        let (text, precedence) = match op {
            BinaryOperation::Add => ("+", Precedence::Sum),
            BinaryOperation::Subtract => ("-", Precedence::Sum),
            BinaryOperation::Multiply => ("*", Precedence::Product),
            BinaryOperation::BitAnd => ("&", Precedence::BitAnd),
            BinaryOperation::BitOr => ("|", Precedence::BitOr),
            BinaryOperation::BitXor => ("^", Precedence::BitXor),
            BinaryOperation::FloorDivide
            | BinaryOperation::FloorModulo
            | BinaryOperation::TruncateDivide
            | BinaryOperation::TruncateModulo
            | BinaryOperation::Power
            | BinaryOperation::ShiftLeft
            | BinaryOperation::ShiftRight
            | BinaryOperation::Minimum
            | BinaryOperation::Maximum => return Ok(Code::call(&self.integer_helper(op, ty)?, &[a, b])),
            BinaryOperation::Divide => return Err(defect("true division is of floats")),
        };
        let is_bitwise = precedence != Precedence::Sum && precedence != Precedence::Product;
        // Products of 16 bits without a sign leave `int`, too.
        let wraps_itself = is_bitwise
            || matches!(
                ty,
                ScalarType::U32 | ScalarType::U64 | ScalarType::I8 | ScalarType::U8 | ScalarType::I16
            )
            || ty == ScalarType::U16 && precedence == Precedence::Sum;
        if wraps_itself {
            return Ok(self.narrowed(ty, Code::infix(text, precedence, a, b)));
        }
        Ok(Code::call(&self.wrapping_helper(op, text, ty), &[a, b]))
    }

    /// The helper that adds, subtracts or multiplies where the operator of C may overflow.
    fn wrapping_helper(&self, op: BinaryOperation, text: &str, ty: ScalarType) -> String {
        let word = match op {
            BinaryOperation::Add => "add",
            BinaryOperation::Subtract => "sub",
            _ => "mul",
        };
        let (name, signed) = (format!("sdfg_{word}_{}", ty.name()), value_type(ty));
        let unsigned = if ty.size() == 8 { "uint64_t" } else { "uint32_t" };
        self.helper(&name, || {
            format!(
                "static inline {signed} {name}({signed} a, {signed} b) {{\n    return ({signed})(({unsigned})a {text} ({unsigned})b);\n}}\n"
            )
        })
    }

    /// The helper of an operation of integers that C does not have.
    pub(super) fn integer_helper(&self, op: BinaryOperation, ty: ScalarType) -> Print<String> {
        let word = match op {
            BinaryOperation::FloorDivide => "floor_div",
            BinaryOperation::FloorModulo => "floor_mod",
            BinaryOperation::TruncateDivide => "div",
            BinaryOperation::TruncateModulo => "mod",
            BinaryOperation::Power => "pow",
            BinaryOperation::ShiftLeft => "shl",
            BinaryOperation::ShiftRight => "shr",
            BinaryOperation::Minimum => "min",
            BinaryOperation::Maximum => "max",
            BinaryOperation::Add
            | BinaryOperation::Subtract
            | BinaryOperation::Multiply
            | BinaryOperation::Divide
            | BinaryOperation::BitAnd
            | BinaryOperation::BitOr
            | BinaryOperation::BitXor => return Err(defect("C has this operation")),
        };
        let name = format!("sdfg_{word}_{}", ty.name());
        Ok(self.helper(&name, || self.integer_helper_text(word, &name, ty)))
    }

    fn integer_helper_text(&self, word: &str, name: &str, ty: ScalarType) -> String {
        let t = value_type(ty);
        let is_signed = ty.kind() == ScalarKind::Signed;
        let bits = 8 * ty.size();
        let unsigned = if ty.size() == 8 { "uint64_t" } else { "uint32_t" };
        // The least integer by -1, and anything by 0, is divided by 1 instead: that gives what both are defined to give.
        let divisor = if is_signed {
            format!("const {t} d = b == 0 || (b == -1 && a == INT{bits}_MIN) ? 1 : b;")
        } else {
            format!("const {t} d = b == 0 ? 1 : b;")
        };
        let body = match word {
            "div" => format!("{divisor}\n    return b == 0 ? 0 : ({t})(a / d);"),
            "mod" => format!("{divisor}\n    return ({t})(a % d);"),
            "floor_div" if is_signed => format!(
                "{divisor}\n    const {t} q = ({t})(a / d), r = ({t})(a % d);\n    return b == 0 ? 0 : ({t})(q - ((r != 0) & ((r < 0) != (b < 0))));"
            ),
            "floor_div" => format!("{divisor}\n    return b == 0 ? 0 : ({t})(a / d);"),
            // Without branches: gcc takes none of them out of loops over the indices that these are in.
            "floor_mod" if is_signed => format!(
                "{divisor}\n    const {t} r = ({t})(a % d);\n    return ({t})(r + b * ((r != 0) & ((r < 0) != (b < 0))));"
            ),
            "floor_mod" => format!("{divisor}\n    return ({t})(a % d);"),
            "min" => "return a < b ? a : b;".to_owned(),
            "max" => "return a > b ? a : b;".to_owned(),
            "shl" => format!("return b < 0 || b >= {bits} ? 0 : ({t})(({unsigned})a << b);"),
            "shr" if is_signed => format!(
                "const int64_t n = b < 0 || b >= {bits} ? {} : b;\n    return ({t})(a < 0 ? ~(~a >> n) : a >> n);",
                bits - 1
            ),
            "shr" => format!("return b < 0 || b >= {bits} ? 0 : ({t})(a >> b);"),
            _ => power_body(t, unsigned, is_signed),
        };
        let amount = if matches!(word, "shl" | "shr") { "int64_t" } else { t };
        format!("static inline {t} {name}({t} a, {amount} b) {{\n    {body}\n}}\n")
    }

    /// `base ** exponent` as the chain of products that `sdfg::tasklet::arith::power` defines.
    pub(super) fn constant_power(&self, ty: ScalarType, base: &Code, exponent: i32) -> Print<Code> {
        match (exponent, base.precedence) {
            (1, _) => return Ok(base.clone()),
            (2, Precedence::Atom) => return self.binary(BinaryOperation::Multiply, ty, base, base),
            _ => {}
        }
        let sign = if exponent < 0 { "minus_" } else { "" };
        let name = format!("sdfg_pow_{sign}{}_{}", exponent.unsigned_abs(), ty.name());
        let t = self.scalar_type(ty);
        let body = self.power_chain(ty, exponent)?;
        let name = self.helper(&name, || format!("static inline {t} {name}({t} x) {{\n{body}}}\n"));
        Ok(Code::call(&name, &[base]))
    }

    /// The statements of a function that raises `x` to a constant power.
    fn power_chain(&self, ty: ScalarType, exponent: i32) -> Print<String> {
        use std::fmt::Write;
        let t = value_type(ty);
        let one = self.cast(ScalarType::I64, &Code::int(1), ty)?;
        let mut text = String::new();
        if exponent < 0 && ty.is_integer() {
            let power = if ty.kind() == ScalarKind::Signed {
                let helper = self.integer_helper(BinaryOperation::Power, ty)?;
                Code::call(&helper, &[&Code::atom("x"), &Code::int(i64::from(exponent))])
            } else {
                // Of unsigned numbers only 1 has a reciprocal with an integer part.
                Code::atom("x == 1u ? 1u : 0u")
            };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "    return {};", power.text);
            return Ok(text);
        }
        let (mut bits, mut square, mut product) = (exponent.unsigned_abs(), Code::atom("x"), None::<Code>);
        let mut number = 0;
        let mut step = |text: &mut String, code: Code| {
            number += 1;
            let _ = writeln!(text, "    const {t} t{number} = {};", code.text);
            Code::atom(format!("t{number}"))
        };
        while bits != 0 {
            if bits & 1 == 1 {
                product = Some(match product {
                    None => square.clone(),
                    Some(product) => {
                        let next = self.binary(BinaryOperation::Multiply, ty, &product, &square)?;
                        step(&mut text, next)
                    }
                });
            }
            bits >>= 1;
            if bits != 0 {
                let next = self.binary(BinaryOperation::Multiply, ty, &square, &square)?;
                square = step(&mut text, next);
            }
        }
        let product = product.unwrap_or_else(|| one.clone());
        let result =
            if exponent >= 0 { product } else { self.binary(BinaryOperation::Divide, ty, &one, &product)? };
        if exponent == 0 {
            let _ = writeln!(text, "    (void)x;");
        }
        let _ = writeln!(text, "    return {};", result.text);
        Ok(text)
    }

    /// `a op b` of two operands of type `ty`.
    pub(super) fn compare(&self, op: CompareOp, ty: ScalarType, a: &Code, b: &Code) -> Code {
        let (text, precedence) = match op {
            CompareOp::Equal => ("==", Precedence::Equality),
            CompareOp::NotEqual => ("!=", Precedence::Equality),
            CompareOp::Less => ("<", Precedence::Relation),
            CompareOp::LessEqual => ("<=", Precedence::Relation),
            CompareOp::Greater => (">", Precedence::Relation),
            CompareOp::GreaterEqual => (">=", Precedence::Relation),
        };
        match ty.kind() {
            ScalarKind::Complex => {
                let equal = Code::call(&self.complex_helper("eq", ty), &[a, b]);
                match op {
                    // Complex numbers have no order: `<=` holds of equal ones only.
                    CompareOp::Equal | CompareOp::LessEqual | CompareOp::GreaterEqual => equal,
                    CompareOp::NotEqual => Code::prefix("!", &equal),
                    CompareOp::Less | CompareOp::Greater => Code::atom("false"),
                }
            }
            ScalarKind::Float if ty == ScalarType::F16 => {
                Code::infix(text, precedence, &self.widened(a), &self.widened(b))
            }
            ScalarKind::Bool | ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float => {
                Code::infix(text, precedence, a, b)
            }
        }
    }

    /// Whether a value is not zero; NaN is not.
    pub(super) fn truth(&self, ty: ScalarType, value: &Code) -> Code {
        if ty == ScalarType::Bool {
            return value.clone();
        }
        self.compare(CompareOp::NotEqual, ty, value, &self.constant(Value::zero(ty)))
    }
}

/// The statements of a function that raises integers to a power: by squaring, and of negative exponents the integer part.
fn power_body(t: &str, unsigned: &str, is_signed: bool) -> String {
    let negative = if is_signed {
        "if (b < 0) {\n        if (a == 1) {\n            return 1;\n        }\n        if (a == -1) {\n            return (b & 1) == 0 ? 1 : -1;\n        }\n        return 0;\n    }\n    "
    } else {
        ""
    };
    format!(
        "{negative}{unsigned} product = 1, square = ({unsigned})a, bits = ({unsigned})b;\n    while (bits != 0) {{\n        if ((bits & 1) != 0) {{\n            product *= square;\n        }}\n        square *= square;\n        bits >>= 1;\n    }}\n    return ({t})product;"
    )
}
