//! Arithmetic work: operations of tasklet code by class, counted on the typed tree.
//!
//! Counted are operations on data: operators, comparisons, choices and functions, once for each lane. A
//! complex sum is two additions; a complex product is four multiplications and two additions; a complex
//! quotient is six multiplications, three additions and two divisions. Conversions, and the arithmetic of
//! indices and loop bounds, are not counted.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::dtype::ElementType;
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Assumptions, Expr, Symbol};
use sdfg_language::syntax::ExpressionKind;
use sdfg_language::tasklet::{
    BinaryOperation, Environment, LocalId, TypedCode, TypedExpression, TypedExpressionKind, TypedStatement,
    UnaryOperation,
};
use sdfg_language::value::Value;

use super::quantity::Quantity;
use crate::ir::ConflictResolution;

/// Classes of operations that machines carry out at different speeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationClass {
    /// Sums, differences and changes of sign.
    Addition,
    /// Products, and powers by a constant, which are chains of products.
    Multiplication,
    /// Quotients and remainders.
    Division,
    /// Mathematical functions, and powers by a value.
    Function,
    /// Comparisons, smaller and larger, choices, and operations on bits and truth values.
    Logic,
}

impl OperationClass {
    /// Every class, in order of declaration.
    pub const ALL: [OperationClass; 5] = [
        OperationClass::Addition,
        OperationClass::Multiplication,
        OperationClass::Division,
        OperationClass::Function,
        OperationClass::Logic,
    ];

    /// A plural noun for tables.
    pub const fn name(self) -> &'static str {
        match self {
            OperationClass::Addition => "additions",
            OperationClass::Multiplication => "multiplications",
            OperationClass::Division => "divisions",
            OperationClass::Function => "functions",
            OperationClass::Logic => "logic",
        }
    }
}

/// Numbers of operations by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work([Quantity; 5]);

impl Work {
    /// No operations.
    pub fn zero() -> Self {
        Work(std::array::from_fn(|_| Quantity::zero()))
    }

    /// Operations that nothing tells: of a class that is not known, either.
    pub fn undetermined() -> Self {
        Work(std::array::from_fn(|_| Quantity::undetermined()))
    }

    /// The operations of a class.
    pub fn of(&self, class: OperationClass) -> &Quantity {
        &self.0[class as usize]
    }

    /// All operations.
    pub fn total(&self) -> Quantity {
        self.0.iter().fold(Quantity::zero(), |sum, class| sum.plus(class))
    }

    /// Changes the numbers of all classes alike.
    #[must_use]
    pub fn map(&self, change: impl Fn(&Quantity) -> Quantity) -> Self {
        Work(std::array::from_fn(|class| change(&self.0[class])))
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Work) -> Self {
        Work(std::array::from_fn(|class| self.0[class].plus(&other.0[class])))
    }

    /// The operations of one run of some code.
    pub fn of_code(code: &TypedCode) -> Self {
        Counter { environment: &code.environment, loops: BTreeMap::new(), known: Assumptions::new() }
            .block(&code.body)
    }

    /// The operations of one application of a conflict resolution to elements of this type.
    pub fn of_resolution(resolution: &ConflictResolution, element: ElementType) -> Self {
        let class = match resolution {
            ConflictResolution::Sum => OperationClass::Addition,
            ConflictResolution::Product => OperationClass::Multiplication,
            ConflictResolution::Replace => return Work::zero(),
            ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor => OperationClass::Logic,
            // One comparison decides for the pair.
            ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
                return Work::zero().with(OperationClass::Logic, 1);
            }
            ConflictResolution::Custom(lambda) => {
                let mut found = 0;
                lambda.body.visit(&mut |expression| {
                    found += i64::from(!matches!(
                        expression.kind,
                        ExpressionKind::Integer(_)
                            | ExpressionKind::Float(_)
                            | ExpressionKind::Imaginary(_)
                            | ExpressionKind::Bool(_)
                            | ExpressionKind::Name(_)
                    ));
                });
                // The body has no types here, so that classes cannot be told: all its operations are a bound.
                let body = Work::zero().with(OperationClass::Function, found * i64::from(element.lanes()));
                return body.map(|class| class.clone().bounded());
            }
        };
        Work::zero().with_arithmetic(class, element)
    }

    fn with(mut self, class: OperationClass, n: i64) -> Self {
        let slot = &mut self.0[class as usize];
        *slot = slot.plus(&Quantity::exact(Expr::int(n)));
        self
    }

    /// One more operation of a class on elements of this type.
    fn with_arithmetic(self, class: OperationClass, element: ElementType) -> Self {
        let lanes = i64::from(element.lanes());
        if !element.lane().is_complex() {
            return self.with(class, lanes);
        }
        match class {
            OperationClass::Addition => self.with(class, 2 * lanes),
            OperationClass::Multiplication => {
                self.with(class, 4 * lanes).with(OperationClass::Addition, 2 * lanes)
            }
            OperationClass::Division => self
                .with(class, 2 * lanes)
                .with(OperationClass::Multiplication, 6 * lanes)
                .with(OperationClass::Addition, 3 * lanes),
            OperationClass::Function | OperationClass::Logic => self.with(class, lanes),
        }
    }

    /// One of two: a bound unless they are equal.
    fn either(&self, other: &Work) -> Self {
        Work(std::array::from_fn(|class| self.0[class].either(&other.0[class])))
    }
}

