//! Mathematical functions of floats: exact functions as instructions, all others from the platform's C
//! library.

use inkwell::FloatPredicate;
use inkwell::values::FloatValue;
use sdfg::dtype::ScalarType;
use sdfg::tasklet::MathFunction;

use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;
use crate::llvm::value::Lane;

/// Implementation of a function.
enum Means {
    /// An intrinsic that every processor computes exactly, without a call.
    Intrinsic(&'static str),
    /// A function of the C library, by its name for `double`.
    Library(&'static str),
    /// An intrinsic of two values, in which a NaN loses.
    Number(&'static str),
    /// Instructions of our own.
    Own,
}

impl<'ctx> Function<'_, 'ctx> {
    /// A function of floats of type `ty`.
    pub(super) fn float_function(
        &self,
        function: MathFunction,
        ty: ScalarType,
        arguments: &[Lane<'ctx>],
    ) -> Emit<Lane<'ctx>> {
        let mut values =
            arguments.iter().map(|lane| self.emitter.as_float(*lane)).collect::<Emit<Vec<_>>>()?;
        values.truncate(function.arity());
        if ty == ScalarType::F16 && function != MathFunction::Nextafter {
            let wide = self.emitter.float_type(ScalarType::F32)?;
            let wide = values
                .iter()
                .map(|value| Ok(Lane::Float(self.builder.build_float_ext(*value, wide, "")?)))
                .collect::<Emit<Vec<_>>>()?;
            return Ok(match self.float_function(function, ScalarType::F32, &wide)? {
                Lane::Float(value) => {
                    Lane::Float(self.builder.build_float_trunc(value, self.emitter.float_type(ty)?, "")?)
                }
                lane @ (Lane::Int(_) | Lane::Complex(..)) => lane,
            });
        }
        match means(function) {
            Means::Intrinsic(name) => Ok(Lane::Float(self.float_intrinsic(name, &values)?)),
            Means::Library(_) if ty == ScalarType::F16 => self.half_neighbour(&values).map(Lane::Float),
            Means::Library(name) => Ok(Lane::Float(self.library_call(name, ty, &values)?)),
            Means::Number(name) => self.number(name, &values).map(Lane::Float),
            Means::Own => self.own_function(function, &values),
        }
    }

    /// The intrinsic `name`, which orders zeros and is NaN if an operand is, but of a number and a NaN the number. LLVM's own such
    /// intrinsics give any of two zeros.
    fn number(&self, name: &str, values: &[FloatValue<'ctx>]) -> Emit<FloatValue<'ctx>> {
        let [a, b] = values else { return Err(self.emitter.defect("an extremum is of two values")) };
        let extremum = self.float_intrinsic(name, values)?;
        let a_nan = self.compare_floats(FloatPredicate::UNO, *a, *a)?;
        let b_nan = self.compare_floats(FloatPredicate::UNO, *b, *b)?;
        self.select_float(a_nan, *b, self.select_float(b_nan, *a, extremum)?)
    }

    fn own_function(&self, function: MathFunction, values: &[FloatValue<'ctx>]) -> Emit<Lane<'ctx>> {
        let a = *values.first().ok_or_else(|| self.emitter.defect("a function has arguments"))?;
        let ty = a.get_type();
        let (zero, one) = (ty.const_zero(), ty.const_float(1.0));
        let infinite = |operation| -> Emit<_> {
            let magnitude = self.float_intrinsic("llvm.fabs", &[a])?;
            let infinity = ty.const_float(f64::INFINITY);
            Ok(Lane::Int(self.compare_floats(operation, magnitude, infinity)?))
        };
        match function {
            MathFunction::Sign => {
                let positive = self.compare_floats(FloatPredicate::OGT, a, zero)?;
                let negative = self.compare_floats(FloatPredicate::OLT, a, zero)?;
                let below = self.select_float(negative, ty.const_float(-1.0), a)?;
                Ok(Lane::Float(self.select_float(positive, one, below)?))
            }
            MathFunction::Heaviside => {
                let at_zero = values.get(1).copied().unwrap_or(a);
                let is_zero = self.compare_floats(FloatPredicate::OEQ, a, zero)?;
                let positive = self.compare_floats(FloatPredicate::OGT, a, zero)?;
                let negative = self.compare_floats(FloatPredicate::OLT, a, zero)?;
                let otherwise = self.select_float(is_zero, at_zero, a)?;
                let above = self.select_float(positive, one, otherwise)?;
                Ok(Lane::Float(self.select_float(negative, zero, above)?))
            }
            MathFunction::IsNan => Ok(Lane::Int(self.compare_floats(FloatPredicate::UNO, a, a)?)),
            MathFunction::IsInf => infinite(FloatPredicate::OEQ),
            MathFunction::IsFinite => infinite(FloatPredicate::OLT),
            MathFunction::SignBit => {
                let one = self.float_intrinsic("llvm.copysign", &[one, a])?;
                Ok(Lane::Int(self.compare_floats(FloatPredicate::OLT, one, zero)?))
            }
            MathFunction::Real | MathFunction::Conj => Ok(Lane::Float(a)),
            MathFunction::Sqrt
            | MathFunction::Cbrt
            | MathFunction::Exp
            | MathFunction::Exp2
            | MathFunction::Expm1
            | MathFunction::Log
            | MathFunction::Log2
            | MathFunction::Log10
            | MathFunction::Log1p
            | MathFunction::Sin
            | MathFunction::Cos
            | MathFunction::Tan
            | MathFunction::Asin
            | MathFunction::Acos
            | MathFunction::Atan
            | MathFunction::Atan2
            | MathFunction::Sinh
            | MathFunction::Cosh
            | MathFunction::Tanh
            | MathFunction::Asinh
            | MathFunction::Acosh
            | MathFunction::Atanh
            | MathFunction::Hypot
            | MathFunction::Erf
            | MathFunction::Erfc
            | MathFunction::Tgamma
            | MathFunction::Lgamma
            | MathFunction::Floor
            | MathFunction::Ceil
            | MathFunction::Round
            | MathFunction::Trunc
            | MathFunction::Abs
            | MathFunction::Copysign
            | MathFunction::Fmod
            | MathFunction::Remainder
            | MathFunction::Nextafter
            | MathFunction::Fmin
            | MathFunction::Fmax
            | MathFunction::Fma
            | MathFunction::CeilDivide
            | MathFunction::MakeComplex
            | MathFunction::Imag
            | MathFunction::Angle => {
                Err(self.emitter.defect(format!("`{}` is no function of floats", function.name())))
            }
        }
    }

    /// The `f16` after the first argument in the direction of the second: the bits of a float order its magnitude.
    fn half_neighbour(&self, values: &[FloatValue<'ctx>]) -> Emit<FloatValue<'ctx>> {
        let [from, to] = values else { return Err(self.emitter.defect("nextafter has two arguments")) };
        let (from, to) = (*from, *to);
        let (int, float) = (self.emitter.context.i16_type(), from.get_type());
        let zero = float.const_zero();
        let bits = self.builder.build_bit_cast(from, int, "")?.into_int_value();
        let up = self.compare_floats(FloatPredicate::OLT, from, to)?;
        let negative = self.compare_floats(FloatPredicate::OLT, from, zero)?;
        let grows = self.builder.build_xor(up, negative, "")?;
        let step = self.select_int(grows, int.const_int(1, false), int.const_all_ones())?;
        let moved = self.builder.build_int_add(bits, step, "")?;
        let least = self.select_int(up, int.const_int(1, false), int.const_int(0x8001, false))?;
        let is_zero = self.compare_floats(FloatPredicate::OEQ, from, zero)?;
        let moved = self.select_int(is_zero, least, moved)?;
        let moved = self.builder.build_bit_cast(moved, float, "")?.into_float_value();
        let equal = self.compare_floats(FloatPredicate::OEQ, from, to)?;
        let result = self.select_float(equal, to, moved)?;
        let unordered = self.compare_floats(FloatPredicate::UNO, from, to)?;
        self.select_float(unordered, float.const_float(f64::NAN), result)
    }
}

/// Implementation of each function of floats. Functions of other types are `Own` and never reach this table.
fn means(function: MathFunction) -> Means {
    match function {
        MathFunction::Sqrt => Means::Intrinsic("llvm.sqrt"),
        MathFunction::Floor => Means::Intrinsic("llvm.floor"),
        MathFunction::Ceil => Means::Intrinsic("llvm.ceil"),
        // The rounding mode is always to nearest, ties to even.
        MathFunction::Round => Means::Intrinsic("llvm.rint"),
        MathFunction::Trunc => Means::Intrinsic("llvm.trunc"),
        MathFunction::Abs => Means::Intrinsic("llvm.fabs"),
        MathFunction::Copysign => Means::Intrinsic("llvm.copysign"),
        MathFunction::Fma => Means::Intrinsic("llvm.fma"),
        MathFunction::Fmin => Means::Number("llvm.minimum"),
        MathFunction::Fmax => Means::Number("llvm.maximum"),
        MathFunction::Cbrt => Means::Library("cbrt"),
        MathFunction::Exp => Means::Library("exp"),
        MathFunction::Exp2 => Means::Library("exp2"),
        MathFunction::Expm1 => Means::Library("expm1"),
        MathFunction::Log => Means::Library("log"),
        MathFunction::Log2 => Means::Library("log2"),
        MathFunction::Log10 => Means::Library("log10"),
        MathFunction::Log1p => Means::Library("log1p"),
        MathFunction::Sin => Means::Library("sin"),
        MathFunction::Cos => Means::Library("cos"),
        MathFunction::Tan => Means::Library("tan"),
        MathFunction::Asin => Means::Library("asin"),
        MathFunction::Acos => Means::Library("acos"),
        MathFunction::Atan => Means::Library("atan"),
        MathFunction::Atan2 => Means::Library("atan2"),
        MathFunction::Sinh => Means::Library("sinh"),
        MathFunction::Cosh => Means::Library("cosh"),
        MathFunction::Tanh => Means::Library("tanh"),
        MathFunction::Asinh => Means::Library("asinh"),
        MathFunction::Acosh => Means::Library("acosh"),
        MathFunction::Atanh => Means::Library("atanh"),
        MathFunction::Hypot => Means::Library("hypot"),
        MathFunction::Erf => Means::Library("erf"),
        MathFunction::Erfc => Means::Library("erfc"),
        MathFunction::Tgamma => Means::Library("tgamma"),
        MathFunction::Lgamma => Means::Library("lgamma"),
        MathFunction::Fmod => Means::Library("fmod"),
        MathFunction::Remainder => Means::Library("remainder"),
        MathFunction::Nextafter => Means::Library("nextafter"),
        MathFunction::Sign
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
        | MathFunction::Angle => Means::Own,
    }
}
