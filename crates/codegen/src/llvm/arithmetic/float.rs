//! Arithmetic of `f16`, `f32` and `f64`. `f16` is computed in `f32` and rounded after every operation.

use inkwell::types::FloatType;
use inkwell::values::{FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use sdfg::dtype::ScalarType;
use sdfg::tasklet::{BinaryOperation, MathFunction};

use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn float_binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Emit<FloatValue<'ctx>> {
        if ty == ScalarType::F16 {
            if matches!(op, BinaryOperation::Minimum | BinaryOperation::Maximum) {
                return self.half_extremum(a, b, op == BinaryOperation::Minimum);
            }
            let wide = self.emitter.float_type(ScalarType::F32)?;
            let a = self.builder.build_float_ext(a, wide, "")?;
            let b = self.builder.build_float_ext(b, wide, "")?;
            let result = self.float_binary(op, ScalarType::F32, a, b)?;
            return Ok(self.builder.build_float_trunc(result, self.emitter.float_type(ty)?, "")?);
        }
        match op {
            BinaryOperation::Add => self.float_add(a, b),
            BinaryOperation::Subtract => self.float_subtract(a, b),
            BinaryOperation::Multiply => self.float_multiply(a, b),
            BinaryOperation::Divide => self.float_divide(a, b),
            BinaryOperation::FloorDivide => Ok(self.float_floor_division(a, b)?.0),
            BinaryOperation::FloorModulo => Ok(self.float_floor_division(a, b)?.1),
            BinaryOperation::TruncateModulo => self.float_remainder(a, b),
            BinaryOperation::Power => self.library_call("pow", ty, &[a, b]),
            BinaryOperation::Minimum => self.float_intrinsic("llvm.minimum", &[a, b]),
            BinaryOperation::Maximum => self.float_intrinsic("llvm.maximum", &[a, b]),
            BinaryOperation::TruncateDivide
            | BinaryOperation::ShiftLeft
            | BinaryOperation::ShiftRight
            | BinaryOperation::BitAnd
            | BinaryOperation::BitOr
            | BinaryOperation::BitXor => Err(self.emitter.defect("floats have no bit operations")),
        }
    }

    /// The smaller or larger of two `f16`, NaN if one is, with -0 below 0. LLVM 19 returns -0 for the vector intrinsic
    /// of -0 and NaN.
    fn half_extremum(
        &self,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
        smaller: bool,
    ) -> Emit<FloatValue<'ctx>> {
        // As integers, with the magnitude of negative numbers inverted, floats are in order.
        let int = self.emitter.context.i16_type();
        let rank = |value: FloatValue<'ctx>| -> Emit<IntValue<'ctx>> {
            let bits = self.builder.build_bit_cast(value, int, "")?.into_int_value();
            let sign = self.builder.build_right_shift(bits, int.const_int(15, false), true, "")?;
            let mask = self.builder.build_and(sign, int.const_int(0x7fff, false), "")?;
            Ok(self.builder.build_xor(bits, mask, "")?)
        };
        let predicate = if smaller { IntPredicate::SLT } else { IntPredicate::SGT };
        let wins = self.compare(predicate, rank(a)?, rank(b)?)?;
        let chosen = self.select_float(wins, a, b)?;
        let b_nan = self.compare_floats(FloatPredicate::UNO, b, b)?;
        let a_nan = self.compare_floats(FloatPredicate::UNO, a, a)?;
        self.select_float(a_nan, a, self.select_float(b_nan, b, chosen)?)
    }

    /// Sets the fast-math flags of the program's mode on a new value, unless it was folded to a constant.
    fn flagged(&self, value: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        let flags = self.emitter.float_flags();
        if let Some(instruction) = value.as_instruction().filter(|_| !flags.is_empty()) {
            instruction.set_fast_math_flags(flags).map_err(|error| self.emitter.defect(error))?;
        }
        Ok(value)
    }

    pub(super) fn float_add(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        self.flagged(self.builder.build_float_add(a, b, "")?)
    }

    pub(super) fn float_subtract(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        self.flagged(self.builder.build_float_sub(a, b, "")?)
    }

    pub(super) fn float_multiply(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        self.flagged(self.builder.build_float_mul(a, b, "")?)
    }

    pub(super) fn float_divide(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        self.flagged(self.builder.build_float_div(a, b, "")?)
    }

    /// C's `fmod`, which is exact.
    pub(super) fn float_remainder(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        Ok(self.builder.build_float_rem(a, b, "")?)
    }

    pub(super) fn compare_floats(
        &self,
        predicate: FloatPredicate,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        Ok(self.builder.build_float_compare(predicate, a, b, "")?)
    }

    pub(super) fn select_float(
        &self,
        condition: IntValue<'ctx>,
        then: FloatValue<'ctx>,
        otherwise: FloatValue<'ctx>,
    ) -> Emit<FloatValue<'ctx>> {
        Ok(self.builder.build_select(condition, then, otherwise, "")?.into_float_value())
    }

    /// An intrinsic of floats of one type, exact in every mode.
    pub(super) fn float_intrinsic(
        &self,
        name: &str,
        arguments: &[FloatValue<'ctx>],
    ) -> Emit<FloatValue<'ctx>> {
        let ty = arguments.first().map(|argument| argument.get_type());
        let ty: FloatType<'ctx> = ty.ok_or_else(|| self.emitter.defect("an intrinsic has arguments"))?;
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).into()).collect();
        self.flagged(self.intrinsic(name, &[ty.into()], &arguments)?.into_float_value())
    }

    /// Python's `divmod` of floats, step by step as `sdfg::tasklet::arith` defines it.
    fn float_floor_division(
        &self,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Emit<(FloatValue<'ctx>, FloatValue<'ctx>)> {
        let ty = a.get_type();
        let (zero, one, half) = (ty.const_zero(), ty.const_float(1.0), ty.const_float(0.5));
        // These steps keep their rounding in every mode: they correct each other.
        let truncated = self.float_remainder(a, b)?;
        let difference = self.builder.build_float_sub(a, truncated, "")?;
        let quotient = self.builder.build_float_div(difference, b, "")?;
        let plain_quotient = self.builder.build_float_div(a, b, "")?;

        let exact = self.compare_floats(FloatPredicate::OEQ, truncated, zero)?;
        let divisor_negative = self.compare_floats(FloatPredicate::OLT, b, zero)?;
        let remainder_negative = self.compare_floats(FloatPredicate::OLT, truncated, zero)?;
        let signs_differ = self.builder.build_xor(divisor_negative, remainder_negative, "")?;
        let signed_zero = self.float_intrinsic("llvm.copysign", &[zero, b])?;
        let raised = self.builder.build_float_add(truncated, b, "")?;
        let inexact_remainder = self.select_float(signs_differ, raised, truncated)?;
        let remainder = self.select_float(exact, signed_zero, inexact_remainder)?;

        let lowered = self.builder.build_float_sub(quotient, one, "")?;
        let inexact_quotient = self.select_float(signs_differ, lowered, quotient)?;
        let quotient = self.select_float(exact, quotient, inexact_quotient)?;
        let floor = self.float_intrinsic("llvm.floor", &[quotient])?;
        let above = self.builder.build_float_sub(quotient, floor, "")?;
        let beside = self.compare_floats(FloatPredicate::OGT, above, half)?;
        let next = self.builder.build_float_add(floor, one, "")?;
        let rounded = self.select_float(beside, next, floor)?;
        let vanishes = self.compare_floats(FloatPredicate::OEQ, quotient, zero)?;
        let zero_quotient = self.float_intrinsic("llvm.copysign", &[zero, plain_quotient])?;
        let quotient = self.select_float(vanishes, zero_quotient, rounded)?;

        let by_zero = self.compare_floats(FloatPredicate::OEQ, b, zero)?;
        Ok((
            self.select_float(by_zero, plain_quotient, quotient)?,
            self.select_float(by_zero, truncated, remainder)?,
        ))
    }

    /// The function `name` of the C library for `ty`.
    pub(super) fn library_call(
        &self,
        name: &str,
        ty: ScalarType,
        arguments: &[FloatValue<'ctx>],
    ) -> Emit<FloatValue<'ctx>> {
        let scalar = if ty.component() == ScalarType::F32 { format!("{name}f") } else { name.to_owned() };
        let float = self.emitter.float_type(ty)?;
        let function = self.emitter.declare_pure(&scalar, float.into(), arguments.len());
        let values: Vec<_> = arguments.iter().map(|argument| (*argument).into()).collect();
        let call = self.builder.build_call(function, &values, "")?;
        self.emitter.allow_vectors(call, (name, &scalar), ty, arguments.len())?;
        let value = call.try_as_basic_value().basic();
        let value = value.ok_or_else(|| self.emitter.defect("a mathematical function has a value"))?;
        self.flagged(value.into_float_value())
    }

    /// A function of one argument on real parts, as complex functions use it.
    pub(super) fn real(
        &self,
        function: MathFunction,
        ty: ScalarType,
        arguments: &[FloatValue<'ctx>],
    ) -> Emit<FloatValue<'ctx>> {
        let lanes: Vec<_> = arguments.iter().map(|value| crate::llvm::value::Lane::Float(*value)).collect();
        self.emitter.as_float(self.float_function(function, ty.component(), &lanes)?)
    }
}
