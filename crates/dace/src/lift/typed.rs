//! Typed code in Python's dialect as Python whose C++ translation computes the same values.
//!
//! C++ computes narrow integers as `int`, literals as `int` or `double`, and rounds quotients towards zero.
//! Therefore the writer inserts conversions where C++ would not convert, types all literals, and writes
//! quotients as calls. All locals are initialised first, because a C++ variable exists only in the block that
//! first names it. Loops use separate counters.

use sdfg::dtype::ScalarType;
use sdfg::syntax::{
    AssignmentTarget, BinaryOp, CompareOp, Expression, ExpressionKind, Name, Span, Statement, StatementKind,
    UnaryOp,
};
use sdfg::tasklet::{
    BinaryOperation, ConnectorId, LocalId, MathFunction, TypedCode, TypedExpression, TypedExpressionKind,
    TypedStatement, UnaryOperation,
};
use sdfg::value::Value;

use super::functions::{conversion, element, is_literal};

/// The construct that DaCe lacks, as a sentence.
type Written<T> = Result<T, String>;

/// The statements of typed code.
pub(super) fn block(code: &TypedCode) -> Written<Vec<Statement>> {
    let writer = Writer { code };
    let mut statements = Vec::new();
    for local in code.locals.iter().enumerate().filter(|(at, _)| !begins_outside(&code.body, *at)) {
        let local = local.1;
        let zero = writer.zero(local.ty.as_scalar().ok_or_else(vectors)?);
        statements.push(assign(&local.name, Vec::new(), zero));
    }
    statements.extend(writer.block(&code.body)?);
    if statements.is_empty() {
        statements.push(Statement { kind: StatementKind::Pass, span: Span::default() });
    }
    Ok(statements)
}

/// Whether a local is assigned outside of all blocks before it is assigned in one.
fn begins_outside(body: &[TypedStatement], local: usize) -> bool {
    for statement in body {
        match statement {
            TypedStatement::Local { local: found, .. } if found.index() == local => return true,
            TypedStatement::For { local: found, .. } if found.index() == local => return true,
            _ if assigns(statement, local) => return false,
            _ => {}
        }
    }
    false
}

fn assigns(statement: &TypedStatement, local: usize) -> bool {
    let any = |block: &[TypedStatement]| block.iter().any(|inner| assigns(inner, local));
    match statement {
        TypedStatement::Local { local: found, .. } => found.index() == local,
        TypedStatement::For { local: found, body, .. } => found.index() == local || any(body),
        TypedStatement::While { body, .. } => any(body),
        TypedStatement::If { then, otherwise, .. } => any(then) || any(otherwise),
        TypedStatement::Output { .. } | TypedStatement::Store { .. } | TypedStatement::Push { .. } => false,
    }
}

fn vectors() -> String {
    "short vectors are not known".to_owned()
}

fn assign(name: &str, indices: Vec<Expression>, value: Expression) -> Statement {
    let indices = indices.into_iter().map(sdfg::syntax::Index::Point).collect();
    let target = AssignmentTarget { name: Name::new(name), indices };
    Statement { kind: StatementKind::Assign { target, annotation: None, value }, span: Span::default() }
}

struct Writer<'c> {
    code: &'c TypedCode,
}

