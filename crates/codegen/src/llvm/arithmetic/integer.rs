//! Arithmetic of fixed-width integers and `bool`: results wrap, and no operand traps.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::{FunctionValue, IntValue};
use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::tasklet::{BinaryOperation, MathFunction};

use crate::llvm::emitter::{Emit, Emitter};
use crate::llvm::function::Function;

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn integer_binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let signed = ty.kind() == ScalarKind::Signed;
        let builder = &self.builder;
        Ok(match op {
            BinaryOperation::Add => builder.build_int_add(a, b, "")?,
            BinaryOperation::Subtract => builder.build_int_sub(a, b, "")?,
            BinaryOperation::Multiply => builder.build_int_mul(a, b, "")?,
            BinaryOperation::FloorDivide => self.divide_down(a, b, signed)?,
            BinaryOperation::FloorModulo => self.modulo_down(a, b, signed)?,
            BinaryOperation::TruncateDivide => self.divide_truncating(a, b, signed)?.0,
            BinaryOperation::TruncateModulo => self.divide_truncating(a, b, signed)?.1,
            BinaryOperation::Power => self.integer_power(a, b, signed)?,
            BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight => self.shift(op, a, b, signed)?,
            BinaryOperation::BitAnd => builder.build_and(a, b, "")?,
            BinaryOperation::BitOr => builder.build_or(a, b, "")?,
            BinaryOperation::BitXor => builder.build_xor(a, b, "")?,
            BinaryOperation::Minimum | BinaryOperation::Maximum => {
                let predicate = match (op == BinaryOperation::Minimum, signed) {
                    (true, true) => IntPredicate::SLT,
                    (true, false) => IntPredicate::ULT,
                    (false, true) => IntPredicate::SGT,
                    (false, false) => IntPredicate::UGT,
                };
                let wins = self.compare(predicate, a, b)?;
                self.select_int(wins, a, b)?
            }
            BinaryOperation::Divide => {
                return Err(self.emitter.defect("true division is of floats"));
            }
        })
    }

    /// Quotient and remainder, rounded towards zero. By zero both are 0; the least integer by -1 is itself, with
    /// remainder 0.
    fn divide_truncating(
        &self,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
        signed: bool,
    ) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        let ty = a.get_type();
        let zero = ty.const_zero();
        let by_zero = self.compare(IntPredicate::EQ, b, zero)?;
        if !signed {
            let divisor = self.select_int(by_zero, ty.const_int(1, false), b)?;
            let quotient = self.builder.build_int_unsigned_div(a, divisor, "")?;
            let remainder = self.builder.build_int_unsigned_rem(a, divisor, "")?;
            return Ok((self.select_int(by_zero, zero, quotient)?, remainder));
        }
        let least = ty.const_int(1 << (ty.get_bit_width() - 1), false);
        let is_least = self.compare(IntPredicate::EQ, a, least)?;
        let by_minus_one = self.compare(IntPredicate::EQ, b, ty.const_all_ones())?;
        let overflows = self.builder.build_and(is_least, by_minus_one, "")?;
        // Dividing by one instead gives the quotient and the remainder that an overflow is defined to have.
        let replaced = self.builder.build_or(by_zero, overflows, "")?;
        let divisor = self.select_int(replaced, ty.const_int(1, false), b)?;
        let quotient = self.builder.build_int_signed_div(a, divisor, "")?;
        let remainder = self.builder.build_int_signed_rem(a, divisor, "")?;
        Ok((self.select_int(by_zero, zero, quotient)?, remainder))
    }

    /// Whether the quotient of this remainder was rounded up by rounding it towards zero.
    fn rounded_up(&self, remainder: IntValue<'ctx>, divisor: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let zero = remainder.get_type().const_zero();
        let inexact = self.compare(IntPredicate::NE, remainder, zero)?;
        let signs = self.builder.build_xor(remainder, divisor, "")?;
        let differ = self.compare(IntPredicate::SLT, signs, zero)?;
        Ok(self.builder.build_and(inexact, differ, "")?)
    }

    fn divide_down(&self, a: IntValue<'ctx>, b: IntValue<'ctx>, signed: bool) -> Emit<IntValue<'ctx>> {
        let (quotient, remainder) = self.divide_truncating(a, b, signed)?;
        if !signed {
            return Ok(quotient);
        }
        let correction = self.rounded_up(remainder, b)?;
        let correction = self.builder.build_int_z_extend(correction, a.get_type(), "")?;
        Ok(self.builder.build_int_sub(quotient, correction, "")?)
    }

    fn modulo_down(&self, a: IntValue<'ctx>, b: IntValue<'ctx>, signed: bool) -> Emit<IntValue<'ctx>> {
        let (_, remainder) = self.divide_truncating(a, b, signed)?;
        if !signed {
            return Ok(remainder);
        }
        let corrected = self.builder.build_int_add(remainder, b, "")?;
        self.select_int(self.rounded_up(remainder, b)?, corrected, remainder)
    }

    fn divide_up(&self, a: IntValue<'ctx>, b: IntValue<'ctx>, signed: bool) -> Emit<IntValue<'ctx>> {
        let (quotient, remainder) = self.divide_truncating(a, b, signed)?;
        let mut rounds = self.compare(IntPredicate::NE, remainder, a.get_type().const_zero())?;
        if signed {
            let up = self.rounded_up(remainder, b)?;
            let down = self.builder.build_not(up, "")?;
            rounds = self.builder.build_and(rounds, down, "")?;
        }
        let correction = self.builder.build_int_z_extend(rounds, a.get_type(), "")?;
        Ok(self.builder.build_int_add(quotient, correction, "")?)
    }

    /// The quotient of index arithmetic, rounded down. A divisor of zero has no meaning there, and is taken as one so
    /// that the process survives.
    pub(in crate::llvm) fn floor_divide(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        if let Some(divisor) = positive_constant(b) {
            if divisor.is_power_of_two() {
                let amount = a.get_type().const_int(u64::from(divisor.trailing_zeros()), false);
                return Ok(self.builder.build_right_shift(a, amount, true, "")?);
            }
            let quotient = self.builder.build_int_signed_div(a, b, "")?;
            let remainder = self.builder.build_int_signed_rem(a, b, "")?;
            let negative = self.compare(IntPredicate::SLT, remainder, a.get_type().const_zero())?;
            let correction = self.builder.build_int_s_extend(negative, a.get_type(), "")?;
            return self.add(quotient, correction);
        }
        self.divide_down(a, b, true)
    }

    /// The remainder that belongs to [`Self::floor_divide`].
    pub(in crate::llvm) fn floor_modulo(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        if let Some(divisor) = positive_constant(b) {
            if divisor.is_power_of_two() {
                let mask = a.get_type().const_int(divisor - 1, false);
                return Ok(self.builder.build_and(a, mask, "")?);
            }
            let remainder = self.builder.build_int_signed_rem(a, b, "")?;
            let negative = self.compare(IntPredicate::SLT, remainder, a.get_type().const_zero())?;
            let corrected = self.add(remainder, b)?;
            return self.select_int(negative, corrected, remainder);
        }
        self.modulo_down(a, b, true)
    }

    /// A shift by an `i64`: amounts below 0 or at least the width shift every bit out.
    fn shift(
        &self,
        op: BinaryOperation,
        value: IntValue<'ctx>,
        amount: IntValue<'ctx>,
        signed: bool,
    ) -> Emit<IntValue<'ctx>> {
        let ty = value.get_type();
        let width = self.emitter.constant(i64::from(ty.get_bit_width()));
        let inside = self.compare(IntPredicate::ULT, amount, width)?;
        let narrow = self.builder.build_int_truncate_or_bit_cast(amount, ty, "")?;
        let safe = self.select_int(inside, narrow, ty.const_zero())?;
        let (shifted, out) = if op == BinaryOperation::ShiftLeft {
            (self.builder.build_left_shift(value, safe, "")?, ty.const_zero())
        } else {
            let last = ty.const_int(u64::from(ty.get_bit_width()) - 1, false);
            let sign = self.builder.build_right_shift(value, last, true, "")?;
            let out = if signed { sign } else { ty.const_zero() };
            (self.builder.build_right_shift(value, safe, signed, "")?, out)
        };
        self.select_int(inside, shifted, out)
    }

    /// `base ** exponent`; of negative exponents the integer part of the reciprocal.
    pub(in crate::llvm) fn integer_power(
        &self,
        base: IntValue<'ctx>,
        exponent: IntValue<'ctx>,
        signed: bool,
    ) -> Emit<IntValue<'ctx>> {
        let function = power_function(self.emitter, base, signed)?;
        Ok(self.call(function, &[base.into(), exponent.into()])?.into_int_value())
    }

    /// Functions that keep integers.
    pub(super) fn integer_function(
        &self,
        function: MathFunction,
        ty: ScalarType,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let signed = ty.kind() == ScalarKind::Signed;
        let zero = a.get_type().const_zero();
        match function {
            MathFunction::Abs => {
                if !signed {
                    return Ok(a);
                }
                let negative = self.compare(IntPredicate::SLT, a, zero)?;
                let negated = self.builder.build_int_neg(a, "")?;
                self.select_int(negative, negated, a)
            }
            MathFunction::Sign => {
                let positive =
                    self.compare(if signed { IntPredicate::SGT } else { IntPredicate::NE }, a, zero)?;
                let positive = self.builder.build_int_z_extend(positive, a.get_type(), "")?;
                if !signed {
                    return Ok(positive);
                }
                let negative = self.compare(IntPredicate::SLT, a, zero)?;
                self.select_int(negative, a.get_type().const_all_ones(), positive)
            }
            MathFunction::CeilDivide => self.divide_up(a, b, signed),
            // Rounding an integer changes nothing, and other functions convert their arguments.
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
            | MathFunction::Copysign
            | MathFunction::Fmod
            | MathFunction::Remainder
            | MathFunction::Nextafter
            | MathFunction::Fmin
            | MathFunction::Fmax
            | MathFunction::Heaviside
            | MathFunction::Fma
            | MathFunction::IsNan
            | MathFunction::IsInf
            | MathFunction::IsFinite
            | MathFunction::SignBit
            | MathFunction::MakeComplex
            | MathFunction::Real
            | MathFunction::Imag
            | MathFunction::Conj
            | MathFunction::Angle => Ok(a),
        }
    }
}

