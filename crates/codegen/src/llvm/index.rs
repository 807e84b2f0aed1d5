//! Index expressions: [`Expr`] to 64-bit integer instructions.
//!
//! Expressions are polynomials over a common denominator. Fractions occur only as intermediate results. The
//! emitter carries them as an integer over a constant denominator and divides once, exactly, at the end.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use num_traits::ToPrimitive;
use sdfg::symbolic::{Atom, Expr, Integer, Term};

use super::emitter::Emit;
use super::error::LlvmError;
use super::function::Function;

/// `value / denominator`, which need not be an integer.
#[derive(Clone, Copy)]
struct Fraction<'ctx> {
    value: IntValue<'ctx>,
    denominator: i64,
}

impl<'ctx> Function<'_, 'ctx> {
    /// The value of an integral expression.
    ///
    /// Intermediate results do not overflow, as the semantics makes an index overflow a trap.
    pub(super) fn index(&self, expression: &Expr) -> Emit<IntValue<'ctx>> {
        let is_plain = expression.as_int().is_some() || expression.as_symbol().is_some();
        if self.is_checked() && !is_plain && self.overflow.get().is_none() {
            return self.checked_index(expression);
        }
        self.plain_index(expression)
    }

    /// As [`Self::index`], where it is known that the expression has a value.
    pub(super) fn plain_index(&self, expression: &Expr) -> Emit<IntValue<'ctx>> {
        if let Some(value) = expression.as_int() {
            return Ok(self.emitter.constant(value));
        }
        let Fraction { value, denominator } = self.fraction(expression)?;
        if denominator == 1 {
            return Ok(value);
        }
        let divisor = self.emitter.constant(denominator);
        if self.overflow.get().is_some() {
            let rest = self.builder.build_int_signed_rem(value, divisor, "")?;
            self.note_wrong(self.compare(IntPredicate::NE, rest, self.emitter.constant(0))?)?;
            return Ok(self.builder.build_int_signed_div(value, divisor, "")?);
        }
        Ok(self.builder.build_int_exact_signed_div(value, divisor, "")?)
    }

    /// As [`Self::index`], but the largest integer where a step on the way to the value does not fit 64 bits: what so much
    /// memory is asked for is refused then.
    pub(super) fn size(&self, expression: &Expr) -> Emit<IntValue<'ctx>> {
        if expression.as_int().is_some() || expression.as_symbol().is_some() {
            return self.index(expression);
        }
        let (value, overflow) = self.noting_overflow(expression)?;
        self.select_int(overflow, self.emitter.constant(i64::MAX), value)
    }

    /// The value of an expression, and whether it has none: a step on the way to it does not fit 64 bits, divides by zero or
    /// leaves a fraction.
    pub(super) fn noting_overflow(&self, expression: &Expr) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        let flag = self.slot(self.emitter.i1(), "overflow")?;
        self.builder.build_store(flag, self.emitter.i1().const_zero())?;
        let outer = self.overflow.replace(Some(flag));
        let value = self.plain_index(expression);
        self.overflow.set(outer);
        let overflow = self.builder.build_load(self.emitter.i1(), flag, "")?.into_int_value();
        Ok((value?, overflow))
    }

    /// Notes that an expression has no value if `wrong` holds.
    fn note_wrong(&self, wrong: IntValue<'ctx>) -> Emit<()> {
        let Some(flag) = self.overflow.get() else { return Ok(()) };
        let before = self.builder.build_load(self.emitter.i1(), flag, "")?.into_int_value();
        self.builder.build_store(flag, self.builder.build_or(before, wrong, "")?)?;
        Ok(())
    }

    /// One step of index arithmetic, which notes where it overflows if that was asked for.
    fn step(&self, checked: &str, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<Option<IntValue<'ctx>>> {
        if self.overflow.get().is_none() {
            return Ok(None);
        }
        let both = self.intrinsic(checked, &[self.emitter.i64().into()], &[a.into(), b.into()])?;
        let both = both.into_struct_value();
        let value = self.builder.build_extract_value(both, 0, "")?.into_int_value();
        let overflow = self.builder.build_extract_value(both, 1, "")?.into_int_value();
        self.note_wrong(overflow)?;
        Ok(Some(value))
    }

    fn fraction(&self, expression: &Expr) -> Emit<Fraction<'ctx>> {
        let view = expression.view();
        let terms = view.terms.iter().map(|term| self.term(term)).collect::<Emit<Vec<_>>>()?;
        let common = self.common_denominator(&terms)?;
        let mut sum: Option<IntValue<'ctx>> = None;
        for term in &terms {
            let value = self.scaled(*term, common)?;
            sum = Some(match sum {
                None => value,
                Some(sum) => self.add(sum, value)?,
            });
        }
        let denominator = common
            .checked_mul(self.small(view.denominator, expression)?)
            .ok_or_else(|| unsupported(expression))?;
        Ok(Fraction { value: sum.unwrap_or(self.emitter.constant(0)), denominator })
    }

    fn term(&self, term: &Term) -> Emit<Fraction<'ctx>> {
        let coefficient = term.coefficient().to_i64().ok_or_else(|| LlvmError::Unsupported {
            what: format!("the coefficient {}", term.coefficient()),
        })?;
        let mut product: Option<IntValue<'ctx>> = None;
        let mut denominator = 1_i64;
        for (atom, exponent) in term.factors() {
            let factor = self.atom(atom)?;
            for _ in 0..*exponent {
                product = Some(match product {
                    None => factor.value,
                    Some(product) => self.multiply(product, factor.value)?,
                });
                denominator = denominator.checked_mul(factor.denominator).ok_or_else(|| {
                    LlvmError::Unsupported { what: "an index with a very large denominator".to_owned() }
                })?;
            }
        }
        let constant = self.emitter.constant(coefficient);
        let value = match product {
            None => constant,
            Some(product) if coefficient == 1 => product,
            Some(product) => self.multiply(product, constant)?,
        };
        Ok(Fraction { value, denominator })
    }

    fn atom(&self, atom: &Atom) -> Emit<Fraction<'ctx>> {
        let whole = |value| Fraction { value, denominator: 1 };
        match atom {
            Atom::Symbol(symbol) => Ok(whole(self.variable(symbol)?)),
            Atom::Sum(sum) => self.fraction(sum),
            Atom::FloorDiv(a, b) => {
                let (a, b, _) = self.aligned(a, b)?;
                self.note_where(IntPredicate::EQ, b)?;
                Ok(whole(self.floor_divide(a, b)?))
            }
            Atom::CeilDiv(a, b) => {
                // ceil(a / b) = -floor(-a / b).
                let (a, b, _) = self.aligned(a, b)?;
                self.note_where(IntPredicate::EQ, b)?;
                let negated = self.builder.build_int_nsw_neg(a, "")?;
                let quotient = self.floor_divide(negated, b)?;
                Ok(whole(self.builder.build_int_nsw_neg(quotient, "")?))
            }
            Atom::Mod(a, b) => {
                let (a, b, denominator) = self.aligned(a, b)?;
                self.note_where(IntPredicate::EQ, b)?;
                Ok(Fraction { value: self.floor_modulo(a, b)?, denominator })
            }
            Atom::Min(operands) => self.extremum(operands, IntPredicate::SLT),
            Atom::Max(operands) => self.extremum(operands, IntPredicate::SGT),
            Atom::Pow(base, exponent) => {
                let (base, exponent) = (self.plain_index(base)?, self.plain_index(exponent)?);
                self.note_where(IntPredicate::SLT, exponent)?;
                Ok(whole(self.integer_power(base, exponent, true)?))
            }
            Atom::Call(name, _) => {
                Err(LlvmError::Unsupported { what: format!("the function `{name}` in an index or size") })
            }
        }
    }

    /// Notes that an expression has no value if an operand compares so with zero, if anyone wants to know.
    fn note_where(&self, predicate: IntPredicate, operand: IntValue<'ctx>) -> Emit<()> {
        if self.overflow.get().is_none() {
            return Ok(());
        }
        self.note_wrong(self.compare(predicate, operand, self.emitter.constant(0))?)
    }

    /// Both operands over one denominator, which cancels in quotients.
    fn aligned(&self, a: &Expr, b: &Expr) -> Emit<(IntValue<'ctx>, IntValue<'ctx>, i64)> {
        let both = [self.fraction(a)?, self.fraction(b)?];
        let common = self.common_denominator(&both)?;
        Ok((self.scaled(both[0], common)?, self.scaled(both[1], common)?, common))
    }

    fn extremum(&self, operands: &[Expr], wins: IntPredicate) -> Emit<Fraction<'ctx>> {
        let operands = operands.iter().map(|operand| self.fraction(operand)).collect::<Emit<Vec<_>>>()?;
        let common = self.common_denominator(&operands)?;
        let mut best: Option<IntValue<'ctx>> = None;
        for operand in operands {
            let value = self.scaled(operand, common)?;
            best = Some(match best {
                None => value,
                Some(best) => {
                    let better = self.compare(wins, value, best)?;
                    self.select_int(better, value, best)?
                }
            });
        }
        Ok(Fraction { value: best.unwrap_or(self.emitter.constant(0)), denominator: common })
    }

    fn common_denominator(&self, fractions: &[Fraction<'ctx>]) -> Emit<i64> {
        fractions.iter().try_fold(1_i64, |common, fraction| {
            let gcd = num_integer::gcd(common, fraction.denominator);
            (common / gcd).checked_mul(fraction.denominator).ok_or_else(|| LlvmError::Unsupported {
                what: "an index with a very large denominator".to_owned(),
            })
        })
    }

    fn scaled(&self, fraction: Fraction<'ctx>, denominator: i64) -> Emit<IntValue<'ctx>> {
        match denominator / fraction.denominator {
            1 => Ok(fraction.value),
            factor => self.multiply(fraction.value, self.emitter.constant(factor)),
        }
    }

    fn small(&self, value: &Integer, expression: &Expr) -> Emit<i64> {
        value.to_i64().ok_or_else(|| unsupported(expression))
    }

    pub(super) fn add(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match self.step("llvm.sadd.with.overflow", a, b)? {
            Some(sum) => Ok(sum),
            None => Ok(self.builder.build_int_nsw_add(a, b, "")?),
        }
    }

    pub(super) fn subtract(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match self.step("llvm.ssub.with.overflow", a, b)? {
            Some(difference) => Ok(difference),
            None => Ok(self.builder.build_int_nsw_sub(a, b, "")?),
        }
    }

    pub(super) fn multiply(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match self.step("llvm.smul.with.overflow", a, b)? {
            Some(product) => Ok(product),
            None => Ok(self.builder.build_int_nsw_mul(a, b, "")?),
        }
    }

    /// The larger of two.
    pub(super) fn larger(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let wins = self.compare(IntPredicate::SGT, a, b)?;
        self.select_int(wins, a, b)
    }

    /// The smaller of two.
    pub(super) fn smaller(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let wins = self.compare(IntPredicate::SLT, a, b)?;
        self.select_int(wins, a, b)
    }
}

fn unsupported(expression: &Expr) -> LlvmError {
    LlvmError::Unsupported { what: format!("the index `{expression}`, whose coefficients exceed 64 bits") }
}
