//! Tasklet arithmetic as instructions, exactly as `sdfg::tasklet::arith` defines it.
//!
//! This file dispatches each operation to the family of its type. The other files hold one family each.

mod cast;
mod complex;
mod float;
mod integer;
mod math;
mod vector;

use inkwell::values::IntValue;
use inkwell::{FloatPredicate, IntPredicate};
use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::syntax::CompareOp;
use sdfg::tasklet::{BinaryOperation, MathFunction, UnaryOperation};
use sdfg::value::Value;

use super::emitter::Emit;
use super::function::Function;
use super::value::Lane;

impl<'ctx> Function<'_, 'ctx> {
    /// A constant.
    pub(in crate::llvm) fn constant_lane(&self, value: Value) -> Emit<Lane<'ctx>> {
        let ty = value.ty();
        let float = |v: f64, ty| -> Emit<_> { Ok(self.emitter.float_type(ty)?.const_float(v)) };
        Ok(match value {
            Value::F16(v) => Lane::Float(float(v.to_f64(), ty)?),
            Value::F32(v) => Lane::Float(float(f64::from(v), ty)?),
            Value::F64(v) => Lane::Float(float(v, ty)?),
            Value::Complex64(v) => Lane::Complex(float(f64::from(v.re), ty)?, float(f64::from(v.im), ty)?),
            Value::Complex128(v) => Lane::Complex(float(v.re, ty)?, float(v.im, ty)?),
            Value::Bool(v) => Lane::Int(self.emitter.i1().const_int(u64::from(v), false)),
            Value::U64(v) => Lane::Int(self.emitter.i64().const_int(v, false)),
            Value::I8(_)
            | Value::I16(_)
            | Value::I32(_)
            | Value::I64(_)
            | Value::U8(_)
            | Value::U16(_)
            | Value::U32(_) => {
                let bits = value.to_i64().ok_or_else(|| self.emitter.defect("an integer has 64 bits"))?;
                Lane::Int(self.emitter.int_type(ty)?.const_int(bits as u64, true))
            }
        })
    }

    /// `op value`.
    pub(in crate::llvm) fn unary(&self, op: UnaryOperation, value: Lane<'ctx>) -> Emit<Lane<'ctx>> {
        Ok(match (op, value) {
            (UnaryOperation::Negate, Lane::Int(v)) => Lane::Int(self.builder.build_int_neg(v, "")?),
            (UnaryOperation::Negate, Lane::Float(v)) => Lane::Float(self.builder.build_float_neg(v, "")?),
            (UnaryOperation::Negate, Lane::Complex(re, im)) => {
                Lane::Complex(self.builder.build_float_neg(re, "")?, self.builder.build_float_neg(im, "")?)
            }
            (UnaryOperation::Not | UnaryOperation::Invert, Lane::Int(v)) => {
                Lane::Int(self.builder.build_not(v, "")?)
            }
            (UnaryOperation::Not | UnaryOperation::Invert, Lane::Float(_) | Lane::Complex(..)) => {
                return Err(self.emitter.defect("only integers have bits to invert"));
            }
        })
    }

    /// `a op b` of two operands of type `ty`, except that `b` of a shift is `i64`.
    pub(in crate::llvm) fn binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        a: Lane<'ctx>,
        b: Lane<'ctx>,
    ) -> Emit<Lane<'ctx>> {
        match ty.kind() {
            ScalarKind::Bool | ScalarKind::Signed | ScalarKind::Unsigned => {
                let (a, b) = (self.emitter.as_int(a)?, self.emitter.as_int(b)?);
                Ok(Lane::Int(self.integer_binary(op, ty, a, b)?))
            }
            ScalarKind::Float => {
                let (a, b) = (self.emitter.as_float(a)?, self.emitter.as_float(b)?);
                Ok(Lane::Float(self.float_binary(op, ty, a, b)?))
            }
            ScalarKind::Complex => {
                let (a, b) = (self.emitter.as_complex(a)?, self.emitter.as_complex(b)?);
                let (re, im) = self.complex_binary(op, ty, a, b)?;
                Ok(Lane::Complex(re, im))
            }
        }
    }

    /// `base ** exponent` as the chain of products that `sdfg::tasklet::arith::power` defines.
    pub(in crate::llvm) fn constant_power(
        &self,
        ty: ScalarType,
        base: Lane<'ctx>,
        exponent: i32,
    ) -> Emit<Lane<'ctx>> {
        let one = self.cast(ScalarType::Bool, Lane::Int(self.emitter.i1().const_int(1, false)), ty)?;
        if exponent < 0 && ty.is_integer() {
            let (base, one) = (self.emitter.as_int(base)?, self.emitter.as_int(one)?);
            let exponent = self.emitter.int_type(ty)?.const_int(i64::from(exponent) as u64, true);
            return if ty.kind() == ScalarKind::Signed {
                Ok(Lane::Int(self.integer_power(base, exponent, true)?))
            } else {
                // Of unsigned numbers only 1 has a reciprocal with an integer part, and 0 gives 0.
                let is_one = self.compare(IntPredicate::EQ, base, one)?;
                Ok(Lane::Int(self.select_int(is_one, one, base.get_type().const_zero())?))
            };
        }
        let mut bits = exponent.unsigned_abs();
        let (mut square, mut product) = (base, None);
        while bits != 0 {
            if bits & 1 == 1 {
                product = Some(match product {
                    None => square,
                    Some(product) => self.binary(BinaryOperation::Multiply, ty, product, square)?,
                });
            }
            bits >>= 1;
            if bits != 0 {
                square = self.binary(BinaryOperation::Multiply, ty, square, square)?;
            }
        }
        let product = product.unwrap_or(one);
        if exponent >= 0 { Ok(product) } else { self.binary(BinaryOperation::Divide, ty, one, product) }
    }

    /// `a op b` of two operands of type `ty`, as one bit.
    pub(in crate::llvm) fn compare_lanes(
        &self,
        op: CompareOp,
        ty: ScalarType,
        a: Lane<'ctx>,
        b: Lane<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        match (a, b) {
            (Lane::Int(a), Lane::Int(b)) => {
                self.compare(int_predicate(op, ty.kind() == ScalarKind::Signed), a, b)
            }
            (Lane::Float(a), Lane::Float(b)) => self.compare_floats(float_predicate(op), a, b),
            (Lane::Complex(..), Lane::Complex(..)) => {
                let ((a, b), (c, d)) = (self.emitter.as_complex(a)?, self.emitter.as_complex(b)?);
                let re = self.compare_floats(FloatPredicate::OEQ, a, c)?;
                let im = self.compare_floats(FloatPredicate::OEQ, b, d)?;
                let equal = self.builder.build_and(re, im, "")?;
                match op {
                    // Complex numbers have no order: `<=` holds of equal ones only.
                    CompareOp::Equal | CompareOp::LessEqual | CompareOp::GreaterEqual => Ok(equal),
                    CompareOp::NotEqual => Ok(self.builder.build_not(equal, "")?),
                    CompareOp::Less | CompareOp::Greater => Ok(self.emitter.i1().const_zero()),
                }
            }
            _ => Err(self.emitter.defect("operands of a comparison have different types")),
        }
    }

    /// Whether a lane is not zero; NaN is not.
    pub(in crate::llvm) fn truth(&self, ty: ScalarType, value: Lane<'ctx>) -> Emit<IntValue<'ctx>> {
        match value {
            Lane::Int(value) if ty == ScalarType::Bool => Ok(value),
            Lane::Int(_) | Lane::Float(_) | Lane::Complex(..) => {
                let zero = self.constant_lane(Value::zero(ty))?;
                self.compare_lanes(CompareOp::NotEqual, ty, value, zero)
            }
        }
    }

    /// One of two lanes.
    pub(in crate::llvm) fn select(
        &self,
        condition: IntValue<'ctx>,
        then: Lane<'ctx>,
        otherwise: Lane<'ctx>,
    ) -> Emit<Lane<'ctx>> {
        Ok(match (then, otherwise) {
            (Lane::Int(a), Lane::Int(b)) => Lane::Int(self.select_int(condition, a, b)?),
            (Lane::Float(a), Lane::Float(b)) => Lane::Float(self.select_float(condition, a, b)?),
            (Lane::Complex(a, b), Lane::Complex(c, d)) => {
                Lane::Complex(self.select_float(condition, a, c)?, self.select_float(condition, b, d)?)
            }
            _ => return Err(self.emitter.defect("the arms of a choice have different types")),
        })
    }

    /// A mathematical function of arguments of type `ty`; the result has the type that the function tells.
    pub(in crate::llvm) fn math(
        &self,
        function: MathFunction,
        ty: ScalarType,
        arguments: &[Lane<'ctx>],
    ) -> Emit<Lane<'ctx>> {
        let first = *arguments.first().ok_or_else(|| self.emitter.defect("a function has arguments"))?;
        match (function, first) {
            (MathFunction::MakeComplex, Lane::Float(re)) => {
                let im = arguments.get(1).copied().unwrap_or(first);
                Ok(Lane::Complex(re, self.emitter.as_float(im)?))
            }
            (_, Lane::Float(_)) => self.float_function(function, ty, arguments),
            (_, Lane::Complex(re, im)) => self.complex_function(function, ty, (re, im)),
            (_, Lane::Int(value)) => {
                let second = arguments.get(1).copied().unwrap_or(first);
                Ok(Lane::Int(self.integer_function(function, ty, value, self.emitter.as_int(second)?)?))
            }
        }
    }
}

