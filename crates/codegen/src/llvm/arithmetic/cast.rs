//! Conversions between scalar types, as `sdfg::tasklet::arith::cast` defines them.

use inkwell::types::IntType;
use inkwell::values::{FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use sdfg::dtype::{ScalarKind, ScalarType};

use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;
use crate::llvm::value::Lane;

impl<'ctx> Function<'_, 'ctx> {
    /// The lane of type `from` as type `to`.
    pub(in crate::llvm) fn cast(
        &self,
        from: ScalarType,
        value: Lane<'ctx>,
        to: ScalarType,
    ) -> Emit<Lane<'ctx>> {
        if from == to {
            return Ok(value);
        }
        if to == ScalarType::Bool {
            return Ok(Lane::Int(self.truth(from, value)?));
        }
        if to.is_complex() {
            let float = self.emitter.float_type(to)?;
            if let Lane::Complex(re, im) = value {
                let part = |part| {
                    let part = self.cast(from.component(), Lane::Float(part), to.component())?;
                    self.emitter.as_float(part)
                };
                return Ok(Lane::Complex(part(re)?, part(im)?));
            }
            let re = self.emitter.as_float(self.cast(from, value, to.component())?)?;
            return Ok(Lane::Complex(re, float.const_zero()));
        }
        match value {
            Lane::Complex(re, _) => self.cast(from.component(), Lane::Float(re), to),
            Lane::Float(value) if to.is_float() => Ok(Lane::Float(self.float_to_float(value, to)?)),
            Lane::Float(value) => Ok(Lane::Int(self.float_to_int(value, to)?)),
            Lane::Int(value) if to.is_float() => Ok(Lane::Float(self.int_to_float(from, value, to)?)),
            Lane::Int(value) => Ok(Lane::Int(self.int_to_int(from, value, self.emitter.int_type(to)?)?)),
        }
    }

    fn int_to_int(&self, from: ScalarType, value: IntValue<'ctx>, to: IntType<'ctx>) -> Emit<IntValue<'ctx>> {
        let (old, new) = (value.get_type().get_bit_width(), to.get_bit_width());
        Ok(if new < old {
            self.builder.build_int_truncate(value, to, "")?
        } else if new == old {
            value
        } else if from.kind() == ScalarKind::Signed {
            self.builder.build_int_s_extend(value, to, "")?
        } else {
            self.builder.build_int_z_extend(value, to, "")?
        })
    }

    fn int_to_float(
        &self,
        from: ScalarType,
        value: IntValue<'ctx>,
        to: ScalarType,
    ) -> Emit<FloatValue<'ctx>> {
        // Integers beyond 2^53 are far beyond the range of `f16`, so the step over `f64` rounds only once.
        let step = if to == ScalarType::F16 { ScalarType::F64 } else { to };
        let float = self.emitter.float_type(step)?;
        let converted = if from.kind() == ScalarKind::Signed {
            self.builder.build_signed_int_to_float(value, float, "")?
        } else {
            self.builder.build_unsigned_int_to_float(value, float, "")?
        };
        self.float_to_float(converted, to)
    }

    /// Rounded towards zero; beyond the range the nearest end of it, and 0 for NaN.
    fn float_to_int(&self, value: FloatValue<'ctx>, to: ScalarType) -> Emit<IntValue<'ctx>> {
        let int = self.emitter.int_type(to)?;
        // Where the processor has arithmetic of `f16` (AVX512-FP16), LLVM 19 makes -32768 of a NaN that becomes an `i16`.
        let is_half = value.get_type() == self.emitter.context.f16_type();
        let value = if is_half { self.float_to_float(value, ScalarType::F32)? } else { value };
        let name = match to.kind() {
            ScalarKind::Signed => "llvm.fptosi.sat",
            ScalarKind::Unsigned | ScalarKind::Bool | ScalarKind::Float | ScalarKind::Complex => {
                "llvm.fptoui.sat"
            }
        };
        let types = [int.into(), value.get_type().into()];
        Ok(self.intrinsic(name, &types, &[value.into()])?.into_int_value())
    }

    fn float_to_float(&self, value: FloatValue<'ctx>, to: ScalarType) -> Emit<FloatValue<'ctx>> {
        let (from, target) = (value.get_type(), self.emitter.float_type(to)?);
        let (old, new) = (from.get_bit_width(), target.get_bit_width());
        if old == new {
            return Ok(value);
        }
        if new > old {
            return Ok(self.builder.build_float_ext(value, target, "")?);
        }
        let narrowed = if old == 64 && new == 16 { self.round_to_odd(value)? } else { value };
        Ok(self.builder.build_float_trunc(narrowed, target, "")?)
    }

    /// An `f64` as the `f32` towards zero, with the last bit set if that lost something: rounding it once more, to
    /// `f16`, then gives what one rounding would have. Processors have no instruction for the step from `f64` to `f16`,
    /// and the compiler's library function for it is not in every process.
    fn round_to_odd(&self, value: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        let (float, int) = (self.emitter.context.f32_type(), self.emitter.i32());
        let nearest = self.builder.build_float_trunc(value, float, "")?;
        let back = self.builder.build_float_ext(nearest, value.get_type(), "")?;
        let bits = self.builder.build_bit_cast(nearest, int, "")?.into_int_value();
        let inexact = self.compare_floats(FloatPredicate::ONE, back, value)?;
        let low = self.builder.build_and(bits, int.const_int(1, false), "")?;
        let even = self.compare(IntPredicate::EQ, low, int.const_zero())?;
        let moves = self.builder.build_and(inexact, even, "")?;
        let size = self.float_intrinsic("llvm.fabs", &[value])?;
        let back_size = self.float_intrinsic("llvm.fabs", &[back])?;
        let below = self.compare_floats(FloatPredicate::OLT, back_size, size)?;
        let step = self.select_int(below, int.const_int(1, false), int.const_all_ones())?;
        let step = self.select_int(moves, step, int.const_zero())?;
        let odd = self.builder.build_int_add(bits, step, "")?;
        Ok(self.builder.build_bit_cast(odd, float, "")?.into_float_value())
    }
}
