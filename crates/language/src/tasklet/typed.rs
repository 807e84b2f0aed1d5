//! The typed tree: resolved names, known types, explicit conversions.
//!
//! It serves three readers (the evaluator, LLVM emission and the writers of C dialects), so it has few forms.
//! The dialect is gone, operands have equal types, augmented assignments and chained comparisons are
//! expanded, and scalars are spread over lanes explicitly. [`super::arith`] defines each operation.

use super::environment::{ConnectorId, Environment, SymbolId};
use super::function::MathFunction;
use crate::dtype::ElementType;
use crate::syntax::{CompareOp, Span};
use crate::value::Value;

/// A local variable of a [`TypedCode`], by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId(pub(super) u32);

impl LocalId {
    /// The position in [`TypedCode::locals`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A local variable. It is always assigned before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The name in the source.
    pub name: String,
    /// The one type that it has throughout.
    pub ty: ElementType,
}

/// Typed code of a tasklet.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedCode {
    /// The connectors and symbols that ids refer to.
    pub environment: Environment,
    /// The local variables.
    pub locals: Vec<Local>,
    /// The statements.
    pub body: Vec<TypedStatement>,
}

/// A single typed expression: a condition, or the value of an interstate assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedExpressionCode {
    /// The connectors and symbols that ids refer to.
    pub environment: Environment,
    /// The expression.
    pub expression: TypedExpression,
}

/// A typed statement.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedStatement {
    /// Assigns a local variable; the value has its type.
    Local {
        /// The variable.
        local: LocalId,
        /// The value.
        value: TypedExpression,
    },
    /// Assigns a value output; the last assignment counts, and an output that is not assigned writes nothing.
    Output {
        /// The output, of kind `Value`.
        connector: ConnectorId,
        /// The value, of the connector's type.
        value: TypedExpression,
    },
    /// Writes an element through a pointer output.
    Store {
        /// The output, of kind `Pointer`.
        connector: ConnectorId,
        /// As many `i64` indices as the pointer's rank; evaluated before the value.
        indices: Vec<TypedExpression>,
        /// The value, of the connector's element type.
        value: TypedExpression,
    },
    /// Pushes an element to a stream.
    Push {
        /// The output, of kind `Stream`.
        connector: ConnectorId,
        /// The value, of the connector's element type.
        value: TypedExpression,
    },
    /// Runs one of two blocks.
    If {
        /// A scalar `bool`.
        condition: TypedExpression,
        /// Runs if it is true.
        then: Vec<TypedStatement>,
        /// Runs if not.
        otherwise: Vec<TypedStatement>,
    },
    /// Counts from `begin` to below `end` by `step`, or down to above `end` for a negative step; a step of 0 runs no
    /// iteration. The bounds are evaluated once, and counting ends where the next value would not fit.
    For {
        /// The loop variable, a scalar `i64` that the body does not assign.
        local: LocalId,
        /// The first value, a scalar `i64`.
        begin: TypedExpression,
        /// The end, exclusive, a scalar `i64`.
        end: TypedExpression,
        /// The step, a scalar `i64`.
        step: TypedExpression,
        /// The block.
        body: Vec<TypedStatement>,
    },
    /// Runs a block as long as a condition holds.
    While {
        /// A scalar `bool`.
        condition: TypedExpression,
        /// The block.
        body: Vec<TypedStatement>,
    },
}

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedExpression {
    /// Its kind.
    pub kind: TypedExpressionKind,
    /// Its type.
    pub ty: ElementType,
    /// Its span in the source.
    pub span: Span,
}

impl TypedExpression {
    /// The expressions that it is made of, in the order in which they stand; all of them, whether or not each is always evaluated.
    pub fn operands(&self) -> Vec<&TypedExpression> {
        match &self.kind {
            TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Local(_)
            | TypedExpressionKind::Symbol(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_) => Vec::new(),
            TypedExpressionKind::Load { indices: parts, .. }
            | TypedExpressionKind::Length { indices: parts, .. }
            | TypedExpressionKind::Lanes(parts)
            | TypedExpressionKind::Call { arguments: parts, .. } => parts.iter().collect(),
            TypedExpressionKind::Cast(operand)
            | TypedExpressionKind::Splat(operand)
            | TypedExpressionKind::Lane { operand, .. }
            | TypedExpressionKind::Unary { operand, .. }
            | TypedExpressionKind::Power { base: operand, .. } => vec![operand],
            TypedExpressionKind::Binary { left, right, .. }
            | TypedExpressionKind::Compare { left, right, .. }
            | TypedExpressionKind::And(left, right)
            | TypedExpressionKind::Or(left, right) => vec![left, right],
            TypedExpressionKind::Select { condition, then, otherwise } => vec![condition, then, otherwise],
        }
    }
}