/// Counts operations; the depth of code is bounded by the parser.
struct Counter<'a> {
    environment: &'a Environment,
    /// Variables of the loops around, as symbols.
    loops: BTreeMap<LocalId, Symbol>,
    /// Facts from the ranges of surrounding loops.
    known: Assumptions,
}

impl Counter<'_> {
    fn block(&mut self, block: &[TypedStatement]) -> Work {
        block.iter().fold(Work::zero(), |sum, statement| sum.plus(&self.statement(statement)))
    }

    fn statement(&mut self, statement: &TypedStatement) -> Work {
        match statement {
            TypedStatement::Local { value, .. }
            | TypedStatement::Output { value, .. }
            | TypedStatement::Push { value, .. }
            | TypedStatement::Store { value, .. } => self.expression(value),
            TypedStatement::If { condition, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                self.expression(condition).plus(&then.either(&otherwise))
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let range = self.range(begin, end, step);
                let symbol = Symbol::of(&format!("__loop_variable_{}", local.index()));
                let around = self.known.clone();
                if let Some(range) = &range {
                    range.constrain(symbol.clone(), &mut self.known);
                }
                self.loops.insert(*local, symbol.clone());
                let body = self.block(body);
                self.loops.remove(local);
                self.known = around;
                if body == Work::zero() {
                    return body;
                }
                match range {
                    Some(range) => {
                        let parameters = [(symbol.clone(), range)];
                        let inner = BTreeSet::from([symbol]);
                        body.map(|class| class.summed_over(&parameters, &self.known).without(&inner))
                    }
                    None => body.map(undetermined_unless_zero),
                }
            }
            TypedStatement::While { condition, body } => {
                let once = self.expression(condition).plus(&self.block(body));
                once.map(undetermined_unless_zero)
            }
        }
    }

    fn expression(&self, e: &TypedExpression) -> Work {
        let unary = |operand: &TypedExpression| self.expression(operand);
        let binary = |a: &TypedExpression, b: &TypedExpression| self.expression(a).plus(&self.expression(b));
        match &e.kind {
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Local(_)
            | TypedExpressionKind::Symbol(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Load { .. }
            | TypedExpressionKind::Length { .. } => Work::zero(),
            TypedExpressionKind::Cast(operand)
            | TypedExpressionKind::Splat(operand)
            | TypedExpressionKind::Lane { operand, .. } => unary(operand),
            TypedExpressionKind::Lanes(parts) => {
                parts.iter().fold(Work::zero(), |sum, part| sum.plus(&self.expression(part)))
            }
            TypedExpressionKind::Unary { op, operand } => {
                let class = match op {
                    UnaryOperation::Negate => OperationClass::Addition,
                    UnaryOperation::Not | UnaryOperation::Invert => OperationClass::Logic,
                };
                unary(operand).with_arithmetic(class, e.ty)
            }
            TypedExpressionKind::Binary { op, left, right } => {
                binary(left, right).with_arithmetic(class_of(*op), e.ty)
            }
            TypedExpressionKind::Power { base, exponent } => {
                // Squarings, products of set bits, and a quotient for a negative exponent.
                let bits = exponent.unsigned_abs();
                let products = ((32 - bits.leading_zeros()) + bits.count_ones()).saturating_sub(2);
                let mut work = unary(base);
                for _ in 0..products {
                    work = work.with_arithmetic(OperationClass::Multiplication, e.ty);
                }
                if *exponent < 0 { work.with_arithmetic(OperationClass::Division, e.ty) } else { work }
            }
            TypedExpressionKind::Compare { left, right, .. } => {
                binary(left, right).with(OperationClass::Logic, i64::from(left.ty.lanes()))
            }
            // The right operand is evaluated only if the left does not decide.
            TypedExpressionKind::And(left, right) | TypedExpressionKind::Or(left, right) => {
                let right = self.expression(right).map(|class| class.clone().bounded());
                self.expression(left).plus(&right).with(OperationClass::Logic, 1)
            }
            TypedExpressionKind::Select { condition, then, otherwise } => {
                let (then, otherwise) = (self.expression(then), self.expression(otherwise));
                let chosen =
                    if condition.ty.lanes() == 1 { then.either(&otherwise) } else { then.plus(&otherwise) };
                self.expression(condition).plus(&chosen).with(OperationClass::Logic, i64::from(e.ty.lanes()))
            }
            TypedExpressionKind::Call { arguments, .. } => arguments
                .iter()
                .fold(Work::zero(), |sum, argument| sum.plus(&self.expression(argument)))
                .with(OperationClass::Function, i64::from(e.ty.lanes())),
        }
    }

    fn range(&self, begin: &TypedExpression, end: &TypedExpression, step: &TypedExpression) -> Option<Range> {
        let (begin, end) = (self.integer(begin)?, self.integer(end)?);
        Some(Range::new(begin, end).with_step(self.integer(step)?.as_int().filter(|step| *step != 0)?))
    }

    /// An integer as an expression over symbols and loop variables.
    fn integer(&self, e: &TypedExpression) -> Option<Expr> {
        match &e.kind {
            TypedExpressionKind::Constant(Value::I64(value)) => Some(Expr::int(*value)),
            TypedExpressionKind::Symbol(id) => {
                let (name, _) = self.environment.symbol_at(*id)?;
                Symbol::new(name).ok().map(Expr::symbol)
            }
            TypedExpressionKind::Local(local) => self.loops.get(local).cloned().map(Expr::symbol),
            TypedExpressionKind::Cast(operand)
                if e.ty.lane().is_integer() && operand.ty.lane().is_integer() =>
            {
                self.integer(operand)
            }
            TypedExpressionKind::Unary { op: UnaryOperation::Negate, operand } => {
                self.integer(operand).map(|operand| -operand)
            }
            TypedExpressionKind::Binary { op, left, right } => {
                let (left, right) = (self.integer(left)?, self.integer(right)?);
                match op {
                    BinaryOperation::Add => Some(left + right),
                    BinaryOperation::Subtract => Some(left - right),
                    BinaryOperation::Multiply => Some(left * right),
                    BinaryOperation::Divide
                    | BinaryOperation::FloorDivide
                    | BinaryOperation::FloorModulo
                    | BinaryOperation::TruncateDivide
                    | BinaryOperation::TruncateModulo
                    | BinaryOperation::Power
                    | BinaryOperation::ShiftLeft
                    | BinaryOperation::ShiftRight
                    | BinaryOperation::BitAnd
                    | BinaryOperation::BitOr
                    | BinaryOperation::BitXor
                    | BinaryOperation::Minimum
                    | BinaryOperation::Maximum => None,
                }
            }
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Load { .. }
            | TypedExpressionKind::Length { .. }
            | TypedExpressionKind::Cast(_)
            | TypedExpressionKind::Splat(_)
            | TypedExpressionKind::Lanes(_)
            | TypedExpressionKind::Lane { .. }
            | TypedExpressionKind::Unary { .. }
            | TypedExpressionKind::Power { .. }
            | TypedExpressionKind::Compare { .. }
            | TypedExpressionKind::And(..)
            | TypedExpressionKind::Or(..)
            | TypedExpressionKind::Select { .. }
            | TypedExpressionKind::Call { .. } => None,
        }
    }
}

fn undetermined_unless_zero(quantity: &Quantity) -> Quantity {
    if quantity.is_zero() { Quantity::zero() } else { Quantity::undetermined() }
}

fn class_of(op: BinaryOperation) -> OperationClass {
    match op {
        BinaryOperation::Add | BinaryOperation::Subtract => OperationClass::Addition,
        BinaryOperation::Multiply => OperationClass::Multiplication,
        BinaryOperation::Divide
        | BinaryOperation::FloorDivide
        | BinaryOperation::FloorModulo
        | BinaryOperation::TruncateDivide
        | BinaryOperation::TruncateModulo => OperationClass::Division,
        BinaryOperation::Power => OperationClass::Function,
        BinaryOperation::ShiftLeft
        | BinaryOperation::ShiftRight
        | BinaryOperation::BitAnd
        | BinaryOperation::BitOr
        | BinaryOperation::BitXor
        | BinaryOperation::Minimum
        | BinaryOperation::Maximum => OperationClass::Logic,
    }
}
