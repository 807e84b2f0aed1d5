//! Complex arithmetic by the formulas of `sdfg::tasklet::arith`.

use inkwell::FloatPredicate;
use inkwell::values::FloatValue;
use sdfg::dtype::ScalarType;
use sdfg::tasklet::{BinaryOperation, MathFunction};

use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;
use crate::llvm::value::Lane;

/// Real and imaginary part.
type Parts<'ctx> = (FloatValue<'ctx>, FloatValue<'ctx>);

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn complex_binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: Parts<'ctx>,
        b: Parts<'ctx>,
    ) -> Emit<Parts<'ctx>> {
        match op {
            BinaryOperation::Add => Ok((self.float_add(a.0, b.0)?, self.float_add(a.1, b.1)?)),
            BinaryOperation::Subtract => Ok((self.float_subtract(a.0, b.0)?, self.float_subtract(a.1, b.1)?)),
            BinaryOperation::Multiply => self.complex_multiply(a, b),
            BinaryOperation::Divide => self.complex_divide(a, b),
            BinaryOperation::Power => self.complex_power(ty, a, b),
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
                Err(self.emitter.defect("complex numbers have no order, remainders or bits"))
            }
        }
    }

    fn complex_multiply(&self, a: Parts<'ctx>, b: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let re = self.float_subtract(self.float_multiply(a.0, b.0)?, self.float_multiply(a.1, b.1)?)?;
        let im = self.float_add(self.float_multiply(a.0, b.1)?, self.float_multiply(a.1, b.0)?)?;
        Ok((re, im))
    }

    /// Smith's quotient: the larger part of the divisor is divided by, so that no square overflows.
    fn complex_divide(&self, a: Parts<'ctx>, b: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let re_size = self.float_intrinsic("llvm.fabs", &[b.0])?;
        let im_size = self.float_intrinsic("llvm.fabs", &[b.1])?;
        let re_larger = self.compare_floats(FloatPredicate::OGE, re_size, im_size)?;
        let large = self.select_float(re_larger, b.0, b.1)?;
        let small = self.select_float(re_larger, b.1, b.0)?;
        let ratio = self.float_divide(small, large)?;
        let divisor = self.float_add(large, self.float_multiply(small, ratio)?)?;
        // (a.re + a.im r, a.im - a.re r) or (a.re r + a.im, a.im r - a.re), each over the divisor.
        let kept = (self.select_float(re_larger, a.0, a.1)?, self.select_float(re_larger, a.1, a.0)?);
        let scaled = (self.float_multiply(kept.1, ratio)?, self.float_multiply(kept.0, ratio)?);
        let re = self.float_add(kept.0, scaled.0)?;
        let im_first = self.select_float(re_larger, kept.1, scaled.1)?;
        let im_second = self.select_float(re_larger, scaled.1, kept.1)?;
        let im = self.float_subtract(im_first, im_second)?;
        Ok((self.float_divide(re, divisor)?, self.float_divide(im, divisor)?))
    }

    /// `exp(b log a)`; every number to the power 0 is 1, and 0 to any other power is 0.
    fn complex_power(&self, ty: ScalarType, a: Parts<'ctx>, b: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let float = a.0.get_type();
        let (zero, one) = (float.const_zero(), float.const_float(1.0));
        let is_zero = |z: Parts<'ctx>| -> Emit<_> {
            let re = self.compare_floats(FloatPredicate::OEQ, z.0, zero)?;
            let im = self.compare_floats(FloatPredicate::OEQ, z.1, zero)?;
            Ok(self.builder.build_and(re, im, "")?)
        };
        let (base_zero, exponent_zero) = (is_zero(a)?, is_zero(b)?);
        let power = self.complex_exp(ty, self.complex_multiply(b, self.complex_log(ty, a)?)?)?;
        let re = self.select_float(base_zero, zero, power.0)?;
        let im = self.select_float(base_zero, zero, power.1)?;
        Ok((self.select_float(exponent_zero, one, re)?, self.select_float(exponent_zero, zero, im)?))
    }

    fn complex_exp(&self, ty: ScalarType, z: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let radius = self.real(MathFunction::Exp, ty, &[z.0])?;
        let re = self.float_multiply(radius, self.real(MathFunction::Cos, ty, &[z.1])?)?;
        let im = self.float_multiply(radius, self.real(MathFunction::Sin, ty, &[z.1])?)?;
        // An infinite radius times the sine of 0 would be NaN.
        let real = self.compare_floats(FloatPredicate::OEQ, z.1, z.1.get_type().const_zero())?;
        Ok((self.select_float(real, radius, re)?, self.select_float(real, z.1, im)?))
    }

    fn complex_log(&self, ty: ScalarType, z: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let modulus = self.real(MathFunction::Hypot, ty, &[z.0, z.1])?;
        Ok((self.real(MathFunction::Log, ty, &[modulus])?, self.real(MathFunction::Atan2, ty, &[z.1, z.0])?))
    }

    /// The principal root, without cancellation in either part.
    fn complex_sqrt(&self, ty: ScalarType, z: Parts<'ctx>) -> Emit<Parts<'ctx>> {
        let float = z.0.get_type();
        let zero = float.const_zero();
        let magnitude = self.float_intrinsic("llvm.fabs", &[z.0])?;
        let modulus = self.real(MathFunction::Hypot, ty, &[z.0, z.1])?;
        let half = self.float_multiply(self.float_add(magnitude, modulus)?, float.const_float(0.5))?;
        let large = self.float_intrinsic("llvm.sqrt", &[half])?;
        let small = self.float_divide(z.1, self.float_add(large, large)?)?;
        let right = self.compare_floats(FloatPredicate::OGE, z.0, zero)?;
        let small_size = self.float_intrinsic("llvm.fabs", &[small])?;
        let signed_large = self.float_intrinsic("llvm.copysign", &[large, z.1])?;
        let re = self.select_float(right, large, small_size)?;
        let im = self.select_float(right, small, signed_large)?;
        let re_zero = self.compare_floats(FloatPredicate::OEQ, z.0, zero)?;
        let im_zero = self.compare_floats(FloatPredicate::OEQ, z.1, zero)?;
        let origin = self.builder.build_and(re_zero, im_zero, "")?;
        Ok((self.select_float(origin, zero, re)?, self.select_float(origin, z.1, im)?))
    }

    /// `(f(re) g(im), h(re) k(im))`, the form of sine, cosine and their hyperbolic kin.
    fn products(
        &self,
        ty: ScalarType,
        z: Parts<'ctx>,
        re: (MathFunction, MathFunction),
        im: (MathFunction, MathFunction),
    ) -> Emit<Parts<'ctx>> {
        let product =
            |(f, g)| -> Emit<_> { self.float_multiply(self.real(f, ty, &[z.0])?, self.real(g, ty, &[z.1])?) };
        Ok((product(re)?, product(im)?))
    }

    /// A function of one complex number.
    pub(super) fn complex_function(
        &self,
        function: MathFunction,
        ty: ScalarType,
        z: Parts<'ctx>,
    ) -> Emit<Lane<'ctx>> {
        use MathFunction as F;
        let complex = |(re, im): Parts<'ctx>| Lane::Complex(re, im);
        let sin = || self.products(ty, z, (F::Sin, F::Cosh), (F::Cos, F::Sinh));
        let cos = || -> Emit<Parts<'ctx>> {
            let (re, im) = self.products(ty, z, (F::Cos, F::Cosh), (F::Sin, F::Sinh))?;
            Ok((re, self.builder.build_float_neg(im, "")?))
        };
        let sinh = || self.products(ty, z, (F::Sinh, F::Cos), (F::Cosh, F::Sin));
        let cosh = || self.products(ty, z, (F::Cosh, F::Cos), (F::Sinh, F::Sin));
        let test = |any: bool| -> Emit<Lane<'ctx>> {
            let part =
                |value| self.emitter.as_int(self.float_function(function, ty, &[Lane::Float(value)])?);
            let (re, im) = (part(z.0)?, part(z.1)?);
            let both =
                if any { self.builder.build_or(re, im, "")? } else { self.builder.build_and(re, im, "")? };
            Ok(Lane::Int(both))
        };
        Ok(match function {
            F::Abs => Lane::Float(self.real(F::Hypot, ty, &[z.0, z.1])?),
            F::Angle => Lane::Float(self.real(F::Atan2, ty, &[z.1, z.0])?),
            F::Real => Lane::Float(z.0),
            F::Imag => Lane::Float(z.1),
            F::Conj => Lane::Complex(z.0, self.builder.build_float_neg(z.1, "")?),
            F::Sqrt => complex(self.complex_sqrt(ty, z)?),
            F::Exp => complex(self.complex_exp(ty, z)?),
            F::Log => complex(self.complex_log(ty, z)?),
            F::Sin => complex(sin()?),
            F::Cos => complex(cos()?),
            F::Tan => complex(self.complex_divide(sin()?, cos()?)?),
            F::Sinh => complex(sinh()?),
            F::Cosh => complex(cosh()?),
            F::Tanh => complex(self.complex_divide(sinh()?, cosh()?)?),
            F::IsNan | F::IsInf => test(true)?,
            F::IsFinite => test(false)?,
            F::Cbrt
            | F::Exp2
            | F::Expm1
            | F::Log2
            | F::Log10
            | F::Log1p
            | F::Asin
            | F::Acos
            | F::Atan
            | F::Atan2
            | F::Asinh
            | F::Acosh
            | F::Atanh
            | F::Hypot
            | F::Erf
            | F::Erfc
            | F::Tgamma
            | F::Lgamma
            | F::Floor
            | F::Ceil
            | F::Round
            | F::Trunc
            | F::Sign
            | F::Copysign
            | F::Fmod
            | F::Remainder
            | F::Nextafter
            | F::Fmin
            | F::Fmax
            | F::Heaviside
            | F::Fma
            | F::CeilDivide
            | F::SignBit
            | F::MakeComplex => {
                return Err(self
                    .emitter
                    .defect(format!("`{}` is no function of complex numbers", function.name())));
            }
        })
    }
}