/// The forms of typed expressions. "Lane by lane" includes scalars, which have one lane.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedExpressionKind {
    /// A scalar constant of the expression's type.
    Constant(Value),
    /// A local variable.
    Local(LocalId),
    /// A symbol.
    Symbol(SymbolId),
    /// A value input.
    Input(ConnectorId),
    /// A value output that was assigned before on every path.
    Output(ConnectorId),
    /// An element read through a pointer input.
    Load {
        /// The input, of kind `Pointer`.
        connector: ConnectorId,
        /// As many `i64` indices as the pointer's rank.
        indices: Vec<TypedExpression>,
    },
    /// Number of elements in a queue, an `i64`.
    Length {
        /// The stream, of kind `Queues`.
        connector: ConnectorId,
        /// As many `i64` indices as its rank.
        indices: Vec<TypedExpression>,
    },
    /// A conversion lane by lane ([`super::arith::cast`]); the number of lanes stays.
    Cast(Box<TypedExpression>),
    /// A scalar repeated in every lane.
    Splat(Box<TypedExpression>),
    /// A vector of scalars of its lane type, as many as it has lanes.
    Lanes(Vec<TypedExpression>),
    /// One lane of a vector, a scalar of its lane type.
    Lane {
        /// The vector, or a scalar, which has one lane.
        operand: Box<TypedExpression>,
        /// Below the number of lanes of the operand.
        lane: u16,
    },
    /// An operation lane by lane ([`super::arith::unary`]); the operand has the expression's type.
    Unary {
        /// The operation.
        op: UnaryOperation,
        /// The operand.
        operand: Box<TypedExpression>,
    },
    /// An operation lane by lane ([`super::arith::binary`]); both operands have the expression's type, except that the
    /// amount of a shift is `i64` with as many lanes.
    Binary {
        /// The operation.
        op: BinaryOperation,
        /// The left operand.
        left: Box<TypedExpression>,
        /// The right operand.
        right: Box<TypedExpression>,
    },
    /// A constant integer power lane by lane ([`super::arith::power`]): a defined chain of products.
    Power {
        /// The base, of the expression's type.
        base: Box<TypedExpression>,
        /// The exponent, between -64 and 64.
        exponent: i32,
    },
    /// A comparison lane by lane ([`super::arith::compare`]); the operands have one type, the lanes are `bool`.
    Compare {
        /// The operator.
        op: CompareOp,
        /// The left operand.
        left: Box<TypedExpression>,
        /// The right operand.
        right: Box<TypedExpression>,
    },
    /// `left and right` of scalar `bool`s; the right operand is evaluated only if the left is true.
    And(Box<TypedExpression>, Box<TypedExpression>),
    /// `left or right` of scalar `bool`s; the right operand is evaluated only if the left is false.
    Or(Box<TypedExpression>, Box<TypedExpression>),
    /// A choice. With a scalar `bool` only the chosen operand is evaluated; with `bool` lanes both are, and each lane
    /// is chosen.
    Select {
        /// A scalar `bool`, or as many `bool` lanes as the expression has.
        condition: Box<TypedExpression>,
        /// The value where it is true, of the expression's type.
        then: Box<TypedExpression>,
        /// The value where it is false, of the expression's type.
        otherwise: Box<TypedExpression>,
    },
    /// A mathematical function lane by lane ([`super::arith::call`]); argument types are told by the function.
    Call {
        /// The function.
        function: MathFunction,
        /// As many arguments as its arity.
        arguments: Vec<TypedExpression>,
    },
}

/// Unary operations of the typed tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOperation {
    /// `-x` of integers (wraps), floats and complex numbers.
    Negate,
    /// `not x` of `bool`.
    Not,
    /// `~x` of integers.
    Invert,
}

/// Binary operations of the typed tree; both operands have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOperation {
    /// `+`; integers wrap. Not for `bool`.
    Add,
    /// `-`; integers wrap. Not for `bool`.
    Subtract,
    /// `*`; integers wrap. Not for `bool`.
    Multiply,
    /// True division of floats and complex numbers.
    Divide,
    /// Quotient rounded down, of integers and floats.
    FloorDivide,
    /// Remainder with the sign of the divisor, of integers and floats.
    FloorModulo,
    /// Quotient rounded towards zero, of integers.
    TruncateDivide,
    /// Remainder with the sign of the dividend, of integers and floats.
    TruncateModulo,
    /// `**` with an exponent that is not constant, of integers, floats and complex numbers.
    Power,
    /// `<<` of integers; the amount is `i64`.
    ShiftLeft,
    /// `>>` of integers, arithmetic for signed ones; the amount is `i64`.
    ShiftRight,
    /// `&` of integers and `bool`.
    BitAnd,
    /// `|` of integers and `bool`.
    BitOr,
    /// `^` of integers and `bool`.
    BitXor,
    /// The smaller, of `bool`, integers and floats.
    Minimum,
    /// The larger, of `bool`, integers and floats.
    Maximum,
}