fn positive_constant(value: IntValue<'_>) -> Option<u64> {
    value.get_sign_extended_constant().and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0)
}

/// The function of this module that computes powers of integers of this width, by squaring.
fn power_function<'ctx>(
    emitter: &Emitter<'ctx>,
    sample: IntValue<'ctx>,
    signed: bool,
) -> Emit<FunctionValue<'ctx>> {
    let ty = sample.get_type();
    let name = format!("power.{}{}", if signed { "i" } else { "u" }, ty.get_bit_width());
    if let Some(function) = emitter.module.get_function(&name) {
        return Ok(function);
    }
    let value = emitter.define(&name, ty.fn_type(&[ty.into(), ty.into()], false), Linkage::Internal);
    // `memory(none)` is encoded as 0.
    emitter.attribute(value, inkwell::attributes::AttributeLoc::Function, "memory", 0);
    let builder = emitter.context.create_builder();
    let block = |name| emitter.context.append_basic_block(value, name);
    let (entry, turn, step, done) = (block("entry"), block("turn"), block("step"), block("done"));
    let parameter = |index| {
        value
            .get_nth_param(index)
            .map(inkwell::values::BasicValueEnum::into_int_value)
            .ok_or_else(|| emitter.defect("a parameter is missing"))
    };
    let (base, exponent) = (parameter(0)?, parameter(1)?);
    let (zero, one) = (ty.const_zero(), ty.const_int(1, false));

    builder.position_at_end(entry);
    let compare = |predicate, a, b| builder.build_int_compare(predicate, a, b, "");
    let select = |condition, a: IntValue<'ctx>, b: IntValue<'ctx>| {
        builder.build_select(condition, a, b, "").map(inkwell::values::BasicValueEnum::into_int_value)
    };
    let odd = builder.build_and(exponent, one, "")?;
    let start_bits = if signed {
        // Of 1 and -1, the power depends on whether the exponent is odd; all others have a reciprocal below one.
        let negative = compare(IntPredicate::SLT, exponent, zero)?;
        select(negative, odd, exponent)?
    } else {
        exponent
    };
    builder.build_unconditional_branch(turn)?;

    builder.position_at_end(turn);
    let (product, square, bits) =
        (builder.build_phi(ty, "")?, builder.build_phi(ty, "")?, builder.build_phi(ty, "")?);
    let int = |phi: inkwell::values::PhiValue<'ctx>| phi.as_basic_value().into_int_value();
    let more = compare(IntPredicate::NE, int(bits), zero)?;
    builder.build_conditional_branch(more, step, done)?;

    builder.position_at_end(step);
    let low = builder.build_and(int(bits), one, "")?;
    let set = compare(IntPredicate::NE, low, zero)?;
    let multiplied = builder.build_int_mul(int(product), int(square), "")?;
    let next_product = select(set, multiplied, int(product))?;
    let next_square = builder.build_int_mul(int(square), int(square), "")?;
    let next_bits = builder.build_right_shift(int(bits), one, false, "")?;
    builder.build_unconditional_branch(turn)?;
    product.add_incoming(&[(&one, entry), (&next_product, step)]);
    square.add_incoming(&[(&base, entry), (&next_square, step)]);
    bits.add_incoming(&[(&start_bits, entry), (&next_bits, step)]);

    builder.position_at_end(done);
    let result = if signed {
        let negative = compare(IntPredicate::SLT, exponent, zero)?;
        let shifted = builder.build_int_add(base, one, "")?;
        let unit = compare(IntPredicate::ULE, shifted, ty.const_int(2, false))?;
        let not_zero = compare(IntPredicate::NE, base, zero)?;
        let has_reciprocal = builder.build_and(unit, not_zero, "")?;
        let vanishes = builder.build_and(negative, builder.build_not(has_reciprocal, "")?, "")?;
        select(vanishes, zero, int(product))?
    } else {
        int(product)
    };
    builder.build_return(Some(&result))?;
    Ok(value)
}