impl Writer<'_> {
    fn connector(&self, id: ConnectorId) -> &str {
        self.code.environment.connector_at(id).map_or("", |(name, _)| name)
    }

    fn local(&self, id: LocalId) -> &str {
        self.code.locals.get(id.index()).map_or("", |local| &local.name)
    }

    fn zero(&self, ty: ScalarType) -> Expression {
        match ty {
            ScalarType::Bool => Expression::bool(false),
            ScalarType::F64 => Expression::float(0.0),
            other => Expression::call(&conversion(other), vec![Expression::integer(0)]),
        }
    }

    fn block(&self, block: &[TypedStatement]) -> Written<Vec<Statement>> {
        let mut statements = Vec::new();
        for statement in block {
            self.statement(statement, &mut statements)?;
        }
        Ok(statements)
    }

    fn statement(&self, statement: &TypedStatement, into: &mut Vec<Statement>) -> Written<()> {
        let pointed = |indices: &[TypedExpression]| -> Written<Vec<Expression>> {
            indices.iter().map(|index| self.index(index)).collect()
        };
        let kind = match statement {
            TypedStatement::Local { local, value } => {
                into.push(assign(self.local(*local), Vec::new(), self.typed(value)?));
                return Ok(());
            }
            TypedStatement::Output { connector, value } | TypedStatement::Push { connector, value } => {
                into.push(assign(self.connector(*connector), Vec::new(), self.value(value)?));
                return Ok(());
            }
            TypedStatement::Store { connector, indices, value } => {
                into.push(assign(self.connector(*connector), pointed(indices)?, self.value(value)?));
                return Ok(());
            }
            TypedStatement::If { condition, then, otherwise } => {
                let then = nonempty(self.block(then)?);
                let mut branches = vec![(self.value(condition)?, then)];
                let mut otherwise = self.block(otherwise)?;
                // What is left is an `if` alone: an `elif`.
                if let [Statement { kind: StatementKind::If { .. }, .. }] = otherwise.as_slice()
                    && let Some(Statement {
                        kind: StatementKind::If { branches: more, otherwise: last }, ..
                    }) = otherwise.pop()
                {
                    branches.extend(more);
                    otherwise = last;
                }
                StatementKind::If { branches, otherwise }
            }
            TypedStatement::While { condition, body } => {
                StatementKind::While { condition: self.value(condition)?, body: nonempty(self.block(body)?) }
            }
            TypedStatement::For { local, begin, end, step, body } => {
                return self.counted(self.local(*local), (begin, end, step), body, into);
            }
        };
        into.push(Statement { kind, span: Span::default() });
        Ok(())
    }

    /// A loop that counts: DaCe's own would not end where the step passes the end by.
    fn counted(
        &self,
        variable: &str,
        (begin, end, step): (&TypedExpression, &TypedExpression, &TypedExpression),
        body: &[TypedStatement],
        into: &mut Vec<Statement>,
    ) -> Written<()> {
        let TypedExpressionKind::Constant(Value::I64(by)) = step.kind else {
            return Err("loops whose step is no literal are not known".to_owned());
        };
        if by == 0 {
            return Ok(());
        }
        let bound = match end.kind {
            TypedExpressionKind::Constant(_) => self.value(end)?,
            _ => {
                let name = format!("__end_{variable}");
                into.push(assign(&name, Vec::new(), self.typed(end)?));
                Expression::name(name)
            }
        };
        into.push(assign(variable, Vec::new(), self.typed(begin)?));
        let op = if by > 0 { CompareOp::Less } else { CompareOp::Greater };
        let mut statements = self.block(body)?;
        let next = Expression::binary(BinaryOp::Add, Expression::name(variable), Expression::integer(by));
        statements.push(assign(variable, Vec::new(), next));
        let condition = Expression::compare(op, Expression::name(variable), bound);
        into.push(Statement {
            kind: StatementKind::While { condition, body: statements },
            span: Span::default(),
        });
        Ok(())
    }

    /// An index of a subscript, which DaCe reads as a symbolic expression: without conversions of integers.
    fn index(&self, index: &TypedExpression) -> Written<Expression> {
        match &index.kind {
            TypedExpressionKind::Symbol(_) => self.plain(index),
            TypedExpressionKind::Cast(operand) if operand.ty.lane().is_integer() => self.index(operand),
            TypedExpressionKind::Binary { op, left, right } => {
                let op = match op {
                    BinaryOperation::Add => BinaryOp::Add,
                    BinaryOperation::Subtract => BinaryOp::Subtract,
                    BinaryOperation::Multiply => BinaryOp::Multiply,
                    _ => return self.value(index),
                };
                Ok(Expression::binary(op, self.index(left)?, self.index(right)?))
            }
            _ => self.value(index),
        }
    }

    /// An expression whose C++ type may be another one of the same value, where what is around it converts.
    fn value(&self, expression: &TypedExpression) -> Written<Expression> {
        match &expression.kind {
            TypedExpressionKind::Constant(value) => constant(*value),
            _ => self.typed(expression),
        }
    }

    /// An expression that has exactly its type in C++, too.
    fn typed(&self, expression: &TypedExpression) -> Written<Expression> {
        let ty = expression.ty.as_scalar().ok_or_else(vectors)?;
        let plain = self.plain(expression)?;
        let is_exact = match &expression.kind {
            TypedExpressionKind::Constant(value) => {
                matches!(value, Value::F64(_) | Value::Bool(_) | Value::I32(_))
            }
            // Counters of maps and loops are `int` in DaCe's code.
            TypedExpressionKind::Symbol(_) => false,
            TypedExpressionKind::Unary { op: UnaryOperation::Not, .. }
            | TypedExpressionKind::Compare { .. }
            | TypedExpressionKind::And(..)
            | TypedExpressionKind::Or(..)
            | TypedExpressionKind::Cast(_)
            | TypedExpressionKind::Local(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Load { .. } => true,
            TypedExpressionKind::Select { .. } => true,
            TypedExpressionKind::Binary { .. }
            | TypedExpressionKind::Unary { .. }
            | TypedExpressionKind::Power { .. }
            | TypedExpressionKind::Call { .. } => !is_narrow(ty),
            TypedExpressionKind::Length { .. }
            | TypedExpressionKind::Splat(_)
            | TypedExpressionKind::Lanes(_)
            | TypedExpressionKind::Lane { .. } => return Err(vectors()),
        };
        Ok(if is_exact { plain } else { Expression::call(&conversion(ty), vec![plain]) })
    }

    fn plain(&self, expression: &TypedExpression) -> Written<Expression> {
        let ty = expression.ty.as_scalar().ok_or_else(vectors)?;
        Ok(match &expression.kind {
            TypedExpressionKind::Constant(value) => constant(*value)?,
            TypedExpressionKind::Local(local) => Expression::name(self.local(*local)),
            TypedExpressionKind::Symbol(symbol) => {
                let name = self.code.environment.symbol_at(*symbol).map_or("", |(name, _)| name);
                Expression::name(name)
            }
            TypedExpressionKind::Input(id) | TypedExpressionKind::Output(id) => {
                Expression::name(self.connector(*id))
            }
            TypedExpressionKind::Load { connector, indices } => {
                let indices: Written<Vec<Expression>> = indices.iter().map(|at| self.index(at)).collect();
                element(self.connector(*connector), indices?)
            }
            TypedExpressionKind::Length { .. } => return Err("the length of a queue is not known".to_owned()),
            TypedExpressionKind::Splat(_)
            | TypedExpressionKind::Lanes(_)
            | TypedExpressionKind::Lane { .. } => return Err(vectors()),
            TypedExpressionKind::Cast(operand) => {
                // Only the conversion of what has its type is one step.
                let operand = match operand.kind {
                    TypedExpressionKind::Symbol(_) => self.plain(operand)?,
                    _ => self.value(operand)?,
                };
                Expression::call(&conversion(ty), vec![operand])
            }
            TypedExpressionKind::Unary { op, operand } => {
                let op = match op {
                    UnaryOperation::Negate => UnaryOp::Negate,
                    UnaryOperation::Not => UnaryOp::Not,
                    UnaryOperation::Invert => UnaryOp::Invert,
                };
                Expression::unary(op, self.typed(operand)?)
            }
            TypedExpressionKind::Binary { op, left, right } => self.binary(*op, ty, left, right)?,
            TypedExpressionKind::Power { base, exponent } => Expression::binary(
                BinaryOp::Power,
                self.typed(base)?,
                Expression::integer(i64::from(*exponent)),
            ),
            TypedExpressionKind::Compare { op, left, right } => {
                Expression::compare(*op, self.typed(left)?, self.beside(right, left)?)
            }
            TypedExpressionKind::And(left, right) => {
                Expression::binary(BinaryOp::And, self.value(left)?, self.value(right)?)
            }
            TypedExpressionKind::Or(left, right) => {
                Expression::binary(BinaryOp::Or, self.value(left)?, self.value(right)?)
            }
            TypedExpressionKind::Select { condition, then, otherwise } => {
                let kind = ExpressionKind::Conditional {
                    condition: Box::new(self.value(condition)?),
                    then: Box::new(self.typed(then)?),
                    otherwise: Box::new(self.typed(otherwise)?),
                };
                Expression { kind, span: Span::default() }
            }
            TypedExpressionKind::Call { function, arguments } => self.call(*function, ty, arguments)?,
        })
    }

    /// An operand beside one that has its type: a literal gives way to it.
    fn beside(&self, operand: &TypedExpression, other: &TypedExpression) -> Written<Expression> {
        let gives_way = matches!(operand.kind, TypedExpressionKind::Constant(_))
            && !matches!(other.kind, TypedExpressionKind::Constant(_))
            && operand.ty.lane().is_integer()
            && operand.ty.lane() != ScalarType::U64;
        if gives_way { self.value(operand) } else { self.typed(operand) }
    }

    fn binary(
        &self,
        op: BinaryOperation,
        ty: ScalarType,
        left: &TypedExpression,
        right: &TypedExpression,
    ) -> Written<Expression> {
        let operator = |op| -> Written<Expression> {
            Ok(Expression::binary(op, self.beside(left, right)?, self.beside(right, left)?))
        };
        let call = |name: &str| -> Written<Expression> {
            Ok(Expression::call(name, vec![self.typed(left)?, self.typed(right)?]))
        };
        match op {
            BinaryOperation::Add => operator(BinaryOp::Add),
            BinaryOperation::Subtract => operator(BinaryOp::Subtract),
            BinaryOperation::Multiply => operator(BinaryOp::Multiply),
            BinaryOperation::Divide => operator(BinaryOp::Divide),
            BinaryOperation::BitAnd => operator(BinaryOp::BitAnd),
            BinaryOperation::BitOr => operator(BinaryOp::BitOr),
            BinaryOperation::BitXor => operator(BinaryOp::BitXor),
            BinaryOperation::FloorDivide if ty.is_float() => call("py_floor"),
            BinaryOperation::FloorModulo if ty.is_float() => call("py_mod"),
            BinaryOperation::TruncateModulo if ty.is_float() => call("fmod"),
            BinaryOperation::FloorDivide => self.quotient("py_floor", ty, left, right),
            BinaryOperation::FloorModulo => self.quotient("py_mod", ty, left, right),
            BinaryOperation::TruncateModulo => self.quotient("cpp_mod", ty, left, right),
            BinaryOperation::TruncateDivide => {
                let quotient = Expression::binary(BinaryOp::Divide, self.typed(left)?, self.typed(right)?);
                self.unless_zero(quotient, ty, right)
            }
            BinaryOperation::Power if ty.is_integer() => {
                Err("integer powers whose exponent is no literal are not known".to_owned())
            }
            BinaryOperation::Power => operator(BinaryOp::Power),
            BinaryOperation::ShiftLeft => self.shift(BinaryOp::ShiftLeft, ty, left, right),
            BinaryOperation::ShiftRight => self.shift(BinaryOp::ShiftRight, ty, left, right),
            BinaryOperation::Minimum => call("min"),
            BinaryOperation::Maximum => call("max"),
        }
    }

    /// A quotient or remainder of integers by a function of DaCe's, which takes operands of one type.
    fn quotient(
        &self,
        function: &str,
        ty: ScalarType,
        left: &TypedExpression,
        right: &TypedExpression,
    ) -> Written<Expression> {
        // Of narrow integers C++ has no function; they fit wider ones.
        let operand = |operand: &TypedExpression| -> Written<Expression> {
            let plain = self.typed(operand)?;
            let wide = || conversion(ScalarType::I64);
            Ok(if is_narrow(ty) { Expression::call(&wide(), vec![plain]) } else { plain })
        };
        let quotient = Expression::call(function, vec![operand(left)?, operand(right)?]);
        self.unless_zero(quotient, ty, right)
    }

    /// A quotient, or 0 if the divisor is 0, which C++ leaves open.
    fn unless_zero(
        &self,
        quotient: Expression,
        ty: ScalarType,
        divisor: &TypedExpression,
    ) -> Written<Expression> {
        let is_known = match divisor.kind {
            TypedExpressionKind::Constant(value) => value.to_i64().is_none_or(|value| value != 0),
            _ => false,
        };
        if is_known {
            return Ok(quotient);
        }
        let nonzero = Expression::compare(CompareOp::NotEqual, self.typed(divisor)?, Expression::integer(0));
        Ok(choice(nonzero, quotient, self.zero(ty)))
    }

    /// A shift; an amount that is no literal may shift every bit out, which C++ leaves open.
    fn shift(
        &self,
        op: BinaryOp,
        ty: ScalarType,
        left: &TypedExpression,
        right: &TypedExpression,
    ) -> Written<Expression> {
        let bits = i64::try_from(8 * ty.size()).unwrap_or(64);
        let shifted = Expression::binary(op, self.typed(left)?, self.value(right)?);
        if let TypedExpressionKind::Constant(value) = right.kind
            && value.to_i64().is_some_and(|amount| (0..bits).contains(&amount))
        {
            return Ok(shifted);
        }
        let amount = self.typed(right)?;
        let not_below = Expression::compare(CompareOp::GreaterEqual, amount.clone(), Expression::integer(0));
        let below = Expression::compare(CompareOp::Less, amount, Expression::integer(bits));
        let fits = Expression::binary(BinaryOp::And, not_below, below);
        let out = match op {
            // The sign remains of a number that is shifted right.
            BinaryOp::ShiftRight if !matches!(ty.kind(), sdfg::dtype::ScalarKind::Unsigned) => {
                let sign = Expression::integer(bits - 1);
                Expression::binary(op, self.typed(left)?, sign)
            }
            _ => self.zero(ty),
        };
        Ok(choice(fits, shifted, out))
    }

    fn call(
        &self,
        function: MathFunction,
        ty: ScalarType,
        arguments: &[TypedExpression],
    ) -> Written<Expression> {
        let typed: Written<Vec<Expression>> = arguments.iter().map(|argument| self.typed(argument)).collect();
        let mut typed = typed?;
        let is_unsigned =
            matches!(ty.kind(), sdfg::dtype::ScalarKind::Unsigned | sdfg::dtype::ScalarKind::Bool);
        match function {
            MathFunction::Abs if is_unsigned => Ok(typed.swap_remove(0)),
            // C++ rounds halves away from zero.
            MathFunction::Round => Ok(Expression::call("rint", typed)),
            MathFunction::Angle => Ok(Expression::call("arg", typed)),
            MathFunction::CeilDivide => {
                let negated = Expression::unary(UnaryOp::Negate, typed.remove(0));
                let wide = conversion(ScalarType::I64);
                let mut operands = vec![negated];
                operands.append(&mut typed);
                let operands = operands.into_iter().map(|operand| Expression::call(&wide, vec![operand]));
                let rounded = Expression::call("py_floor", operands.collect());
                let negative = Expression::unary(UnaryOp::Negate, rounded);
                match arguments {
                    [_, divisor] => self.unless_zero(negative, ty, divisor),
                    _ => Ok(negative),
                }
            }
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
            | MathFunction::Trunc
            | MathFunction::Abs
            | MathFunction::Sign
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
            | MathFunction::Conj => Ok(Expression::call(function.name(), typed)),
        }
    }
}

fn choice(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    let kind = ExpressionKind::Conditional {
        condition: Box::new(condition),
        then: Box::new(then),
        otherwise: Box::new(otherwise),
    };
    Expression { kind, span: Span::default() }
}

fn nonempty(mut block: Vec<Statement>) -> Vec<Statement> {
    if block.is_empty() {
        block.push(Statement { kind: StatementKind::Pass, span: Span::default() });
    }
    block
}

/// Whether C++ computes with these integers as with `int`.
fn is_narrow(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::I8 | ScalarType::I16 | ScalarType::U8 | ScalarType::U16)
}

/// A literal, without regard to its type.
fn constant(value: Value) -> Written<Expression> {
    let found = Expression::value(value);
    let parts = |re: f64, im: f64| {
        let part = |value: f64| Expression::float(value);
        Expression::call("complex", vec![part(re), part(im)])
    };
    Ok(match value {
        Value::Complex64(value) => parts(f64::from(value.re), f64::from(value.im)),
        Value::Complex128(value) => parts(value.re, value.im),
        Value::I64(i64::MIN) => return Err("the least integer is no literal of C++".to_owned()),
        _ if is_literal(&found) => found,
        // Names of numbers that are not finite.
        _ => found,
    })
}
