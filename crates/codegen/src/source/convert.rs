//! Conversions between scalar types, as `sdfg::tasklet::arith::cast` defines them.

use sdfg::dtype::{ScalarKind, ScalarType};

use super::error::Print;
use super::program::Program;
use super::text::{Code, Precedence};
use super::types::value_type;

impl Program<'_> {
    /// A value of type `from` as type `to`.
    pub(super) fn cast(&self, from: ScalarType, value: &Code, to: ScalarType) -> Print<Code> {
        if from == to {
            return Ok(value.clone());
        }
        if to == ScalarType::Bool {
            return Ok(self.truth(from, value));
        }
        if to.is_complex() {
            if from.is_complex() {
                return Ok(Code::call(&self.complex_conversion(from, to), &[value]));
            }
            let re = self.cast(from, value, to.component())?;
            let zero = self.constant(sdfg::value::Value::zero(to.component()));
            return Ok(self.pair(to, &re, &zero));
        }
        if from.is_complex() {
            let re = Code::atom(format!("{}.re", value.at_least(Precedence::Atom)));
            return self.cast(from.component(), &re, to);
        }
        if from == ScalarType::F16 {
            return self.cast(ScalarType::F32, &self.widened(value), to);
        }
        if to == ScalarType::F16 {
            return Ok(match from {
                ScalarType::F32 => self.halved(value),
                ScalarType::F64 => Code::call(&self.half_of_double(), &[value]),
                // Integers beyond 2^53 are far beyond the range of `f16`, so the step over `f64` rounds only once.
                ScalarType::Bool
                | ScalarType::I8
                | ScalarType::I16
                | ScalarType::I32
                | ScalarType::I64
                | ScalarType::U8
                | ScalarType::U16
                | ScalarType::U32
                | ScalarType::U64
                | ScalarType::F16
                | ScalarType::Complex64
                | ScalarType::Complex128 => {
                    Code::call(&self.half_of_double(), &[&Code::cast("double", value)])
                }
            });
        }
        if from.is_float() && !to.is_float() {
            let wide = if from == ScalarType::F32 { Code::cast("double", value) } else { value.clone() };
            return Ok(Code::call(&self.float_to_int(to), &[&wide]));
        }
        Ok(Code::cast(value_type(to), value))
    }

    /// The helper that rounds an `f64` towards zero; beyond the range the nearest end of it, and 0 for NaN.
    fn float_to_int(&self, to: ScalarType) -> String {
        let (name, t) = (format!("sdfg_{}_of_f64", to.name()), value_type(to));
        let bits = 8 * to.size() as i32;
        let (least, most, low, above) = if to.kind() == ScalarKind::Signed {
            (
                format!("INT{bits}_MIN"),
                format!("INT{bits}_MAX"),
                -(2_f64.powi(bits - 1)),
                2_f64.powi(bits - 1),
            )
        } else {
            ("0".to_owned(), format!("UINT{bits}_MAX"), 0.0, 2_f64.powi(bits))
        };
        self.helper(&name, || {
            format!(
                "static inline {t} {name}(double x) {{\n    return x >= {above:?} ? {most} : x > {low:?} ? ({t})x : x <= {low:?} ? {least} : 0;\n}}\n"
            )
        })
    }

    /// An `f16` as `f32`.
    pub(super) fn widened(&self, value: &Code) -> Code {
        self.scalar_type(ScalarType::F16);
        self.include("string.h");
        Code::call(&self.helper("sdfg_f32_of_f16", || WIDEN.to_owned()), &[value])
    }

    /// An `f32` rounded to `f16`.
    pub(super) fn halved(&self, value: &Code) -> Code {
        Code::call(&self.half_of_float(), &[value])
    }

    fn half_of_float(&self) -> String {
        self.scalar_type(ScalarType::F16);
        self.include("string.h");
        self.helper("sdfg_f16_of_f32", || HALVE.to_owned())
    }

    fn half_of_double(&self) -> String {
        self.half_of_float();
        self.include("math.h");
        self.helper("sdfg_f16_of_f64", || HALVE_DOUBLE.to_owned())
    }

    fn complex_conversion(&self, from: ScalarType, to: ScalarType) -> String {
        let (old, new) = (self.scalar_type(from), self.scalar_type(to));
        let real = value_type(to.component());
        let name = format!("{new}_of_{}", from.name());
        self.helper(&name, || {
            format!(
                "static inline {new} {name}({old} z) {{\n    {new} value;\n    value.re = ({real})z.re;\n    value.im = ({real})z.im;\n    return value;\n}}\n"
            )
        })
    }
}

const WIDEN: &str = "\
static inline float sdfg_f32_of_f16(sdfg_f16 from) {
    const uint32_t sign = ((uint32_t)from & 0x8000u) << 16, magnitude = (uint32_t)from & 0x7fffu;
    uint32_t bits;
    float value;
    if (magnitude >= 0x7c00u) {
        bits = 0x7f800000u | (magnitude & 0x3ffu) << 13;
    } else if (magnitude >= 0x400u) {
        bits = (magnitude << 13) + 0x38000000u;
    } else {
        value = (float)magnitude * 5.9604644775390625e-8f;
        memcpy(&bits, &value, sizeof bits);
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}
";

const HALVE: &str = "\
static inline sdfg_f16 sdfg_f16_of_f32(float value) {
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return (sdfg_f16)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    }
    if (bits >= 0x477ff000u) {
        return (sdfg_f16)(sign | 0x7c00u);
    }
    if (bits >= 0x38800000u) {
        return (sdfg_f16)(sign | (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13);
    }
    /* The last bit of 0.5 is that of the smallest numbers of 16 bits. */
    memcpy(&value, &bits, sizeof value);
    value += 0.5f;
    memcpy(&bits, &value, sizeof bits);
    return (sdfg_f16)(sign | (bits - 0x3f000000u));
}
";

/// By way of the `float` towards zero whose last bit says whether it lost something: rounding that once more gives what one rounding
/// would have.
const HALVE_DOUBLE: &str = "\
static inline sdfg_f16 sdfg_f16_of_f64(double value) {
    float nearest = (float)value;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    if ((double)nearest < value || (double)nearest > value) {
        if ((bits & 1u) == 0) {
            bits += fabs((double)nearest) < fabs(value) ? 1u : UINT32_MAX;
        }
        memcpy(&nearest, &bits, sizeof nearest);
    }
    return sdfg_f16_of_f32(nearest);
}
";