/// The comparison of floats that is false for NaN, except for `!=`.
fn float_predicate(op: CompareOp) -> FloatPredicate {
    match op {
        CompareOp::Equal => FloatPredicate::OEQ,
        CompareOp::NotEqual => FloatPredicate::UNE,
        CompareOp::Less => FloatPredicate::OLT,
        CompareOp::LessEqual => FloatPredicate::OLE,
        CompareOp::Greater => FloatPredicate::OGT,
        CompareOp::GreaterEqual => FloatPredicate::OGE,
    }
}

fn int_predicate(op: CompareOp, signed: bool) -> IntPredicate {
    match (op, signed) {
        (CompareOp::Equal, _) => IntPredicate::EQ,
        (CompareOp::NotEqual, _) => IntPredicate::NE,
        (CompareOp::Less, true) => IntPredicate::SLT,
        (CompareOp::Less, false) => IntPredicate::ULT,
        (CompareOp::LessEqual, true) => IntPredicate::SLE,
        (CompareOp::LessEqual, false) => IntPredicate::ULE,
        (CompareOp::Greater, true) => IntPredicate::SGT,
        (CompareOp::Greater, false) => IntPredicate::UGT,
        (CompareOp::GreaterEqual, true) => IntPredicate::SGE,
        (CompareOp::GreaterEqual, false) => IntPredicate::UGE,
    }
}
